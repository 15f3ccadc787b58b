//! Texts that a caller passes.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyByteArray, PyBytes, PyString};

use crate::cancel::interruptible;
use crate::error::wrong_type;
use crate::{numpy, pandas};

/// The text of an argument; an exception if it is not a str.
pub fn text_argument<'a>(object: &'a Bound<'_, PyAny>, argument: &str) -> PyResult<&'a str> {
    match object.cast::<PyString>() {
        Ok(text) => text.to_str(),
        Err(_) => Err(wrong_type(argument, "str", object)),
    }
}

/// An element of a list of texts; `index` counts from 0.
pub fn text_element(object: &Bound<'_, PyAny>, index: usize) -> PyResult<Option<PyBackedStr>> {
    if object.is_none() {
        return Ok(None);
    }
    match object.cast::<PyString>() {
        Ok(text) => PyBackedStr::try_from(text.clone()).map(Some),
        Err(_) => Err(wrong_type(&format!("texts[{index}]"), "str or None", object)),
    }
}

/// Whether an object is bytes, a bytearray or a data frame of pandas, which yields the names of its columns: an
/// iterable, but of neither texts nor fingerprints.
pub fn is_no_column(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_bytes = object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>();
    Ok(is_bytes || pandas::is_frame(object)?)
}

/// A column as an iterable of Python's objects: a series of pandas, a NumPy array, Arrow data of pyarrow, or an
/// iterable, which is returned as it is. Missing elements are None.
pub fn python_iterable<'py>(column: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if pandas::is_series(column)? {
        return pandas::to_list(column);
    }
    if numpy::is_array(column)? {
        return numpy::to_list(column);
    }
    // Iterating over Arrow data yields Arrow scalars.
    match column.getattr_opt(intern!(column.py(), "to_pylist"))? {
        Some(to_list) => to_list.call0(),
        None => Ok(column.clone()),
    }
}

/// Texts, one for each row, of a column or an iterable of `str` or None.
pub fn text_column(texts: &Bound<'_, PyAny>) -> PyResult<Vec<Option<PyBackedStr>>> {
    let texts = python_iterable(texts)?;
    if texts.is_instance_of::<PyString>() || is_no_column(&texts)? {
        return Err(wrong_type("texts", "a sequence of str or None", &texts));
    }
    let texts = interruptible(texts.py(), texts.try_iter()?);
    texts.enumerate().map(|(index, text)| text_element(&text??, index)).collect()
}
