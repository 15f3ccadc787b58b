//! A document's fingerprint, and the features it was made of.

use super::feature_list::FeatureList;
use super::feature_table::FeatureTable;
use super::features::each_feature;
use super::heaviest::{Rank, last_kept};
use super::options::Options;
use super::tally::Tally;
use super::weighted::WeightedFeatures;
use super::weights::weigh;
use crate::error::Error;
use crate::text::normalise::normalise;
use crate::ticking::ticking;

/// Bytes of scratch memory that outlive a document.
const KEPT: usize = 1 << 20;

/// Makes fingerprints of texts; keeps its scratch memory, up to 1 MB, from one to the next.
///
/// Memory while it runs: the normal form of the text, and the table of [`FeatureTable`]. Every allocation that
/// grows with the text may fail with [`Error::OutOfMemory`].
#[derive(Debug, Default)]
pub struct Fingerprinter {
    normal: String,
    distinct: FeatureTable,
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
    ) -> Result<FeatureTable, Error> {
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
        for hash in ticking(&list.hashes, tick) {
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
        if options.is_plain_set() {
            self.collect(text, options, tick, |hash, new| tally.vote(hash, new))?;
            return Ok(tally.fingerprint());
        }
        let features = self.weigh_features(text, options, tick)?;
        for (hash, weight) in ticking(features.iter(), tick) {
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
        self.prepare(text, options, !options.is_plain_set(), tick)?;
        let Self { normal, distinct } = self;
        each_feature(normal, options, tick, |_, hash| {
            let new = distinct.insert(hash, tick)?;
            each(hash, new);
            Ok(())
        })
    }
}
