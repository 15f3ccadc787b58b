//! Errors, warnings and notices for the user.

pub use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use simhash::error::Error;

use super::encoding::{database_encoding, readable};

/// A result whose error is reported to the user.
pub type Result<T, E = ErrorReport> = std::result::Result<T, E>;

/// Adds a detail and a hint to an error, converted so that the server can send them, as pgrx does not convert them.
pub trait Explain {
    fn with_detail(self, detail: impl Into<String>) -> Self;
    fn with_hint(self, hint: impl Into<String>) -> Self;
}

#[allow(clippy::disallowed_methods)] // Only here, what they are given is converted.
impl Explain for ErrorReport {
    fn with_detail(self, detail: impl Into<String>) -> Self {
        self.set_detail(sendable(detail.into()))
    }

    fn with_hint(self, hint: impl Into<String>) -> Self {
        self.set_hint(sendable(hint.into()))
    }
}

/// An error with a SQLSTATE and a message.
#[track_caller]
pub fn user_error(code: PgSqlErrorCode, message: impl Into<String>) -> ErrorReport {
    ErrorReport::new(code, sendable(message.into()), "pg_simhash")
}

/// The error for an argument with a wrong value.
#[track_caller]
pub fn invalid_parameter(message: impl Into<String>) -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
}

/// The error for an object of a kind that the extension does not support.
#[track_caller]
pub fn not_supported(message: impl Into<String>) -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
}

/// The error for an object that is not in the state that a command or a guard needs.
#[track_caller]
pub fn wrong_state(message: impl Into<String>) -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// Raises an error, in code that cannot return it, such as a callback of PostgreSQL.
pub fn raise(error: ErrorReport) -> ! {
    error.report(PgLogLevel::ERROR);
    unreachable!("an error has been reported")
}

/// Raises the error for a lack of memory, in code that cannot return it.
pub fn out_of_memory() -> ! {
    raise(algorithm_error(Error::OutOfMemory))
}

/// Sends a notice to the client.
pub fn notice(message: String) {
    notice!("{}", sendable(message));
}

/// Converts a message, whose names are server strings ([`super::encoding`]), so that the server can send it. The server
/// expects its own encoding, and fails on other bytes. So in encodings other than UTF-8 and SQL_ASCII, non-ASCII
/// characters are escaped.
pub(super) fn sendable(message: String) -> String {
    let in_utf8 = readable(&message);
    if in_utf8.is_ascii() || matches!(database_encoding(), pg_sys::pg_enc::PG_UTF8 | pg_sys::pg_enc::PG_SQL_ASCII) {
        return in_utf8.into_owned();
    }
    let escape = |c: char| if c.is_ascii() { c.to_string() } else { c.escape_unicode().to_string() };
    in_utf8.chars().map(escape).collect()
}

/// Converts an error of the crate `simhash` to a user error with its SQLSTATE.
#[track_caller]
pub fn algorithm_error(error: Error) -> ErrorReport {
    let code = match error {
        Error::OutOfMemory => PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
        Error::CombiningSequenceTooLong
        | Error::NormalFormTooLong
        | Error::TooManyFeatures
        | Error::FeaturesTooLong
        | Error::HeadlineTooLong
        | Error::TooManyRows => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        Error::WeightOverflow => PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
    };
    user_error(code, error.to_string())
}
