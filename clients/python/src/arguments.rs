//! Single arguments: a fingerprint, a distance, a resemblance.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use simhash::search::blocks::BLOCK_COUNTS;
use simhash::search::nearness::Nearness;

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

/// When fingerprints are near, by a distance and radii; an exception unless the radii are those of a layout.
pub fn check_radii(max_distance: i32, radii: &[i64]) -> PyResult<Nearness> {
    // Radii beyond 64 are as good as 64.
    let narrow: Vec<i32> = radii.iter().take(9).map(|radius| (*radius).clamp(-2, 64) as i32).collect();
    Nearness::by_radii(max_distance, &narrow).ok_or_else(|| {
        PyValueError::new_err(match radii.iter().find(|radius| **radius < -1) {
            Some(radius) => format!(
                "radius {radius} is out of range. A radius is a number of bits, or -1 for a block that is not compared."
            ),
            None => format!(
                "number of radii {} is out of range. There is one radius for each of {} to {} blocks, or none.",
                radii.len(),
                BLOCK_COUNTS.start(),
                BLOCK_COUNTS.end()
            ),
        })
    })
}

/// A least resemblance; an exception unless it is from 0 to 1.
pub fn check_resemblance(resemblance: f64) -> PyResult<f64> {
    if (0.0..=1.0).contains(&resemblance) {
        return Ok(resemblance);
    }
    Err(PyValueError::new_err(format!(
        "resemblance {resemblance} is out of range. Give the least resemblance of two texts, from 0 to 1."
    )))
}
