//! The rows that may be near another one, by their sketches.
//!
//! Two rows may be near if they share a band and their sketches do not refute it. The rows that share a band are compared
//! by their sketches until each is known to be in such a pair, or is compared with all others. So among rows that are near
//! each other, each is compared with one or two.
//!
//! In a run of rows that share a band and are all refuted, each is compared with each, which takes about 2 ns a pair:
//! 10 s for a hundred thousand texts of one template that resemble each other by .7. Of texts that resemble each other
//! almost enough, sketches refute too few. Then their features are compared: 3 s for ten thousand of resemblance .8.

use super::texts::Texts;
use crate::error::Result;
use crate::fingerprint::feature_set::sort;
use crate::fingerprint::sketch::{Comparison, DifferenceSketch, MostDifferent, first_allowed};
use crate::memory::{fill, push};
use crate::ticking::{NUMBERS_BETWEEN_TICKS, ticking};

/// The number of no run.
pub const NO_RUN: u32 = u32::MAX;
/// More than the errors of rounding resemblances.
const ROUNDING: f64 = 1e-9;
/// Rows that are sorted at once by the key of a band: their sort takes 8 MB.
const SORTED_ROWS: usize = 1 << 20;

/// The rows that may be near another one.
pub struct Candidates {
    /// Ascending.
    pub rows: Vec<u32>,
    pub sketches: Vec<DifferenceSketch>,
    pub runs: Vec<Runs>,
    pub comparison: Comparison,
    /// The least resemblance of two rows that are near.
    pub least: f64,
}

/// Candidates by stars. A star is a candidate, its middle, which was compared with all later ones, and some that are near
/// it.
pub trait Stars {
    /// The middle of the star of a candidate; None if the candidate does not matter.
    fn middle(&self, candidate: u32) -> Option<u32>;

    /// The least resemblance of a middle and another candidate of its star.
    fn least_resemblance(&self, middle: u32) -> f64;

    /// Whether it matters that candidates of two stars are near each other.
    fn are_apart(&mut self, middle: u32, other: u32) -> bool;
}

/// The runs of a band: the rows that share it, of which each may be near another one.
pub struct Runs {
    /// For each candidate the number of its run, or [`NO_RUN`].
    pub numbers: Vec<u32>,
    pub count: u32,
}

impl Candidates {
    /// Finds all candidates. Fails if memory is refused.
    ///
    /// In addition to the texts, needs 4 bytes for each row, and 8 MB; or up to 8 bytes for each row if most share a band.
    pub fn new(texts: Texts, tick: &dyn Fn()) -> Result<Self> {
        let Texts { least_resemblance: least, comparison, mut sketches, keys } = texts;
        let mut runs = Vec::new();
        runs.try_reserve_exact(keys.len())?;
        let mut finder = Finder::new(&sketches, comparison, least, tick);
        for keys in keys {
            runs.push(finder.find(&keys, |row| !sketches[row].is_none(), Finder::find_run)?);
        }
        let mut rows = Vec::new();
        for row in ticking(0..sketches.len(), tick) {
            if !is_candidate(&runs, row) {
                continue;
            }
            let candidate = rows.len();
            sketches[candidate] = sketches[row];
            runs.iter_mut().for_each(|runs| runs.numbers[candidate] = runs.numbers[row]);
            push(&mut rows, row as u32)?;
        }
        sketches.truncate(rows.len());
        sketches.shrink_to_fit();
        for runs in &mut runs {
            runs.numbers.truncate(rows.len());
            runs.numbers.shrink_to_fit();
        }
        Ok(Self { rows, sketches, runs, comparison, least })
    }

