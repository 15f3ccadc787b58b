//! What makes two rows near-duplicates of each other, as one argument of the trigger says it.

use std::fmt;

use pgrx::AnyArray;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use simhash::search::nearness::Nearness;

use crate::postgres::error::{shorten, user_error};
use crate::sql::arguments::{check_distance, check_resemblance};
use crate::sql::fingerprint::options::{Document, RawJsonb, read, to_json_text};
use crate::sql::radii::{check_radii, wrong_radii};

/// When two rows are near-duplicates. As a trigger's argument: `3`, or `10 radii 1,1,1,1 resemblance 0.89 options
/// {"numbers": "same"}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Criterion {
    /// When their fingerprints are near.
    pub near: Nearness,
    /// The smallest resemblance of their texts; None if the texts do not matter.
    pub resemblance: Option<f64>,
    /// The options with which texts are compared, as JSON; None for those of the fingerprints.
    pub options: Option<String>,
}

/// The words before the radii, the resemblance and the options.
const RADII: &str = "radii";
const RESEMBLANCE: &str = "resemblance";
const OPTIONS: &str = " options ";

impl Criterion {
    pub fn parse(argument: &str) -> Result<Self, ErrorReport> {
        let wrong = |of: &str, given: &str| {
            let message = format!("{of} \"{}\" is not a number", shorten(given));
            user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message).set_hint(
                "The argument is a distance, such as 3, with the radii of blocks and a resemblance if they matter: 10 \
                 radii 1,1,1,1 resemblance 0.89.",
            )
        };
        let (argument, options) = match argument.split_once(OPTIONS) {
            Some((numbers, options)) => (numbers, Some(options.to_owned())),
            None => (argument, None),
        };
        let words: Vec<_> = argument.split_ascii_whitespace().collect();
        let (distance, radii, resemblance) = match words[..] {
            [distance, RADII, radii, RESEMBLANCE, resemblance] => (distance, Some(radii), Some(resemblance)),
            [distance, RADII, radii] => (distance, Some(radii), None),
            [distance, RESEMBLANCE, resemblance] => (distance, None, Some(resemblance)),
            _ => (argument, None, None),
        };
        let max_distance = distance.parse().map_err(|_| wrong("maximum distance", distance))?;
        let radii: Option<Vec<i32>> = radii
            .map(|radii| radii.split(',').map(|radius| radius.parse().map_err(|_| wrong("radius", radius))).collect())
            .transpose()?;
        let near = by_radii(check_distance(max_distance)?, &radii.unwrap_or_default())?;
        let resemblance = match resemblance {
            Some(given) => Some(check_resemblance(given.parse().map_err(|_| wrong(RESEMBLANCE, given))?)?),
            None => None,
        };
        Ok(Self { near, resemblance, options })
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.near.max_distance())?;
        if self.near.blocks().is_some() {
            let radii: Vec<_> = self.near.radii().map(|radius| radius.to_string()).collect();
            write!(f, " {RADII} {}", radii.join(","))?;
        }
        if let Some(resemblance) = self.resemblance {
            write!(f, " {RESEMBLANCE} {resemblance}")?;
        }
        match &self.options {
            Some(options) => write!(f, "{OPTIONS}{options}"),
            None => Ok(()),
        }
    }
}

/// Criteria of which the first one is meant whose layout a table has indexed.
pub struct Criteria {
    pub first: Criterion,
    pub others: Vec<Criterion>,
}

/// What a user asks for, where the defaults depend on the table.
pub struct Asked {
    /// None for the default.
    max_distance: Option<i32>,
    radii: Option<Vec<i32>>,
    resemblance: Resemblance,
    options: Option<String>,
}

#[derive(Clone, Copy)]
enum Resemblance {
    Default,
    Least(f64),
    /// The fingerprints decide, and the texts are not read.
    Off,
}

/// SQL's default value of the argument, since NULL has a meaning of its own.
const DEFAULT: f64 = -1.0;

