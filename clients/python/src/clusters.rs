//! `clusters`: the clusters of near-duplicates among many rows, confirmed by their texts if there are any.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;
use simhash::criterion::{Criterion, CriterionDocument};
use simhash::error::Error;
use simhash::fingerprint::feature_set::FeatureSet;
use simhash::fingerprint::options::Options;
use simhash::pairs::{Confirmed, Rows, Verification, clusters as clusters_of};
use simhash::search::nearness::Nearness;

use crate::arguments::check_distance;
use crate::cancel::{Signals, detached};
use crate::error::algorithm_error;
use crate::fingerprint::with_fingerprinter;
use crate::fingerprints::FingerprintColumn;
use crate::numpy::{self, array};
use crate::options;
use crate::texts::text_column;

/// The default distance without texts, as in SQL.
const DEFAULT_DISTANCE: i64 = 3;

/// Bytes of features that are in memory at once.
const BUDGET: usize = 256 << 20;

/// Return the cluster of each row as a NumPy array of int64: the position, from 0, of the first row of its cluster.
///
/// A cluster is all rows that are connected by pairs at a distance of at most max_distance, 3 by default. SQL's
/// simhash_cluster returns that row's key. A row without a fingerprint is in no cluster:
/// -1.
///
/// With texts, the keyword arguments are the keys of a criterion, as in SQL: resemblance (0.84 by default),
/// max_distance (10), radii ([1, 1, 1, 1]), and the options of the fingerprints. All pairs are compared, so flips has
/// no effect. A text that is None resembles none.
///
/// The fingerprints are a NumPy array of int64, whose masked elements are missing, or an iterable of int or None; the
/// texts are an iterable of str or None. Both may be a Series of pandas, or Arrow data.
///
/// Needs 40 bytes for each fingerprint. With texts, 24 more, and the features of rows in clusters: up to 256 MB, or
/// those of the largest cluster. The GIL is released.
#[pyfunction]
#[pyo3(
    signature = (fingerprints, max_distance = None, *, texts = None, **criterion),
    text_signature = "(fingerprints, max_distance=None, *, texts=None, **criterion)",
)]
pub fn clusters<'py>(
    fingerprints: &Bound<'py, PyAny>,
    max_distance: Option<i64>,
    texts: Option<&Bound<'py, PyAny>>,
    criterion: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = fingerprints.py();
    if texts.is_none() && criterion.is_some_and(|criterion| !criterion.is_empty()) {
        return Err(PyTypeError::new_err("The criterion is for texts. Pass the texts too."));
    }
    let near = Nearness::within(check_distance(max_distance.unwrap_or(DEFAULT_DISTANCE))?);
    let criterion = criterion.map_or_else(|| Ok(PyDict::new(py)), |criterion| criterion.copy())?;
    if let Some(max_distance) = max_distance {
        criterion.set_item("max_distance", max_distance)?;
    }
    let criterion = options::read_criterion(&criterion)?;
    numpy::require(py)?;
    let FingerprintColumn { rows, missing } = FingerprintColumn::read(fingerprints)?;
    let firsts = match texts {
        None => detached(py, |signals| clusters_of(rows, near, &|| signals.tick()))?.map_err(algorithm_error)?,
        Some(texts) => {
            let texts = text_column(texts)?;
            if texts.len() != rows.len() {
                return Err(PyValueError::new_err(format!(
                    "numbers of fingerprints ({}) and of texts ({}) differ",
                    rows.len(),
                    texts.len()
                )));
            }
            let CriterionDocument { options, .. } = &criterion;
            detached(py, |signals| verified(rows, criterion.of_texts(), &texts, options, signals))?
                .map_err(algorithm_error)?
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
    let tick = || signals.tick();
    let mut verification = Verification::<Confirmed>::new(rows, criterion, BUDGET, &tick)?;
    while let Some(row) = verification.row_to_read(&tick) {
        let features = match &texts[row as usize] {
            Some(text) => with_fingerprinter(|fingerprinter| FeatureSet::new(fingerprinter, text, options, &tick))?,
            None => None,
        };
        verification.push(features, &tick)?;
    }
    Ok(verification.into_results())
}
