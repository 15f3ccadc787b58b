//! Verified clusters: the connected components of the graph in which near-duplicates are edges.

use super::candidates::{Candidates, Stars};
use super::forest::Forest;
use super::groups::ascending;
use super::verification::Outcome;
use crate::error::Result;
use crate::memory::fill;

/// The verified clusters. The first row of a cluster represents each of its rows.
///
/// Rows are compared only if they are not in one cluster yet. At first, rows that are near an earlier one are not held,
/// so that few of a large cluster are: the middles of [`Stars`]. Then what remains is to compare the rows that were not
/// held with later rows of other clusters.
pub struct Confirmed {
    forest: Forest,
    is_second_round: bool,
    /// For each candidate, the middle of its star: an earlier one that it is near, or itself.
    middles: Vec<u32>,
    /// For each middle, the least resemblance to another candidate of its star.
    least_resemblances: Vec<f64>,
    /// Candidates with the features of their middles.
    same: Vec<bool>,
    least: f64,
}

impl Outcome for Confirmed {
    fn new(candidates: &Candidates, tick: &dyn Fn()) -> Result<Self> {
        let len = candidates.len();
        let (mut least_resemblances, mut same) = (Vec::new(), Vec::new());
        fill(&mut least_resemblances, len, 1.0, tick)?;
        fill(&mut same, len, false, tick)?;
        Ok(Self {
            forest: Forest::new(len, tick)?,
            is_second_round: false,
            middles: ascending(len, tick)?,
            least_resemblances,
            same,
            least: candidates.least,
        })
    }

    fn least(&mut self, earlier: u32, later: u32) -> Option<f64> {
        self.are_apart(earlier, later).then_some(self.least)
    }

    fn near(&mut self, earlier: u32, later: u32, resemblance: f64, is_same: bool) {
        self.forest.join(earlier, later, |candidate| candidate);
        if !self.is_second_round && self.middles[later as usize] == later {
            self.middles[later as usize] = earlier;
            self.same[later as usize] = is_same;
            let least = &mut self.least_resemblances[earlier as usize];
            *least = least.min(resemblance);
        }
    }

    fn holds(&self, candidate: u32) -> bool {
        let is_middle = self.middles[candidate as usize] == candidate;
        is_middle != self.is_second_round
    }

    fn begins_again(&mut self, candidates: &mut Candidates, tick: &dyn Fn()) -> Result<bool> {
        if self.is_second_round {
            return Ok(false);
        }
        self.is_second_round = true;
        candidates.narrow(self, tick)?;
        Ok(true)
    }

    fn representative(&mut self, candidate: u32) -> u32 {
        self.forest.root(candidate)
    }
}

impl Stars for Confirmed {
    /// A candidate with the features of its middle is near what the middle is near.
    fn middle(&self, candidate: u32) -> Option<u32> {
        (!self.same[candidate as usize]).then(|| self.middles[candidate as usize])
    }

    fn least_resemblance(&self, middle: u32) -> f64 {
        self.least_resemblances[middle as usize]
    }

    fn are_apart(&mut self, middle: u32, other: u32) -> bool {
        self.forest.root(middle) != self.forest.root(other)
    }
}
