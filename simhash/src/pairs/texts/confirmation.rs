//! Compares the texts of candidates in passes, within a limit of memory.
//!
//! Rows are read in ascending order, because a caller may have them on disk. A row whose features stay in memory is
//! held. Each row is compared with the held ones before it, if it shares a band with them and the sketches do not
//! refute it. In a bucket with many held rows, only those are compared that share a rare feature ([`super::prefixes`]).
//! If what is held exceeds the limit, no more rows are held in this pass, and the next pass begins with the first row
//! that was not held: by then, all held ones are compared with all later rows.

use super::candidates::Candidates;
use super::held_candidates::{HeldCandidates, NO_INDEX};
use super::outcome::Outcome;
use super::sketches::TextSketches;
use crate::error::Result;
use crate::fingerprint::feature_set::FeatureSet;
use crate::fingerprint::sketch::MostDifferent;
use crate::memory::{numbers_below, push};
use crate::ticking::{NUMBERS_BETWEEN_TICKS, PAIRS_BETWEEN_TICKS, ticking};

/// Entries of the prefixes that are read in about the time in which two candidates are compared.
const ENTRIES_A_COMPARISON: u64 = 4;

/// Reads the texts of rows that may be near another one.
///
/// Needs the memory of the [`TextSketches`] and 12 bytes for each row; afterwards, with six bands, up to 105 for each
/// candidate; and memory for features: the limit and one text. A tick is called at least every few milliseconds. If it
/// panics, the confirmation can only be dropped.
pub struct Confirmation<O> {
    rows: usize,
    /// Bytes of held candidates beyond which no more are held.
    memory_limit: usize,
    candidates: Candidates,
    outcome: O,
    held: HeldCandidates,
    /// Where the next pass begins, if this one holds no more candidates.
    next_pass: Option<usize>,
    /// The next candidate.
    position: usize,
    /// Whether the next candidate is to be read.
    is_requested: bool,
    /// The held candidates that the next one is compared with: how much both differ at least, and the index in `held`.
    to_compare: Vec<(i64, u32)>,
    /// The number of held candidates in the large buckets of the next one. Those in several are counted in each.
    in_large_buckets: u64,
    /// Steps of loops since the last tick.
    steps: usize,
}

impl<O: Outcome> Confirmation<O> {
    /// Finds the candidates. `memory_limit` is in bytes.
    pub fn new(sketches: TextSketches, memory_limit: usize, tick: &dyn Fn()) -> Result<Self> {
        let rows = sketches.len();
        let candidates = Candidates::new(sketches, tick)?;
        let outcome = O::new(&candidates, tick)?;
        let held = HeldCandidates::new(&candidates, tick)?;
        Ok(Self {
            rows,
            memory_limit,
            candidates,
            outcome,
            held,
            next_pass: None,
            position: 0,
            is_requested: false,
            to_compare: Vec::new(),
            in_large_buckets: 0,
            steps: 0,
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
                self.to_compare.clear();
                self.in_large_buckets = self.list_buckets(false, tick)?;
                self.is_requested = !self.to_compare.is_empty() || self.in_large_buckets > 0 || self.holds_next();
                self.position += usize::from(!self.is_requested);
                continue;
            }
            self.held.clear(&self.candidates, tick);
            self.position = match self.next_pass.take() {
                Some(next) => next,
                None if self.outcome.begins_again(&mut self.candidates, tick)? => {
                    self.held = HeldCandidates::new(&self.candidates, tick)?;
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
            if self.in_large_buckets > 0 {
                self.list_by_prefixes(&features, tick)?;
            }
            self.compare(&features, tick);
            if self.holds_next() {
                self.held.push(self.position, features, &self.candidates, tick)?;
                self.next_pass = (self.held.memory() > self.memory_limit).then_some(self.position + 1);
            }
        }
        self.position += 1;
        self.is_requested = false;
        Ok(())
    }

    /// For each row, the position of the row that represents it.
    pub fn into_results(self, tick: &dyn Fn()) -> Result<Vec<u32>> {
        let Self { rows, candidates, mut outcome, .. } = self;
        let mut results = numbers_below(rows, tick)?;
        for (position, row) in ticking(candidates.rows.iter().enumerate(), tick) {
            results[*row as usize] = candidates.rows[outcome.representative(position as u32) as usize];
        }
        Ok(results)
    }

    /// Whether to hold the next candidate.
    fn holds_next(&self) -> bool {
        self.next_pass.is_none()
            && self.outcome.holds(self.position as u32)
            && self.candidates.is_candidate(self.position)
    }

    /// Adds to the candidates that the next one is compared with those of its large buckets, or of its others. Returns
    /// how many are in the buckets that it leaves out.
    fn list_buckets(&mut self, large: bool, tick: &dyn Fn()) -> Result<u64> {
        let Self { candidates, outcome, held, position, to_compare, .. } = self;
        let (position, bands) = (*position, candidates.buckets.len());
        let mut left_out = 0;
        for (band, (buckets, chains)) in candidates.buckets.iter().zip(&held.chains).enumerate() {
            let Some(chain) = chains.get(buckets.numbers[position] as usize) else { continue };
            if chain.is_large() != large {
                left_out += u64::from(chain.len);
                continue;
            }
            let mut next = chain.last;
            while next != NO_INDEX {
                let index = next as usize;
                if let Some(difference) = held.candidates[index].meet(position, candidates, outcome) {
                    push(to_compare, (difference, next))?;
                }
                next = held.before[index * bands + band];
                self.steps += 1;
                if self.steps == NUMBERS_BETWEEN_TICKS {
                    self.steps = 0;
                    tick();
                }
            }
        }
        Ok(left_out)
    }

    /// Adds to the candidates to compare those in large buckets: those that the prefixes find, or all if the prefixes
    /// would take longer.
    fn list_by_prefixes(&mut self, features: &FeatureSet, tick: &dyn Fn()) -> Result<()> {
        let Self { candidates, outcome, held, position, to_compare, in_large_buckets, .. } = self;
        let Some(prefixes) = &mut held.prefixes else { return Ok(()) };
        let meet = |index: u32| {
            let other = &mut held.candidates[index as usize];
            let difference = other.meet(*position, candidates, outcome)?;
            candidates.share_bucket(other.position as usize, *position).then_some(difference)
        };
        let max_entries = *in_large_buckets * ENTRIES_A_COMPARISON;
        if !prefixes.find(features, max_entries, meet, to_compare, tick)? {
            self.list_buckets(true, tick)?;
        }
        Ok(())
    }

    /// Compares the next candidate with others, those first that probably resemble it most.
    fn compare(&mut self, features: &FeatureSet, tick: &dyn Fn()) {
        self.to_compare.sort_unstable();
        let criterion = self.candidates.criterion;
        let sketch = &self.candidates.sketches[self.position];
        for (number, &(difference, index)) in self.to_compare.iter().enumerate() {
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
