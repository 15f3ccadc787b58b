//! Arguments of functions that are not STRICT.

use std::ffi::CStr;

use pgrx::prelude::*;
use postgres::error::{Result, user_error};
use postgres::text::from_bytes;

pub fn required<T>(value: Option<T>, argument: &str) -> Result<T> {
    value.ok_or_else(|| {
        user_error(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, format!("{argument} must not be NULL"))
    })
}

pub fn name(name: Option<&CStr>, argument: &str) -> Result<String> {
    from_bytes(required(name, argument)?.to_bytes())
}

/// A maximum distance; an error unless it is from 0 to 64.
pub fn check_distance(distance: i32) -> Result<i32> {
    if (0..=64).contains(&distance) {
        return Ok(distance);
    }
    let message = format!("maximum distance {distance} is out of range");
    Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
        .set_detail("Two fingerprints differ in 0 to 64 bits."))
}
