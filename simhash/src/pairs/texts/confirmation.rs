//! Compares the texts of candidates within a budget of memory.
//!
//! Rows are read in ascending order, because a caller may have them on disk. A row whose features stay in memory is
//! held. Each row is compared with the held ones before it, if it shares a band with them and the sketches do not
//! refute it. If what is held exceeds the budget, no more rows are held in this pass, and the next pass begins with the
//! first row that was not held: by then, all held ones are compared with all later rows.

use super::candidates::{Candidates, NO_BUCKET};
use super::sketches::TextSketches;
use crate::error::Result;
use crate::fingerprint::feature_set::FeatureSet;
use crate::fingerprint::sketch::{DifferenceSketch, MostDifferent};
use crate::memory::{filled, indexes, push};
use crate::ticking::{NUMBERS_BETWEEN_TICKS, PAIRS_BETWEEN_TICKS, ticking};

/// The index that stands for no candidate.
const NO_INDEX: u32 = u32::MAX;

/// The purpose of a confirmation: clusters, or kept rows. A candidate is named by its position in [`Candidates`].
pub trait Outcome: Sized {
    /// At first, none of the candidates is near another one.
    fn new(candidates: &Candidates, tick: &dyn Fn()) -> Result<Self>;

    /// The least resemblance with which these two candidates would change the outcome; None if no resemblance would.
    fn least_resemblance(&mut self, earlier: u32, later: u32) -> Option<f64>;

    /// Takes two candidates with a resemblance that matters. `is_same` says whether their features are the same.
    fn add_near(&mut self, earlier: u32, later: u32, resemblance: f64, is_same: bool);

    /// Whether later candidates are compared with this one.
    fn holds(&self, candidate: u32) -> bool;

    /// Called after all candidates: whether to begin again, with the candidates that are left in the buckets.
    fn begins_again(&mut self, _candidates: &mut Candidates, _tick: &dyn Fn()) -> Result<bool> {
        Ok(false)
    }

    /// The candidate that represents this one.
    fn representative(&mut self, candidate: u32) -> u32;
}

/// Reads the texts of rows that may be near another one.
///
/// Needs the memory of the [`TextSketches`], 12 bytes for each row and, if the rows that share one band are all
/// refuted, up to 80 for each of them; afterwards, with six bands, up to 93 for each candidate; and memory for
/// features: the budget and one text. A tick is called at least every few milliseconds. If it panics, the confirmation
/// can only be dropped.
pub struct Confirmation<O> {
    rows: usize,
    /// Bytes for the candidates that are held.
    budget: usize,
    candidates: Candidates,
    outcome: O,
    held: Held,
    /// Where the next pass begins, if this one holds no more candidates.
    next_pass: Option<usize>,
    /// The next candidate.
    position: usize,
    /// Whether the next candidate is to be read.
    is_requested: bool,
    /// The held candidates that the next one is compared with: how much both differ at least, and the index in `held`.
    compared: Vec<(i64, u32)>,
}

/// The candidates that are held.
struct Held {
    candidates: Vec<HeldCandidate>,
    features: Vec<FeatureSet>,
    /// For each band and bucket, the index of the bucket's last candidate, or [`NO_INDEX`].
    last: Vec<Vec<u32>>,
    /// For each candidate and band, the index of the candidate before it in its bucket, or [`NO_INDEX`].
    before: Vec<u32>,
    /// Bytes that the candidates and their features take.
    memory: usize,
}

struct HeldCandidate {
    position: u32,
    sketch: DifferenceSketch,
    /// The position of the last candidate that found this one in one of its buckets; at first its own position.
    met_by: u32,
}

impl<O: Outcome> Confirmation<O> {
    /// Finds the candidates. `budget` is in bytes.
    pub fn new(sketches: TextSketches, budget: usize, tick: &dyn Fn()) -> Result<Self> {
        let rows = sketches.len();
        let candidates = Candidates::new(sketches, tick)?;
        let outcome = O::new(&candidates, tick)?;
        let held = Held::new(&candidates, tick)?;
        Ok(Self {
            rows,
            budget,
            candidates,
            outcome,
            held,
            next_pass: None,
            position: 0,
            is_requested: false,
            compared: Vec::new(),
        })
    }

    /// The position of the next row whose features [`Confirmation::push`] takes; None at the end. Positions ascend
    /// within each pass.
    pub fn row_to_read(&mut self, tick: &dyn Fn()) -> Result<Option<u32>> {
        while !self.is_requested {
            if self.position.is_multiple_of(NUMBERS_BETWEEN_TICKS) {
                tick();
            }
            if self.position < self.candidates.len() {
                self.list_compared(tick)?;
                self.is_requested = !self.compared.is_empty() || self.is_held();
                self.position += usize::from(!self.is_requested);
                continue;
            }
            self.held.clear(&self.candidates, tick);
            self.position = match self.next_pass.take() {
                Some(next) => next,
                None if self.outcome.begins_again(&mut self.candidates, tick)? => {
                    self.held = Held::new(&self.candidates, tick)?;
                    0
                }
                None => return Ok(None),
            };
        }
        Ok(Some(self.candidates.rows[self.position]))
    }

