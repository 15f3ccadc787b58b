//! `passages`, `contains`, `coverage`, `matches` and `runs`: which texts have a clue, and where.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyType};
use simhash::within;
use simhash::within::matches::{MAX_CHANGED, Match, Unit};
use simhash::within::passages::ShortClue;

use crate::fingerprint::with_texts;
use crate::results::named_tuples;
use crate::texts::text_argument;

/// Return the passages of a text, as SQL's simhash_passages does: hashes of runs of words, in ascending order.
///
/// Two texts that have 11 words in a row in common, or 13 words and letters of a script without spaces, have a passage
/// in common. Of the options, tokens, case_fold, ignore and markup count.
///
/// >>> text = "a passage is a run of words that stands in more than one of the texts"
/// >>> bool(set(passages(text)) & set(passages("as he says, " + text)))
/// True
#[pyfunction]
#[pyo3(signature = (text, /, **options))]
pub fn passages(text: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<i64>> {
    let texts = [text_argument(text, "text")?];
    let hashes =
        with_texts(text.py(), texts, options, |fingerprinter, [text]| within::passages::passages(fingerprinter, text))?;
    Ok(hashes.into_iter().map(u64::cast_signed).collect())
}

/// Return whether a text has a passage in common with a clue's runs, and at least this share of its words, as SQL's
/// simhash_contains does.
///
/// A clue of fewer than 4 words, or 5 letters of a script without spaces, is a ValueError.
///
/// >>> contains("a passage is a run of words", "is a run of words")
/// True
#[pyfunction]
#[pyo3(signature = (content, clue, /, share = 0.6, **options))]
pub fn contains<'py>(
    content: &Bound<'py, PyAny>,
    clue: &Bound<'py, PyAny>,
    share: f64,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<bool> {
    if !(0.0..=1.0).contains(&share) {
        return Err(PyValueError::new_err(format!(
            "share {share} is out of range. Give a number from 0 to 1: 0.6 for three words in five of the clue."
        )));
    }
    let texts = [text_argument(content, "content")?, text_argument(clue, "clue")?];
    with_texts(content.py(), texts, options, |fingerprinter, [content, clue]| {
        within::passages::contains(fingerprinter, content, clue, share)
    })?
    .map_err(|short| PyValueError::new_err(format!("{short}. {}", ShortClue::detail())))
}

/// Return the share of a clue's words that are in matches with a text, 0 to 1, as SQL's simhash_coverage does.
///
/// None if the clue has no word.
///
/// >>> coverage("a passage is a run of words", "a run of words")
/// 1.0
#[pyfunction]
#[pyo3(signature = (content, clue, /, **options))]
pub fn coverage<'py>(
    content: &Bound<'py, PyAny>,
    clue: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<f64>> {
    let texts = [text_argument(content, "content")?, text_argument(clue, "clue")?];
    with_texts(content.py(), texts, options, |fingerprinter, [content, clue]| {
        within::matches::coverage(fingerprinter, content, clue)
    })
}

/// Return where a text and a clue have at least three words in a row in common, as SQL's simhash_matches does.
///
/// The matches are named tuples (content_start, content_end, clue_start, clue_end, words, changed), in the order of the
/// text: content[content_start:content_end] is what clue[clue_start:clue_end] is but for the changed words.
///
/// >>> matches("a passage is a run of words", "It is a run of words")
/// [Match(content_start=10, content_end=27, clue_start=3, clue_end=20, words=5, changed=0)]
#[pyfunction]
#[pyo3(signature = (content, clue, /, **options))]
pub fn matches<'py>(
    content: &Bound<'py, PyAny>,
    clue: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    list_matches(content, clue, MAX_CHANGED, options)
}

/// Return the runs of which matches are made: those between which no word differs.
#[pyfunction]
#[pyo3(signature = (content, clue, /, **options))]
pub fn runs<'py>(
    content: &Bound<'py, PyAny>,
    clue: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    list_matches(content, clue, 0, options)
}

fn list_matches<'py>(
    content: &Bound<'py, PyAny>,
    clue: &Bound<'py, PyAny>,
    max_changed: usize,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    static MATCH: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let texts = [text_argument(content, "content")?, text_argument(clue, "clue")?];
    let found = with_texts(content.py(), texts, options, |fingerprinter, [content, clue]| {
        within::matches::matches(fingerprinter, content, clue, max_changed, Unit::Characters)
    })?;
    let fields = found.into_iter().map(|Match { content, clue, words, changed }| {
        (content.start, content.end, clue.start, clue.end, words, changed)
    });
    named_tuples(MATCH.import(content.py(), "pg_simhash._results", "Match")?, fields)
}
