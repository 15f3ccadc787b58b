//! Makes the fingerprint of a text, and the lists of the features that it is made of.

use super::feature_list::FeatureList;
use super::feature_table::FeatureTable;
use super::features::each_feature;
use super::hash::{FeatureHash, Seeded};
use super::heaviest::{Rank, last_kept};
use super::options::Options;
use super::tally::Tally;
use super::weighted::WeightedFeatures;
use crate::error::Error;
use crate::text::normalise::normalise;
use crate::ticking::ticking;

/// Bytes of scratch memory that are kept from one text to the next.
const KEPT: usize = 1 << 20;

/// Makes fingerprints of texts. Keeps up to 1 MB of scratch memory from one text to the next.
///
/// While it runs, it needs memory for the normal form of the text and for a [`FeatureTable`]. Every allocation that
/// grows with the text may fail with [`Error::OutOfMemory`].
#[derive(Debug, Default)]
pub struct Fingerprinter {
    normal: String,
    distinct: FeatureTable,
}

impl Fingerprinter {
    /// The fingerprint of a text (Charikar 2002); None if the text has no feature.
    ///
    /// One pass over the text: about 2 ns for each byte of English. `tick` is called about every 64 kB and may unwind.
    pub fn fingerprint(&mut self, text: &str, options: &Options, tick: &impl Fn()) -> Result<Option<u64>, Error> {
        let fingerprint = self.tally(text, options, tick);
        self.shrink();
        fingerprint
    }

    /// The fingerprints of a text with several options, which differ in nothing but the seed; empty if the text has no
    /// feature. The text is cut into features once.
    ///
    /// Each fingerprint beside the first takes the time to hash all features once more, and memory for another
    /// [`FeatureTable`].
    pub fn wide_fingerprint(&mut self, text: &str, options: &[Options], tick: &impl Fn()) -> Result<Vec<u64>, Error> {
        let fingerprints = self.tallies(text, options, tick);
        self.shrink();
        fingerprints
    }

    /// The features that the fingerprint of a text is made of, in the order in which they first end in the text.
    ///
    /// In addition to the memory of [`Fingerprinter::fingerprint`], needs the features' bytes and 24 bytes for each
    /// feature.
    pub fn features(&mut self, text: &str, options: &Options, tick: &impl Fn()) -> Result<FeatureList, Error> {
        let list = self.list(text, options, tick);
        self.shrink();
        list
    }

    /// The features that the fingerprint of a text is made of, as hashes and weights.
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

    /// The distinct features of a text.
    pub(super) fn distinct_features(
        &mut self,
        text: &str,
        options: &Options,
        tick: &impl Fn(),
    ) -> Result<FeatureTable, Error> {
        let collected = self.collect(text, options, tick, |_, _| ());
        let features = std::mem::take(&mut self.distinct);
        self.shrink();
        collected.map(|()| features)
    }

    /// The number of distinct features of a text. Calls `each` for each occurrence with the hash, and with whether it is
    /// the first one.
    pub(super) fn count_distinct(
        &mut self,
        text: &str,
        options: &Options,
        tick: &impl Fn(),
        each: impl FnMut(u64, bool),
    ) -> Result<usize, Error> {
        let counted = self.collect(text, options, tick, each).map(|()| self.distinct.distinct());
        self.shrink();
        counted
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
            let weight = options.weigh(*hash, distinct.count(*hash));
            list.weights.push(if Rank::new(*hash, weight) <= last { weight } else { 0 });
        }
        list.one = options.one();
        Ok(list)
    }

    fn prepare(&mut self, text: &str, options: &Options, counted: bool, tick: &impl Fn()) -> Result<(), Error> {
        self.normal.clear();
        normalise(text, options.case_fold, &mut self.normal, tick)?;
        self.distinct.reset(self.normal.len(), counted, tick)
    }

    /// Frees the memory that a long text has taken.
    fn shrink(&mut self) {
        if self.normal.capacity() + self.distinct.memory() > KEPT {
            *self = Self::default();
        }
    }

    fn tally(&mut self, text: &str, options: &Options, tick: &impl Fn()) -> Result<Option<u64>, Error> {
        if options.is_plain_set() {
            let mut tally = Tally::default();
            self.collect(text, options, tick, |hash, new| tally.vote(hash, new))?;
            return Ok(tally.fingerprint());
        }
        let features = self.weigh_features(text, options, tick)?;
        let fingerprint = tally_of(&features, tick);
        self.distinct = features.into_distinct();
        fingerprint
    }

    fn tallies(&mut self, text: &str, options: &[Options], tick: &impl Fn()) -> Result<Vec<u64>, Error> {
        let Some((first, others)) = options.split_first() else {
            return Ok(Vec::new());
        };
        let plain = first.is_plain_set();
        self.prepare(text, first, !plain, tick)?;
        let mut words = Vec::new();
        words.try_reserve_exact(options.len())?;
        for options in others {
            let mut table = FeatureTable::default();
            table.reset(self.normal.len(), !plain, tick)?;
            words.push((options, table, Tally::default()));
        }
        let Self { normal, distinct } = self;
        let mut first_tally = Tally::default();
        // The votes of features that all weigh 1 are counted on the way; otherwise they count for nothing.
        each_feature(normal, first, tick, |feature, hash| {
            let new = distinct.insert(hash, tick)?;
            first_tally.vote(hash, new && plain);
            for (options, table, tally) in &mut words {
                let hash = Seeded(options.seed).hash(feature);
                let new = table.insert(hash, tick)?;
                tally.vote(hash, new && plain);
            }
            Ok(())
        })?;
        let mut fingerprints = Vec::new();
        fingerprints.try_reserve_exact(options.len())?;
        let first = (first, std::mem::take(distinct), first_tally);
        for (options, table, mut tally) in std::iter::once(first).chain(words) {
            fingerprints.extend(if plain {
                tally.fingerprint()
            } else {
                tally_of(&WeightedFeatures::new(table, options, tick), tick)?
            });
        }
        Ok(fingerprints)
    }

    fn weigh_features(&mut self, text: &str, options: &Options, tick: &impl Fn()) -> Result<WeightedFeatures, Error> {
        self.collect(text, options, tick, |_, _| ())?;
        Ok(WeightedFeatures::new(std::mem::take(&mut self.distinct), options, tick))
    }

    /// Collects the features of a text in `distinct`. Calls `each` for each occurrence with the hash, and with whether
    /// it is the first one.
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

/// The fingerprint of weighted features.
fn tally_of(features: &WeightedFeatures, tick: &impl Fn()) -> Result<Option<u64>, Error> {
    let mut tally = Tally::default();
    for (hash, weight) in ticking(features.iter(), tick) {
        if weight > 0 {
            tally.add(hash, weight)?;
        }
    }
    Ok(tally.fingerprint())
}
