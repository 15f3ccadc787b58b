//! The features that a fingerprint is made of, as hashes and weights.

use super::bands::occurrence;
use super::feature_table::FeatureTable;
use super::neighbours::PairFactors;
use super::options::{Options, Weight};
use crate::ticking::ticking;

/// The distinct features of a text with their weights; with the pairs of neighbours if these were asked for.
#[derive(Debug)]
pub struct WeightedFeatures {
    /// The features and pairs, with their numbers of occurrences.
    pub(super) table: FeatureTable,
    pub(super) options: Options,
    /// The weights of pairs by the option `weights`; empty without pairs, and without this option.
    pub(super) pair_factors: PairFactors,
}

impl WeightedFeatures {
    /// Each feature's hash and weight, in no particular order. With the option `weights`, weights are in units that all
    /// features share, and may be 0.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.table.iter().map(|(hash, count)| (hash, self.weigh(hash, count)))
    }

    /// Each feature's hash and weight; if the option `weight` counts occurrences, for each occurrence a hash of its own
    /// and what the occurrence adds to the weight.
    pub(super) fn occurrences(&self) -> impl Iterator<Item = (u64, u64)> {
        self.table.iter().flat_map(move |(hash, count)| {
            let last = if self.options.weight == Weight::Set { 1 } else { count };
            let mut before = 0;
            (1..=last).map(move |number| {
                let weight = self.weigh(hash, number);
                (occurrence(hash, number), weight - std::mem::replace(&mut before, weight))
            })
        })
    }

    /// The sum of the weights.
    pub(super) fn total(&self, tick: &dyn Fn()) -> u128 {
        ticking(self.iter(), tick).map(|(_, weight)| u128::from(weight)).sum()
    }

    /// The weight of the feature with this hash; 0 if the fingerprint is made without it.
    pub fn weight(&self, hash: u64) -> u64 {
        match self.table.count(hash) {
            0 => 0,
            count => self.weigh(hash, count),
        }
    }

    pub fn memory(&self) -> usize {
        self.table.memory() + self.pair_factors.capacity() * size_of::<(u64, u64)>()
    }

    fn weigh(&self, hash: u64, count: u32) -> u64 {
        match self.pair_factors.get(&hash) {
            Some(factor) => self.options.weigh_count(count) * factor,
            None => self.options.weigh(hash, count),
        }
    }
}
