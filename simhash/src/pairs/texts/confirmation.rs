//! Compares the texts of candidates within a budget of memory.
//!
//! Rows are read in ascending order, because a caller may have them on disk. A row whose features stay in memory is
//! held. Each row is compared with the held ones before it, if it shares a band with them and the sketches do not
//! refute it. In a bucket with many held rows, only those are compared that share a rare feature ([`super::prefixes`]).
//! If what is held exceeds the budget, no more rows are held in this pass, and the next pass begins with the first row
//! that was not held: by then, all held ones are compared with all later rows.

use super::candidates::Candidates;
use super::prefixes::PrefixIndex;
use super::sketches::TextSketches;
use crate::error::Result;
use crate::fingerprint::feature_set::FeatureSet;
use crate::fingerprint::sketch::{DifferenceSketch, MostDifferent};
use crate::memory::{numbers_below, push, repeated};
use crate::ticking::{NUMBERS_BETWEEN_TICKS, PAIRS_BETWEEN_TICKS, ticking};

/// Stands for the index of a held candidate where there is none.
const NO_INDEX: u32 = u32::MAX;
/// Most held candidates of a bucket that the next one is compared with. In a larger bucket, it is compared with those
/// that the [`PrefixIndex`] finds.
const MAX_IN_CHAIN: u32 = 128;
/// Entries of the [`PrefixIndex`] that are read in about the time in which two candidates are compared.
const ENTRIES_A_COMPARISON: u64 = 4;

/// What comes out of a confirmation: clusters, or kept rows. A candidate is named by its position in [`Candidates`].
pub trait Outcome: Sized {
    /// The outcome if no candidate is near another one.
    fn new(candidates: &Candidates, tick: &dyn Fn()) -> Result<Self>;

    /// The least resemblance with which these two candidates would change the outcome; None if no resemblance would.
    fn least_resemblance(&mut self, earlier: u32, later: u32) -> Option<f64>;

    /// Takes two candidates with a resemblance that matters. `is_same` says whether their features are the same.
    fn add_near(&mut self, earlier: u32, later: u32, resemblance: f64, is_same: bool);

    /// Whether later candidates are compared with this one.
    fn holds(&self, candidate: u32) -> bool;

    /// Whether to begin again, with the candidates that it leaves in the buckets. Called after all candidates.
    fn begins_again(&mut self, _candidates: &mut Candidates, _tick: &dyn Fn()) -> Result<bool> {
        Ok(false)
    }

    /// The candidate that represents this one.
    fn representative(&mut self, candidate: u32) -> u32;
}

/// Reads the texts of rows that may be near another one.
///
/// Needs the memory of the [`TextSketches`] and 12 bytes for each row; afterwards, with six bands, up to 105 for each
/// candidate; and memory for features: the budget and one text. A tick is called at least every few milliseconds. If it
/// panics, the confirmation can only be dropped.
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
    /// The number of held candidates in the large buckets of the next one. Those in several are counted in each.
    in_large_buckets: u64,
    /// Steps of loops since the last tick.
    steps: usize,
}

struct Held {
    candidates: Vec<HeldCandidate>,
    features: Vec<FeatureSet>,
    /// For each band and bucket, the held candidates.
    chains: Vec<Vec<Chain>>,
    /// For each candidate and band, the index of the candidate before it in its bucket, or [`NO_INDEX`].
    before: Vec<u32>,
    /// The prefixes of the candidates that are in a large bucket.
    prefixes: Option<PrefixIndex>,
    /// Bytes that the candidates and their features take, without the prefixes.
    memory: usize,
}

struct HeldCandidate {
    position: u32,
    sketch: DifferenceSketch,
    /// The position of the last candidate that found this one in one of its buckets; at first its own position.
    met_by: u32,
    /// Whether its prefix is in the index.
    has_prefix: bool,
}

/// The held candidates of a bucket.
#[derive(Clone, Copy)]
struct Chain {
    /// The index of the last one, or [`NO_INDEX`].
    last: u32,
    len: u32,
}

