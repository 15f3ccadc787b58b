//! Pairs of neighbouring features. Texts are compared by them in addition to their features.
//!
//! Two features are neighbours if one directly follows the other in a run: two words, whatever separates them, or two
//! shingles of which one begins a token later. So order counts, and texts of few different words do not all resemble
//! each other. Fingerprints are made without pairs.
//!
//! The hash of a pair is a format, because [bands](super::bands) are made of it: two numbers are [`join`]ed, one for
//! each feature. The number of a feature of at most eight bytes is its bytes in UTF-8, little-endian, which needs no
//! hash; so the pairs of short words are the same with every seed. That of a longer one is its hash. A shingle of
//! several tokens is a feature like any other: "a b" has three bytes.

use super::features::{FeatureSink, PairSink};
use super::hash::{SeededHasher, length_of};
use super::options::Options;
use super::weight_map::{ByHash, WeightMap};
use crate::error::Result;
use crate::random::GOLDEN_RATIO;

/// The factors of pairs by the option `weights`: for the hash of a pair, the weight of the lighter of its two features,
/// in units of the map. Pairs with a factor of 1 are left out.
pub type PairFactors = ByHash;

/// Passes on each feature and, after it, its pair with the feature before it.
pub struct Neighbours<'a, S> {
    sink: S,
    weights: Option<&'a WeightMap>,
    factors: &'a mut PairFactors,
    previous: Option<Neighbour>,
}

#[derive(Clone, Copy)]
struct Neighbour {
    /// The bytes of a short feature, or the hash of a longer one.
    id: u64,
    /// The factor by the option `weights`; 0 without it.
    factor: u64,
}

impl<'a, S: PairSink> Neighbours<'a, S> {
    pub fn new(sink: S, options: &'a Options, factors: &'a mut PairFactors) -> Self {
        Self { sink, weights: options.weights.as_deref(), factors, previous: None }
    }

    /// Passes on the pair of a feature with the one before it. `hash` is called only with the option `weights`.
    #[inline(always)]
    fn pair_with_previous(&mut self, id: u64, hash: impl FnOnce() -> u64) -> Result<()> {
        let factor = self.weights.map_or(0, |weights| weights.weight(hash()));
        let Some(previous) = self.previous.replace(Neighbour { id, factor }) else { return Ok(()) };
        let pair = join(previous.id, id);
        if let Some(weights) = self.weights {
            let factor = previous.factor.min(factor);
            if factor < weights.unit_weight() {
                self.factors.try_reserve(1)?;
                self.factors.insert(pair, factor);
            }
        }
        self.sink.pair(pair)
    }
}

impl<S: PairSink> FeatureSink for Neighbours<'_, S> {
    #[inline(always)]
    fn feature(&mut self, feature: &[u8], hash: u64) -> Result<()> {
        self.sink.feature(feature, hash)?;
        // Short features arrive here too, if the caller has their bytes as a slice.
        let id = match feature.len() {
            0..=8 => feature.iter().rev().fold(0, |id, byte| id << 8 | u64::from(*byte)),
            _ => hash,
        };
        self.pair_with_previous(id, || hash)
    }

    #[inline(always)]
    fn short_word(&mut self, bytes: u64, hasher: SeededHasher) -> Result<()> {
        self.sink.short_word(bytes, hasher)?;
        self.pair_with_previous(bytes, || hasher.hash_1_to_8(bytes, length_of(bytes)))
    }

    #[inline(always)]
    fn end_run(&mut self) {
        self.previous = None;
    }
}

/// A hash of two numbers in this order: a folded product of both, then a part of the finalizer of SplitMix64.
#[inline(always)]
pub(super) fn join(first: u64, second: u64) -> u64 {
    let product = u128::from(first ^ GOLDEN_RATIO) * u128::from(second ^ 0xc2b2_ae3d_27d4_eb4f);
    let mut hash = product as u64 ^ (product >> 64) as u64 ^ second.rotate_left(32);
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash ^ hash >> 27
}
