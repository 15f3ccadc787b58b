//! The criterion by which two texts are near-duplicates, and the JSON document in which users write it.
//!
//! One document says what a copy is, in the same words for a search, a guard and a cluster. `{}` is the default: the
//! fingerprints are [near by radii](crate::search::nearness), and the texts confirm it.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::Result;
use crate::fingerprint::Fingerprinter;
use crate::fingerprint::bands::{DEFAULT_BANDS, MAX_BANDS};
use crate::fingerprint::feature_set::FeatureSet;
use crate::fingerprint::options::{InvalidOptions, Options, members};
use crate::fingerprint::resemblance::{COPY, Prepared};
use crate::search::cost::probes;
use crate::search::flips::MAX_FLIPS;
use crate::search::nearness::Nearness;

/// When two texts are near-duplicates: they share one of their first [bands](crate::fingerprint::bands), and resemble
/// each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextCriterion {
    /// The least [resemblance](crate::fingerprint::resemblance::resemblance).
    pub resemblance: f64,
    /// The number of bands, from 1 to [`MAX_BANDS`].
    pub bands: usize,
}

/// The least resemblances that have a default number of bands, and these numbers. Of the texts with exactly this
/// resemblance, six bands find .96 at .8 (.98 at .84), twelve .96 at .7, and twenty-four .96 at .6; of all that have
/// more, .99 or more (`docs/accuracy.md`).
const BANDS_OF_RESEMBLANCE: [(f64, usize); 3] =
    [(0.8, DEFAULT_BANDS), (0.7, 2 * DEFAULT_BANDS), (0.6, 4 * DEFAULT_BANDS)];

/// The default number of bands for a least resemblance; None if it is too small to have one.
fn bands_of(resemblance: f64) -> Option<usize> {
    BANDS_OF_RESEMBLANCE.into_iter().find(|(least, _)| resemblance >= *least).map(|(_, bands)| bands)
}

/// When two rows are near-duplicates: their fingerprints are near and, if the criterion asks for it, their texts
/// resemble each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion {
    pub near: Nearness,
    /// The least [resemblance](crate::fingerprint::resemblance::resemblance) of the texts; None to leave texts out of
    /// account.
    pub resemblance: Option<f64>,
}

