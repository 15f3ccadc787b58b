//! The criterion of near-duplicates, which is one argument of a guard's trigger.

use std::fmt;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::error::{shorten, user_error};
use simhash::search::nearness::Nearness;

use crate::sql::arguments::{check_distance, check_resemblance};
use crate::sql::radii::wrong_radii;

/// The criterion by which two rows are near-duplicates. As a trigger's argument: `3`, or `10 radii 1,1,1,1 resemblance
/// 0.84 options {"same": ["numbers"]}`.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardCriterion {
    /// Which fingerprints are near.
    pub near: Nearness,
    /// The smallest resemblance of the texts; None if texts are not compared.
    pub resemblance: Option<f64>,
    /// The options with which texts are compared, as JSON; None for the options of the fingerprints.
    pub options: Option<String>,
}

/// The keywords in the argument before the radii, the resemblance and the options.
const RADII_KEYWORD: &str = "radii";
const RESEMBLANCE_KEYWORD: &str = "resemblance";
const OPTIONS_KEYWORD: &str = " options ";

impl GuardCriterion {
    pub fn parse(argument: &str) -> Result<Self, ErrorReport> {
        let wrong = |of: &str, given: &str| {
            let message = format!("{of} \"{}\" is not a number", shorten(given));
            user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message).set_hint(
                "The argument is a distance, such as 3, with the radii of blocks and a resemblance if they matter: 10 \
                 radii 1,1,1,1 resemblance 0.84.",
            )
        };
        let (argument, options) = match argument.split_once(OPTIONS_KEYWORD) {
            Some((numbers, options)) => (numbers, Some(options.to_owned())),
            None => (argument, None),
        };
        let words: Vec<_> = argument.split_ascii_whitespace().collect();
        let (distance, radii, resemblance) = match words[..] {
            [distance, RADII_KEYWORD, radii, RESEMBLANCE_KEYWORD, resemblance] => {
                (distance, Some(radii), Some(resemblance))
            }
            [distance, RADII_KEYWORD, radii] => (distance, Some(radii), None),
            [distance, RESEMBLANCE_KEYWORD, resemblance] => (distance, None, Some(resemblance)),
            _ => (argument, None, None),
        };
        let max_distance = distance.parse().map_err(|_| wrong("maximum distance", distance))?;
        let radii: Option<Vec<i32>> = radii
            .map(|radii| radii.split(',').map(|radius| radius.parse().map_err(|_| wrong("radius", radius))).collect())
            .transpose()?;
        let near = by_radii(check_distance(max_distance)?, &radii.unwrap_or_default())?;
        let resemblance = match resemblance {
            Some(given) => Some(check_resemblance(given.parse().map_err(|_| wrong(RESEMBLANCE_KEYWORD, given))?)?),
            None => None,
        };
        Ok(Self { near, resemblance, options })
    }
}

impl fmt::Display for GuardCriterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.near.max_distance())?;
        if self.near.blocks().is_some() {
            let radii: Vec<_> = self.near.radii().map(|radius| radius.to_string()).collect();
            write!(f, " {RADII_KEYWORD} {}", radii.join(","))?;
        }
        if let Some(resemblance) = self.resemblance {
            write!(f, " {RESEMBLANCE_KEYWORD} {resemblance}")?;
        }
        match &self.options {
            Some(options) => write!(f, "{OPTIONS_KEYWORD}{options}"),
            None => Ok(()),
        }
    }
}

/// The fingerprints that are near by a distance and by the radii of blocks, if there are any.
pub fn by_radii(max_distance: i32, radii: &[i32]) -> Result<Nearness, ErrorReport> {
    Nearness::by_radii(max_distance, radii).ok_or_else(|| wrong_radii(radii))
}
