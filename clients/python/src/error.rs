//! Exceptions for what cannot be done.

use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use simhash::error::Error;
use simhash::fingerprint::invalid_options::{InvalidOptions, Reason};

/// The exception for an error of the crate `simhash`.
pub fn algorithm_error(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::OutOfMemory => PyMemoryError::new_err(message),
        Error::WeightOverflow => PyOverflowError::new_err(message),
        Error::CombiningSequenceTooLong
        | Error::NormalFormTooLong
        | Error::TooManyFeatures
        | Error::FeaturesTooLong
        | Error::HeadlineTooLong
        | Error::TooManyRows => PyValueError::new_err(message),
    }
}

/// The exception for invalid options: as for other functions, an unknown keyword argument is a `TypeError`.
pub fn invalid_options(invalid: &InvalidOptions) -> PyErr {
    if let Reason::Failed(error) = &invalid.reason {
        return algorithm_error(*error);
    }
    let sentences = [Some(format!("{invalid}.")), invalid.detail(), invalid.hint()];
    let message = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    match invalid.reason {
        Reason::UnknownKey(_) => PyTypeError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// The exception for an object of a wrong type: "texts must be str or None, not int".
pub fn wrong_type(what: &str, expected: &str, object: &Bound<'_, PyAny>) -> PyErr {
    match object.get_type().name() {
        Ok(name) => PyTypeError::new_err(format!("{what} must be {expected}, not {name}")),
        Err(error) => error,
    }
}
