//! `clusters` and `text_clusters`: the clusters of near-duplicates among many fingerprints or texts; `duplicate_of`:
//! which texts stay if each near-duplicate of an earlier one goes.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use simhash::error::Error;
use simhash::pairs::{self, ConfirmedClusters, KeptRows, Outcome};

use crate::arguments::check_distance;
use crate::cancel::detached;
use crate::error::{algorithm_error, invalid_options};
use crate::fingerprints::FingerprintColumn;
use crate::numpy::{self, array};
use crate::options;
use crate::texts::text_column;

/// Return the cluster of each row as a NumPy array of int64: the position, from 0, of the first row of its cluster.
///
/// A cluster is all rows that are connected by pairs at a distance of at most max_distance. SQL's simhash_cluster
/// returns the key of the first row instead. A row without a fingerprint is in no cluster: -1.
///
/// The fingerprints are a NumPy array of int64, whose masked elements are missing, or an iterable of int or None, or a
/// Series of pandas, or Arrow data.
///
/// Needs 40 bytes for each fingerprint. The GIL is released.
///
/// >>> clusters([0, -1, None, 7]).tolist()
/// [0, 1, -1, 0]
#[pyfunction]
#[pyo3(signature = (fingerprints, max_distance = 3))]
pub fn clusters<'py>(fingerprints: &Bound<'py, PyAny>, max_distance: i64) -> PyResult<Bound<'py, PyAny>> {
    let py = fingerprints.py();
    let max_distance = check_distance(max_distance)?;
    numpy::require(py)?;
    let FingerprintColumn { rows, missing } = FingerprintColumn::read(fingerprints)?;
    let firsts = detached(py, |tick| pairs::clusters(rows, max_distance, tick))?;
    let mut missing = missing.into_iter().peekable();
    as_array(py, firsts.into_iter().enumerate().map(|(row, first)| missing.next_if_eq(&row).is_none().then_some(first)))
}

/// Return the cluster of each text as a NumPy array of int64: the position, from 0, of the first text of its cluster.
///
/// A cluster is all texts that are connected by near pairs (see near). SQL's simhash_cluster of texts returns the key
/// of the first row instead. A text that is None or has no word is in no cluster: -1.
///
/// The texts are an iterable of str or None, or a Series of pandas, or Arrow data. The keyword arguments are the keys
/// of a criterion, as in SQL: resemblance (0.84 by default), bands, and options.
///
/// Needs 90 to 120 bytes for each text, and features of texts: up to 256 MB. The GIL is released.
///
/// >>> text_clusters(["one two three four", "five six seven", "ONE two, three four", None]).tolist()
/// [0, 1, 0, -1]
#[pyfunction]
#[pyo3(signature = (texts, **criterion), text_signature = "(texts, **criterion)")]
pub fn text_clusters<'py>(
    texts: &Bound<'py, PyAny>,
    criterion: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    as_array(texts.py(), representatives_of::<ConfirmedClusters>(texts, criterion)?.into_iter())
}

/// Return for each text the position, from 0, of the earlier text that it duplicates, as a NumPy array of int64; -1 for
/// a text that stays.
///
/// A text goes if it is near (see near) an earlier one that stays: of several, it duplicates the one that it resembles
/// most. SQL's simhash_duplicate_of returns the key of that text's row. A text that is None or has no word stays.
///
/// The texts and the keyword arguments are those of text_clusters, and so is the cost.
///
/// >>> texts = ["one two three four", "five six seven", "ONE two, three four", None]
/// >>> duplicate_of(texts).tolist()
/// [-1, -1, 0, -1]
/// >>> [text for text, earlier in zip(texts, duplicate_of(texts)) if earlier == -1]
/// ['one two three four', 'five six seven', None]
#[pyfunction]
#[pyo3(signature = (texts, **criterion), text_signature = "(texts, **criterion)")]
pub fn duplicate_of<'py>(
    texts: &Bound<'py, PyAny>,
    criterion: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let representatives = representatives_of::<KeptRows>(texts, criterion)?.into_iter().enumerate();
    as_array(texts.py(), representatives.map(|(row, first)| first.filter(|&first| first as usize != row)))
}

/// The text that represents each text; None for one without a feature.
fn representatives_of<O: Outcome>(
    texts: &Bound<'_, PyAny>,
    criterion: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Option<u32>>> {
    let document = options::read_criterion(criterion)?;
    let criterion = document.for_texts().map_err(|invalid| invalid_options(&invalid))?;
    numpy::require(texts.py())?;
    let column = text_column(texts)?;
    detached(texts.py(), |tick| pairs::representatives::<O>(&column, criterion, &document.options, tick))
}

/// The positions of rows as an array, in which -1 stands for None.
fn as_array(py: Python<'_>, rows: impl ExactSizeIterator<Item = Option<u32>>) -> PyResult<Bound<'_, PyAny>> {
    let mut numbers: Vec<i64> = Vec::new();
    numbers.try_reserve_exact(rows.len()).map_err(|_| algorithm_error(Error::OutOfMemory))?;
    numbers.extend(rows.map(|row| row.map_or(-1, i64::from)));
    array(py, numbers)
}
