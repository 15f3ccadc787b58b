//! The rows that may be near another one, by their sketches.
//!
//! Two rows may be near if they share a band and their sketches do not refute it. The rows of a bucket, which share a
//! band, are compared by their sketches until each is known to be in such a pair, or is compared with all others. So
//! among rows that are near each other, each is compared with one or two.
//!
//! If all rows of a bucket are refuted, each is compared with each, which takes about 2 ns a pair: 10 s for a hundred
//! thousand texts of one template that resemble each other by .7. Sketches refute too few of the texts that resemble
//! each other almost enough. Then their features are compared: 3 s for ten thousand of resemblance .8.

use super::forest::Forest;
use super::texts::Texts;
use crate::error::Result;
use crate::fingerprint::sketch::{Comparison, DifferenceSketch, MostDifferent, first_allowed};
use crate::memory::{filled, indexes, push, with_capacity};
use crate::ticking::{NUMBERS_BETWEEN_TICKS, sort, ticking};

/// Stands for the number of a bucket where there is none.
pub const NO_BUCKET: u32 = u32::MAX;
/// More than the errors of rounding resemblances.
const ROUNDING: f64 = 1e-9;
/// Rows that are sorted at once by the key of a band: their sort takes 8 MB.
const SORTED_ROWS: usize = 1 << 20;

/// The rows that may be near another one. A candidate is named by its position among them.
pub struct Candidates {
    /// Ascending.
    pub rows: Vec<u32>,
    pub sketches: Vec<DifferenceSketch>,
    /// For each band, its buckets.
    pub buckets: Vec<Buckets>,
    pub comparison: Comparison,
    /// The least resemblance of two rows that are near.
    pub least: f64,
}

/// Candidates by stars. A star is a group of candidates: its middle, and rays that are near the middle. The middle was
/// compared with all later candidates.
pub struct Stars {
    /// A tree for the candidates that are connected by the near pairs that were found so far.
    pub forest: Forest,
    /// For each candidate, the middle of its star: an earlier one that it is near, or itself.
    pub middles: Vec<u32>,
    /// For each middle, the least resemblance to a ray of its star.
    pub least_resemblances: Vec<f64>,
    /// Whether a candidate has the same features as its middle: then it is near what the middle is near.
    pub equals_middle: Vec<bool>,
}

impl Stars {
    /// Each candidate is the middle of a star of its own.
    pub fn new(candidates: usize, tick: &dyn Fn()) -> Result<Self> {
        Ok(Self {
            forest: Forest::new(candidates, tick)?,
            middles: indexes(candidates, tick)?,
            least_resemblances: filled(candidates, 1.0, tick)?,
            equals_middle: filled(candidates, false, tick)?,
        })
    }

    /// Whether the near pairs that were found so far do not connect two candidates.
    pub fn are_apart(&mut self, candidate: u32, other: u32) -> bool {
        self.forest.root(candidate) != self.forest.root(other)
    }
}

/// The buckets of a band. A bucket has rows that share the band, of which each may be near another one.
pub struct Buckets {
    /// For each candidate the number of its bucket, or [`NO_BUCKET`].
    pub numbers: Vec<u32>,
    pub count: u32,
}

