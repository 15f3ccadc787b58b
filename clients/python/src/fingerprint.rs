//! `simhash`: the fingerprints of texts.

use std::cell::Cell;

use ::simhash::FINGERPRINT_FORMAT;
use ::simhash::error::Error;
use ::simhash::fingerprint::options::Options;
use ::simhash::fingerprint::{Fingerprinter, Scratch};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::cancel::detached_unless_small;
use crate::error::wrong_type;
use crate::texts::{is_no_column, python_iterable, text_argument, text_element};
use crate::values::FingerprintValues;
use crate::{numpy, options, pandas};

/// Texts of a list are fingerprinted in batches, without the GIL. A batch ends at this many bytes, or this many texts.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_TEXTS: usize = 1 << 14;

thread_local! {
    /// Scratch memory, up to 1 MB for each thread.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Runs `work` with this thread's scratch memory. While it runs, a signal handler gets other memory. If `work` unwinds,
/// the memory is freed.
fn with_fingerprinter<T>(options: &Options, tick: &dyn Fn(), work: impl FnOnce(&mut Fingerprinter) -> T) -> T {
    let mut scratch = SCRATCH.take().unwrap_or_default();
    let result = work(&mut Fingerprinter::new(&mut scratch, options, tick));
    SCRATCH.set(Some(scratch));
    result
}

/// Calls `work` with a fingerprinter for the options and with the texts: without the GIL, unless the texts are small.
pub fn with_texts<T: Send, const N: usize>(
    py: Python<'_>,
    texts: [&str; N],
    options: Option<&Bound<'_, PyDict>>,
    work: impl FnOnce(&mut Fingerprinter, [&str; N]) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let options = options::read_options(options)?;
    detached_unless_small(py, texts.iter().map(|text| text.len()).sum(), |tick| {
        with_fingerprinter(&options, tick, |fingerprinter| work(fingerprinter, texts))
    })
}

/// Return the 64-bit fingerprint of a text: a signed integer, the same as SQL's simhash(text, options).
///
/// The fingerprint of None, and of a text without a feature, is None. A str with lone surrogates is a
/// UnicodeEncodeError.
///
/// For an iterable of str or None, and for Arrow data, return a list of fingerprints. For a NumPy array of such
/// objects, or of strings, return a masked array of int64, in which rows without a fingerprint are masked. For a Series
/// of pandas, return a Series of Int64 with the same index.
///
/// The options are those of SQL: tokens, ngram, weight, weights, case_fold, seed, markup, ignore and same,
/// which has no effect on fingerprints. The options are read once a call.
///
/// Takes about 2 ns for each byte of English. Needs memory for the normal form of the longest text and for its distinct
/// features; the GIL is released for texts of 4 kB or more. CPython keeps the UTF-8 form of a str that is not ASCII
/// as long as the str.
///
/// >>> simhash("one two three four") == simhash("One two, three four!")
/// True
/// >>> simhash(["...", None])
/// [None, None]
#[pyfunction]
#[pyo3(signature = (text, /, **options))]
pub fn simhash<'py>(text: &Bound<'py, PyAny>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
    let py = text.py();
    if text.is_instance_of::<PyString>() {
        let texts = [text_argument(text, "text")?];
        let fingerprint = with_texts(py, texts, options, |fingerprinter, [text]| fingerprinter.fingerprint(text))?;
        return Ok(fingerprint.map(u64::cast_signed).into_pyobject(py)?);
    }
    let options = options::read_options(options)?;
    if text.is_none() {
        return Ok(py.None().into_bound(py));
    }
    if !text.hasattr("__iter__")? || is_no_column(text)? {
        return Err(wrong_type("text", "str, None, or an iterable of them", text));
    }
    let fingerprints = fingerprint_all(&python_iterable(text)?, &options)?;
    if pandas::is_series(text)? {
        return pandas::series(text, fingerprints);
    }
    if numpy::is_array(text)? {
        return numpy::masked(text, fingerprints);
    }
    Ok(PyList::new(py, fingerprints.into_options())?.into_any())
}

/// The fingerprints of an iterable's texts.
fn fingerprint_all(texts: &Bound<'_, PyAny>, options: &Options) -> PyResult<FingerprintValues> {
    let py = texts.py();
    let mut fingerprints = FingerprintValues::default();
    let mut texts = texts.try_iter()?.enumerate();
    loop {
        py.check_signals()?;
        let mut batch = Vec::new();
        let mut bytes = 0;
        for (index, text) in texts.by_ref() {
            let text = text_element(&text?, index)?;
            bytes += text.as_deref().map_or(0, str::len);
            batch.push(text);
            if bytes >= BATCH_BYTES || batch.len() == BATCH_TEXTS {
                break;
            }
        }
        if batch.is_empty() {
            return Ok(fingerprints);
        }
        detached_unless_small(py, bytes, |tick| {
            for text in &batch {
                fingerprints.push(match text {
                    Some(text) => with_fingerprinter(options, tick, |fingerprinter| fingerprinter.fingerprint(text))?,
                    None => None,
                })?;
            }
            Ok(())
        })?;
    }
}

/// Return the version of the fingerprint format. Fingerprints of different versions must not be compared.
///
/// >>> format()
/// 2
#[pyfunction]
pub fn format() -> i32 {
    FINGERPRINT_FORMAT
}