impl Criterion {
    /// The criterion as a document without options: nothing in it is left to a default.
    pub fn to_json(&self) -> String {
        let (radii, flips): (Vec<_>, Vec<_>) = (self.near.radii().collect(), self.near.flips().collect());
        let resemblance = self.resemblance.map_or("null".to_owned(), |least| least.to_string());
        let max_distance = self.near.max_distance();
        let has_flips = self.resemblance.is_some() && radii.iter().any(|radius| *radius > 0);
        let flips = if !has_flips { String::new() } else { format!(r#""flips": {flips:?}, "#) };
        format!(r#"{{"max_distance": {max_distance}, "radii": {radii:?}, {flips}"resemblance": {resemblance}}}"#)
    }

    /// Whether a row with these features may be a near-duplicate of any other: a text without a feature resembles none.
    pub fn applies(&self, features: Option<&FeatureSet>) -> bool {
        self.resemblance.is_none() || features.is_some()
    }

    /// Whether the features of two near rows confirm that they are near-duplicates.
    pub fn confirms(&self, a: Option<&FeatureSet>, b: Option<&FeatureSet>, tick: &dyn Fn()) -> bool {
        match (self.resemblance, a, b) {
            (None, _, _) => true,
            (Some(least), Some(a), Some(b)) => a.resembles(b, least, tick),
            (Some(_), _, _) => false,
        }
    }
}

/// The default radii and flips if texts are compared, in order of preference: a table is searched by the first whose
/// layout it has indexed. More blocks find more copies, and read more index entries; four find nearly all of them. In
/// seven and eight blocks, flips would read a large part of the entries.
const DEFAULT_RADII: [(&[i32], &[u32]); 7] = [
    (&[1; 4], &[5, 3]),
    (&[1; 3], &[8, 5]),
    (&[1; 5], &[3]),
    (&[1; 6], &[1]),
    (&[1; 2], &[10, 6]),
    (&[0; 7], &[]),
    (&[0; 8], &[]),
];
/// The default distances: of candidates with radii and without, and of fingerprints alone (Manku, Jain and Das Sarma,
/// WWW 2007).
const DEFAULT_DISTANCE_WITH_RADII: i32 = 10;
const DEFAULT_DISTANCE_WITH_TEXTS: i32 = 6;
const DEFAULT_DISTANCE: i32 = 3;

/// A criterion as users write it: a JSON object. Its keys are the options of the fingerprint and of comparing, and
/// [`OWN_KEYS`](Self::OWN_KEYS). What it does not say has a default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CriterionDocument {
    /// How the fingerprints are made, and how the texts are compared.
    pub options: Options,
    /// `"weights": "table"`: texts are compared with weights that are
    /// [learnt](crate::fingerprint::learn::TextSample::learn_table) from a table, which [`Self::options`] do not have.
    pub weights_of_table: bool,
    max_distance: Option<i32>,
    radii: Option<Vec<i32>>,
    flips: Option<Vec<u32>>,
    resemblance: Asked,
    bands: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Asked {
    #[default]
    Default,
    Least(f64),
    /// `null`: the fingerprints decide.
    Off,
}

impl CriterionDocument {
    /// The keys that are not options of a fingerprint.
    pub const OWN_KEYS: [&str; 5] = ["bands", "max_distance", "radii", "flips", "resemblance"];

    pub fn keys() -> Vec<&'static str> {
        [&Self::OWN_KEYS[..], &Options::KEYS].concat()
    }

    /// Reads a document, as [`Options::from_json`] reads options.
    pub fn from_json(document: &str) -> Result<Self, InvalidOptions> {
        let mut read = Self::default();
        for (key, value) in members(document).map_err(InvalidOptions::in_criterion)? {
            let value = value.get();
            let own = match key.as_str() {
                "bands" => bands(value).map(|bands| read.bands = Some(bands)),
                "max_distance" => distance(value).map(|distance| read.max_distance = Some(distance)),
                "radii" => radii(value).map(|radii| read.radii = Some(radii)),
                "flips" => flips(value).map(|flips| read.flips = Some(flips)),
                "resemblance" => resemblance(value).map(|asked| read.resemblance = asked),
                "weights" if value == r#""table""# => {
                    read.weights_of_table = true;
                    continue;
                }
                _ => {
                    read.options.set(key, value).map_err(InvalidOptions::in_criterion)?;
                    continue;
                }
            };
            own.map_err(|allowed| InvalidOptions::wrong_value(key, value, allowed))?;
        }
        if let Asked::Least(least) = read.resemblance
            && read.bands.or(bands_of(least)).is_none()
        {
            let allowed = "at least 0.6, unless \"bands\" is given: bands find few texts that resemble each other less";
            return Err(InvalidOptions::wrong_value("resemblance".to_owned(), &least.to_string(), allowed));
        }
        if read.has_flips() && (read.resemblance == Asked::Off || read.radii.as_ref().is_some_and(Vec::is_empty)) {
            let flips = format!("{:?}", read.flips.unwrap_or_default());
            let allowed = "[] if texts are not compared, or without radii";
            return Err(InvalidOptions::wrong_value("flips".to_owned(), &flips, allowed));
        }
        Ok(read)
    }

    pub fn has_flips(&self) -> bool {
        self.flips.as_ref().is_some_and(|flips| !flips.is_empty())
    }

    /// The document by which a table with a layout of so many blocks is searched, as by `{}` with four.
    pub fn of_layout(blocks: i32) -> String {
        let document = Self::default();
        let (radii, _) = default_of(blocks as usize);
        let Criterion { near, .. } = document.with(Some(COPY), radii);
        match near.blocks() {
            _ if near == document.of_texts().near => "{}".to_owned(),
            Some(_) => format!(r#"{{"radii": {radii:?}}}"#),
            None => format!(r#"{{"max_distance": {}, "radii": []}}"#, near.max_distance()),
        }
    }

    /// Whether two texts are near-duplicates; None if one of them has no feature. An error if the criterion is for
    /// fingerprints. Costs as much as the features of both; and their bands, if they resemble each other.
    pub fn near(
        &self,
        fingerprinter: &mut Fingerprinter,
        a: &str,
        b: &str,
        tick: &dyn Fn(),
    ) -> Result<Option<bool>, InvalidOptions> {
        let TextCriterion { resemblance, bands } = self.for_texts()?;
        let prepared = Prepared::new(fingerprinter, a, &self.options, tick)?;
        let resembles = prepared.resembles(resemblance, fingerprinter, b, tick)?;
        if resembles != Some(true) {
            return Ok(resembles);
        }
        let of_a = fingerprinter.summary(a, &self.options, bands, tick)?;
        let of_b = fingerprinter.summary(b, &self.options, bands, tick)?;
        Ok(of_a.zip(of_b).map(|(a, b)| a.shares_band(&b, bands)))
    }

    /// The criterion for texts that are compared; an error if the document is about fingerprints.
    pub fn for_texts(&self) -> Result<TextCriterion, InvalidOptions> {
        let wrong = |key: &str, value: &str, allowed| Err(InvalidOptions::wrong_value(key.to_owned(), value, allowed));
        match (self.texts(), self.max_distance) {
            (Some(texts), None) => Ok(texts),
            (Some(_), Some(distance)) => wrong(
                "max_distance",
                &distance.to_string(),
                "left out where texts are compared; for fingerprints, write simhash_near(simhash(a), simhash(b), 3)",
            ),
            (None, _) => wrong(
                "resemblance",
                "null",
                "a number from 0 to 1 where texts are compared; for fingerprints, write simhash_near(simhash(a), \
                 simhash(b), 3)",
            ),
        }
    }

    /// The criterion for texts; None if the document says that the fingerprints decide.
    pub fn texts(&self) -> Option<TextCriterion> {
        let resemblance = self.least_resemblance(true)?;
        Some(TextCriterion { resemblance, bands: self.bands.or(bands_of(resemblance))? })
    }

    pub fn of_texts(&self) -> Criterion {
        self.of_rows(true)
    }

    /// The criterion for the rows of a table. `has_text` says whether they have texts: otherwise, the default is to
    /// compare fingerprints alone.
    pub fn of_rows(&self, has_text: bool) -> Criterion {
        let resemblance = self.least_resemblance(has_text);
        self.with(resemblance, self.only_radii(resemblance).unwrap_or(DEFAULT_RADII[0].0))
    }

    /// The criteria that replace [`Self::of_rows`] if a table has not indexed its layout, in order of preference: if
    /// the document has no radii and texts are compared, the other default radii.
    pub fn of_rows_by_other_layouts(&self, has_text: bool) -> impl Iterator<Item = Criterion> {
        let resemblance = self.least_resemblance(has_text);
        let others = DEFAULT_RADII[1..].iter().filter(move |_| self.only_radii(resemblance).is_none());
        others.map(move |(radii, _)| self.with(resemblance, radii))
    }

    fn least_resemblance(&self, has_text: bool) -> Option<f64> {
        match self.resemblance {
            Asked::Default => has_text.then_some(COPY),
            Asked::Least(least) => Some(least),
            Asked::Off => None,
        }
    }

    /// The radii that do not depend on the layout; None for the default of comparing texts.
    fn only_radii(&self, resemblance: Option<f64>) -> Option<&[i32]> {
        self.radii.as_deref().or(resemblance.is_none().then_some(&[]))
    }

    fn with(&self, resemblance: Option<f64>, radii: &[i32]) -> Criterion {
        let max_distance = self.max_distance.unwrap_or(match (resemblance, radii) {
            (None, _) => DEFAULT_DISTANCE,
            (Some(_), []) => DEFAULT_DISTANCE_WITH_TEXTS,
            (Some(_), _) => DEFAULT_DISTANCE_WITH_RADII,
        });
        let (all, flips) = (Nearness::within(max_distance), self.flips_for(resemblance, radii));
        let near = Nearness::by_radii(max_distance, radii).map_or(all, |near| near.with_flips(flips));
        // By default, everything within the distance counts if finding it takes no more look-ups.
        let finds_all = || {
            let look_ups = |near| probes(radii.len() as i32, near).unwrap_or(u64::MAX);
            self.radii.is_none() && self.flips.is_none() && look_ups(all) <= look_ups(near)
        };
        Criterion { near: if finds_all() { all } else { near }, resemblance }
    }

    /// The flips for these radii. By default, blocks with radius 1 have some; larger radii are asked for to find more.
    fn flips_for(&self, resemblance: Option<f64>, radii: &[i32]) -> &[u32] {
        match &self.flips {
            _ if resemblance.is_none() => &[],
            Some(flips) => flips,
            None if radii.iter().max() == Some(&1) => default_of(radii.len()).1,
            None => &[],
        }
    }
}

fn default_of(blocks: usize) -> (&'static [i32], &'static [u32]) {
    DEFAULT_RADII.into_iter().find(|(radii, _)| radii.len() == blocks).unwrap_or_default()
}

/// A document or its options laid over others: the members of both and, of two with the same key, that of `document`.
pub fn laid_over(document: &str, others: &str) -> Result<String, InvalidOptions> {
    let mut all = members(others)?;
    all.extend(members(document).map_err(InvalidOptions::in_criterion)?);
    let member = |(key, value): (String, &RawValue)| format!("{}: {}", Value::from(key), value.get());
    let all: Vec<_> = all.into_iter().map(member).collect();
    Ok(format!("{{{}}}", all.join(", ")))
}

fn bands(value: &str) -> Result<usize, &'static str> {
    let bands = serde_json::from_str(value).ok().filter(|bands| (1..=MAX_BANDS).contains(bands));
    bands.ok_or("an integer from 1 to 64")
}

fn distance(value: &str) -> Result<i32, &'static str> {
    let distance = serde_json::from_str(value).ok().filter(|distance| (0..=64).contains(distance));
    distance.ok_or("an integer from 0 to 64")
}

fn radii(value: &str) -> Result<Vec<i32>, &'static str> {
    let radii = serde_json::from_str(value).ok();
    let radii = radii.filter(|radii: &Vec<i32>| Nearness::by_radii(0, radii).is_some());
    radii.ok_or("an array of the radius of each of 2 to 8 blocks, -1 for a block that is not compared; or []")
}

fn flips(value: &str) -> Result<Vec<u32>, &'static str> {
    let flips = serde_json::from_str(value).ok();
    let is_valid = |flips: &Vec<u32>| flips.len() <= MAX_FLIPS && flips.iter().all(|count| (1..=64).contains(count));
    flips
        .filter(is_valid)
        .ok_or("an array of up to 3 integers from 1 to 64: among how many bits of a block one is flipped, two, ..")
}

fn resemblance(value: &str) -> Result<Asked, &'static str> {
    if value == "null" {
        return Ok(Asked::Off);
    }
    let least = serde_json::from_str(value).ok().filter(|least| (0.0..=1.0).contains(least));
    least.map(Asked::Least).ok_or("a number from 0 to 1, or null if the fingerprints decide")
}