    /// Leaves in the runs only the candidates of two stars that may be near each other, and matter.
    pub fn narrow(&mut self, stars: &mut impl Stars, tick: &dyn Fn()) -> Result<()> {
        let mut finder = Finder::new(&self.sketches, self.comparison, self.least, tick);
        for runs in &mut self.runs {
            let keys = std::mem::take(&mut runs.numbers);
            let has_key = |candidate: usize| keys[candidate] != NO_RUN;
            *runs = finder.find(&keys, has_key, |finder, rows, runs| finder.find_run_of_stars(rows, runs, stars))?;
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether a candidate may be near another one.
    pub fn is_candidate(&self, candidate: usize) -> bool {
        is_candidate(&self.runs, candidate)
    }
}

fn is_candidate(runs: &[Runs], row: usize) -> bool {
    runs.iter().any(|runs| runs.numbers[row] != NO_RUN)
}

struct Finder<'a> {
    sketches: &'a [DifferenceSketch],
    comparison: Comparison,
    least: f64,
    most: MostDifferent,
    tick: &'a dyn Fn(),
    /// Comparisons since the last tick.
    compared: usize,
    /// Rows by their keys, or those of a run by their groups: a row is the lower half of a number.
    order: Vec<u64>,
    /// The rows of a run that may be near none of those that they were compared with, and their sketches.
    refuted: Vec<u32>,
    refuted_sketches: Vec<DifferenceSketch>,
    /// The other rows.
    paired: Vec<u32>,
}

impl<'a> Finder<'a> {
    fn new(sketches: &'a [DifferenceSketch], comparison: Comparison, least: f64, tick: &'a dyn Fn()) -> Self {
        let most = MostDifferent::with_resemblance(least);
        Self {
            sketches,
            comparison,
            least,
            most,
            tick,
            compared: 0,
            order: Vec::new(),
            refuted: Vec::new(),
            refuted_sketches: Vec::new(),
            paired: Vec::new(),
        }
    }

    /// The runs of the rows that have a key. `find_run` adds the run of rows with the same key.
    fn find(
        &mut self,
        keys: &[u32],
        has_key: impl Fn(usize) -> bool,
        mut find_run: impl FnMut(&mut Self, &mut [u64], &mut Runs) -> Result<()>,
    ) -> Result<Runs> {
        let mut runs = Runs { numbers: Vec::new(), count: 0 };
        fill(&mut runs.numbers, keys.len(), NO_RUN, self.tick)?;
        let parts = keys.len().div_ceil(SORTED_ROWS).next_power_of_two() as u32;
        let mut order = std::mem::take(&mut self.order);
        for part in 0..parts {
            order.clear();
            order.try_reserve(keys.len() / parts as usize)?;
            for (row, &key) in ticking(keys.iter().enumerate(), self.tick) {
                if key % parts == part && has_key(row) {
                    push(&mut order, u64::from(key) << 32 | row as u64)?;
                }
            }
            sort_all(&mut order, self.tick);
            let mut start = 0;
            while start < order.len() {
                let key = order[start] >> 32;
                let len = order[start..].iter().take_while(|row| *row >> 32 == key).count();
                if len > 1 {
                    find_run(self, &mut order[start..start + len], &mut runs)?;
                }
                start += len;
            }
        }
        self.order = order;
        Ok(runs)
    }

    /// Adds the run of some rows with the same key.
    fn find_run(&mut self, rows: &mut [u64], runs: &mut Runs) -> Result<()> {
        self.refuted.clear();
        self.refuted_sketches.clear();
        self.paired.clear();
        for &row in &*rows {
            self.pair(row as u32, runs)?;
        }
        runs.count += u32::from(!self.paired.is_empty());
        Ok(())
    }

    /// Compares a row with earlier ones. All that may be near it are in the run then and, if there is one, the row itself.
    fn pair(&mut self, row: u32, runs: &mut Runs) -> Result<()> {
        let sketch = self.sketches[row as usize];
        let mut is_paired = false;
        let mut index = 0;
        while index < self.refuted.len() {
            let end = self.refuted.len().min(index + NUMBERS_BETWEEN_TICKS);
            let found = first_allowed(&self.refuted_sketches[index..end], &sketch, self.comparison, self.most);
            self.compared(found.map_or(end - index, |found| found + 1));
            index = found.map_or(end, |found| index + found);
            if found.is_some() {
                is_paired = true;
                self.refuted_sketches.swap_remove(index);
                let other = self.refuted.swap_remove(index);
                runs.numbers[other as usize] = runs.count;
                push(&mut self.paired, other)?;
            }
        }
        for index in (0..self.paired.len()).rev() {
            if is_paired {
                break;
            }
            is_paired = self.may_resemble(self.paired[index], row, self.most);
        }
        if !is_paired {
            push(&mut self.refuted_sketches, sketch)?;
            return push(&mut self.refuted, row);
        }
        runs.numbers[row as usize] = runs.count;
        push(&mut self.paired, row)
    }

