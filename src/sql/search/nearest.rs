//! Returns the nearest rows first.
//!
//! Entries are stored by their distance, until all entries at that distance have been found. When the steps have cost
//! as much as a full scan of an index, one full scan finds the rest. Memory is limited: if more entries are found, the
//! farthest are dropped, and another full scan finds them again. If the rows at one distance alone exceed the limit, a
//! full scan returns them without storing them.

use pgrx::pg_sys::ItemPointerData;
use postgres::heap::entry_scan::Fetched;
use postgres::memory::push;
use postgres::settings::work_mem;
use simhash::search::growth::MAX_DISTANCE;

use super::USUAL_DISTANCE;
use crate::sql::lookup::block_walk::{BlockWalk, NearEntry, StepRead};

/// A search for the nearest rows, and the entries that it has found and not returned yet.
pub struct NearestSearch {
    max_distance: i32,
    /// The tids of near entries, by their distance.
    stored: Vec<Vec<ItemPointerData>>,
    stored_count: usize,
    /// The limit on the number of stored entries. Most queries read few rows, so it is small at first, and grows up to
    /// [`largest_capacity`].
    capacity: usize,
    /// The distance whose rows are being returned.
    current_distance: i32,
    /// Everything within this distance has been found, and is stored or returned.
    complete_within: i32,
    /// Entries farther than this are dropped.
    farthest: i32,
    reading: Reading,
    /// Number of entries that the steps have found.
    step_entries: u64,
    /// Whether the row of the last of these entries was fetched, and no transaction sees it.
    last_is_dead: bool,
}

/// How the next entries are found.
#[derive(Clone, Copy, PartialEq)]
enum Reading {
    Steps,
    FullScans,
    /// By a full scan that returns the entries at the current distance without storing them.
    Current,
}

const FIRST_CAPACITY: usize = 4096;
const ENTRIES_BETWEEN_FETCHES: u64 = 64;

/// The most entries that are stored within `work_mem`.
pub fn largest_capacity() -> usize {
    // While a vector grows, it takes three times the memory of its elements.
    work_mem() / (3 * size_of::<ItemPointerData>())
}

impl NearestSearch {
    /// A search for the rows within a distance, nearest first, by a walk that has begun to look for them.
    pub fn new(walk: &BlockWalk, max_distance: i32) -> Self {
        Self {
            max_distance,
            stored: vec![Vec::new(); MAX_DISTANCE as usize + 1],
            stored_count: 0,
            capacity: FIRST_CAPACITY.min(largest_capacity()),
            current_distance: 0,
            complete_within: -1,
            // A full scan finds the entries that are farther than steps reach before they cost as much.
            farthest: walk.growth.reach(walk.full_scan_cost()).clamp(0, max_distance),
            reading: Reading::Steps,
            step_entries: 0,
            last_is_dead: false,
        }
    }

    /// The tid of the next row, whether the snapshot sees it or not; None at the end.
    pub fn next(&mut self, walk: &mut BlockWalk) -> Option<ItemPointerData> {
        while self.current_distance <= self.max_distance {
            if self.current_distance <= self.complete_within {
                let tids = &mut self.stored[self.current_distance as usize];
                if let Some(tid) = tids.pop() {
                    self.stored_count -= 1;
                    return Some(tid);
                }
                *tids = Vec::new();
                self.current_distance += 1;
                continue;
            }
            match self.reading {
                Reading::Steps if self.complete_within < self.farthest => self.make_step(walk),
                Reading::Steps => self.reading = Reading::FullScans,
                Reading::FullScans => self.make_full_scan(walk),
                Reading::Current => {
                    let current = self.current_distance as u32;
                    if let Some(entry) = walk.next_of_full_scan(&(current..=current)) {
                        return Some(entry.tid);
                    }
                    self.complete_within = self.current_distance;
                    self.reading = Reading::FullScans;
                }
            }
        }
        None
    }

    /// Makes the next step. If a full scan is cheaper, full scans come next.
    fn make_step(&mut self, walk: &mut BlockWalk) {
        let target = (walk.growth.complete_within() + 1).max(USUAL_DISTANCE).min(self.max_distance);
        let cost_left = walk.full_scan_cost() - walk.growth.spent();
        while let Ok(farthest) = u32::try_from(self.farthest) {
            match walk.next_of_steps(target, farthest, cost_left) {
                StepRead::Entry(entry) => {
                    if !self.mark_if_dead(walk, entry) {
                        self.store(entry);
                    }
                }
                StepRead::Complete => {
                    self.complete_within = walk.growth.complete_within().min(self.farthest);
                    return;
                }
                StepRead::Exhausted => {
                    if walk.growth.complete_within() >= target {
                        self.complete_within = self.farthest;
                    }
                    self.reading = Reading::FullScans;
                    return;
                }
            }
        }
    }

    /// Fetches one row in [`ENTRIES_BETWEEN_FETCHES`], and after a dead row also the next one, because there may be
    /// many deleted copies: the index can mark the entry of a dead row only now, and few rows are fetched later.
    /// Returns whether the row was fetched, and no transaction sees it.
    fn mark_if_dead(&mut self, walk: &mut BlockWalk, entry: NearEntry) -> bool {
        self.step_entries += 1;
        let is_fetched = self.last_is_dead || self.step_entries.is_multiple_of(ENTRIES_BETWEEN_FETCHES);
        self.last_is_dead = is_fetched && walk.fetch(entry) == Fetched::Dead;
        self.last_is_dead
    }

    /// Makes a full scan that stores the entries from the current distance on, up to the capacity.
    fn make_full_scan(&mut self, walk: &mut BlockWalk) {
        self.stored.iter_mut().for_each(|tids| *tids = Vec::new());
        self.stored_count = 0;
        self.farthest = self.max_distance;
        walk.begin_full_scan();
        while self.farthest >= self.current_distance {
            let Some(entry) = walk.next_of_full_scan(&(self.current_distance as u32..=self.farthest as u32)) else {
                self.complete_within = self.farthest;
                self.grow();
                return;
            };
            self.store(entry);
        }
        // The rows at the current distance alone exceed the largest capacity.
        walk.begin_full_scan();
        self.reading = Reading::Current;
    }

    /// Grows the capacity; false if it is already the largest.
    fn grow(&mut self) -> bool {
        let before = self.capacity;
        self.capacity = self.capacity.saturating_mul(8).min(largest_capacity());
        self.capacity > before
    }

    /// Stores an entry. If this exceeds the capacity, drops the entries at the largest distances.
    fn store(&mut self, NearEntry { tid, distance, .. }: NearEntry) {
        push(&mut self.stored[distance as usize], tid);
        self.stored_count += 1;
        while self.stored_count > self.capacity && self.farthest >= 0 {
            // Entries at the current distance are needed next, so grow rather than drop them.
            if self.farthest == self.current_distance && self.grow() {
                continue;
            }
            let dropped = std::mem::take(&mut self.stored[self.farthest as usize]);
            self.stored_count -= dropped.len();
            self.farthest -= 1;
        }
    }
}