    /// Adds the features of the row that [`Confirmation::row_to_read`] has returned; None if its text is NULL or has no
    /// feature.
    pub fn push(&mut self, features: Option<FeatureSet>, tick: &dyn Fn()) -> Result<()> {
        debug_assert!(self.is_requested, "no row has been asked for");
        // A tick takes less time than reading a text.
        tick();
        if let Some(features) = features {
            self.compare(&features, tick);
            if self.is_held() {
                self.held.push(self.position, features, &self.candidates)?;
                self.next_pass = (self.held.memory > self.budget).then_some(self.position + 1);
            }
        }
        self.position += 1;
        self.is_requested = false;
        Ok(())
    }

    /// For each row, the position of the row that represents it.
    pub fn into_results(self, tick: &dyn Fn()) -> Result<Vec<u32>> {
        let Self { rows, candidates, mut outcome, .. } = self;
        let mut results = indexes(rows, tick)?;
        for (position, row) in ticking(candidates.rows.iter().enumerate(), tick) {
            results[*row as usize] = candidates.rows[outcome.representative(position as u32) as usize];
        }
        Ok(results)
    }

    /// Whether the next candidate is held.
    fn is_held(&self) -> bool {
        self.next_pass.is_none()
            && self.outcome.holds(self.position as u32)
            && self.candidates.is_candidate(self.position)
    }

    /// Lists the candidates that the next one is compared with.
    fn list_compared(&mut self, tick: &dyn Fn()) -> Result<()> {
        let Self { candidates, outcome, held, position, .. } = self;
        let (position, bands) = (*position as u32, candidates.buckets.len());
        let sketch = &candidates.sketches[position as usize];
        self.compared.clear();
        let mut met = 0;
        for (band, (buckets, last)) in candidates.buckets.iter().zip(&held.last).enumerate() {
            let bucket = buckets.numbers[position as usize];
            if bucket == NO_BUCKET {
                continue;
            }
            let mut next = last[bucket as usize];
            while next != NO_INDEX {
                let index = next;
                next = held.before[index as usize * bands + band];
                met += 1;
                if met % NUMBERS_BETWEEN_TICKS == 0 {
                    tick();
                }
                let other = &mut held.candidates[index as usize];
                if other.met_by == position {
                    continue;
                }
                other.met_by = position;
                let Some(least) = outcome.least_resemblance(other.position, position) else { continue };
                let difference = candidates.comparison.difference(&other.sketch, sketch);
                if MostDifferent::with_resemblance(least).allows(difference, &other.sketch, sketch) {
                    push(&mut self.compared, (difference, index))?;
                }
            }
        }
        Ok(())
    }

    /// Compares the next candidate with others, those first that probably resemble it most.
    fn compare(&mut self, features: &FeatureSet, tick: &dyn Fn()) {
        self.compared.sort_unstable();
        let criterion = self.candidates.criterion;
        let sketch = &self.candidates.sketches[self.position];
        for (number, &(difference, index)) in self.compared.iter().enumerate() {
            if number % PAIRS_BETWEEN_TICKS == PAIRS_BETWEEN_TICKS - 1 {
                tick();
            }
            let other = &self.held.candidates[index as usize];
            let Some(least) = self.outcome.least_resemblance(other.position, self.position as u32) else { continue };
            let other_features = &self.held.features[index as usize];
            if MostDifferent::with_resemblance(least).allows(difference, &other.sketch, sketch)
                && criterion.allows_distance(other_features.fingerprint, features.fingerprint)
                && let Some(resemblance) = other_features.resemblance_from(features, least, tick)
            {
                let is_same = resemblance >= 1.0 && other_features == features;
                self.outcome.add_near(other.position, self.position as u32, resemblance, is_same);
            }
        }
    }
}

impl Held {
    fn new(candidates: &Candidates, tick: &dyn Fn()) -> Result<Self> {
        let mut last = Vec::new();
        for buckets in &candidates.buckets {
            push(&mut last, filled(buckets.count as usize, NO_INDEX, tick)?)?;
        }
        Ok(Self { candidates: Vec::new(), features: Vec::new(), last, before: Vec::new(), memory: 0 })
    }

    fn push(&mut self, position: usize, features: FeatureSet, candidates: &Candidates) -> Result<()> {
        let index = self.candidates.len() as u32;
        self.before.try_reserve(candidates.buckets.len())?;
        for (buckets, last) in candidates.buckets.iter().zip(&mut self.last) {
            let last = last.get_mut(buckets.numbers[position] as usize);
            self.before.push(last.map_or(NO_INDEX, |last| std::mem::replace(last, index)));
        }
        self.memory += features.memory() + size_of::<HeldCandidate>() + candidates.buckets.len() * size_of::<u32>();
        push(&mut self.features, features)?;
        let (position, sketch) = (position as u32, candidates.sketches[position]);
        push(&mut self.candidates, HeldCandidate { position, sketch, met_by: position })
    }

    fn clear(&mut self, candidates: &Candidates, tick: &dyn Fn()) {
        ticking(self.features.drain(..), tick).for_each(drop);
        for held in ticking(self.candidates.drain(..), tick) {
            for (buckets, last) in candidates.buckets.iter().zip(&mut self.last) {
                if let Some(last) = last.get_mut(buckets.numbers[held.position as usize] as usize) {
                    *last = NO_INDEX;
                }
            }
        }
        self.before.clear();
        self.memory = 0;
    }
}
