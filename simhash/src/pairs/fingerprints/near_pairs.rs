//! Near pairs of rows, one after the other.

use super::groups::{Groups, RowFingerprints};
use super::search::{Pair, PairSearch};
use crate::error::Result;
use crate::ticking::NUMBERS_BETWEEN_TICKS;

/// Every pair of near rows, each once: an iterator whose `next` takes a tick.
///
/// The order of the pairs has no meaning, but the same rows always give the same order. Needs 24 bytes for each row,
/// the memory of the [`RowFingerprints`] included, 8 more for each distinct fingerprint, and up to 20 megabytes. The
/// number of pairs does not matter.
///
/// The tick is called at least every few milliseconds, also in [`Pairs::new`]. If it panics, the pairs can only be
/// dropped.
pub struct Pairs {
    groups: Groups,
    /// The next group whose rows are paired with each other.
    group: u32,
    search: PairSearch,
    /// The two near groups whose rows are being paired, or twice the same group.
    near_groups: Option<Pair>,
    /// The positions of the next two rows in these groups.
    positions: (usize, usize),
    steps_since_tick: usize,
}

impl Pairs {
    /// Sorts the rows, which takes a small part of the time of all pairs.
    pub fn new(rows: RowFingerprints, max_distance: i32, tick: &dyn Fn()) -> Result<Self> {
        let (groups, buffers) = Groups::new(rows, tick)?;
        Ok(Self {
            // By a negative distance, even equal fingerprints are not near.
            group: if max_distance >= 0 { 0 } else { groups.len() as u32 },
            groups,
            search: PairSearch::new(buffers, max_distance)?,
            near_groups: None,
            positions: (0, 0),
            steps_since_tick: 0,
        })
    }

    /// The next pair; None at the end.
    pub fn next(&mut self, tick: &dyn Fn()) -> Result<Option<Pair>> {
        loop {
            self.steps_since_tick += 1;
            if self.steps_since_tick == NUMBERS_BETWEEN_TICKS {
                self.steps_since_tick = 0;
                tick();
            }
            if let Some(Pair { a, b, distance }) = self.near_groups {
                let (rows, others) = (self.groups.rows(a), self.groups.rows(b));
                let (position, other_position) = self.positions;
                if let (Some(&row), Some(&other)) = (rows.get(position), others.get(other_position)) {
                    self.positions.1 += 1;
                    return Ok(Some(Pair { a: row.min(other), b: row.max(other), distance }));
                }
                if position + 1 < rows.len() {
                    self.positions = (position + 1, if a == b { position + 2 } else { 0 });
                    continue;
                }
            }
            self.near_groups = self.next_groups(tick)?;
            let Some(Pair { a, b, .. }) = self.near_groups else { return Ok(None) };
            // Within a group, each row is paired with those after it.
            self.positions = (0, usize::from(a == b));
        }
    }

    /// The next groups to pair: each group with itself, then near ones.
    fn next_groups(&mut self, tick: &dyn Fn()) -> Result<Option<Pair>> {
        let group = self.group;
        if group as usize == self.groups.len() {
            return self.search.next(tick);
        }
        self.group += 1;
        Ok(Some(Pair { a: group, b: group, distance: 0 }))
    }
}
