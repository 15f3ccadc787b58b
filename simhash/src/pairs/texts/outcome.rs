//! What comes out of comparing candidates.

use super::candidates::Candidates;
use crate::error::Result;

/// What comes out of a [`Confirmation`](super::Confirmation): clusters, or kept rows. A candidate is named by its
/// position in [`Candidates`].
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
