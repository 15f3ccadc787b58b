//! Reads the texts of near rows, component by component, within a budget of memory.
//!
//! Confirmed pairs are near pairs, so the components of the near rows can be verified one by one. Rows are read in
//! ascending order, because a caller may have them on disk. So several components are open at the same time, and the
//! features of each stay in memory until its last row is read. If they take more memory than the budget, the components
//! that began last are discarded, and read again in another pass. The component that began first is never discarded, so
//! that each pass completes at least one.

use std::collections::HashMap;

use super::candidates::Candidates;
use super::groups::{Rows, ascending};
use crate::criterion::Criterion;
use crate::error::Result;
use crate::fingerprint::feature_set::FeatureSet;
use crate::memory::{fill, push};
use crate::ticking::{NUMBERS_BETWEEN_TICKS, ticking};

/// A candidate whose text has been read.
pub struct ReadCandidate {
    pub row: u32,
    pub fingerprint: u64,
    /// None if the text is NULL or has no feature, or if the criterion does not ask for texts.
    pub features: Option<FeatureSet>,
}

impl ReadCandidate {
    /// A hash that is equal for identical rows.
    pub fn key(&self) -> u64 {
        self.fingerprint.rotate_left(1) ^ self.features.as_ref().map_or(0, FeatureSet::digest)
    }

    /// Whether the fingerprints and the features are the same.
    pub fn is_identical(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint && self.features == other.features
    }
}

/// The state of a component while its rows are read.
///
/// `results` holds for each row the position of the row that represents it, at first its own.
pub trait Component: Default {
    /// Adds the next row of the component.
    fn add(
        &mut self,
        candidate: ReadCandidate,
        criterion: &Criterion,
        results: &mut [u32],
        tick: &dyn Fn(),
    ) -> Result<()>;

    /// Ends the component after its last row.
    fn finish(&mut self, _criterion: &Criterion, _results: &mut [u32], _tick: &dyn Fn()) -> Result<()> {
        Ok(())
    }

    fn memory(&self) -> usize;
}

/// Reads the texts of rows that have a near row.
///
/// Needs 20 bytes for each of these rows, 4 for each row, and memory for features: those of the open components, up to
/// the budget and one text, or those of the largest component if they take more. A tick is called at least every few
/// milliseconds. If it panics, the only thing to do with the verification is to drop it.
pub struct Verification<C> {
    criterion: Criterion,
    /// Bytes for the open components.
    budget: usize,
    candidates: Candidates,
    states: Vec<State>,
    open: HashMap<u32, Open<C>>,
    /// The components that were opened in this pass, in this order. Some may have ended.
    opened: Vec<u32>,
    /// Bytes that the open components take.
    memory: usize,
    position: usize,
    /// Whether this pass has left out components.
    is_partial: bool,
    /// Whether the budget was exceeded, and no component has ended since. Until one ends, none is opened: its first row
    /// would exceed the budget again.
    is_full: bool,
    results: Vec<u32>,
}

/// The state of a component.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// None of its rows has been read in this pass.
    Unread,
    Open,
    /// It is left to another pass.
    Deferred,
    Done,
}

struct Open<C> {
    component: C,
    /// Number of its rows that are not read yet.
    left: u32,
}

impl<C: Component> Verification<C> {
    /// Finds the rows whose texts are to be read. `budget` is in bytes. Fails if memory is refused.
    ///
    /// All pairs are compared that are near by the radii: no text is searched for whose votes could decide on flips.
    pub fn new(rows: Rows, criterion: Criterion, budget: usize, tick: &dyn Fn()) -> Result<Self> {
        let criterion = Criterion { near: criterion.near.by_radii_alone(), ..criterion };
        let len = rows.len();
        let candidates = Candidates::new(rows, criterion.near, tick)?;
        let mut states = Vec::new();
        fill(&mut states, candidates.sizes.len(), State::Unread, tick)?;
        Ok(Self {
            criterion,
            budget,
            candidates,
            states,
            open: HashMap::new(),
            opened: Vec::new(),
            memory: 0,
            position: 0,
            is_partial: false,
            is_full: false,
            results: ascending(len, tick)?,
        })
    }

    /// The position of the next row whose features [`Verification::push`] takes; None at the end. Positions ascend
    /// within each pass.
    pub fn row_to_read(&mut self, tick: &dyn Fn()) -> Option<u32> {
        loop {
            if self.position.is_multiple_of(NUMBERS_BETWEEN_TICKS) {
                tick();
            }
            let Some(&component) = self.candidates.components.get(self.position) else {
                if !self.is_partial {
                    return None;
                }
                self.begin_pass(tick);
                continue;
            };
            let state = &mut self.states[component as usize];
            match *state {
                State::Done | State::Deferred => self.position += 1,
                State::Unread if !self.open.is_empty() && (self.is_full || self.memory >= self.budget) => {
                    *state = State::Deferred;
                    self.is_partial = true;
                    self.position += 1;
                }
                _ => return Some(self.candidates.rows[self.position]),
            }
        }
    }

    /// Adds the features of the row that [`Verification::row_to_read`] has returned; None if its text is NULL or has no
    /// feature. Fails if memory is refused.
    pub fn push(&mut self, features: Option<FeatureSet>, tick: &dyn Fn()) -> Result<()> {
        let number = self.candidates.components[self.position];
        debug_assert!(matches!(self.states[number as usize], State::Unread | State::Open), "no row has been asked for");
        if self.states[number as usize] == State::Unread {
            self.open.try_reserve(1)?;
            push(&mut self.opened, number)?;
            self.states[number as usize] = State::Open;
        }
        let candidate = ReadCandidate {
            row: self.candidates.rows[self.position],
            fingerprint: self.candidates.fingerprints[self.position],
            features: features.filter(|_| self.criterion.resemblance.is_some()),
        };
        self.position += 1;
        // Reading a text takes longer than this.
        tick();
        let left = self.candidates.sizes[number as usize];
        let open = self.open.entry(number).or_insert_with(|| Open { component: C::default(), left });
        let Open { component, left } = open;
        self.memory -= component.memory();
        component.add(candidate, &self.criterion, &mut self.results, tick)?;
        *left -= 1;
        if *left > 0 {
            self.memory += component.memory();
            while self.memory > self.budget && self.open.len() > 1 {
                self.defer_last();
            }
            return Ok(());
        }
        component.finish(&self.criterion, &mut self.results, tick)?;
        self.open.remove(&number);
        self.is_full = false;
        self.states[number as usize] = State::Done;
        Ok(())
    }

    /// For each row, the position of the row that represents it.
    pub fn into_results(self) -> Vec<u32> {
        self.results
    }

    /// Leaves the component that was opened last to another pass.
    fn defer_last(&mut self) {
        while let Some(number) = self.opened.pop() {
            if let Some(last) = self.open.remove(&number) {
                self.memory -= last.component.memory();
                self.states[number as usize] = State::Deferred;
                (self.is_partial, self.is_full) = (true, true);
                return;
            }
        }
    }

    fn begin_pass(&mut self, tick: &dyn Fn()) {
        for state in ticking(&mut self.states, tick) {
            if *state == State::Deferred {
                *state = State::Unread;
            }
        }
        self.opened.clear();
        (self.is_partial, self.is_full) = (false, false);
        self.position = 0;
    }
}
