//! Confirmed clusters: the connected components of the graph in which near-duplicates are edges.

use super::candidates::Candidates;
use super::outcome::Outcome;
use super::stars::Stars;
use crate::error::Result;

/// The confirmed clusters. The first row of a cluster represents each of its rows.
///
/// Rows are compared only if they are not in one cluster yet. In the first round, a row that is near an earlier one is
/// not held. So few rows of a large cluster are held: the middles of [`Stars`]. The second round compares the rest with
/// later rows of other clusters.
pub struct ConfirmedClusters {
    stars: Stars,
    is_second_round: bool,
    /// The least resemblance of near rows.
    least_resemblance: f64,
}

impl Outcome for ConfirmedClusters {
    fn new(candidates: &Candidates, tick: &dyn Fn()) -> Result<Self> {
        let stars = Stars::new(candidates.len(), tick)?;
        Ok(Self { stars, is_second_round: false, least_resemblance: candidates.criterion.resemblance })
    }

    fn least_resemblance(&mut self, earlier: u32, later: u32) -> Option<f64> {
        self.stars.are_apart(earlier, later).then_some(self.least_resemblance)
    }

    fn add_near(&mut self, earlier: u32, later: u32, resemblance: f64, is_same: bool) {
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
