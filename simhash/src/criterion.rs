//! The criterion by which two texts are near-duplicates, and the JSON document in which users write it.
//!
//! The document has the same form for a search, a guard and a cluster. `{}` is the default.

use serde_json::Value;

use crate::distance::hamming;
use crate::error::Result;
use crate::fingerprint::bands::{DEFAULT_BANDS, MAX_BANDS};
use crate::fingerprint::invalid_options::InvalidOptions;
use crate::fingerprint::json_number::integer;
use crate::fingerprint::options::{Options, members};
use crate::fingerprint::resemblance::{DEFAULT_RESEMBLANCE, Prepared};
use crate::fingerprint::{Fingerprinter, Summary};

/// When two texts are near-duplicates: they share one of their first [bands](crate::fingerprint::bands), the distance
/// of their fingerprints is at most [`Self::max_distance`], and they resemble each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextCriterion {
    /// The least [resemblance](crate::fingerprint::resemblance::resemblance).
    pub resemblance: f64,
    /// The number of bands, from 1 to [`MAX_BANDS`].
    pub bands: usize,
}

/// The properties of criteria whose least resemblance is at least [`Self::resemblance`].
struct Level {
    resemblance: f64,
    /// The default number of bands. Of the texts with exactly the least resemblance, six bands find .96 at .8 (.98 at
    /// .84), twelve .96 at .7, and twenty-four .96 at .6. Of the texts with a larger resemblance, they find .99 or more
    /// (`docs/accuracy.md`).
    bands: usize,
    /// The largest distance of the fingerprints of near texts. The fingerprints of two texts differ in a bit with a
    /// probability that the angle between their features decides (Charikar, STOC 2002). So an index can test the
    /// resemblance by the distance. Fewer than one in a thousand texts that resemble each other fail it.
    max_distance: u32,
}

/// The levels, in descending order of their resemblances.
const LEVELS: [Level; 3] = [
    Level { resemblance: 0.8, bands: DEFAULT_BANDS, max_distance: 20 },
    Level { resemblance: 0.7, bands: 2 * DEFAULT_BANDS, max_distance: 24 },
    Level { resemblance: 0.6, bands: 4 * DEFAULT_BANDS, max_distance: 28 },
];

impl Level {
    /// The level of a least resemblance; None if it is too small to have one.
    fn of(resemblance: f64) -> Option<&'static Self> {
        LEVELS.iter().find(|level| resemblance >= level.resemblance)
    }
}

impl TextCriterion {
    /// The largest distance of the fingerprints of near texts, 0 to 64.
    pub fn max_distance(&self) -> u32 {
        Level::of(self.resemblance).map_or(u64::BITS, |level| level.max_distance)
    }

    /// Whether the distance of the fingerprints of two texts is small enough.
    #[inline]
    pub fn allows_distance(&self, a: u64, b: u64) -> bool {
        hamming(a, b) <= self.max_distance()
    }

    /// Whether two texts with these summaries, which have the criterion's bands, are near if they resemble each other.
    pub fn are_candidates(&self, a: &Summary, b: &Summary) -> bool {
        a.shares_band(b, self.bands) && self.allows_distance(a.fingerprint, b.fingerprint)
    }
}

/// The default distance of near fingerprints (Manku, Jain and Das Sarma, WWW 2007).
const DEFAULT_DISTANCE: i32 = 3;

/// A criterion as users write it: a JSON object. Its keys are the options of the fingerprint and of comparing, and
/// [`CRITERION_KEYS`](crate::fingerprint::invalid_options::CRITERION_KEYS). Keys that it omits have defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CriterionDocument {
    /// How the fingerprints are made, and how the texts are compared.
    pub options: Options,
    /// `"weights": "table"`: texts are compared with weights that are
    /// [learnt](crate::fingerprint::learn::TextSample::learn_table) from a table, which [`Self::options`] do not have.
    pub weights_of_table: bool,
    max_distance: Option<i32>,
    resemblance: LeastResemblance,
    bands: Option<usize>,
}

/// The key `resemblance` of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum LeastResemblance {
    #[default]
    Default,
    Given(f64),
    /// `null`: the fingerprints decide.
    Off,
}

impl CriterionDocument {
    /// Reads a document, as [`Options::from_json`] reads options.
    pub fn from_json(document: &str) -> Result<Self, InvalidOptions> {
        Self::read(document).map_err(InvalidOptions::in_criterion)
    }

