//! Arguments of functions that are not STRICT.

use std::ffi::CStr;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::error::user_error;
use super::spi::from_server;

/// An argument that must be given.
pub fn required<T>(value: Option<T>, argument: &str) -> Result<T, ErrorReport> {
    value.ok_or_else(|| {
        user_error(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, format!("{argument} must not be NULL"))
    })
}

/// A name that must be given.
pub fn name(name: Option<&CStr>, argument: &str) -> Result<String, ErrorReport> {
    let name = required(name, argument)?;
    // SAFETY: it is NUL-terminated.
    unsafe { from_server(name.as_ptr()) }
}
