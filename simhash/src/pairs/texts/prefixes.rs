//! Finds the sets of features that may resemble another one, by the features that few sets have.
//!
//! The texts of one template share bands, and need not be near each other. To compare each of a hundred thousand with
//! each takes hours. But near texts also share what is rare. The features are ordered by the number of sets that have
//! them, rare ones first. Two sets of resemblance c have at least a share c of each one's weight in common. So in this
//! order the first common feature is in each set's *prefix*: not within the last part, of less than this share of the
//! set's weight. In the lighter set, the common share is at least 2c / (1 + c), so the feature is in its *short* prefix
//! (prefix filtering: Chaudhuri, Ganti, Kaushik, ICDE 2006; Xiao, Wang, Lin, Yu, WWW 2008).
//!
//! For example, with a resemblance of .84, a prefix has the rarest 16 % of the features, a short one 9 %. If a letter
//! has more words of its own than that, only these words are looked up.

use std::collections::HashMap;

use crate::error::Result;
use crate::fingerprint::feature_set::FeatureSet;
use crate::memory::{push, repeated};
use crate::ticking::{NUMBERS_BETWEEN_TICKS, ticking};

/// The number of counts of sets. Features whose hashes have the same highest bits share a count.
const COUNTS: usize = 1 << 20;
/// The number of an entry that stands for none.
const NO_ENTRY: u32 = u32::MAX;
/// Ends a list of keys.
const END: u64 = u64::MAX;

/// The prefixes of sets of features, by the features.
#[derive(Default)]
pub struct PrefixIndex {
    /// The least resemblance of the sets that are found.
    least: f64,
    /// For each feature, by [`count_of`], the number of sets that have it.
    counts: Vec<u32>,
    /// The order of the features: the number of digits that each count had when the order was chosen.
    levels: Vec<u8>,
    /// For each feature the sets that have it in their short prefix, and those that have it only in their prefix.
    lists: HashMap<u64, [List; 2]>,
    entries: Vec<Entry>,
    sets: Vec<Set>,
    /// The keys of the sets' prefixes, each list with an [`END`].
    keys: Vec<u64>,
    /// The number of features of all sets.
    feature_count: u64,
    /// The number of entries that have been read, and the number after which another order is chosen.
    entries_read: u64,
    next_order_at: u64,
    /// The prefix of the last set: its features, whether they are in its short prefix, and its keys.
    prefix: Vec<(u64, bool)>,
    prefix_keys: Vec<u64>,
}

#[derive(Clone, Copy)]
struct List {
    /// The last entry.
    last: u32,
    len: u32,
}

const NO_LIST: List = List { last: NO_ENTRY, len: 0 };

/// A set that has a feature in its prefix.
#[derive(Clone, Copy)]
struct Entry {
    /// The set's position in `sets`.
    set: u32,
    /// The entry before it with the same feature.
    before: u32,
    /// The number of the set's features, and of those that do not come before this one.
    len: u32,
    rest: u32,
}

/// A set that was added.
#[derive(Clone, Copy)]
struct Set {
    /// The number that the caller knows it by.
    number: u32,
    /// Where its keys begin.
    keys: usize,
}

impl PrefixIndex {
    pub fn new(least: f64, tick: &dyn Fn()) -> Result<Self> {
        let (counts, levels) = (repeated(COUNTS, 0, tick)?, repeated(COUNTS, 0, tick)?);
        Ok(Self { least, counts, levels, ..Self::default() })
    }

    /// Adds a set, which the caller knows by this number.
    pub fn add(&mut self, number: u32, set: &FeatureSet, tick: &dyn Fn()) -> Result<()> {
        for hash in ticking(set.hashes(), tick) {
            let count = &mut self.counts[count_of(*hash)];
            *count = count.saturating_add(1);
        }
        self.feature_count += set.hashes().len() as u64;
        self.add_prefix(number, set, tick)
    }

    /// Appends to `found` all sets that may resemble this one, each with what `meet` returns for it. `meet` is called
    /// with the number of each set that shares a feature of the prefixes, once or more often, and returns None for sets
    /// that are not sought. Returns false, and finds none, if that takes more than `limit` entries: the sets have no
    /// features that are rare enough.
    pub fn find<T>(
        &mut self,
        set: &FeatureSet,
        limit: u64,
        mut meet: impl FnMut(u32) -> Option<T>,
        found: &mut Vec<(T, u32)>,
        tick: &dyn Fn(),
    ) -> Result<bool> {
        self.read_prefix(set, tick)?;
        let lists_of = |(hash, is_short): &(u64, bool)| Some(&self.lists.get(hash)?[..1 + usize::from(*is_short)]);
        let lists = ticking(&self.prefix, tick).filter_map(lists_of).flatten();
        let entries: u64 = lists.map(|list| u64::from(list.len)).sum();
        self.entries_read += entries;
        if entries > limit {
            return Ok(false);
        }
        let (is_weighted, len) = (set.is_weighted(), set.hashes().len());
        let mut steps = 0;
        for (position, feature) in ticking(self.prefix.iter().enumerate(), tick) {
            for list in lists_of(feature).into_iter().flatten() {
                let mut next = list.last;
                while next != NO_ENTRY {
                    let entry = self.entries[next as usize];
                    next = entry.before;
                    steps += 1;
                    if steps >= NUMBERS_BETWEEN_TICKS {
                        steps = 0;
                        tick();
                    }
                    // If this is the first common feature, no more can be common. (Positions: Xiao et al.)
                    let needed = self.needed(len + entry.len as usize);
                    if !is_weighted && (len - position).min(entry.rest as usize) < needed {
                        continue;
                    }
                    let other = &self.sets[entry.set as usize];
                    if let Some(met) = meet(other.number)
                        && (is_weighted
                            || self.may_have_common(needed, len, entry.len as usize, other.keys, &mut steps))
                    {
                        push(found, (met, other.number))?;
                    }
                }
            }
        }
        Ok(true)
    }