    /// Does what [`Self::from_json`] does, but its errors do not call the document a criterion.
    fn read(document: &str) -> Result<Self, InvalidOptions> {
        let mut criterion = Self::default();
        for (key, value) in members(document)? {
            let value = value.get();
            let wrong = |allowed| InvalidOptions::wrong_value(key.clone(), value, allowed);
            match key.as_str() {
                "bands" => criterion.bands = Some(read_bands(value).map_err(wrong)?),
                "max_distance" => criterion.max_distance = Some(read_distance(value).map_err(wrong)?),
                "resemblance" => criterion.resemblance = read_resemblance(value).map_err(wrong)?,
                "weights" if value == r#""table""# => criterion.weights_of_table = true,
                _ => criterion.options.set(key, value)?,
            }
        }
        if let LeastResemblance::Given(least) = criterion.resemblance
            && criterion.bands.is_none()
            && Level::of(least).is_none()
        {
            let allowed = "at least 0.6, unless \"bands\" is given: bands find few texts that resemble each other less";
            return Err(InvalidOptions::wrong_value("resemblance".to_owned(), &least.to_string(), allowed));
        }
        Ok(criterion)
    }

    /// Whether two texts are near-duplicates; None if one of them has no feature. An error if the document is about
    /// fingerprints. Ignores [`Self::weights_of_table`], which callers must refuse or replace by weights. Costs as much
    /// as the features of both, and their bands if they resemble each other.
    pub fn near(&self, fingerprinter: &mut Fingerprinter, a: &str, b: &str) -> Result<Option<bool>, InvalidOptions> {
        let criterion = self.for_texts()?;
        let mut fingerprinter = fingerprinter.with_options(&self.options);
        let prepared = Prepared::new(&mut fingerprinter, a)?;
        let resembles = prepared.resembles(criterion.resemblance, &mut fingerprinter, b)?;
        if resembles != Some(true) {
            return Ok(resembles);
        }
        let (a, b) = (fingerprinter.summary(a, criterion.bands)?, fingerprinter.summary(b, criterion.bands)?);
        Ok(a.zip(b).map(|(a, b)| criterion.are_candidates(&a, &b)))
    }

    /// The criterion for texts that are compared; an error if the document is about fingerprints.
    pub fn for_texts(&self) -> Result<TextCriterion, InvalidOptions> {
        let (key, value, allowed) = match (self.texts(), self.max_distance) {
            (Some(texts), None) => return Ok(texts),
            (Some(_), Some(distance)) => (
                "max_distance",
                distance.to_string(),
                "left out where texts are compared; for fingerprints, write simhash_near(simhash(a), simhash(b), 3)",
            ),
            (None, _) => (
                "resemblance",
                "null".to_owned(),
                "a number above 0 and up to 1 where texts are compared; for fingerprints, write simhash_near(simhash(a), \
                 simhash(b), 3)",
            ),
        };
        Err(InvalidOptions::wrong_value(key.to_owned(), &value, allowed).in_criterion())
    }

    /// The criterion for texts; None if `"resemblance": null` says that the fingerprints decide.
    pub fn texts(&self) -> Option<TextCriterion> {
        let resemblance = match self.resemblance {
            LeastResemblance::Default => DEFAULT_RESEMBLANCE,
            LeastResemblance::Given(least) => least,
            LeastResemblance::Off => return None,
        };
        let bands = self.bands.or_else(|| Some(Level::of(resemblance)?.bands))?;
        Some(TextCriterion { resemblance, bands })
    }

    /// Whether the fingerprints of the texts decide: with `"resemblance": null`, or with a `max_distance` and no
    /// resemblance.
    pub(crate) fn is_by_distance(&self) -> bool {
        self.resemblance == LeastResemblance::Off
            || self.resemblance == LeastResemblance::Default && self.max_distance.is_some()
    }

    /// The largest distance of near fingerprints; 3 by default.
    pub fn max_distance(&self) -> i32 {
        self.max_distance.unwrap_or(DEFAULT_DISTANCE)
    }
}

/// A document of a criterion, or of options, with the keys of `defaults` that it omits.
pub fn merged(document: &str, defaults: &str) -> Result<String, InvalidOptions> {
    let mut all = members(defaults)?;
    all.extend(members(document).map_err(InvalidOptions::in_criterion)?);
    let written = all.into_iter().map(|(key, value)| format!("{}: {}", Value::from(key), value.get()));
    Ok(format!("{{{}}}", written.collect::<Vec<_>>().join(", ")))
}

fn read_bands(value: &str) -> Result<usize, &'static str> {
    let bands = integer(value).filter(|bands| (1..=MAX_BANDS as u64).contains(bands)).map(|bands| bands as usize);
    bands.ok_or("an integer from 1 to 64")
}

fn read_distance(value: &str) -> Result<i32, &'static str> {
    let distance = integer(value).filter(|distance| *distance <= 64).map(|distance| distance as i32);
    distance.ok_or("an integer from 0 to 64")
}

fn read_resemblance(value: &str) -> Result<LeastResemblance, &'static str> {
    if value == "null" {
        return Ok(LeastResemblance::Off);
    }
    // Rust reads every JSON number. Unlike serde_json, it rounds to the nearest: to the resemblance that was measured.
    let least = value.parse().ok().filter(|least| *least > 0.0 && *least <= 1.0);
    least.map(LeastResemblance::Given).ok_or("a number above 0 and up to 1, or null if the fingerprints decide")
}
