//! The criterion that a user asks for, and its defaults for a table.

use pgrx::AnyArray;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::error::user_error;
use postgres::json::{RawJsonb, to_json_text};
use simhash::fingerprint::resemblance::COPY;
use simhash::search::blocks::BLOCK_COUNTS;
use simhash::search::nearness::Nearness;

use super::criterion::{GuardCriterion, by_radii};
use crate::sql::arguments::{check_distance, check_resemblance};
use crate::sql::fingerprint::options::{OptionsDocument, read_options};
use crate::sql::radii::check_radii;

/// Criteria in order of preference. A guard gets the first one whose layout its table has indexed.
pub struct Criteria {
    pub first: GuardCriterion,
    pub others: Vec<GuardCriterion>,
}

/// The criterion that a user asks for. The defaults depend on the table.
pub struct AskedCriterion {
    /// The largest distance; None for the default.
    max_distance: Option<i32>,
    /// None for the default radii; empty for no radii.
    radii: Option<Vec<i32>>,
    resemblance: AskedResemblance,
    /// The options with which texts are compared, as JSON; None for the options of the fingerprints.
    options: Option<String>,
}

#[derive(Clone, Copy)]
enum AskedResemblance {
    Default,
    /// The smallest resemblance.
    Least(f64),
    /// The fingerprints decide, and the texts are not read.
    Off,
}

/// The value of the argument `resemblance` that means the default. NULL means that texts are not compared.
const ARGUMENT_FOR_DEFAULT: f64 = -1.0;

/// The default distances of candidates with radii and without, if texts are compared (`docs/accuracy.md`).
const DEFAULT_DISTANCE_WITH_RADII: i32 = 10;
const DEFAULT_DISTANCE_WITH_TEXTS: i32 = 6;
/// The default distance if only fingerprints are compared (Manku, Jain and Das Sarma 2007).
const DEFAULT_DISTANCE: i32 = 3;
/// Numbers of blocks, in the order in which a table's layouts are tried for the default radii: more blocks find more
/// candidates, and read more index entries. Four blocks find nearly all copies.
const PREFERRED_BLOCKS: [usize; 1 + (*BLOCK_COUNTS.end() - *BLOCK_COUNTS.start()) as usize] = [4, 3, 5, 6, 2, 7, 8];

impl AskedCriterion {
    /// Reads the arguments of an SQL function. NULL means the default distance, the default radii, no comparison of
    /// texts, and the options of the fingerprints.
    pub fn read(
        max_distance: Option<i32>,
        radii: Option<AnyArray>,
        resemblance: Option<f64>,
        options: Option<RawJsonb<'_>>,
    ) -> Result<Self, ErrorReport> {
        let resemblance = match resemblance {
            None => AskedResemblance::Off,
            Some(ARGUMENT_FOR_DEFAULT) => AskedResemblance::Default,
            Some(least) => AskedResemblance::Least(check_resemblance(least)?),
        };
        let radii = radii.map(|radii| check_radii(0, &radii)).transpose()?.map(|near| near.radii().collect());
        // SAFETY: an argument or a constant of type jsonb.
        let to_text = |options| unsafe { to_json_text(options) };
        let checked = |options| read_options(OptionsDocument::Jsonb(options)).and_then(|_| to_text(options));
        let options = options.map(checked).transpose()?;
        Ok(Self { max_distance: max_distance.map(check_distance).transpose()?, radii, resemblance, options })
    }

    /// The criteria with the defaults for a table; `has_text` says whether its fingerprints are made from a text.
    pub fn with_defaults(&self, has_text: impl FnOnce() -> Result<bool, ErrorReport>) -> Result<Criteria, ErrorReport> {
        let resemblance = match self.resemblance {
            AskedResemblance::Default => has_text()?.then_some(COPY),
            AskedResemblance::Least(least) => Some(least),
            AskedResemblance::Off => None,
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
                (None, _) => DEFAULT_DISTANCE,
                (Some(_), []) => DEFAULT_DISTANCE_WITH_TEXTS,
                _ => DEFAULT_DISTANCE_WITH_RADII,
            };
            let near = by_radii(self.max_distance.unwrap_or(default), &radii)?;
            // If the default radii exclude no fingerprint within the distance, they only make the search longer.
            let is_by_distance = self.radii.is_none() && near.is_exact();
            let near = if is_by_distance { Nearness::within(near.max_distance()) } else { near };
            Ok(GuardCriterion { near, resemblance, options: self.options.clone() })
        };
        let first = criterion(radii.next().unwrap_or_default())?;
        Ok(Criteria { first, others: radii.map(criterion).collect::<Result<_, _>>()? })
    }
}
