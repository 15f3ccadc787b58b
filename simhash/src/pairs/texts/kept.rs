//! The rows that are kept if each row that duplicates an earlier kept row is dropped.

use super::candidates::Candidates;
use super::outcome::Outcome;
use crate::error::Result;
use crate::memory::{numbers_below, repeated};

/// The rows that are kept. Each of them represents itself. A row that is near an earlier kept row is dropped, and
/// represented by the kept row that it resembles most; among equally similar ones, by the earliest.
///
/// A guard decides in the same way, if the rows are stored one by one. Unlike in a cluster, a row is never dropped
/// because of a row that is itself dropped. Dropped rows are not held.
pub struct KeptRows {
    /// The candidate that represents each candidate so far.
    representatives: Vec<u32>,
    /// The resemblance of a candidate and its representative; the criterion's if the candidate represents itself.
    resemblances: Vec<f64>,
}

impl Outcome for KeptRows {
    fn new(candidates: &Candidates, tick: &dyn Fn()) -> Result<Self> {
        let resemblances = repeated(candidates.len(), candidates.criterion.resemblance, tick)?;
        Ok(Self { representatives: numbers_below(candidates.len(), tick)?, resemblances })
    }

    fn least_resemblance(&mut self, _: u32, later: u32) -> Option<f64> {
        Some(self.resemblances[later as usize])
    }

    fn add_near(&mut self, earlier: u32, later: u32, resemblance: f64, _: bool) {
        let (is_kept, later) = (self.holds(later), later as usize);
        let (representative, most) = (&mut self.representatives[later], &mut self.resemblances[later]);
        if is_kept || resemblance > *most || earlier < *representative {
            (*representative, *most) = (earlier, resemblance);
        }
    }

    fn holds(&self, candidate: u32) -> bool {
        self.representatives[candidate as usize] == candidate
    }

    fn representative(&mut self, candidate: u32) -> u32 {
        self.representatives[candidate as usize]
    }
}