    /// The least number of common features that two sets without weights need, by the sum of their lengths.
    fn needed(&self, len: usize) -> usize {
        /// More than the errors of rounding.
        const ROUNDING: f64 = 1e-9;
        (len as f64 * (self.least / (1.0 + self.least) * (1.0 - ROUNDING))) as usize
    }

    /// Whether the prefixes do not refute that the last set and another one, without weights, have so many common
    /// features. The keys of the other one begin at `keys`. Adds to `steps` the keys that it compares.
    fn may_have_common(&self, needed: usize, len: usize, len_of_other: usize, keys: usize, steps: &mut usize) -> bool {
        let (a, b) = (&self.prefix_keys, &self.keys[keys..]);
        let (mut i, mut j, mut common) = (0, 0, 0);
        while a[i] != END && b[j] != END {
            *steps += 1;
            let (x, y) = (a[i], b[j]);
            common += usize::from(x == y);
            i += usize::from(x <= y);
            j += usize::from(y <= x);
            if common + (len - i).min(len_of_other - j) < needed {
                return false;
            }
        }
        true
    }

    /// Whether so many entries have been read since the order was chosen that another one may pay: to choose it takes
    /// about as long as to read an entry for each feature. The last order may not have helped, so the number doubles.
    pub fn needs_order(&self) -> bool {
        self.entries_read > self.next_order_at
    }

    /// Orders the features by the sets that have them now. `set` returns a set by its number.
    pub fn order<'a>(&mut self, set: impl Fn(u32) -> &'a FeatureSet, tick: &dyn Fn()) -> Result<()> {
        for (level, count) in ticking(self.levels.iter_mut().zip(&self.counts), tick) {
            *level = (u32::BITS - count.leading_zeros()) as u8;
        }
        self.lists.clear();
        self.entries.clear();
        self.keys.clear();
        self.next_order_at = self.entries_read + self.entries_read.max(self.feature_count);
        for Set { number, .. } in std::mem::take(&mut self.sets) {
            tick();
            self.add_prefix(number, set(number), tick)?;
        }
        Ok(())
    }

    fn add_prefix(&mut self, number: u32, set: &FeatureSet, tick: &dyn Fn()) -> Result<()> {
        self.read_prefix(set, tick)?;
        let (position, len) = (self.sets.len() as u32, set.hashes().len() as u32);
        // If it moves all lists to larger memory, that takes up to some tenths of a second for gigabytes.
        self.lists.try_reserve(self.prefix.len())?;
        self.entries.try_reserve(self.prefix.len())?;
        for (rest, (hash, is_short)) in (0..=len).rev().zip(&self.prefix) {
            let List { last, len: entries } =
                &mut self.lists.entry(*hash).or_insert([NO_LIST; 2])[usize::from(!*is_short)];
            let before = std::mem::replace(last, self.entries.len() as u32);
            *entries += 1;
            self.entries.push(Entry { set: position, before, len, rest });
        }
        push(&mut self.sets, Set { number, keys: self.keys.len() })?;
        self.keys.try_reserve(self.prefix_keys.len())?;
        self.keys.extend_from_slice(&self.prefix_keys);
        Ok(())
    }

    fn read_prefix(&mut self, set: &FeatureSet, tick: &dyn Fn()) -> Result<()> {
        let Self { least, levels, prefix, prefix_keys, .. } = self;
        let level = |hash| levels[count_of(hash)];
        set.prefix(level, *least, prefix, tick)?;
        prefix_keys.clear();
        prefix_keys.try_reserve(prefix.len() + 1)?;
        // Two features with the same key count as common, which refutes nothing.
        prefix_keys.extend(prefix.iter().map(|(hash, _)| u64::from(level(*hash)) << 56 | hash >> 8));
        prefix_keys.push(END);
        Ok(())
    }

    /// About the bytes that it takes. More than any budget if the entries are so many that they soon have no numbers.
    pub fn memory(&self) -> usize {
        if self.entries.len() > NO_ENTRY as usize / 2 {
            return usize::MAX / 2;
        }
        let entries = self.entries.capacity() * size_of::<Entry>() + self.sets.capacity() * size_of::<Set>();
        // A slot of the hash table takes 25 bytes, and one slot in eight stays free.
        COUNTS * 5 + self.lists.capacity() * 29 + entries + self.keys.capacity() * 8
    }
}

/// The position of a feature's count.
fn count_of(hash: u64) -> usize {
    (hash >> (u64::BITS - COUNTS.ilog2())) as usize
}
