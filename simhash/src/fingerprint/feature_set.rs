//! The features of a text as a sorted list, and its fingerprint: for many texts that are compared with one another.

use super::agreement::Agreement;
use super::fingerprinter::Fingerprinter;
use super::resemblance::share;
use crate::error::Result;
use crate::memory::{collect_exact, push, repeated};
use crate::ticking::{ITEMS_BETWEEN_TICKS, sort, ticking};

/// Features that are compared before it is checked again whether the resemblance can still be reached.
const FEATURES_BETWEEN_CHECKS: usize = 32;

/// The features and pairs of neighbouring features of a text that has some. Takes 8 bytes for each, or 16 if the
/// options weigh features.
#[derive(Debug, PartialEq, Eq)]
pub struct FeatureSet {
    pub fingerprint: u64,
    /// The sum of the weights, more than 0.
    total: u128,
    /// The hashes, in ascending order.
    hashes: Vec<u64>,
    /// The weight of each hash; empty if all weights are 1.
    weights: Vec<u64>,
    agreement: Agreement,
}

impl FeatureSet {
    /// Reads the features of a text; None if it has no feature that weighs anything. Costs as much as the text's
    /// fingerprint, or two fingerprints if the options weigh features, and a sort of the features.
    pub fn new(fingerprinter: &mut Fingerprinter, text: &str) -> Result<Option<Self>> {
        let (fingerprint, hashes, weights) = if fingerprinter.options.is_plain_set() {
            let (fingerprint, hashes) = plain_hashes(fingerprinter, text)?;
            (fingerprint, hashes, Vec::new())
        } else {
            let (hashes, weights) = weighted_hashes(fingerprinter, text)?;
            (fingerprinter.fingerprint(text)?, hashes, weights)
        };
        let Some(fingerprint) = fingerprint else { return Ok(None) };
        let total = match weights.len() {
            0 => hashes.len() as u128,
            _ => ticking(&weights, fingerprinter.tick).map(|weight| u128::from(*weight)).sum(),
        };
        let agreement = fingerprinter.agreement(text)?;
        Ok((total > 0).then_some(Self { fingerprint, total, hashes, weights, agreement }))
    }

    /// The [`resemblance`](super::resemblance::resemblance) of the two texts; None if it is less than `least`. Both
    /// sets are made with the same options.
    ///
    /// Reads both lists once at most, and ends as soon as it is certain that the resemblance is less.
    pub fn resemblance_from(&self, other: &Self, least: f64, tick: &dyn Fn()) -> Option<f64> {
        if self.agreement != other.agreement {
            return (least <= 0.0).then_some(0.0);
        }
        let needed = least_common(least, self.total, other.total)?;
        let common = if self.weights.is_empty() && other.weights.is_empty() {
            common_hashes(needed, &self.hashes, &other.hashes, tick)
        } else {
            self.common_weight(other, needed, tick)
        };
        share(common?, self.total, other.total)
    }

    /// The common weight of two sets; None if it is less than `needed`. Merges the two sorted lists.
    fn common_weight(&self, other: &Self, needed: u128, tick: &dyn Fn()) -> Option<u128> {
        let mut common = 0;
        let (mut rest, mut rest_of_other) = (self.total, other.total);
        let mut others = ticking(other.hashes_and_weights(), tick).peekable();
        for (hash, weight) in self.hashes_and_weights() {
            while let Some((_, weight)) = others.next_if(|(other, _)| *other < hash) {
                rest_of_other -= u128::from(weight);
            }
            if common + rest.min(rest_of_other) < needed {
                return None;
            }
            if let Some((_, weight_of_other)) = others.next_if(|(other, _)| *other == hash) {
                common += u128::from(weight.min(weight_of_other));
                rest_of_other -= u128::from(weight_of_other);
            }
            rest -= u128::from(weight);
        }
        (common >= needed).then_some(common)
    }

    fn hashes_and_weights(&self) -> impl Iterator<Item = (u64, u64)> {
        let weight = |index| self.weights.get(index).copied().unwrap_or(1);
        self.hashes.iter().enumerate().map(move |(index, hash)| (*hash, weight(index)))
    }

    /// The features and pairs by their hashes, in ascending order.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// Whether a weight differs from 1.
    pub fn is_weighted(&self) -> bool {
        !self.weights.is_empty()
    }

    /// Stores the prefix of this set in `prefix`: the features that come first in the order of their levels and hashes,
    /// and whether they are in the short prefix ([prefixes](crate::pairs)). A level is less than 64.
    pub fn prefix(
        &self,
        level: impl Fn(u64) -> u8,
        least: f64,
        prefix: &mut Vec<(u64, bool)>,
        tick: &dyn Fn(),
    ) -> Result<()> {
        /// More than the errors of rounding.
        const ROUNDING: f64 = 1e-9;
        let [short, long] =
            [2.0 * least / (1.0 + least), least].map(|share| (self.total as f64 * share * (1.0 - ROUNDING)) as u128);
        let levels = ticking(&self.hashes, tick).fold(0u64, |levels, hash| levels | 1 << level(*hash));
        let mut rest = self.total;
        prefix.clear();
        for current in (0..u64::BITS as u8).filter(|level| levels >> level & 1 == 1) {
            for (hash, weight) in ticking(self.hashes_and_weights(), tick).filter(|(hash, _)| level(*hash) == current) {
                if rest < long {
                    return Ok(());
                }
                push(prefix, (hash, rest >= short))?;
                rest -= u128::from(weight);
            }
        }
        Ok(())
    }

    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.hashes.capacity() * 8 + self.weights.capacity() * 8
    }
}

