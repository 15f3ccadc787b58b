//! Decides which is cheaper: to compare all fingerprints of a slice with each other, or to split it by blocks first.
//!
//! Costs are in nanoseconds, measured on one core of a 2.4 GHz AMD EPYC with AVX2 (benches/pairs.rs). They are expected
//! costs for uniform fingerprints; the search finds out what a slice really costs (see [`super::search`]).

use crate::error::Result;
use crate::memory::repeated;

/// Cost of comparing one pair.
const COMPARE_NS: f64 = 0.36;
/// Cost of each row that is compared with others.
const ROW_NS: f64 = 3.0;
/// Cost of counting one fingerprint and copying it to its bucket within the second-level cache.
const SCATTER_NS: f64 = 4.0;
/// Cost of counting one fingerprint and copying it to its bucket in a slice larger than the second-level cache.
const FAR_SCATTER_NS: f64 = 12.0;
/// Number of fingerprints that fit in the second-level cache: 12 bytes each, twice.
const CACHED_ROWS: usize = 1 << 14;
/// Cost of a bucket, whatever it holds.
const BUCKET_NS: f64 = 10.0;
/// Cost of splitting a slice.
const SLICE_NS: f64 = 200.0;

/// Largest worth, in bits, of the blocks that a slice is split by.
const MAX_BLOCK_WORTH: u32 = 13;
/// Largest distance at which a slice is split. Beyond it, blocks are too narrow to tell fingerprints apart.
pub const MAX_SPLIT_DISTANCE: u32 = 16;
/// Slices smaller than this are never split.
pub const MIN_SPLIT_ROWS: usize = 32;

/// The number of bit counts, 0 to 64.
const BIT_COUNTS: usize = 65;

/// The cheapest way to search a slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    pub cost: f64,
    /// The [worth](super::bits::Worths), in bits, of each block to split the slice by; None to compare all pairs.
    pub block_worth: Option<u32>,
}

/// The cheapest choices, by the length of a slice, the number of bits that tell its fingerprints apart, and the
/// distance that is left: the largest one that near fingerprints can have on these bits. A choice is computed when it
/// is first asked for.
pub struct Plan {
    /// The number of lengths of slices that the plan distinguishes, by [`half_bits`].
    lengths: usize,
    choices: Vec<Option<Choice>>,
}

impl Plan {
    /// A plan for slices of at most `len` fingerprints.
    pub fn new(len: usize, max_distance: u32) -> Result<Self> {
        let lengths = if len < MIN_SPLIT_ROWS { 0 } else { half_bits(len) as usize + 1 };
        let distances = max_distance.min(MAX_SPLIT_DISTANCE) as usize + 1;
        let choices = repeated(lengths * BIT_COUNTS * distances, None, &|| ())?;
        Ok(Self { lengths, choices })
    }

    /// The cheapest way to find the pairs among `len` fingerprints that differ in at most `distance_left` of `bits`
    /// bits.
    pub fn choose(&mut self, len: usize, bits: u32, distance_left: u32) -> Choice {
        if len < MIN_SPLIT_ROWS || distance_left > MAX_SPLIT_DISTANCE {
            return Choice { cost: compare_all_cost(len as f64), block_worth: None };
        }
        self.choice(half_bits(len), bits.min(64), distance_left)
    }

    /// The choice for 2^(`half_bits` / 2) fingerprints.
    fn choice(&mut self, half_bits: u32, bits: u32, distance_left: u32) -> Choice {
        let len = (f64::from(half_bits) / 2.0).exp2();
        let mut best = Choice { cost: compare_all_cost(len), block_worth: None };
        if len < MIN_SPLIT_ROWS as f64 {
            return best;
        }
        let index = (distance_left as usize * BIT_COUNTS + bits as usize) * self.lengths + half_bits as usize;
        if let Some(choice) = self.choices[index] {
            return choice;
        }
        let blocks = distance_left + 1;
        let largest_worth = MAX_BLOCK_WORTH.min(bits / blocks).min(half_bits / 2);
        for block_worth in 1..=largest_worth {
            let buckets = f64::from(block_worth).exp2();
            let mut cost = SLICE_NS + f64::from(blocks) * (scatter_cost(len) + buckets * BUCKET_NS);
            for block in 0..blocks {
                if cost >= best.cost {
                    break;
                }
                let rest_bits = bits - (block + 1) * block_worth;
                cost += buckets
                    * match half_bits.checked_sub(2 * block_worth) {
                        Some(half_bits) => self.choice(half_bits, rest_bits, distance_left - block).cost,
                        None => compare_all_cost(len / buckets),
                    };
            }
            if cost < best.cost {
                best = Choice { cost, block_worth: Some(block_worth) };
            }
        }
        self.choices[index] = Some(best);
        best
    }
}

pub fn compare_all_cost(len: f64) -> f64 {
    len * ROW_NS + len * len / 2.0 * COMPARE_NS
}

pub fn scatter_cost(len: f64) -> f64 {
    len * if len < CACHED_ROWS as f64 { SCATTER_NS } else { FAR_SCATTER_NS }
}

/// A number of fingerprints as the exponent of the nearest power of the square root of 2; at most 64.
fn half_bits(len: usize) -> u32 {
    (2.0 * (len as f64).log2()).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_only_large_slices() {
        for max_distance in [0, 3, 5, 8] {
            let mut plan = Plan::new(1 << 23, max_distance).expect("memory suffices");
            assert_eq!(plan.choose(10, 64, max_distance).block_worth, None);
            let mut last = 0.0;
            for len in (5..24).map(|exponent| 1 << exponent) {
                let choice = plan.choose(len, 64, max_distance);
                assert!(choice.cost > last && choice.cost <= compare_all_cost(len as f64) * 1.01);
                last = choice.cost;
            }
            assert!(plan.choose(1 << 23, 64, max_distance).block_worth.is_some());
            assert_eq!(plan.choose(1 << 23, max_distance, max_distance).block_worth, None);
        }
        for (len, max_distance) in [(1 << 23, 40), (1 << 17, 16)] {
            let mut plan = Plan::new(len, max_distance).expect("memory suffices");
            assert_eq!(plan.choose(len, 64, max_distance).block_worth, None);
        }
    }
}
