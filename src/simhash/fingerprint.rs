//! A document's fingerprint, and the features it was made of.

use super::error::{Error, MAX_BYTES};
use super::features::{DistinctFeatures, each_feature};
use super::normalise::normalise;
use super::options::{Options, Weight};
use super::tally::Tally;
use super::top::{Rank, last_kept};
use super::weight;
use super::weighted::WeightedFeatures;

/// Bytes of scratch memory that outlive a document.
const KEPT: usize = 1 << 20;
/// Features handled between two ticks.
const STRIDE: usize = 64 * 1024;

/// Makes fingerprints of texts; keeps its scratch memory, up to 1 MB, from one to the next.
///
/// Memory while it runs: the normal form of the text, and the table of [`DistinctFeatures`]. Every allocation that
/// grows with the text may fail with [`Error::OutOfMemory`].
#[derive(Debug, Default)]
pub struct Fingerprinter {
    normal: String,
    distinct: DistinctFeatures,
}

impl Fingerprinter {
    /// The fingerprint of a text, or None if the text has no feature.
    ///
    /// One pass over the text: about 2 ns a byte of English. `tick` is called every 64 kB or so and may unwind.
    pub fn fingerprint(&mut self, text: &str, options: &Options, tick: &impl Fn()) -> Result<Option<u64>, Error> {
        let fingerprint = self.tally(text, options, tick);
        self.shrink();
        fingerprint
    }

    /// The features that the fingerprint of a text is made of, in the order in which they first end in it.
    ///
    /// Memory beyond that of [`Fingerprinter::fingerprint`]: the features' bytes and 24 bytes for each.
    pub fn features(&mut self, text: &str, options: &Options, tick: &impl Fn()) -> Result<FeatureList, Error> {
        let list = self.list(text, options, tick);
        self.shrink();
        list
    }

    /// The features that the fingerprint of a text is made of, by their hash, with their weights.
    pub fn weighted_features(
        &mut self,
        text: &str,
        options: &Options,
        tick: &impl Fn(),
    ) -> Result<WeightedFeatures, Error> {
        let features = self.weigh_features(text, options, tick);
        self.shrink();
        features
    }

    /// The distinct features of a text; tells `each` the hash of each feature, and whether it is its first.
    pub(super) fn distinct_features(
        &mut self,
        text: &str,
        options: &Options,
        tick: &impl Fn(),
        each: impl FnMut(u64, bool),
    ) -> Result<DistinctFeatures, Error> {
        let collected = self.collect(text, options, tick, each);
        let features = std::mem::take(&mut self.distinct);
        self.shrink();
        collected.map(|()| features)
    }

    fn list(&mut self, text: &str, options: &Options, tick: &impl Fn()) -> Result<FeatureList, Error> {
        self.prepare(text, options, true, tick)?;
        let Self { normal, distinct } = self;
        let mut list = FeatureList::default();
        each_feature(normal, options, tick, |feature, hash| {
            if distinct.insert(hash, tick)? {
                list.push(feature, hash)?;
            }
            Ok(())
        })?;
        let last = last_kept(distinct, options, tick);
        list.weights.try_reserve_exact(list.hashes.len())?;
        for (i, hash) in list.hashes.iter().enumerate() {
            if i % STRIDE == 0 {
                tick();
            }
            let weight = weigh(options.weight, distinct.count(*hash));
            list.weights.push((Rank::new(*hash, weight) <= last).then_some(weight));
        }
        Ok(list)
    }

    fn prepare(&mut self, text: &str, options: &Options, counted: bool, tick: &impl Fn()) -> Result<(), Error> {
        self.normal.clear();
        normalise(text, options.case_fold, &mut self.normal, tick)?;
        self.distinct.reset(self.normal.len(), counted, tick)
    }

    /// Gives back the memory that a long text took.
    fn shrink(&mut self) {
        if self.normal.capacity() + self.distinct.memory() > KEPT {
            *self = Self::default();
        }
    }

    fn tally(&mut self, text: &str, options: &Options, tick: &impl Fn()) -> Result<Option<u64>, Error> {
        let mut tally = Tally::default();
        if is_plain_set(options) {
            self.collect(text, options, tick, |hash, new| tally.vote(hash, new))?;
            return Ok(tally.fingerprint());
        }
        let features = self.weigh_features(text, options, tick)?;
        for (i, (hash, weight)) in features.iter().enumerate() {
            if i % STRIDE == 0 {
                tick();
            }
            if weight > 0 {
                tally.add(hash, weight.into())?;
            }
        }
        self.distinct = features.into_distinct();
        Ok(tally.fingerprint())
    }

    fn weigh_features(&mut self, text: &str, options: &Options, tick: &impl Fn()) -> Result<WeightedFeatures, Error> {
        self.collect(text, options, tick, |_, _| ())?;
        Ok(WeightedFeatures::new(std::mem::take(&mut self.distinct), options, tick))
    }

    /// Makes the table of a text's features; tells `each` the hash of each feature, and whether it is its first.
    #[inline]
    fn collect(
        &mut self,
        text: &str,
        options: &Options,
        tick: &impl Fn(),
        mut each: impl FnMut(u64, bool),
    ) -> Result<(), Error> {
        self.prepare(text, options, !is_plain_set(options), tick)?;
        let Self { normal, distinct } = self;
        each_feature(normal, options, tick, |_, hash| {
            let new = distinct.insert(hash, tick)?;
            each(hash, new);
            Ok(())
        })
    }
}

/// Whether all features count and weigh the same, so that it does not matter how often each occurs.
pub(super) fn is_plain_set(options: &Options) -> bool {
    options.weight == Weight::Set && options.top.is_none()
}

/// The features of a text.
#[derive(Debug, Default)]
pub struct FeatureList {
    bytes: String,
    ends: Vec<usize>,
    hashes: Vec<u64>,
    /// None: not among the heaviest.
    weights: Vec<Option<u32>>,
}

/// A feature of a text: what it adds to or subtracts from each bit is its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature<'a> {
    pub text: &'a str,
    pub weight: u32,
    pub hash: u64,
}

impl FeatureList {
    /// The features, in the order in which they first end in the text.
    pub fn iter(&self) -> impl Iterator<Item = Feature<'_>> {
        (0..self.places()).filter_map(|place| self.get(place))
    }

    /// How many places there are for [`FeatureList::get`].
    pub fn places(&self) -> usize {
        self.hashes.len()
    }

    /// The feature at a place; None if it is not among the heaviest, of which alone the fingerprint is made.
    pub fn get(&self, place: usize) -> Option<Feature<'_>> {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        let weight = self.weights[place]?;
        Some(Feature { text: &self.bytes[start..self.ends[place]], weight, hash: self.hashes[place] })
    }

    fn push(&mut self, feature: &[u8], hash: u64) -> Result<(), Error> {
        if self.bytes.len() + feature.len() > MAX_BYTES {
            return Err(Error::FeaturesTooLong);
        }
        self.bytes.try_reserve(feature.len())?;
        self.ends.try_reserve(1)?;
        self.hashes.try_reserve(1)?;
        // A feature is cut from valid text between characters.
        self.bytes.push_str(&String::from_utf8_lossy(feature));
        self.ends.push(self.bytes.len());
        self.hashes.push(hash);
        Ok(())
    }
}

/// What a feature weighs that occurs `count` times.
pub(super) fn weigh(weight: Weight, count: u32) -> u32 {
    match weight {
        Weight::Set => 1,
        Weight::Log => weight::log(count),
        Weight::Tf => count,
    }
}
