//! The features that a fingerprint is made of, as hashes and weights.

use super::feature_table::FeatureTable;
use super::heaviest::{Rank, last_kept};
use super::options::Options;

/// The distinct features of a text with their weights.
#[derive(Debug)]
pub struct WeightedFeatures {
    distinct: FeatureTable,
    options: Options,
    last: Rank,
}

impl WeightedFeatures {
    pub(super) fn new(distinct: FeatureTable, options: &Options, tick: &dyn Fn()) -> Self {
        let last = last_kept(&distinct, options, tick);
        Self { distinct, options: options.clone(), last }
    }

    /// Each feature's hash and weight, in no particular order. The weight is 0 for a feature that the option `top`
    /// leaves out. With the option `weights`, weights are in units that all features share.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.distinct.iter().map(|(hash, count)| (hash, self.weigh(hash, count)))
    }

    /// The weight of the feature with this hash; 0 if the fingerprint is made without it.
    pub fn weight(&self, hash: u64) -> u64 {
        match self.distinct.count(hash) {
            0 => 0,
            count => self.weigh(hash, count),
        }
    }

    /// Bytes of memory that the features take.
    pub fn memory(&self) -> usize {
        self.distinct.memory()
    }

    pub(super) fn into_distinct(self) -> FeatureTable {
        self.distinct
    }

    fn weigh(&self, hash: u64, count: u32) -> u64 {
        let weight = self.options.weigh(hash, count);
        if Rank::new(hash, weight) <= self.last { weight } else { 0 }
    }
}
