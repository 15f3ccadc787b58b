//! Radii of blocks as SQL passes them: an `integer[]` with one radius for each block of a layout.

use pgrx::AnyArray;
use pgrx::prelude::*;
use postgres::arrays::integers;
use postgres::error::{ErrorReport, Result, user_error};
use simhash::search::blocks::BLOCK_COUNTS;
use simhash::search::nearness::Nearness;

/// When two fingerprints are near, by a distance and the radii in an `integer[]`; an error if the radii fit no layout.
pub fn check_radii(max_distance: i32, radii: &AnyArray) -> Result<Nearness> {
    let radii = integers(radii, "radii")?;
    Nearness::by_radii(max_distance, radii).ok_or_else(|| wrong_radii(radii))
}

fn wrong_radii(radii: &[i32]) -> ErrorReport {
    let (message, detail) = match radii.iter().find(|&&radius| radius < -1) {
        Some(radius) => (
            format!("radius {radius} is out of range"),
            "A radius is a number of bits, or -1 for a block that is not compared.".to_owned(),
        ),
        None => (
            format!("number of radii {} is out of range", radii.len()),
            format!(
                "There is one radius for each of {} to {} blocks, or none.",
                BLOCK_COUNTS.start(),
                BLOCK_COUNTS.end()
            ),
        ),
    };
    user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message).set_detail(detail)
}
