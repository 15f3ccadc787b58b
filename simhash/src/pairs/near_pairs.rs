//! Near pairs of rows, one after the other.

use super::groups::{Groups, Rows};
use super::progress::{Phase, Progress};
use super::search::{NearPair, PairSearch};
use crate::error::Error;
use crate::search::nearness::Nearness;
use crate::ticking::NUMBERS_BETWEEN_TICKS;

/// Two rows and their distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// Position of the earlier row.
    pub a: u32,
    /// Position of the later row.
    pub b: u32,
    /// Number of bits in which the fingerprints of the rows differ.
    pub distance: u32,
}

/// Every pair of near rows, each once: an iterator whose `next` takes a tick.
///
/// The order of the pairs has no meaning, but the same rows always give the same order. Needs 24 bytes for each row,
/// the memory of the [`Rows`] included, 8 more for each distinct fingerprint if some rows have equal ones, and up to 20
/// megabytes. The number of pairs does not matter.
///
/// The tick is called at least every few milliseconds, also in [`Pairs::new`]. If it panics, the only thing to do with
/// the pairs is to drop them.
pub struct Pairs {
    groups: Groups,
    /// Pairs within groups: the current group, the positions of two rows in it, how many pairs have been listed, and
    /// how many there are.
    group: u32,
    positions: (usize, usize),
    listed: u64,
    equal: u64,
    search: PairSearch,
    /// Two near groups whose rows are being paired, and the positions of the next two rows.
    near: Option<NearPair>,
    near_positions: (usize, usize),
    /// Number of pairs since the last tick.
    since_tick: usize,
}

impl Pairs {
    /// Sorts the rows, which takes little of the whole time. Fails if memory is refused.
    pub fn new(rows: Rows, near: Nearness, tick: &dyn Fn(Progress)) -> Result<Self, Error> {
        let (groups, buffers, count) = Groups::new(rows, tick)?;
        let end = || tick(Progress { phase: Phase::Sort, share: 1.0 });
        let equal = if near.contains(0) { groups.pairs(&end) } else { 0 };
        Ok(Self {
            groups,
            group: 0,
            positions: (0, 1),
            listed: 0,
            equal,
            search: PairSearch::new(buffers, count, near)?,
            near: None,
            near_positions: (0, 0),
            since_tick: 0,
        })
    }

    /// The next pair; None at the end. Fails only if memory is refused.
    pub fn next(&mut self, tick: &dyn Fn(Progress)) -> Result<Option<Pair>, Error> {
        self.since_tick += 1;
        if self.since_tick == NUMBERS_BETWEEN_TICKS {
            self.since_tick = 0;
            tick(self.progress());
        }
        if self.listed < self.equal {
            return Ok(Some(self.next_equal(tick)));
        }
        loop {
            if let Some(near) = &self.near {
                let (a, b) = (self.groups.rows(&near.a), self.groups.rows(&near.b));
                let (position, other) = self.near_positions;
                if let (Some(&a), Some(&b)) = (a.get(position), b.get(other)) {
                    self.near_positions.1 += 1;
                    return Ok(Some(Pair { a: a.min(b), b: a.max(b), distance: near.distance }));
                }
                if position + 1 < a.len() {
                    self.near_positions = (position + 1, 0);
                    continue;
                }
            }
            self.near = self.search.next(tick)?;
            self.near_positions = (0, 0);
            if self.near.is_none() {
                return Ok(None);
            }
        }
    }

    /// The next pair of rows within a group. Call it only while `listed` is less than `equal`.
    fn next_equal(&mut self, tick: &dyn Fn(Progress)) -> Pair {
        loop {
            let rows = self.groups.rows(&self.group);
            let (position, other) = self.positions;
            if let (Some(&a), Some(&b)) = (rows.get(position), rows.get(other)) {
                self.positions.1 += 1;
                self.listed += 1;
                return Pair { a, b, distance: 0 };
            }
            if position + 2 < rows.len() {
                self.positions = (position + 1, position + 2);
                continue;
            }
            self.group += 1;
            self.positions = (0, 1);
            if (self.group as usize).is_multiple_of(NUMBERS_BETWEEN_TICKS) {
                tick(self.progress());
            }
        }
    }

    fn progress(&self) -> Progress {
        if self.listed < self.equal {
            Progress { phase: Phase::Equal, share: self.listed as f64 / self.equal as f64 }
        } else {
            Progress { phase: Phase::Near, share: self.search.share() }
        }
    }
}
