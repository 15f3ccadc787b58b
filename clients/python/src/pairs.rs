//! `pairs`: all near pairs of many fingerprints.

use pyo3::prelude::*;
use simhash::pairs::Pairs;

use crate::arguments::check_distance;
use crate::cancel::detached;
use crate::fingerprints::FingerprintColumn;
use crate::numpy::{self, array};

/// Return every pair of fingerprints at a distance of at most max_distance, each once, as three NumPy arrays (a, b,
/// distance): the positions of both, from 0, a < b, as int64; and their distance as int32.
///
/// The fingerprints are a NumPy array of int64, whose masked elements are in no pair, or an iterable of int or None: a
/// Series of pandas, for example. The order of the pairs has no meaning. The result is exact, as that of SQL's
/// simhash_pairs.
///
/// Needs 40 bytes for each fingerprint, and 20 for each pair, sometimes twice as much. The GIL is released.
///
/// >>> a, b, distance = pairs([0, -1, None, 7])
/// >>> a.tolist(), b.tolist(), distance.tolist()
/// ([0], [3], [3])
#[pyfunction]
#[pyo3(signature = (fingerprints, max_distance = 3))]
pub fn pairs<'py>(fingerprints: &Bound<'py, PyAny>, max_distance: i64) -> PyResult<[Bound<'py, PyAny>; 3]> {
    let py = fingerprints.py();
    let max_distance = check_distance(max_distance)?;
    numpy::require(py)?;
    let rows = FingerprintColumn::read(fingerprints)?.rows;
    let mut a: Vec<i64> = Vec::new();
    let mut b: Vec<i64> = Vec::new();
    let mut distances = Vec::new();
    detached(py, |tick| {
        let mut pairs = Pairs::new(rows, max_distance, tick)?;
        while let Some(pair) = pairs.next(tick)? {
            a.try_reserve(1)?;
            b.try_reserve(1)?;
            distances.try_reserve(1)?;
            a.push(pair.a.into());
            b.push(pair.b.into());
            distances.push(pair.distance.cast_signed());
        }
        Ok(())
    })?;
    Ok([array(py, a)?, array(py, b)?, array(py, distances)?])
}
