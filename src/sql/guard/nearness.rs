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

/// What a user asks for, where the defaults depend on the table.
pub struct Asked {
    /// None for the default.
    max_distance: Option<i32>,
    resemblance: Resemblance,
}

#[derive(Clone, Copy)]
enum Resemblance {
    Default,
    Least(f64),
    /// The distance decides, and the texts are not read.
    Off,
}

/// SQL's default value of the argument, since NULL has a meaning of its own.
const DEFAULT: f64 = -1.0;

/// The default resemblance and distance where the texts decide. Of the true copies among news, licences and laws, they
/// find .97, .96 and .91, and at most 1 in 100 of the rows found is no copy (`docs/accuracy.md`).
const DEFAULT_RESEMBLANCE: f64 = 0.89;
const DISTANCE_WITH_TEXTS: i32 = 6;
/// The default distance where it decides alone (Manku, Jain and Das Sarma 2007).
const DISTANCE_ALONE: i32 = 3;

impl Asked {
    /// Reads the arguments of SQL functions: NULL is the default distance, and no resemblance.
    pub fn read(max_distance: Option<i32>, resemblance: Option<f64>) -> Result<Self, ErrorReport> {
        let resemblance = match resemblance {
            None => Resemblance::Off,
            Some(DEFAULT) => Resemblance::Default,
            Some(least) => Resemblance::Least(check_resemblance(least)?),
        };
        Ok(Self { max_distance: max_distance.map(check_distance).transpose()?, resemblance })
    }

    /// With the defaults for a table; `has_text` says whether its fingerprints are made from a text.
    pub fn with_defaults(&self, has_text: impl FnOnce() -> Result<bool, ErrorReport>) -> Result<Nearness, ErrorReport> {
        let resemblance = match self.resemblance {
            Resemblance::Default => has_text()?.then_some(DEFAULT_RESEMBLANCE),
            Resemblance::Least(least) => Some(least),
            Resemblance::Off => None,
        };
        let default = if resemblance.is_some() { DISTANCE_WITH_TEXTS } else { DISTANCE_ALONE };
        Ok(Nearness { max_distance: self.max_distance.unwrap_or(default), resemblance })
    }
}
