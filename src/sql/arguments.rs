//! Arguments of several functions, with the errors for those that are NULL or out of range.

use std::ffi::CStr;

use pgrx::AnyArray;
use pgrx::prelude::*;
use postgres::arrays::integers;
use postgres::error::{Result, invalid_parameter, user_error};
use postgres::text::from_bytes;
use simhash::search::blocks::BLOCK_COUNTS;
use simhash::search::nearness::Nearness;

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
    Err(invalid_parameter(format!("maximum distance {distance} is out of range"))
        .set_detail("Two fingerprints differ in 0 to 64 bits."))
}

/// When two fingerprints are near, by a distance and an `integer[]` with one radius for each block of a layout; an
/// error if the radii fit no layout.
pub fn check_radii(max_distance: i32, radii: &AnyArray) -> Result<Nearness> {
    let radii = integers(radii, "radii")?;
    Nearness::by_radii(max_distance, radii).ok_or_else(|| {
        let (least, most) = (BLOCK_COUNTS.start(), BLOCK_COUNTS.end());
        let (message, detail) = match radii.iter().find(|&&radius| radius < -1) {
            Some(radius) => (
                format!("radius {radius} is out of range"),
                "A radius is a number of bits, or -1 for a block that is not compared.".to_owned(),
            ),
            None => (
                format!("number of radii {} is out of range", radii.len()),
                format!("There is one radius for each of {least} to {most} blocks, or none."),
            ),
        };
        invalid_parameter(message).set_detail(detail)
    })
}