/// The default resemblance where the texts decide, and the default distances of their candidates: by radii, and by the
/// distance alone (`docs/accuracy.md`).
const DEFAULT_RESEMBLANCE: f64 = 0.89;
const DISTANCE_BY_RADII: i32 = 10;
const DISTANCE_WITH_TEXTS: i32 = 6;
/// The default distance where it decides alone (Manku, Jain and Das Sarma 2007).
const DISTANCE_ALONE: i32 = 3;
/// Numbers of blocks, in the order in which a table's layouts are taken for the default radii: more blocks find more
/// candidates, and read more index entries. Four find nearly all copies.
const PREFERRED_BLOCKS: [usize; 7] = [4, 3, 5, 6, 2, 7, 8];

impl Asked {
    /// Reads the arguments of SQL functions: NULL is the default distance, the default radii, no resemblance, and the
    /// options of the fingerprints.
    pub fn read(
        max_distance: Option<i32>,
        radii: Option<AnyArray>,
        resemblance: Option<f64>,
        options: Option<RawJsonb<'_>>,
    ) -> Result<Self, ErrorReport> {
        let resemblance = match resemblance {
            None => Resemblance::Off,
            Some(DEFAULT) => Resemblance::Default,
            Some(least) => Resemblance::Least(check_resemblance(least)?),
        };
        let radii = radii.map(|radii| check_radii(0, &radii)).transpose()?.map(|near| near.radii().collect());
        let checked = |options| read(Document::Jsonb(options)).and_then(|_| to_json_text(options));
        let options = options.map(checked).transpose()?;
        Ok(Self { max_distance: max_distance.map(check_distance).transpose()?, radii, resemblance, options })
    }

    /// The same without radii, unless they are given: the distance alone decides about candidates.
    pub fn exactly(self) -> Self {
        Self { radii: Some(self.radii.unwrap_or_default()), ..self }
    }

    /// What is asked for, with the defaults for a table; `has_text` says whether its fingerprints are made from a text.
    pub fn with_defaults(&self, has_text: impl FnOnce() -> Result<bool, ErrorReport>) -> Result<Criteria, ErrorReport> {
        let resemblance = match self.resemblance {
            Resemblance::Default => has_text()?.then_some(DEFAULT_RESEMBLANCE),
            Resemblance::Least(least) => Some(least),
            Resemblance::Off => None,
        };
        if resemblance.is_none() && self.options.is_some() {
            let message = "options are for comparing texts, and no texts are compared";
            return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
                .set_hint("Give a resemblance, or leave out the options."));
        }
        let mut by_layout = Vec::new();
        if self.radii.is_none() && resemblance.is_some() {
            by_layout.extend([1, 0].into_iter().flat_map(|radius| PREFERRED_BLOCKS.map(|count| vec![radius; count])));
        }
        let mut radii = self.radii.clone().map_or(by_layout, |radii| vec![radii]).into_iter();
        let criterion = |radii: Vec<i32>| {
            let default = match (resemblance, &radii[..]) {
                (None, _) => DISTANCE_ALONE,
                (Some(_), []) => DISTANCE_WITH_TEXTS,
                _ => DISTANCE_BY_RADII,
            };
            let near = by_radii(self.max_distance.unwrap_or(default), &radii)?;
            // Default radii that leave nothing out only make the search longer.
            let is_by_distance = self.radii.is_none() && near.is_exact();
            let near = if is_by_distance { Nearness::within(near.max_distance()) } else { near };
            Ok(Criterion { near, resemblance, options: self.options.clone() })
        };
        let first = criterion(radii.next().unwrap_or_default())?;
        Ok(Criteria { first, others: radii.map(criterion).collect::<Result<_, _>>()? })
    }
}

fn by_radii(max_distance: i32, radii: &[i32]) -> Result<Nearness, ErrorReport> {
    Nearness::by_radii(max_distance, radii).ok_or_else(|| wrong_radii(radii))
}
