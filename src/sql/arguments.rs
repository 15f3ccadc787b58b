//! Arguments of several functions, with the errors for those that are NULL or out of range.

use std::ffi::CStr;

use pgrx::prelude::*;
use postgres::error::{Explain, Result, invalid_parameter, user_error};
use postgres::server_string::server_string;

/// The value of an argument, which the message names; an error if it is NULL.
pub fn required<T>(value: Option<T>, argument: &str) -> Result<T> {
    value.ok_or_else(|| {
        user_error(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, format!("{argument} must not be NULL"))
    })
}

/// The value of an argument of type `name`; an error if it is NULL.
pub fn required_name(name: Option<&CStr>, argument: &str) -> Result<String> {
    server_string(required(name, argument)?.to_bytes())
}

/// Returns `max_distance`; an error unless it is from 0 to 64.
pub fn check_max_distance(max_distance: i32) -> Result<i32> {
    if (0..=64).contains(&max_distance) {
        return Ok(max_distance);
    }
    Err(invalid_parameter(format!("maximum distance {max_distance} is out of range"))
        .with_detail("Two fingerprints differ in 0 to 64 bits."))
}
