//! Single arguments: a fingerprint, a distance.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::error::wrong_type;

/// A fingerprint: a signed 64-bit integer, as PostgreSQL's bigint.
pub struct Fingerprint(pub u64);

impl<'py> FromPyObject<'_, 'py> for Fingerprint {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<i64>() {
            Ok(fingerprint) => Ok(Self(fingerprint.cast_unsigned())),
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
                // Python does not show integers of more than some thousand digits.
                let shown = object.str().map_or_else(|_| "of so many digits".to_owned(), |number| number.to_string());
                Err(PyOverflowError::new_err(format!(
                    "fingerprint {shown} is out of range for a signed 64-bit integer. \
                     If it is an unsigned one of 2**63 or more, subtract 2**64."
                )))
            }
            Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => {
                Err(wrong_type("fingerprint", "int", &object))
            }
            Err(error) => Err(error),
        }
    }
}

/// A maximum distance; an exception unless it is from 0 to 64.
pub fn check_distance(distance: i64) -> PyResult<i32> {
    match i32::try_from(distance) {
        Ok(distance) if (0..=64).contains(&distance) => Ok(distance),
        _ => Err(PyValueError::new_err(format!(
            "maximum distance {distance} is out of range. Two fingerprints differ in 0 to 64 bits."
        ))),
    }
}
