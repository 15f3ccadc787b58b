//! Verified clusters: the connected components of the graph in which near-duplicates are edges.

use super::candidates::Candidates;
use super::stars::Stars;
use super::verification::Outcome;
use crate::error::Result;

/// The verified clusters. The first row of a cluster represents each of its rows.
///
/// Rows are compared only if they are not in one cluster yet. At first, rows that are near an earlier one are not held,
/// so that few of a large cluster are: the middles of [`Stars`]. Then what remains is to compare the rows that were not
/// held with later rows of other clusters.
pub struct Confirmed {
    stars: Stars,
    is_second_round: bool,
    /// The least resemblance of near rows.
    least: f64,
}

impl Outcome for Confirmed {
    fn new(candidates: &Candidates, tick: &dyn Fn()) -> Result<Self> {
        Ok(Self { stars: Stars::new(candidates.len(), tick)?, is_second_round: false, least: candidates.least })
    }

    fn least(&mut self, earlier: u32, later: u32) -> Option<f64> {
        self.stars.are_apart(earlier, later).then_some(self.least)
    }

    fn near(&mut self, earlier: u32, later: u32, resemblance: f64, is_same: bool) {
        self.stars.forest.join(earlier, later, |candidate| candidate);
        if !self.is_second_round && self.stars.middles[later as usize] == later {
            self.stars.middles[later as usize] = earlier;
            self.stars.equals_middle[later as usize] = is_same;
            let least = &mut self.stars.least_resemblances[earlier as usize];
            *least = least.min(resemblance);
        }
    }

    fn holds(&self, candidate: u32) -> bool {
        let is_middle = self.stars.middles[candidate as usize] == candidate;
        is_middle != self.is_second_round
    }

    fn begins_again(&mut self, candidates: &mut Candidates, tick: &dyn Fn()) -> Result<bool> {
        if self.is_second_round {
            return Ok(false);
        }
        self.is_second_round = true;
        candidates.narrow(&mut self.stars, tick)?;
        Ok(true)
    }

    fn representative(&mut self, candidate: u32) -> u32 {
        self.stars.forest.root(candidate)
    }
}
