//! `pairs`: all near pairs of many fingerprints.

use pyo3::prelude::*;
use simhash::error::Error;
use simhash::pairs::{Pairs, Rows};

use crate::arguments::check_distance;
use crate::cancel::{Signals, detached};
use crate::error::algorithm_error;
use crate::fingerprints::FingerprintColumn;
use crate::numpy::{self, array};

/// Near pairs: the positions of both rows, and their distance.
#[derive(Default)]
struct Found {
    a: Vec<i64>,
    b: Vec<i64>,
    distances: Vec<i32>,
}

/// Return every pair of fingerprints at a distance of at most max_distance, each once, as three NumPy arrays (a, b,
/// distance): the positions of both, from 0, a < b, as int64; and their distance as int32.
///
/// The fingerprints are a NumPy array of int64, whose masked elements are in no pair, or an iterable of int or None: a
/// Series of pandas, for example. The order of the pairs has no meaning. The result is exact, as that of SQL's
/// simhash_pairs.
///
/// Needs 40 bytes for each fingerprint, and 20 for each pair, at times twice as much. The GIL is released.
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
    let found = detached(py, |signals| find(rows, max_distance, signals))?.map_err(algorithm_error)?;
    Ok([array(py, found.a)?, array(py, found.b)?, array(py, found.distances)?])
}

fn find(rows: Rows, max_distance: i32, signals: &Signals) -> Result<Found, Error> {
    let tick = || signals.tick();
    let mut found = Found::default();
    let mut pairs = Pairs::new(rows, max_distance, &tick)?;
    while let Some(pair) = pairs.next(&tick)? {
        found.a.try_reserve(1)?;
        found.b.try_reserve(1)?;
        found.distances.try_reserve(1)?;
        found.a.push(pair.a.into());
        found.b.push(pair.b.into());
        found.distances.push(pair.distance.cast_signed());
    }
    Ok(found)
}
