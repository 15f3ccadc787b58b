//! The features of a text as a sorted list: for many texts that are compared with one another.

use super::agreement::Agreement;
use super::fingerprinter::Fingerprinter;
use super::options::Options;
use super::resemblance::share;
use crate::error::Result;
use crate::memory::push;
use crate::ticking::{ITEMS_BETWEEN_TICKS, NUMBERS_BETWEEN_TICKS, ticking};

/// Features that are compared between two checks whether the rest can still matter.
const FEATURES_BETWEEN_CHECKS: usize = 64;

/// The features and pairs of neighbouring features of a text that has some. 8 bytes each, or 16 if the
/// options weigh features.
#[derive(Debug, PartialEq, Eq)]
pub struct FeatureSet {
    /// The sum of the weights, more than 0.
    total: u128,
    /// In ascending order.
    hashes: Vec<u64>,
    /// As long as `hashes`; empty if all weights are 1.
    weights: Vec<u64>,
    agreement: Agreement,
}

impl FeatureSet {
    /// Reads the features of a text; None if it has no feature that weighs anything. Costs as much as the text's
    /// fingerprint and a sort of the features. `tick` is called every few milliseconds and may unwind.
    pub fn new(
        fingerprinter: &mut Fingerprinter,
        text: &str,
        options: &Options,
        tick: &dyn Fn(),
    ) -> Result<Option<Self>> {
        let (hashes, weights) = if options.is_plain_set() {
            (plain(fingerprinter, text, options, tick)?, Vec::new())
        } else {
            weighted(fingerprinter, text, options, tick)?
        };
        let total = match weights.len() {
            0 => hashes.len() as u128,
            _ => ticking(&weights, tick).map(|weight| u128::from(*weight)).sum(),
        };
        let agreement = fingerprinter.agreement(text, options, tick)?;
        Ok((total > 0).then_some(Self { total, hashes, weights, agreement }))
    }

    /// The [`resemblance`](super::resemblance::resemblance) of the two texts; None if it is less than `least`. Both sets
    /// are made with the same options.
    ///
    /// One pass over both lists, which ends as soon as it is certain that the resemblance is less.
    pub fn resemblance_from(&self, other: &Self, least: f64, tick: &dyn Fn()) -> Option<f64> {
        if self.agreement != other.agreement {
            return (least <= 0.0).then_some(0.0);
        }
        let needed = least_common(least, self.total, other.total)?;
        let common = if self.weights.is_empty() && other.weights.is_empty() {
            common_from(needed, (self, |_| 1), (other, |_| 1), tick)
        } else {
            let of_self = |index| self.weights.get(index).copied().unwrap_or(1);
            let of_other = |index| other.weights.get(index).copied().unwrap_or(1);
            common_from(needed, (self, of_self), (other, of_other), tick)
        };
        share(common?, self.total, other.total)
    }

    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.hashes.capacity() * 8 + self.weights.capacity() * 8
    }
}

fn plain(fingerprinter: &mut Fingerprinter, text: &str, options: &Options, tick: &dyn Fn()) -> Result<Vec<u64>> {
    let mut found = Vec::new();
    fingerprinter.count_compared(text, options, tick, |new| {
        found.try_reserve(new.len())?;
        found.extend_from_slice(new);
        Ok(())
    })?;
    sort(&mut found, &|hash| *hash, u64::BITS, tick);
    collect(found.len(), found.iter().copied(), tick)
}

/// The hashes of the distinct features, and their weights; without features that weigh nothing.
fn weighted(
    fingerprinter: &mut Fingerprinter,
    text: &str,
    options: &Options,
    tick: &dyn Fn(),
) -> Result<(Vec<u64>, Vec<u64>)> {
    let features = fingerprinter.weighted_and_compared(text, options, tick)?;
    let mut found = Vec::new();
    for feature in ticking(features.iter().filter(|(_, weight)| *weight > 0), tick) {
        push(&mut found, feature)?;
    }
    sort(&mut found, &|(hash, _)| *hash, u64::BITS, tick);
    let hashes = collect(found.len(), found.iter().map(|(hash, _)| *hash), tick)?;
    let weights = collect(found.len(), found.iter().map(|(_, weight)| *weight), tick)?;
    Ok((hashes, weights))
}

/// A vector without spare memory.
fn collect<T>(len: usize, items: impl Iterator<Item = T>, tick: &dyn Fn()) -> Result<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(len)?;
    all.extend(ticking(items, tick));
    Ok(all)
}

/// Sorts by a key, of which only the lowest `bits` bits differ between the items. Long lists are split by the highest
/// of these bits first, so that the sort can be cancelled.
pub(crate) fn sort<T: Copy>(items: &mut [T], key: &impl Fn(&T) -> u64, bits: u32, tick: &dyn Fn()) {
    tick();
    if items.len() <= NUMBERS_BETWEEN_TICKS || bits == 0 {
        return items.sort_unstable_by_key(key);
    }
    let mut zeros = 0;
    for index in ticking(0..items.len(), tick) {
        if key(&items[index]) >> (bits - 1) & 1 == 0 {
            items.swap(zeros, index);
            zeros += 1;
        }
    }
    let (zeros, ones) = items.split_at_mut(zeros);
    sort(zeros, key, bits - 1, tick);
    sort(ones, key, bits - 1, tick);
}

/// The least common weight with which two texts of these weights have a resemblance of at least `least`; None if there
/// is none. The resemblance grows with the common weight, also as it is rounded.
fn least_common(least: f64, of_a: u128, of_b: u128) -> Option<u128> {
    let reaches = |common| share(common, of_a, of_b).is_some_and(|share| share >= least);
    let (mut fewest, mut most) = (0, of_a.min(of_b));
    if !reaches(most) {
        return None;
    }
    while fewest < most {
        let middle = fewest + (most - fewest) / 2;
        if reaches(middle) {
            most = middle;
        } else {
            fewest = middle + 1;
        }
    }
    Some(fewest)
}

/// The common weight of two sets; None if it is less than `needed`. Each comes with a function from an index to a weight.
#[inline(always)]
fn common_from(
    needed: u128,
    (a, weight_a): (&FeatureSet, impl Fn(usize) -> u64),
    (b, weight_b): (&FeatureSet, impl Fn(usize) -> u64),
    tick: &dyn Fn(),
) -> Option<u128> {
    let (mut i, mut j, mut common) = (0, 0, 0u128);
    let (mut rest_a, mut rest_b) = (a.total, b.total);
    for stride in 1.. {
        if common + rest_a.min(rest_b) < needed {
            return None;
        }
        if stride % (ITEMS_BETWEEN_TICKS / FEATURES_BETWEEN_CHECKS) == 0 {
            tick();
        }
        let (end_i, end_j) =
            ((i + FEATURES_BETWEEN_CHECKS).min(a.hashes.len()), (j + FEATURES_BETWEEN_CHECKS).min(b.hashes.len()));
        // Which hash is smaller is unpredictable, so nothing branches on it.
        while i < end_i && j < end_j {
            let (of_a, of_b) = (u128::from(weight_a(i)), u128::from(weight_b(j)));
            let (x, y) = (a.hashes[i], b.hashes[j]);
            common += u128::from(x == y) * of_a.min(of_b);
            rest_a -= u128::from(x <= y) * of_a;
            rest_b -= u128::from(y <= x) * of_b;
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        if i == a.hashes.len() || j == b.hashes.len() {
            break;
        }
    }
    (common >= needed).then_some(common)
}
