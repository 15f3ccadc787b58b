//! The rows that may be near another one, by their sketches.
//!
//! Two rows may be near if they share a band and their sketches do not refute it. The rows of a bucket, which share a
//! band, are compared by their sketches until each is known to be in such a pair, or is compared with all others. So
//! among rows that are near each other, each is compared with one or two.
//!
//! If many rows of a bucket are refuted, most of them probably come from one template. Then all rows of the bucket are
//! candidates, and their features are compared.

use super::sketches::TextSketches;
use crate::criterion::TextCriterion;
use crate::error::Result;
use crate::fingerprint::sketch::{Comparison, DifferenceSketch, MostDifferent, first_allowed};
use crate::memory::{push, repeated, with_capacity};
use crate::ticking::{NUMBERS_BETWEEN_TICKS, sort, ticking};

/// Stands for the number of a bucket where there is none.
pub const NO_BUCKET: u32 = u32::MAX;
/// Most rows of a bucket that the sketches of another one are compared with. More comparisons take longer than reading
/// the text.
const MAX_COMPARED_SKETCHES: usize = 1 << 12;
/// Most items that are sorted at once, in 8 MB. More are sorted in parts, each with the keys of one remainder.
const SORTED_ITEMS: usize = 1 << 20;

/// The rows that may be near another one. A candidate is named by its position among them.
pub struct Candidates {
    /// The rows, in ascending order.
    pub rows: Vec<u32>,
    pub sketches: Vec<DifferenceSketch>,
    /// The buckets of each band.
    pub buckets: Vec<Buckets>,
    pub comparison: Comparison,
    pub criterion: TextCriterion,
}

/// The buckets of a band. The rows of a bucket share the band, and each of them may be near another one of them.
pub struct Buckets {
    /// For each candidate the number of its bucket, or [`NO_BUCKET`].
    pub numbers: Vec<u32>,
    pub count: u32,
}

impl Candidates {
    /// Finds all candidates. In addition to the sketches, needs 4 bytes for each row, and 8 MB; or up to 8 for each row
    /// if most share a band.
    pub fn new(sketches: TextSketches, tick: &dyn Fn()) -> Result<Self> {
        let TextSketches { criterion, comparison, sketches, bands } = sketches;
        let mut buckets = with_capacity(bands.len())?;
        let mut finder = BucketFinder::new(&sketches, comparison, criterion.resemblance, tick);
        for keys in bands {
            buckets.push(finder.find(&keys, |row| !sketches[row].is_empty(), BucketFinder::fill_by_sketches)?);
        }
        let mut all = Self { rows: Vec::new(), sketches, buckets, comparison, criterion };
        for row in ticking(0..all.sketches.len(), tick) {
            if all.is_candidate(row) {
                // Candidates move to the front: none beyond the row that is read.
                let candidate = all.len();
                all.sketches[candidate] = all.sketches[row];
                all.buckets.iter_mut().for_each(|band| band.numbers[candidate] = band.numbers[row]);
                push(&mut all.rows, row as u32)?;
            }
        }
        all.sketches.truncate(all.rows.len());
        all.sketches.shrink_to_fit();
        for Buckets { numbers, .. } in &mut all.buckets {
            numbers.truncate(all.rows.len());
            numbers.shrink_to_fit();
        }
        Ok(all)
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn share_bucket(&self, a: usize, b: usize) -> bool {
        self.buckets.iter().any(|Buckets { numbers, .. }| numbers[a] == numbers[b] && numbers[a] != NO_BUCKET)
    }

    /// Whether a candidate may still be near another one.
    pub fn is_candidate(&self, candidate: usize) -> bool {
        self.buckets.iter().any(|band| band.numbers[candidate] != NO_BUCKET)
    }
}

/// Finds buckets of items. An item is a row at first, and a candidate when [`Candidates::narrow`] makes new buckets.
pub struct BucketFinder<'a> {
    /// The sketch of each item.
    sketches: &'a [DifferenceSketch],
    comparison: Comparison,
    pub(super) least_resemblance: f64,
    pub(super) most_different: MostDifferent,
    pub(super) tick: &'a dyn Fn(),
    /// Steps of loops since the last tick.
    steps: usize,
    /// The items, [packed](pack) with their keys.
    order: Vec<u64>,
    /// Items with the key that are not in the bucket, because their sketches refute all comparisons so far; and their
    /// sketches.
    refuted: Vec<u32>,
    refuted_sketches: Vec<DifferenceSketch>,
    in_bucket: Vec<u32>,
}

impl<'a> BucketFinder<'a> {
    pub fn new(
        sketches: &'a [DifferenceSketch],
        comparison: Comparison,
        least_resemblance: f64,
        tick: &'a dyn Fn(),
    ) -> Self {
        Self {
            sketches,
            comparison,
            least_resemblance,
            most_different: MostDifferent::with_resemblance(least_resemblance),
            tick,
            steps: 0,
            order: Vec::new(),
            refuted: Vec::new(),
            refuted_sketches: Vec::new(),
            in_bucket: Vec::new(),
        }
    }

