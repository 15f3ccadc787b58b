//! What makes two rows near-duplicates of each other, as one argument of the trigger says it.

use std::fmt;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::postgres::error::{shorten, user_error};
use crate::sql::arguments::{check_distance, check_resemblance};

/// When two rows are near-duplicates. As a trigger's argument: `3`, or `6 resemblance 0.89`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearness {
    /// The largest distance of their fingerprints.
    pub max_distance: i32,
    /// The smallest resemblance of their texts; None if the texts do not matter.
    pub resemblance: Option<f64>,
}

/// What stands between the distance and the resemblance.
const RESEMBLANCE: &str = "resemblance";

impl Nearness {
    pub fn parse(argument: &str) -> Result<Self, ErrorReport> {
        let words: Vec<_> = argument.split_ascii_whitespace().collect();
        let (distance, resemblance) = match words[..] {
            [distance, RESEMBLANCE, resemblance] => (distance, Some(resemblance)),
            _ => (argument, None),
        };
        let number = |of: &str, given: &str| {
            let message = format!("{of} \"{}\" is not a number", shorten(given));
            user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message).set_hint(
                "The argument is a distance, such as 3, or a distance and a resemblance, such as 6 resemblance 0.89.",
            )
        };
        let max_distance = distance.parse().map_err(|_| number("maximum distance", distance))?;
        let resemblance = match resemblance {
            Some(given) => Some(check_resemblance(given.parse().map_err(|_| number(RESEMBLANCE, given))?)?),
            None => None,
        };
        Ok(Self { max_distance: check_distance(max_distance)?, resemblance })
    }
}

impl fmt::Display for Nearness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.resemblance {
            Some(resemblance) => write!(f, "{} {RESEMBLANCE} {resemblance}", self.max_distance),
            None => write!(f, "{}", self.max_distance),
        }
    }
}
