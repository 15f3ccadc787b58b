//! A hash table of the distinct features of a text.

use crate::error::{Error, MAX_FEATURES, Result};
use crate::memory::{grow, repeated};
use crate::random::{secret_factor, spread};
use crate::ticking::ticking;

/// The distinct features of a text by their hash, with their numbers of occurrences if these are asked for.
///
/// Two features with the same 64-bit hash are one feature by the definition of the format, since no fingerprint could
/// tell them apart. Linear probing, a quarter to half full: a large table takes 16 to 32 bytes for each distinct
/// feature, 48 while it grows, and half as much again with counts.
#[derive(Debug, Default)]
pub struct FeatureTable {
    /// The hash in each slot; 0 if the slot is free. The feature whose hash is 0 is counted in `zero_count`.
    hashes: Vec<u64>,
    /// The number of occurrences of the feature in each slot; empty if occurrences are not counted.
    counts: Vec<u32>,
    distinct: usize,
    zero_count: u32,
    /// A random factor, by which [`spread`] makes a slot of a hash.
    secret: u64,
}

/// The most hashes that [`FeatureTable::insert_all`] takes.
pub const FEATURE_BATCH: usize = 64;

/// Slots of a new table for each feature that is expected.
const SLOTS_PER_FEATURE: usize = 4;
/// Fewest slots: half of them are free before a batch, so that a whole batch fits.
const MIN_SLOTS: usize = 2 * FEATURE_BATCH;
/// Most slots of a new table. It grows when it is half full.
const MAX_FIRST_SLOTS: usize = 16 * 1024;

impl FeatureTable {
    /// Empties the table, and sizes it for about `expected` features. Occurrences are counted if `has_counts` is true.
    pub fn reset(&mut self, expected: usize, has_counts: bool, tick: &dyn Fn()) -> Result<()> {
        let slots = expected.saturating_mul(SLOTS_PER_FEATURE).clamp(MIN_SLOTS, MAX_FIRST_SLOTS).next_power_of_two();
        self.distinct = 0;
        self.zero_count = 0;
        self.secret = secret_factor();
        if self.hashes.len() == slots && !has_counts {
            self.hashes.fill(0);
            self.counts.clear();
            return Ok(());
        }
        self.hashes.clear();
        self.counts.clear();
        grow(&mut self.hashes, slots, 0, tick)?;
        grow(&mut self.counts, if has_counts { slots } else { 0 }, 0, tick)
    }

    /// Counts a feature by its hash, and returns whether the hash is new.
    #[inline(always)]
    pub fn insert(&mut self, hash: u64, tick: &dyn Fn()) -> Result<bool> {
        self.insert_all(&mut [hash], tick).map(|new_count| new_count == 1)
    }

    /// Counts up to [`FEATURE_BATCH`] features by their hashes. Moves the new hashes to the front; returns their
    /// number.
    #[inline]
    pub fn insert_all(&mut self, hashes: &mut [u64], tick: &dyn Fn()) -> Result<usize> {
        debug_assert!(hashes.len() <= FEATURE_BATCH);
        let (slots, counts) = (&mut self.hashes[..], &mut self.counts[..]);
        let mut new_count = 0;
        for i in 0..hashes.len() {
            let hash = hashes[i];
            let is_new = if hash == 0 {
                self.zero_count = self.zero_count.saturating_add(1);
                self.zero_count == 1
            } else {
                let slot = slot_of(slots, self.secret, hash);
                let is_new = slots[slot] == 0;
                slots[slot] = hash;
                if let Some(count) = counts.get_mut(slot) {
                    *count = count.saturating_add(1);
                }
                is_new
            };
            hashes[new_count] = hash;
            new_count += usize::from(is_new);
        }
        self.distinct += new_count;
        // The table was at most half full before, so a slot was free for each feature of the batch.
        if self.distinct * 2 > self.hashes.len() {
            self.grow(tick)?;
        }
        Ok(new_count)
    }

    /// Each distinct hash with its count (1 if occurrences are not counted), in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        let taken = self.hashes.iter().enumerate().filter(|(_, hash)| **hash != 0);
        let features = taken.map(|(slot, hash)| (*hash, self.counts.get(slot).copied().unwrap_or(1)));
        features.chain((self.zero_count > 0).then(|| (0, self.count(0))))
    }

    /// Number of distinct features.
    pub fn distinct(&self) -> usize {
        self.distinct
    }

    /// How often the feature with this hash occurs (1 if occurrences are not counted); 0 if it is not in the table.
    pub fn count(&self, hash: u64) -> u32 {
        if hash == 0 {
            return if self.counts.is_empty() { self.zero_count.min(1) } else { self.zero_count };
        }
        let slot = slot_of(&self.hashes, self.secret, hash);
        self.counts.get(slot).copied().unwrap_or((self.hashes[slot] == hash).into())
    }

    #[inline(always)]
    pub fn contains(&self, hash: u64) -> bool {
        if hash == 0 { self.zero_count > 0 } else { self.hashes[slot_of(&self.hashes, self.secret, hash)] == hash }
    }

    /// Bytes that the table takes.
    pub fn memory(&self) -> usize {
        self.hashes.capacity() * 8 + self.counts.capacity() * 4
    }

    #[cold]
    fn grow(&mut self, tick: &dyn Fn()) -> Result<()> {
        if self.distinct > MAX_FEATURES {
            return Err(Error::TooManyFeatures);
        }
        let mut larger = Self {
            hashes: repeated(2 * self.hashes.len(), 0, tick)?,
            counts: repeated(2 * self.counts.len(), 0, tick)?,
            ..*self
        };
        for (i, hash) in ticking(self.hashes.iter().enumerate(), tick) {
            // A free slot is copied too, to any free slot: a branch on free slots would be mispredicted.
            let slot = slot_of(&larger.hashes, larger.secret, *hash);
            larger.hashes[slot] = *hash;
            if let Some(count) = self.counts.get(i) {
                larger.counts[slot] = *count;
            }
        }
        *self = larger;
        Ok(())
    }
}

/// The slot where `hash` is or, if it is absent, belongs.
#[inline(always)]
fn slot_of(hashes: &[u64], secret: u64, hash: u64) -> usize {
    let mask = hashes.len() - 1;
    // A single test for a free slot and for an equal hash: it would be unpredictable which of them the slot is.
    let is_taken = |slot: usize| hashes[slot].min(hashes[slot] ^ hash) != 0;
    // Not the highest bits: another table, read in the order of its slots, would fill one end of this one first.
    let mut slot = spread(hash, secret) as usize & mask;
    // The step to the second slot has no branch, which would be unpredictable. Later slots are rare.
    slot = (slot + usize::from(is_taken(slot))) & mask;
    while is_taken(slot) {
        slot = (slot + 1) & mask;
    }
    slot
}

#[cfg(test)]
mod tests {
    use super::{FeatureTable, slot_of};

    /// If somebody has chosen the words, their hashes may have as many equal bits.
    #[test]
    fn hashes_with_equal_low_bits_are_spread() {
        let (hashes, mut table) = (1..=100_000u64, FeatureTable::default());
        table.reset(0, false, &|| ()).expect("memory suffices");
        for hash in hashes.clone() {
            table.insert(hash << 20, &|| ()).expect("memory suffices");
        }
        let free = vec![0; table.hashes.len()];
        let steps = |hash: u64| {
            let [first, last] = [&free, &table.hashes].map(|slots| slot_of(slots, table.secret, hash << 20));
            last.wrapping_sub(first) & (free.len() - 1)
        };
        assert!(hashes.map(steps).sum::<usize>() < 100_000);
    }
}