impl Candidates {
    /// Finds all candidates. In addition to the texts, needs 4 bytes for each row, and 8 MB; or up to 8 for each row if
    /// most share a band.
    pub fn new(texts: Texts, tick: &dyn Fn()) -> Result<Self> {
        let Texts { least_resemblance: least, comparison, sketches, bands } = texts;
        let mut buckets = with_capacity(bands.len())?;
        let mut finder = Finder::new(&sketches, comparison, least, tick);
        for of_rows in bands {
            buckets.push(finder.find(&of_rows, |row| !sketches[row].is_none(), Finder::fill_by_sketches)?);
        }
        let mut all = Self { rows: Vec::new(), sketches, buckets, comparison, least };
        for row in ticking(0..all.sketches.len(), tick) {
            if all.is_candidate(row) {
                let candidate = all.len();
                all.sketches[candidate] = all.sketches[row];
                all.buckets.iter_mut().for_each(|of_band| of_band.numbers[candidate] = of_band.numbers[row]);
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

    /// Leaves in the buckets only the candidates of two stars that are apart and may be near each other.
    pub fn narrow(&mut self, stars: &mut Stars, tick: &dyn Fn()) -> Result<()> {
        let mut finder = Finder::new(&self.sketches, self.comparison, self.least, tick);
        for of_band in &mut self.buckets {
            let keys = std::mem::take(&mut of_band.numbers);
            let has_key = |candidate: usize| keys[candidate] != NO_BUCKET;
            *of_band = finder
                .find(&keys, has_key, |finder, candidates, buckets| finder.fill_by_stars(candidates, buckets, stars))?;
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether a candidate may be near another one.
    pub fn is_candidate(&self, candidate: usize) -> bool {
        self.buckets.iter().any(|of_band| of_band.numbers[candidate] != NO_BUCKET)
    }
}

/// Finds buckets of items: of rows or, to narrow them, of candidates.
struct Finder<'a> {
    /// The sketch of each item.
    sketches: &'a [DifferenceSketch],
    comparison: Comparison,
    least: f64,
    most_different: MostDifferent,
    tick: &'a dyn Fn(),
    /// Since the last tick.
    comparisons: usize,
    /// Items by their keys: an item is the lower half of a number.
    order: Vec<u64>,
    /// The items of a bucket that may be near none of those that they were compared with, and their sketches.
    refuted: Vec<u32>,
    refuted_sketches: Vec<DifferenceSketch>,
    /// The other items of the bucket.
    paired: Vec<u32>,
}

impl<'a> Finder<'a> {
    fn new(sketches: &'a [DifferenceSketch], comparison: Comparison, least: f64, tick: &'a dyn Fn()) -> Self {
        Self {
            sketches,
            comparison,
            least,
            most_different: MostDifferent::with_resemblance(least),
            tick,
            comparisons: 0,
            order: Vec::new(),
            refuted: Vec::new(),
            refuted_sketches: Vec::new(),
            paired: Vec::new(),
        }
    }

    /// The buckets of the items that have a key. `fill_bucket` fills the next one from all items with the same key.
    fn find(
        &mut self,
        keys: &[u32],
        has_key: impl Fn(usize) -> bool,
        mut fill_bucket: impl FnMut(&mut Self, &mut [u64], &mut Buckets) -> Result<()>,
    ) -> Result<Buckets> {
        let mut buckets = Buckets { numbers: filled(keys.len(), NO_BUCKET, self.tick)?, count: 0 };
        let parts = keys.len().div_ceil(SORTED_ROWS).next_power_of_two() as u32;
        let mut order = std::mem::take(&mut self.order);
        for part in 0..parts {
            order.clear();
            order.try_reserve(keys.len() / parts as usize)?;
            for (item, &key) in ticking(keys.iter().enumerate(), self.tick) {
                if key % parts == part && has_key(item) {
                    push(&mut order, u64::from(key) << 32 | item as u64)?;
                }
            }
            sort_all(&mut order, self.tick);
            let mut start = 0;
            while start < order.len() {
                let key = order[start] >> 32;
                let len = order[start..].iter().take_while(|item| *item >> 32 == key).count();
                if len > 1 {
                    fill_bucket(self, &mut order[start..start + len], &mut buckets)?;
                }
                start += len;
            }
        }
        self.order = order;
        Ok(buckets)
    }

    /// Fills the next bucket from items with the same key, by their sketches.
    fn fill_by_sketches(&mut self, items: &mut [u64], buckets: &mut Buckets) -> Result<()> {
        self.refuted.clear();
        self.refuted_sketches.clear();
        self.paired.clear();
        for &item in &*items {
            self.add(item as u32, buckets)?;
        }
        buckets.count += u32::from(!self.paired.is_empty());
        Ok(())
    }

    /// Compares an item with earlier ones with the same key. If it may be near any, puts it and them into the bucket.
    fn add(&mut self, item: u32, buckets: &mut Buckets) -> Result<()> {
        let may_be_near = self.pair_refuted(item, buckets)?
            || (0..self.paired.len()).rev().any(|i| self.may_resemble(self.paired[i], item, self.most_different));
        if may_be_near {
            return self.pair(item, buckets);
        }
        push(&mut self.refuted_sketches, self.sketches[item as usize])?;
        push(&mut self.refuted, item)
    }

    /// Puts into the bucket the refuted items that the next one may be near. Returns whether there are any.
    fn pair_refuted(&mut self, next: u32, buckets: &mut Buckets) -> Result<bool> {
        let sketch = self.sketches[next as usize];
        let paired = self.paired.len();
        let mut index = 0;
        while index < self.refuted.len() {
            let end = self.refuted.len().min(index + NUMBERS_BETWEEN_TICKS);
            let others = &self.refuted_sketches[index..end];
            let found = first_allowed(others, &sketch, self.comparison, self.most_different);
            self.count_comparisons(found.map_or(end - index, |found| found + 1));
            index = found.map_or(end, |found| index + found);
            if found.is_some() {
                self.refuted_sketches.swap_remove(index);
                let other = self.refuted.swap_remove(index);
                self.pair(other, buckets)?;
            }
        }
        Ok(self.paired.len() > paired)
    }

    /// Puts an item into the bucket.
    fn pair(&mut self, item: u32, buckets: &mut Buckets) -> Result<()> {
        buckets.numbers[item as usize] = buckets.count;
        push(&mut self.paired, item)
    }

    /// Fills the next bucket from candidates with the same key, by their stars.
    fn fill_by_stars(&mut self, candidates: &mut [u64], buckets: &mut Buckets, stars: &mut Stars) -> Result<()> {
        let mut count = 0;
        for index in 0..candidates.len() {
            let candidate = candidates[index] as u32;
            if !stars.equals_middle[candidate as usize] {
                candidates[count] = u64::from(stars.middles[candidate as usize]) << 32 | u64::from(candidate);
                count += 1;
            }
        }
        self.count_comparisons(candidates.len());
        let candidates = &mut candidates[..count];
        if !candidates.iter().any(is_ray) {
            return Ok(());
        }
        sort_all(candidates, self.tick);
        // Of two stars without rays, the middles are compared already.
        let (mut with_rays, mut without_rays) = (Vec::new(), Vec::new());
        let mut start = 0;
        for star in candidates.chunk_by(|a, b| a >> 32 == b >> 32) {
            let of_kind = if star.iter().any(is_ray) { &mut with_rays } else { &mut without_rays };
            push(of_kind, start..start + star.len())?;
            start += star.len();
        }
        let mut is_filled = false;
        for (number, star) in with_rays.iter().enumerate() {
            for other in with_rays[..number].iter().chain(&without_rays) {
                self.count_comparisons(1);
                let [a, b] = [star, other].map(|star| (candidates[star.start] >> 32) as u32);
                if stars.are_apart(a, b) && self.stars_may_resemble(a, b, stars) {
                    is_filled |= self.add_pairs(&candidates[star.clone()], &candidates[other.clone()], buckets);
                }
            }
        }
        buckets.count += u32::from(is_filled);
        Ok(())
    }

    /// Whether candidates of the stars with these middles may be near each other.
    #[inline]
    fn stars_may_resemble(&mut self, a: u32, b: u32, stars: &Stars) -> bool {
        // Distances, 1 - resemblance, satisfy the triangle inequality (Levandowsky, Winter, Nature 1971).
        let [radius, radius_of_other] = [a, b].map(|middle| 1.0 - stars.least_resemblances[middle as usize]);
        let least = self.least - radius - radius_of_other - ROUNDING;
        self.may_resemble(a, b, MostDifferent::with_resemblance(least))
    }

    /// Puts into the bucket the candidates of two stars that may be near each other, unless the earlier one of a pair
    /// is a middle, which was compared with the later one. Returns whether there are any.
    fn add_pairs(&mut self, star: &[u64], other: &[u64], buckets: &mut Buckets) -> bool {
        let mut is_any = false;
        for a in star {
            for b in other {
                let earlier = if (*a as u32) < *b as u32 { a } else { b };
                let [a, b] = [a, b].map(|candidate| *candidate as u32);
                let are_in = [a, b].iter().all(|candidate| buckets.numbers[*candidate as usize] == buckets.count);
                self.count_comparisons(1);
                if is_ray(earlier) && !are_in && self.may_resemble(a, b, self.most_different) {
                    is_any = true;
                    (buckets.numbers[a as usize], buckets.numbers[b as usize]) = (buckets.count, buckets.count);
                }
            }
        }
        is_any
    }

    fn may_resemble(&mut self, item: u32, other: u32, most_different: MostDifferent) -> bool {
        let [sketch, of_other] = [item, other].map(|item| &self.sketches[item as usize]);
        self.count_comparisons(1);
        most_different.allows(self.comparison.difference(sketch, of_other), sketch, of_other)
    }

    fn count_comparisons(&mut self, count: usize) {
        self.comparisons += count;
        if self.comparisons >= NUMBERS_BETWEEN_TICKS {
            self.comparisons = 0;
            (self.tick)();
        }
    }
}

/// Whether a candidate, whose star has the upper half of the number, is not the middle of its star.
fn is_ray(candidate: &u64) -> bool {
    candidate >> 32 != candidate & u64::from(u32::MAX)
}

fn sort_all(numbers: &mut [u64], tick: &dyn Fn()) {
    let most = ticking(&*numbers, tick).fold(0, |most, number| most | number);
    sort(numbers, &|number| *number, u64::BITS - most.leading_zeros(), tick);
}
