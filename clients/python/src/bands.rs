//! `band`, `bands` and `size`: what an index on texts holds.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use simhash::fingerprint::Summary;
use simhash::fingerprint::bands::MAX_BANDS;

use crate::fingerprint::with_texts;
use crate::texts::text_argument;

/// Return a band of a text, 0 to 63, as SQL's simhash_band does: a signed 32-bit integer that texts share the more
/// probably the more they resemble each other.
///
/// None if the text has no feature. By the option same, texts that do not agree share no band. bands() computes many at
/// once.
///
/// >>> band("one two three four", 0) == bands("one two three four")[0]
/// True
#[pyfunction]
#[pyo3(signature = (text, band, /, **options))]
pub fn band(text: &Bound<'_, PyAny>, band: i64, options: Option<&Bound<'_, PyDict>>) -> PyResult<Option<i32>> {
    let number = usize::try_from(band)
        .ok()
        .filter(|number| *number < MAX_BANDS)
        .ok_or_else(|| PyValueError::new_err(format!("there is no band {band}. Bands are 0 to {}.", MAX_BANDS - 1)))?;
    Ok(summary(text, number + 1, options)?.map(|summary| summary.bands[number]))
}

/// Return the first bands of a text: by default the six by which SQL's simhash_near finds texts that resemble each
/// other by 0.8 or more.
///
/// None if the text has no feature. By the option same, texts that do not agree share no band.
///
/// >>> len(bands("one two three four"))
/// 6
/// >>> bands("One two, three four!") == bands("one two three four")
/// True
#[pyfunction]
#[pyo3(signature = (text, count = 6, /, **options))]
pub fn bands(text: &Bound<'_, PyAny>, count: i64, options: Option<&Bound<'_, PyDict>>) -> PyResult<Option<Vec<i32>>> {
    let count = usize::try_from(count).ok().filter(|count| (1..=MAX_BANDS).contains(count)).ok_or_else(|| {
        PyValueError::new_err(format!("number of bands {count} is out of range. A text has 1 to {MAX_BANDS}."))
    })?;
    Ok(summary(text, count, options)?.map(|summary| summary.bands))
}

/// Return the size of a text, as SQL's simhash_size does: the number of its features and pairs of neighbouring
/// features, by weight.
///
/// None if the text has no feature. The option same has no effect.
///
/// >>> size("one two three four")
/// 7
#[pyfunction]
#[pyo3(signature = (text, /, **options))]
pub fn size(text: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Option<i32>> {
    Ok(summary(text, 0, options)?.map(|summary| summary.size))
}

fn summary(text: &Bound<'_, PyAny>, bands: usize, options: Option<&Bound<'_, PyDict>>) -> PyResult<Option<Summary>> {
    let texts = [text_argument(text, "text")?];
    with_texts(text.py(), texts, options, |fingerprinter, [text]| fingerprinter.summary(text, bands))
}