/// The fingerprint, and the hashes of the features and pairs in ascending order.
fn plain_hashes(fingerprinter: &mut Fingerprinter, text: &str) -> Result<(Option<u64>, Vec<u64>)> {
    let mut hashes = Vec::new();
    let fingerprint = fingerprinter.compared_and_fingerprint(text, |batch| {
        hashes.try_reserve(batch.len())?;
        hashes.extend_from_slice(batch);
        Ok(())
    })?;
    if let Some(sorted) = sorted_by_buckets(&hashes)? {
        return Ok((fingerprint, sorted));
    }
    sort(&mut hashes, &|hash| *hash, u64::BITS, fingerprinter.tick);
    Ok((fingerprint, collect_exact(hashes.len(), ticking(hashes, fingerprinter.tick))?))
}

/// The buckets in which hashes are sorted, and the most hashes in each.
const BUCKETS: usize = 512;
const MAX_IN_BUCKET: u16 = 32;

/// The hashes in ascending order, in half the time of a sort: by a counting sort of the highest bits, which leaves few
/// hashes in most buckets. None if one bucket has many.
fn sorted_by_buckets(hashes: &[u64]) -> Result<Option<Vec<u64>>> {
    if hashes.len() > BUCKETS * usize::from(MAX_IN_BUCKET) {
        return Ok(None);
    }
    let bucket = |hash: u64| (hash >> (u64::BITS - BUCKETS.ilog2())) as usize;
    let mut counts = [0u16; BUCKETS];
    hashes.iter().for_each(|hash| counts[bucket(*hash)] += 1);
    if counts.iter().any(|count| *count > MAX_IN_BUCKET) {
        return Ok(None);
    }
    // Where the next hash of each bucket goes: at first, where the bucket starts.
    let mut next_positions = counts;
    let mut sum = 0;
    for next in &mut next_positions {
        sum += std::mem::replace(next, sum);
    }
    let mut all = repeated(hashes.len(), 0, &|| ())?;
    for hash in hashes {
        let next = &mut next_positions[bucket(*hash)];
        all[usize::from(*next)] = *hash;
        *next += 1;
    }
    // An insertion sort moves a hash only within its bucket.
    for sorted in 1..all.len() {
        let hash = all[sorted];
        let mut position = sorted;
        while position > 0 && all[position - 1] > hash {
            all[position] = all[position - 1];
            position -= 1;
        }
        all[position] = hash;
    }
    Ok(Some(all))
}

/// The hashes of the distinct features, and their weights; without features that weigh nothing.
fn weighted_hashes(fingerprinter: &mut Fingerprinter, text: &str) -> Result<(Vec<u64>, Vec<u64>)> {
    let tick = fingerprinter.tick;
    let features = fingerprinter.weighted_features_and_pairs(text)?;
    let mut sorted = Vec::new();
    for feature in ticking(features.iter().filter(|(_, weight)| *weight > 0), tick) {
        push(&mut sorted, feature)?;
    }
    sort(&mut sorted, &|(hash, _)| *hash, u64::BITS, tick);
    let hashes = collect_exact(sorted.len(), ticking(&sorted, tick).map(|(hash, _)| *hash))?;
    let weights = collect_exact(sorted.len(), ticking(&sorted, tick).map(|(_, weight)| *weight))?;
    Ok((hashes, weights))
}

/// The least common weight of two texts of these weights for a resemblance of at least `least`; None if they cannot
/// have it. The resemblance grows with the common weight, even if it is rounded.
fn least_common(least: f64, of_a: u128, of_b: u128) -> Option<u128> {
    let reaches = |common| share(common, of_a, of_b).is_some_and(|share| share >= least);
    let largest = of_a.min(of_b);
    if !reaches(largest) {
        return None;
    }
    // The expected value is exact except for rounding.
    let expected = (of_a + of_b) as f64 * least / (1.0 + least);
    let mut fewest = ((expected * (1.0 - 1e-12)) as u128).min(largest);
    let mut most = ((expected * (1.0 + 1e-12)) as u128 + 1).min(largest);
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

/// The number of common hashes of two ascending lists; None if there are fewer than `needed`.
fn common_hashes(needed: u128, a: &[u64], b: &[u64], tick: &dyn Fn()) -> Option<u128> {
    let (mut i, mut j, mut common) = (0, 0, 0);
    for chunk in 1.. {
        if ((common + (a.len() - i).min(b.len() - j)) as u128) < needed {
            return None;
        }
        if chunk % (ITEMS_BETWEEN_TICKS / FEATURES_BETWEEN_CHECKS) == 0 {
            tick();
        }
        let (end_i, end_j) = ((i + FEATURES_BETWEEN_CHECKS).min(a.len()), (j + FEATURES_BETWEEN_CHECKS).min(b.len()));
        // It is unpredictable which hash is smaller, so nothing branches on it.
        while i < end_i && j < end_j {
            let (x, y) = (a[i], b[j]);
            common += usize::from(x == y);
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        if i == a.len() || j == b.len() {
            break;
        }
    }
    (common as u128 >= needed).then_some(common as u128)
}