    /// Adds the run of some candidates with the same key, by their stars.
    fn find_run_of_stars(&mut self, rows: &mut [u64], runs: &mut Runs, stars: &mut impl Stars) -> Result<()> {
        let is_ray = |row: &u64| row >> 32 != row & u64::from(u32::MAX);
        let mut count = 0;
        for index in 0..rows.len() {
            let row = rows[index] as u32;
            if let Some(middle) = stars.middle(row) {
                rows[count] = u64::from(middle) << 32 | u64::from(row);
                count += 1;
            }
        }
        self.compared(rows.len());
        let rows = &mut rows[..count];
        if !rows.iter().any(is_ray) {
            return Ok(());
        }
        sort_all(rows, self.tick);
        let (mut rays, mut others) = (Vec::new(), Vec::new());
        let mut start = 0;
        for star in rows.chunk_by(|a, b| a >> 32 == b >> 32) {
            let has_rays = star.iter().any(is_ray);
            push(if has_rays { &mut rays } else { &mut others }, start..start + star.len())?;
            start += star.len();
        }
        let mut is_run = false;
        for (number, star) in rays.iter().enumerate() {
            for other in rays[..number].iter().chain(&others) {
                self.compared(1);
                let middles = [star, other].map(|star| (rows[star.start] >> 32) as u32);
                // Distances, 1 - resemblance, satisfy the triangle inequality (Levandowsky, Winter, Nature 1971).
                let [radius, radius_of_other] = middles.map(|middle| 1.0 - stars.least_resemblance(middle));
                let least = self.least - radius - radius_of_other - ROUNDING;
                let most = MostDifferent::with_resemblance(least);
                if stars.are_apart(middles[0], middles[1]) && self.may_resemble(middles[0], middles[1], most) {
                    is_run |= self.find_between(&rows[star.clone()], &rows[other.clone()], runs);
                }
            }
        }
        runs.count += u32::from(is_run);
        Ok(())
    }

    /// Adds to the next run the candidates of two stars that may be near each other, if the earlier one is not the middle
    /// of its star. Returns whether there are any.
    fn find_between(&mut self, star: &[u64], other: &[u64], runs: &mut Runs) -> bool {
        let mut is_any = false;
        for a in star {
            for b in other {
                let earlier = if (*a as u32) < *b as u32 { a } else { b };
                let is_middle = earlier >> 32 == earlier & u64::from(u32::MAX);
                let [a, b] = [a, b].map(|row| *row as u32);
                let are_known = [a, b].iter().all(|row| runs.numbers[*row as usize] == runs.count);
                self.compared(1);
                if !is_middle && !are_known && self.may_resemble(a, b, self.most) {
                    is_any = true;
                    (runs.numbers[a as usize], runs.numbers[b as usize]) = (runs.count, runs.count);
                }
            }
        }
        is_any
    }

    fn may_resemble(&mut self, row: u32, other: u32, most: MostDifferent) -> bool {
        let [sketch, of_other] = [row, other].map(|row| &self.sketches[row as usize]);
        self.compared(1);
        most.allows(self.comparison.difference(sketch, of_other), sketch, of_other)
    }

    fn compared(&mut self, count: usize) {
        self.compared += count;
        if self.compared >= NUMBERS_BETWEEN_TICKS {
            self.compared = 0;
            (self.tick)();
        }
    }
}

fn sort_all(numbers: &mut [u64], tick: &dyn Fn()) {
    let most = ticking(&*numbers, tick).fold(0, |most, number| most | number);
    sort(numbers, &|number| *number, u64::BITS - most.leading_zeros(), tick);
}
