//! The sketch of a text: a summary without its features, by which texts that cannot resemble each other are recognised.
//!
//! Many texts that share a band do not resemble each other. The parities refute nearly all of these pairs without
//! reading a text. The hash of each feature, and of each pair of neighbours, selects one of 256 bits. The bit is 1 if
//! an odd number of hashes select it (Mitzenmacher, Pagh, Pham, WWW 2014). For each bit in which the parities of two
//! texts differ, one text has a feature or a pair that the other lacks. So this never refutes two texts that resemble
//! each other. It refutes most others of up to 600 features; longer ones have more different features than bits.

use multiversion::multiversion;

use super::options::Options;
use super::size::are_sizes_exact;

/// The number of words of parities. With 32 bits each, a sketch has no padding.
const PARITY_WORDS: usize = 8;
/// The highest bits of a hash select a parity.
const SHIFT: u32 = u64::BITS - (PARITY_WORDS * 32).ilog2();

/// The summary of a text without its features.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// The first [bands](super::bands) of the text.
    pub bands: Vec<i32>,
    pub difference: DifferenceSketch,
}

/// The part of a sketch that shows how much two texts differ at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DifferenceSketch {
    parities: [u32; PARITY_WORDS],
    /// The [size](super::size) of the text.
    pub(super) size: i32,
}

impl DifferenceSketch {
    /// Whether this is the sketch of no text: the size of a text is at least 1.
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    #[inline]
    pub(super) fn flip(&mut self, hash: u64) {
        let bit = (hash >> SHIFT) as usize;
        self.parities[bit / 32] ^= 1 << (bit % 32);
    }
}

/// How sketches are compared, by the options with which they were made.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// The least weight of a feature that flips a parity, in units of the size.
    weight: u32,
    /// The most by which the difference of two sizes may exceed the difference of the weights.
    rounding: i64,
}

impl Comparison {
    pub fn new(options: &Options) -> Self {
        Self { weight: options.weigh_count(1) as u32, rounding: i64::from(!are_sizes_exact(options)) }
    }

    /// The least difference of two texts: the weight of what only one of them has, in units of the size.
    #[inline(always)]
    pub fn difference(self, a: &DifferenceSketch, b: &DifferenceSketch) -> i64 {
        let odd: u32 = a.parities.iter().zip(&b.parities).map(|(a, b)| (a ^ b).count_ones()).sum();
        let size_difference = (i64::from(a.size) - i64::from(b.size)).abs() - self.rounding;
        size_difference.max(i64::from(odd * self.weight))
    }
}

/// The most that two texts may differ if their resemblance is at least a given one: a share of the sum of their sizes.
///
/// Two texts with a sum s of sizes and a difference d have (s - d) / 2 in common and (s + d) / 2 together. So their
/// resemblance is (s - d) / (s + d).
#[derive(Clone, Copy, Debug)]
pub struct MostDifferent(f64);

impl MostDifferent {
    pub fn with_resemblance(least: f64) -> Self {
        /// More than the errors of rounding; for the largest sum of sizes still less than a feature.
        const ROUNDING: f64 = 1e-12;
        let least = least.max(0.0);
        Self((1.0 - least) / (1.0 + least) + ROUNDING)
    }

    /// Whether two texts whose difference is at least `difference` may have the resemblance.
    #[inline(always)]
    pub fn allows(self, difference: i64, a: &DifferenceSketch, b: &DifferenceSketch) -> bool {
        let sum = i64::from(a.size) + i64::from(b.size);
        // A size ends at `i32::MAX`: the text may be larger.
        difference as f64 <= self.0 * sum as f64 || a.size.max(b.size) == i32::MAX
    }
}

/// The index of the first of `sketches` that may have the resemblance to `sketch`; None if there is none.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512vpopcntdq", "x86_64+avx2+popcnt", "x86_64+popcnt"))]
pub fn first_allowed(
    sketches: &[DifferenceSketch],
    sketch: &DifferenceSketch,
    comparison: Comparison,
    most: MostDifferent,
) -> Option<usize> {
    sketches.iter().position(|other| most.allows(comparison.difference(other, sketch), other, sketch))
}