const NO_CHAIN: Chain = Chain { last: NO_INDEX, len: 0 };

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
                self.compared.clear();
                self.in_large_buckets = self.list_buckets(false, tick)?;
                self.is_requested = !self.compared.is_empty() || self.in_large_buckets > 0 || self.is_held();
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
            if self.in_large_buckets > 0 {
                self.list_by_prefixes(&features, tick)?;
            }
            self.compare(&features, tick);
            if self.is_held() {
                self.held.push(self.position, features, &self.candidates, tick)?;
                self.next_pass = (self.held.memory() > self.budget).then_some(self.position + 1);
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

    /// Whether the next candidate is held.
    fn is_held(&self) -> bool {
        self.next_pass.is_none()
            && self.outcome.holds(self.position as u32)
            && self.candidates.is_candidate(self.position)
    }

    /// Adds to the candidates that the next one is compared with those of its large buckets, or of its others. Returns
    /// how many are in the buckets that it leaves out.
    fn list_buckets(&mut self, large: bool, tick: &dyn Fn()) -> Result<u64> {
        let Self { candidates, outcome, held, position, compared, .. } = self;
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
                    push(compared, (difference, next))?;
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

    /// Adds to the compared candidates those in large buckets: those that the prefixes find, or all if the prefixes
    /// would take longer.
    fn list_by_prefixes(&mut self, features: &FeatureSet, tick: &dyn Fn()) -> Result<()> {
        let Self { candidates, outcome, held, position, compared, in_large_buckets, .. } = self;
        let Some(prefixes) = &mut held.prefixes else { return Ok(()) };
        let meet = |index: u32| {
            let other = &mut held.candidates[index as usize];
            let difference = other.meet(*position, candidates, outcome)?;
            candidates.share_bucket(other.position as usize, *position).then_some(difference)
        };
        let limit = *in_large_buckets * ENTRIES_A_COMPARISON;
        if !prefixes.find(features, limit, meet, compared, tick)? {
            self.list_buckets(true, tick)?;
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

impl HeldCandidate {
    /// How much this candidate and the next one differ at least; None if they have met before, or are not to be
    /// compared.
    fn meet(&mut self, next: usize, candidates: &Candidates, outcome: &mut impl Outcome) -> Option<i64> {
        if std::mem::replace(&mut self.met_by, next as u32) == next as u32 {
            return None;
        }
        let least = outcome.least_resemblance(self.position, next as u32)?;
        let sketch = &candidates.sketches[next];
        let difference = candidates.comparison.difference(&self.sketch, sketch);
        MostDifferent::with_resemblance(least).allows(difference, &self.sketch, sketch).then_some(difference)
    }
}

impl Chain {
    fn is_large(self) -> bool {
        self.len > MAX_IN_CHAIN
    }
}

impl Held {
    fn new(candidates: &Candidates, tick: &dyn Fn()) -> Result<Self> {
        let mut chains = Vec::new();
        for buckets in &candidates.buckets {
            push(&mut chains, repeated(buckets.count as usize, NO_CHAIN, tick)?)?;
        }
        Ok(Self { candidates: Vec::new(), features: Vec::new(), chains, before: Vec::new(), prefixes: None, memory: 0 })
    }

    fn push(&mut self, position: usize, features: FeatureSet, candidates: &Candidates, tick: &dyn Fn()) -> Result<()> {
        let index = self.candidates.len() as u32;
        self.memory += features.memory() + size_of::<HeldCandidate>() + candidates.buckets.len() * size_of::<u32>();
        push(&mut self.features, features)?;
        let sketch = candidates.sketches[position];
        let held = HeldCandidate { position: position as u32, sketch, met_by: position as u32, has_prefix: false };
        push(&mut self.candidates, held)?;
        self.before.try_reserve(candidates.buckets.len())?;
        let mut is_in_large = false;
        for (buckets, chains) in candidates.buckets.iter().zip(&mut self.chains) {
            let chain = chains.get_mut(buckets.numbers[position] as usize);
            self.before.push(chain.as_ref().map_or(NO_INDEX, |chain| chain.last));
            if let Some(chain) = chain {
                *chain = Chain { last: index, len: chain.len + 1 };
                is_in_large |= chain.is_large();
            }
        }
        if is_in_large { self.add_prefixes(position, candidates, tick) } else { Ok(()) }
    }

    /// Adds to the prefixes the last candidate, and all others of buckets that it has made large.
    fn add_prefixes(&mut self, position: usize, candidates: &Candidates, tick: &dyn Fn()) -> Result<()> {
        let prefixes = match &mut self.prefixes {
            Some(prefixes) => prefixes,
            none => none.insert(PrefixIndex::new(candidates.criterion.resemblance, tick)?),
        };
        for (band, (buckets, chains)) in candidates.buckets.iter().zip(&self.chains).enumerate() {
            let Some(chain) = chains.get(buckets.numbers[position] as usize) else { continue };
            let mut next = if chain.is_large() { chain.last } else { NO_INDEX };
            while let Some(held) = self.candidates.get_mut(next as usize) {
                if !std::mem::replace(&mut held.has_prefix, true) {
                    prefixes.add(next, &self.features[next as usize], tick)?;
                }
                if chain.len > MAX_IN_CHAIN + 1 {
                    break; // The bucket was large before.
                }
                next = self.before[next as usize * candidates.buckets.len() + band];
            }
        }
        if prefixes.needs_order() {
            prefixes.order(|index| &self.features[index as usize], tick)?;
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.memory + self.prefixes.as_ref().map_or(0, PrefixIndex::memory)
    }

    fn clear(&mut self, candidates: &Candidates, tick: &dyn Fn()) {
        ticking(self.features.drain(..), tick).for_each(drop);
        for held in ticking(self.candidates.drain(..), tick) {
            for (buckets, chains) in candidates.buckets.iter().zip(&mut self.chains) {
                if let Some(chain) = chains.get_mut(buckets.numbers[held.position as usize] as usize) {
                    *chain = NO_CHAIN;
                }
            }
        }
        self.before.clear();
        self.prefixes = None;
        self.memory = 0;
    }
}