    /// The buckets of the items that have a key. `fill_bucket` fills the next one from all items with the same key.
    pub fn find(
        &mut self,
        keys: &[u32],
        has_key: impl Fn(usize) -> bool,
        mut fill_bucket: impl FnMut(&mut Self, &mut [u64], &mut Buckets) -> Result<()>,
    ) -> Result<Buckets> {
        let mut buckets = Buckets { numbers: repeated(keys.len(), NO_BUCKET, self.tick)?, count: 0 };
        let parts = keys.len().div_ceil(SORTED_ITEMS).next_power_of_two() as u32;
        let mut order = std::mem::take(&mut self.order);
        for part in 0..parts {
            order.clear();
            order.try_reserve(keys.len() / parts as usize)?;
            for (item, &key) in ticking(keys.iter().enumerate(), self.tick) {
                if key % parts == part && has_key(item) {
                    push(&mut order, pack(key, item as u32))?;
                }
            }
            sort_packed(&mut order, self.tick);
            let same_keys = order.chunk_by_mut(|a, b| sort_key_of(*a) == sort_key_of(*b));
            for items in same_keys.filter(|items| items.len() > 1) {
                fill_bucket(self, items, &mut buckets)?;
            }
        }
        self.order = order;
        Ok(buckets)
    }

    /// Fills the next bucket from items with the same key, by their sketches.
    fn fill_by_sketches(&mut self, items: &mut [u64], buckets: &mut Buckets) -> Result<()> {
        self.refuted.clear();
        self.refuted_sketches.clear();
        self.in_bucket.clear();
        for packed in &*items {
            self.add(item_of(*packed), buckets)?;
            if self.refuted.len() == MAX_COMPARED_SKETCHES {
                return self.fill_with_all(items, buckets);
            }
        }
        buckets.count += u32::from(!self.in_bucket.is_empty());
        Ok(())
    }

    /// Fills the next bucket with all items that have the key.
    pub fn fill_with_all(&mut self, items: &[u64], buckets: &mut Buckets) -> Result<()> {
        for packed in ticking(items, self.tick) {
            buckets.numbers[item_of(*packed) as usize] = buckets.count;
        }
        buckets.count += 1;
        Ok(())
    }

    /// Compares an item with earlier ones with the same key. If it may be near any, puts it and them into the bucket.
    fn add(&mut self, item: u32, buckets: &mut Buckets) -> Result<()> {
        let may_be_near = self.put_refuted_in_bucket(item, buckets)?
            || self.in_bucket.len() > MAX_COMPARED_SKETCHES
            || (0..self.in_bucket.len()).rev().any(|i| self.may_resemble(self.in_bucket[i], item, self.most_different));
        if may_be_near {
            return self.put_in_bucket(item, buckets);
        }
        push(&mut self.refuted_sketches, self.sketches[item as usize])?;
        push(&mut self.refuted, item)
    }

    /// Puts into the bucket the refuted items that the next one may be near. Returns whether there are any.
    fn put_refuted_in_bucket(&mut self, next: u32, buckets: &mut Buckets) -> Result<bool> {
        let sketch = self.sketches[next as usize];
        let len = self.in_bucket.len();
        let mut index = 0;
        while index < self.refuted.len() {
            let end = self.refuted.len().min(index + NUMBERS_BETWEEN_TICKS);
            let others = &self.refuted_sketches[index..end];
            let found = first_allowed(others, &sketch, self.comparison, self.most_different);
            self.count_steps(found.map_or(end - index, |found| found + 1));
            index = found.map_or(end, |found| index + found);
            if found.is_some() {
                self.refuted_sketches.swap_remove(index);
                let other = self.refuted.swap_remove(index);
                self.put_in_bucket(other, buckets)?;
            }
        }
        Ok(self.in_bucket.len() > len)
    }

    fn put_in_bucket(&mut self, item: u32, buckets: &mut Buckets) -> Result<()> {
        buckets.numbers[item as usize] = buckets.count;
        push(&mut self.in_bucket, item)
    }

    /// Whether two items may differ as little as `most_different` says: whether their sketches do not refute it.
    pub fn may_resemble(&mut self, a: u32, b: u32, most_different: MostDifferent) -> bool {
        let [a, b] = [a, b].map(|item| &self.sketches[item as usize]);
        self.count_steps(1);
        most_different.allows(self.comparison.difference(a, b), a, b)
    }

    /// Counts steps of loops. Ticks when there are enough.
    pub fn count_steps(&mut self, count: usize) {
        self.steps += count;
        if self.steps >= NUMBERS_BETWEEN_TICKS {
            self.steps = 0;
            (self.tick)();
        }
    }
}

/// Packs an item into the lower half of a number, and its sort key into the upper half.
pub fn pack(sort_key: u32, item: u32) -> u64 {
    u64::from(sort_key) << 32 | u64::from(item)
}

pub fn item_of(packed: u64) -> u32 {
    packed as u32
}

pub fn sort_key_of(packed: u64) -> u32 {
    (packed >> 32) as u32
}

/// Sorts packed items by their sort keys, and then by themselves.
pub fn sort_packed(items: &mut [u64], tick: &dyn Fn()) {
    let used_bits = ticking(&*items, tick).fold(0, |bits, packed| bits | packed);
    sort(items, &|packed| *packed, u64::BITS - used_bits.leading_zeros(), tick);
}
