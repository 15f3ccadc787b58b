//! The Python objects that carry Arrow data: the PyCapsule interface.

use std::ffi::CStr;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyTuple};

use super::interface::{ArrowArray, ArrowArrayStream, ArrowSchema, Chunk, Owned, Release, Type};

pub const SCHEMA: &CStr = c"arrow_schema";
pub const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// The chunks of a column.
pub struct Stream<'py> {
    py: Python<'py>,
    stream: Option<Owned<ArrowArrayStream>>,
    /// The only chunk of an array that is no stream.
    only: Option<Chunk>,
    pub kind: Type,
}

/// The chunks of an object that exports Arrow data; None if it does not.
pub fn read_arrow<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Stream<'py>>> {
    let py = object.py();
    if let Some(export) = object.getattr_opt(intern!(py, "__arrow_c_array__"))? {
        let capsules = export.call0()?;
        let (schema, array) = capsules.cast_into::<PyTuple>()?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        let schema = take::<ArrowSchema>(&schema, SCHEMA)?;
        let only = Some(Chunk(take::<ArrowArray>(&array, ARRAY)?));
        return Ok(Some(Stream { py, stream: None, only, kind: Type::new(&schema.0) }));
    }
    let Some(export) = object.getattr_opt(intern!(py, "__arrow_c_stream__"))? else { return Ok(None) };
    let mut stream = take::<ArrowArrayStream>(&export.call0()?, STREAM)?;
    let mut schema = Owned::<ArrowSchema>::empty();
    let status = match stream.0.get_schema {
        // SAFETY: the stream is not released, and the schema is empty.
        Some(get_schema) => unsafe { get_schema(&mut stream.0, &mut schema.0) },
        None => -1,
    };
    if status != 0 || schema.is_released() {
        return Err(failed(&mut stream));
    }
    Ok(Some(Stream { py, stream: Some(stream), only: None, kind: Type::new(&schema.0) }))
}

impl Iterator for Stream<'_> {
    type Item = PyResult<Chunk>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(stream) = &mut self.stream else { return self.only.take().map(Ok) };
        if let Err(raised) = self.py.check_signals() {
            return Some(Err(raised));
        }
        let mut array = Owned::<ArrowArray>::empty();
        let status = match stream.0.get_next {
            // SAFETY: the stream is not released, and the array is empty.
            Some(get_next) => unsafe { get_next(&mut stream.0, &mut array.0) },
            None => -1,
        };
        if status != 0 {
            let error = failed(stream);
            self.stream = None;
            return Some(Err(error));
        }
        if array.is_released() {
            return None; // the end
        }
        Some(Ok(Chunk(array)))
    }
}

/// Moves the structure out of a capsule with this name.
fn take<T: Release>(capsule: &Bound<'_, PyAny>, name: &'static CStr) -> PyResult<Owned<T>> {
    let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?.cast::<T>();
    // SAFETY: the interface says which structure a capsule of this name has. It is the consumer's to move, and nobody
    // else reads it, since the capsule was made for this call.
    let owned = Owned::take(unsafe { &mut *pointer.as_ptr() });
    if owned.is_released() {
        return Err(PyValueError::new_err("the Arrow data has been released"));
    }
    Ok(owned)
}

/// The exception for a stream that has failed.
fn failed(stream: &mut Owned<ArrowArrayStream>) -> PyErr {
    let message = stream.0.get_last_error.and_then(|get_last_error| {
        // SAFETY: the stream is not released. Its message is a string, or null, until the next call.
        unsafe {
            let message = get_last_error(&mut stream.0);
            (!message.is_null()).then(|| CStr::from_ptr(message).to_string_lossy().into_owned())
        }
    });
    PyValueError::new_err(match message {
        Some(message) => format!("the Arrow stream has failed: {message}"),
        None => "the Arrow stream has failed".to_owned(),
    })
}

/// The exception for a column of another type.
pub fn wrong_type(what: &str, expected: &str, found: &Type) -> PyErr {
    if found.is_dictionary {
        return PyTypeError::new_err(format!(
            "an Arrow column of {what} must be of {expected}, not dictionary-encoded. Cast it first."
        ));
    }
    PyTypeError::new_err(format!(
        "an Arrow column of {what} must be of {expected}, not of format {:?}. Pass a column, not a table.",
        found.format
    ))
}
