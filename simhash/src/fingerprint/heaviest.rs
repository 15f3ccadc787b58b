//! The option `top`: keeps only the heaviest features.

use super::feature_table::FeatureTable;
use super::options::Options;
use crate::ticking::ticking;

const DIGIT_BITS: u32 = 8;
/// Bits of a rank, and of one by weights that fit 32 bits: then the upper bits of all ranks are 1.
const RANK_BITS: u32 = 64 + 64;
const SHORT_RANK_BITS: u32 = 32 + 64;

/// The rank of a feature as a number: heavier features first and, among equally heavy ones, those with the smaller
/// hash. No two features have the same rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u128);

impl Rank {
    /// The last possible rank: as a bound, it keeps every feature.
    pub const LAST: Self = Self(u128::MAX);

    pub fn new(hash: u64, weight: u64) -> Self {
        Self(u128::from(u64::MAX - weight) << 64 | u128::from(hash))
    }
}

/// The last rank that `options.top` keeps.
///
/// Selects by digits, the most significant first, in twelve passes over the features, or sixteen with the option
/// `weights`. Unlike a sort, this needs no memory and can be cancelled.
pub fn last_kept(features: &FeatureTable, options: &Options, tick: &dyn Fn()) -> Rank {
    let Some(top) = options.top.filter(|top| (top.get() as usize) < features.distinct()) else {
        return Rank::LAST;
    };
    let mut wanted = u64::from(top.get());
    let bits = if options.weights.is_some() { RANK_BITS } else { SHORT_RANK_BITS };
    let mut prefix = u128::MAX.checked_shr(bits).unwrap_or(0);
    for shift in (0..bits).step_by(DIGIT_BITS as usize).rev() {
        let mut counts = [0u64; 1 << DIGIT_BITS];
        for (hash, count) in ticking(features.iter(), tick) {
            let Rank(rank) = Rank::new(hash, options.weigh(hash, count));
            if rank >> shift >> DIGIT_BITS == prefix {
                counts[(rank >> shift) as usize % counts.len()] += 1;
            }
        }
        let mut digit = 0;
        while wanted > counts[digit] {
            wanted -= counts[digit];
            digit += 1;
        }
        prefix = prefix << DIGIT_BITS | digit as u128;
    }
    Rank(prefix)
}
