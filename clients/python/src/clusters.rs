//! `clusters` and `text_clusters`: the clusters of near-duplicates among many fingerprints or texts.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;
use simhash::criterion::{CriterionDocument, TextCriterion};
use simhash::error::Error;
use simhash::fingerprint::feature_set::FeatureSet;
use simhash::fingerprint::options::Options;
use simhash::pairs::{Confirmed, Texts, Verification, clusters as clusters_of};

use crate::arguments::check_distance;
use crate::cancel::{Signals, detached};
use crate::error::{algorithm_error, invalid_options};
use crate::fingerprint::with_fingerprinter;
use crate::fingerprints::FingerprintColumn;
use crate::numpy::{self, array};
use crate::options;
use crate::texts::text_column;

/// Bytes of features that are in memory at once.
const BUDGET: usize = 256 << 20;

/// Return the cluster of each row as a NumPy array of int64: the position, from 0, of the first row of its cluster.
///
/// A cluster is all rows that are connected by pairs at a distance of at most max_distance. SQL's simhash_cluster
/// returns that row's key. A row without a fingerprint is in no cluster: -1.
///
/// The fingerprints are a NumPy array of int64, whose masked elements are missing, or an iterable of int or None, or a
/// Series of pandas, or Arrow data.
///
/// Needs 40 bytes for each fingerprint. The GIL is released.
#[pyfunction]
#[pyo3(signature = (fingerprints, max_distance = 3))]
pub fn clusters<'py>(fingerprints: &Bound<'py, PyAny>, max_distance: i64) -> PyResult<Bound<'py, PyAny>> {
    let py = fingerprints.py();
    let max_distance = check_distance(max_distance)?;
    numpy::require(py)?;
    let FingerprintColumn { rows, missing } = FingerprintColumn::read(fingerprints)?;
    let firsts = detached(py, |signals| clusters_of(rows, max_distance, &|| signals.tick()))
        .map(|found| found.map_err(algorithm_error))??;
    as_array(py, firsts, missing)
}

/// Return the cluster of each text as a NumPy array of int64: the position, from 0, of the first text of its cluster.
///
/// A cluster is all texts that are connected by near pairs (see near). SQL's simhash_cluster of texts returns that row's
/// key. A text that is None or has no word is in no cluster: -1.
///
/// The texts are an iterable of str or None, or a Series of pandas, or Arrow data. The keyword arguments are the keys of
/// a criterion, as in SQL: resemblance (0.84 by default), bands, and options.
///
/// Needs 64 bytes for each text, and features of texts: up to 256 MB. The GIL is released.
#[pyfunction]
#[pyo3(signature = (texts, **criterion), text_signature = "(texts, **criterion)")]
pub fn text_clusters<'py>(
    texts: &Bound<'py, PyAny>,
    criterion: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = texts.py();
    let document = criterion.map_or_else(|| Ok(CriterionDocument::default()), options::read_criterion)?;
    let criterion = document.for_texts().map_err(|invalid| invalid_options(&invalid))?;
    numpy::require(py)?;
    let texts = text_column(texts)?;
    let CriterionDocument { options, .. } = &document;
    let (firsts, missing) =
        detached(py, |signals| of_texts(criterion, &texts, options, signals))?.map_err(algorithm_error)?;
    as_array(py, firsts, missing)
}

/// The first row of each row's cluster, with -1 for the rows that are missing.
fn as_array(py: Python<'_>, firsts: Vec<u32>, missing: Vec<usize>) -> PyResult<Bound<'_, PyAny>> {
    let mut clusters: Vec<i64> = Vec::new();
    clusters.try_reserve_exact(firsts.len()).map_err(|_| algorithm_error(Error::OutOfMemory))?;
    clusters.extend(firsts.into_iter().map(i64::from));
    for row in missing {
        clusters[row] = -1;
    }
    array(py, clusters)
}

/// The first text of each text's cluster, and the texts that are in none.
fn of_texts(
    criterion: TextCriterion,
    texts: &[Option<PyBackedStr>],
    options: &Options,
    signals: &Signals,
) -> Result<(Vec<u32>, Vec<usize>), Error> {
    let tick = || signals.tick();
    let mut rows = Texts::with_capacity(texts.len(), criterion, options)?;
    let mut missing = Vec::new();
    for (row, text) in texts.iter().enumerate() {
        let sketch = match text {
            Some(text) => {
                with_fingerprinter(|fingerprinter| fingerprinter.sketch(text, options, criterion.bands, &tick))?
            }
            None => None,
        };
        if sketch.is_none() {
            missing.try_reserve(1)?;
            missing.push(row);
        }
        rows.push(sketch.as_ref())?;
    }
    let mut verification = Verification::<Confirmed>::new(rows, BUDGET, &tick)?;
    while let Some(row) = verification.row_to_read(&tick)? {
        let features = match &texts[row as usize] {
            Some(text) => with_fingerprinter(|fingerprinter| FeatureSet::new(fingerprinter, text, options, &tick))?,
            None => None,
        };
        verification.push(features, &tick)?;
    }
    Ok((verification.into_results(&tick)?, missing))
}
