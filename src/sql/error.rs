//! Errors as the user sees them.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::simhash::error::Error;

/// An error with a SQLSTATE and a message; `set_detail` and `set_hint` add to it.
#[track_caller]
pub fn user_error(code: PgSqlErrorCode, message: impl Into<String>) -> ErrorReport {
    ErrorReport::new(code, message.into(), "pg_simhash")
}

impl From<Error> for ErrorReport {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::OutOfMemory => PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
            Error::CombiningSequenceTooLong
            | Error::NormalFormTooLong
            | Error::TooManyFeatures
            | Error::FeaturesTooLong => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            Error::WeightOverflow => PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
        };
        user_error(code, error.to_string())
    }
}

/// Lets the user cancel: the tick of the algorithm's loops.
pub fn tick() {
    pgrx::check_for_interrupts!();
}
