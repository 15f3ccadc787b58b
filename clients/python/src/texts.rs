//! Texts that a caller passes.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyByteArray, PyBytes, PyString};

use crate::arrow::{ArrowTexts, NotUtf8, arrow_texts, read_arrow};
use crate::error::wrong_type;
use crate::numpy::{is_array, to_list};
use crate::pandas;

/// The text of an argument that must be one.
pub fn required<'a>(object: &'a Bound<'_, PyAny>, argument: &str) -> PyResult<&'a str> {
    match object.cast::<PyString>() {
        Ok(text) => text.to_str(),
        Err(_) => Err(wrong_type(argument, "str", object)),
    }
}

/// An element of a list of texts; `index` counts from 0.
pub fn element(object: &Bound<'_, PyAny>, index: usize) -> PyResult<Option<PyBackedStr>> {
    if object.is_none() {
        return Ok(None);
    }
    match object.cast::<PyString>() {
        Ok(text) => PyBackedStr::try_from(text.clone()).map(Some),
        Err(_) => Err(wrong_type(&format!("texts[{index}]"), "str or None", object)),
    }
}

/// Whether an object is of bytes: an iterable of `int`, which stands neither for texts nor for fingerprints.
pub fn is_bytes(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>()
}

/// Texts, one for each row.
pub enum TextColumn {
    Strings(Vec<Option<PyBackedStr>>),
    /// Chunks, each with the number of the rows before it.
    Arrow(Vec<(usize, ArrowTexts)>),
}

impl TextColumn {
    /// Reads a series of pandas, Arrow data, a NumPy array or an iterable of `str` or None.
    pub fn read(texts: &Bound<'_, PyAny>) -> PyResult<Self> {
        if pandas::is_series(texts)? {
            return Self::read(&pandas::to_list(texts)?);
        }
        if let Some(arrow) = read_arrow(texts)? {
            let mut chunks = Vec::new();
            let mut rows = 0;
            for chunk in arrow_texts(arrow)? {
                let chunk = chunk?;
                let begin = rows;
                rows += chunk.len();
                chunks.push((begin, chunk));
            }
            return Ok(Self::Arrow(chunks));
        }
        let list = if is_array(texts)? { to_list(texts)? } else { texts.clone() };
        if list.is_instance_of::<PyString>() || is_bytes(&list) {
            return Err(wrong_type("texts", "a sequence of str or None", &list));
        }
        let strings = list.try_iter()?.enumerate().map(|(index, text)| element(&text?, index));
        Ok(Self::Strings(strings.collect::<PyResult<_>>()?))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Strings(strings) => strings.len(),
            Self::Arrow(chunks) => chunks.last().map_or(0, |(begin, chunk)| begin + chunk.len()),
        }
    }

    /// The text of a row; None if it has none.
    pub fn get(&self, row: usize) -> Result<Option<&str>, NotUtf8> {
        match self {
            Self::Strings(strings) => Ok(strings.get(row).and_then(Option::as_deref)),
            Self::Arrow(chunks) => {
                let after = chunks.partition_point(|(begin, _)| *begin <= row);
                match after.checked_sub(1) {
                    Some(index) => chunks[index].1.get(row - chunks[index].0),
                    None => Ok(None),
                }
            }
        }
    }
}
