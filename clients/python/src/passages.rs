//! `passages` and `coverage`: which texts have a clue.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use simhash::fingerprint::passages::{coverage as coverage_of, passages as passages_of};

use crate::cancel::detached_unless_small;
use crate::error::algorithm_error;
use crate::fingerprint::with_fingerprinter;
use crate::options;
use crate::resemblance::of_both;
use crate::texts::required;

/// Return the passages of a text, as SQL's simhash_passages does: hashes of runs of words, in ascending order.
///
/// Two texts that have 11 words in a row in common, or 13 words and letters of a script without spaces, have a passage
/// in common. Of the options, case_fold, ignore and markup count.
///
/// >>> text = "a passage is a run of words that stands in more than one of the texts"
/// >>> bool(set(passages(text)) & set(passages("as he says, " + text)))
/// True
#[pyfunction]
#[pyo3(signature = (text, /, **options))]
pub fn passages(text: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<i64>> {
    let (py, options, text) = (text.py(), options::read(options)?, required(text, "text")?);
    let found = detached_unless_small(py, text.len(), |signals| {
        with_fingerprinter(|fingerprinter| passages_of(fingerprinter, text, &options, &|| signals.tick()))
    })?;
    Ok(found.map_err(algorithm_error)?.into_iter().map(u64::cast_signed).collect())
}

/// Return the share of a clue's words that stand in a text as they do in the clue, 0 to 1, as SQL's simhash_coverage
/// does.
///
/// Words of runs of three words count that the text has too. None if the clue has no word.
///
/// >>> coverage("a run of words", "a passage is a run of words")
/// 1.0
#[pyfunction]
#[pyo3(signature = (clue, text, /, **options))]
pub fn coverage<'py>(
    clue: &Bound<'py, PyAny>,
    text: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<f64>> {
    of_both((clue, "clue"), (text, "text"), options, |fingerprinter, clue, text, options, signals| {
        coverage_of(fingerprinter, clue, text, options, &|| signals.tick())
    })
}
