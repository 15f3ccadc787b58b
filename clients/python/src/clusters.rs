//! `clusters`: the clusters of near-duplicates among many rows, confirmed by their texts if there are any.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;
use simhash::criterion::Criterion;
use simhash::error::Error;
use simhash::fingerprint::feature_set::FeatureSet;
use simhash::fingerprint::options::Options;
use simhash::fingerprint::resemblance::COPY;
use simhash::pairs::{Confirmed, Rows, Verification, clusters as clusters_of};
use simhash::search::nearness::Nearness;

use crate::arguments::{check_distance, check_radii, check_resemblance};
use crate::cancel::{Signals, detached};
use crate::error::algorithm_error;
use crate::fingerprint::with_fingerprinter;
use crate::fingerprints::FingerprintColumn;
use crate::numpy::{self, array};
use crate::options;
use crate::texts::text_column;

/// The default distances, as in SQL: without and with texts.
const DEFAULT_DISTANCE: i64 = 3;
const DEFAULT_DISTANCE_OF_TEXTS: i64 = 10;
/// The default radii, with texts, as in SQL.
const RADII: [i64; 4] = [1; 4];

/// Bytes of features that are in memory at once.
const BUDGET: usize = 256 << 20;

/// Return the cluster of each row as a NumPy array of int64: the position, from 0, of the first row of its cluster.
///
/// A cluster is all rows that are connected by pairs at a distance of at most max_distance, 3 by default. SQL's
/// simhash_cluster returns that row's key. A row without a fingerprint is in no cluster:
/// -1.
///
/// With texts, the texts of a pair must also have this resemblance, and max_distance is 10 by default. Some block of
/// the fingerprints must also differ in at most as many bits as its radius: radii has one for each of 2 to 8 blocks, or
/// is empty if the distance alone decides. Texts are read with the options, which are those of the fingerprints. A text
/// that is None resembles none.
///
/// The fingerprints are a NumPy array of int64, whose masked elements are missing, or an iterable of int or None; the
/// texts are an iterable of str or None. Both may be a Series of pandas, or Arrow data.
///
/// Needs 40 bytes for each fingerprint. With texts, 24 more, and the features of rows in clusters: up to 256 MB, or
/// those of the largest cluster. The GIL is released.
#[pyfunction]
#[pyo3(
    signature = (fingerprints, max_distance = None, *, texts = None, resemblance = None, radii = None, **options),
    text_signature = "(fingerprints, max_distance=None, *, texts=None, resemblance=0.84, radii=(1, 1, 1, 1), **options)",
)]
pub fn clusters<'py>(
    fingerprints: &Bound<'py, PyAny>,
    max_distance: Option<i64>,
    texts: Option<&Bound<'py, PyAny>>,
    resemblance: Option<f64>,
    radii: Option<Vec<i64>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = fingerprints.py();
    let of_texts = resemblance.is_some() || radii.is_some() || options.is_some_and(|options| !options.is_empty());
    if texts.is_none() && of_texts {
        return Err(PyTypeError::new_err("resemblance, radii and options are those of texts. Pass the texts too."));
    }
    let default = if texts.is_some() { DEFAULT_DISTANCE_OF_TEXTS } else { DEFAULT_DISTANCE };
    let max_distance = check_distance(max_distance.unwrap_or(default))?;
    let resemblance = check_resemblance(resemblance.unwrap_or(COPY))?;
    let options = options::read(options)?;
    numpy::require(py)?;
    let FingerprintColumn { rows, missing } = FingerprintColumn::read(fingerprints)?;
    let firsts = match texts {
        None => {
            let near = Nearness::within(max_distance);
            detached(py, |signals| clusters_of(rows, near, &|_| signals.tick()))?.map_err(algorithm_error)?
        }
        Some(texts) => {
            let texts = text_column(texts)?;
            if texts.len() != rows.len() {
                return Err(PyValueError::new_err(format!(
                    "numbers of fingerprints ({}) and of texts ({}) differ",
                    rows.len(),
                    texts.len()
                )));
            }
            let near = check_radii(max_distance, radii.as_deref().unwrap_or(&RADII))?;
            let criterion = Criterion { near, resemblance: Some(resemblance) };
            detached(py, |signals| verified(rows, criterion, &texts, &options, signals))?.map_err(algorithm_error)?
        }
    };
    let mut clusters: Vec<i64> = Vec::new();
    clusters.try_reserve_exact(firsts.len()).map_err(|_| algorithm_error(Error::OutOfMemory))?;
    clusters.extend(firsts.into_iter().map(i64::from));
    for row in missing {
        clusters[row] = -1;
    }
    array(py, clusters)
}

fn verified(
    rows: Rows,
    criterion: Criterion,
    texts: &[Option<PyBackedStr>],
    options: &Options,
    signals: &Signals,
) -> Result<Vec<u32>, Error> {
    let tick = |_| signals.tick();
    let mut verification = Verification::<Confirmed>::new(rows, criterion, BUDGET, &tick)?;
    while let Some(row) = verification.row_to_read(&tick) {
        let features = match &texts[row as usize] {
            Some(text) => {
                with_fingerprinter(|fingerprinter| FeatureSet::new(fingerprinter, text, options, &|| signals.tick()))?
            }
            None => None,
        };
        verification.push(features, &tick)?;
    }
    Ok(verification.into_results())
}
