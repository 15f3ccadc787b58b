//! The nearest rows first.
//!
//! What is found is stored by its distance, until everything at that distance has been found. When the steps have cost
//! as much as a full scan of an index, one full scan finds the rest. Memory is limited: if more is found, what is
//! farthest is dropped, and another full scan finds it again. If the rows at one distance alone exceed the limit, a
//! full scan returns them as it finds them.

use pgrx::pg_sys::{self, ItemPointerData};
use simhash::distance::share_within;
use simhash::search::growth::{Growth, LARGEST_DISTANCE};

use super::USUAL_DISTANCE;
use super::finder::{Finder, Found, Next};
use super::rows::Rows;
use crate::postgres::error::push;

/// A search for the nearest rows.
pub struct Nearest {
    /// The largest distance that is wanted.
    limit: i32,
    /// What is kept, by distance.
    kept: Vec<Vec<Kept>>,
    count: usize,
    capacity: Capacity,
    /// The distance whose rows are being returned.
    current: i32,
    /// Everything within this distance has been found and kept.
    complete: i32,
    /// What is farther than this is dropped.
    farthest: i32,
    reading: Reading,
    /// The expected cost of a full scan, in microseconds.
    full_scan: f64,
    /// Whether to ask if rows are visible to all.
    needs_visibility: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Reading {
    Steps,
    Passes,
    /// A full scan that returns what is at the current distance as it finds it.
    Current,
}

/// A fingerprint that is kept.
#[derive(Clone, Copy)]
pub struct Kept {
    pub fingerprint: u64,
    pub tid: ItemPointerData,
    /// Whether every transaction sees all rows of its page; false if that was not asked.
    pub is_visible_to_all: bool,
}

/// A row of the result.
pub enum Nearby {
    Kept(Kept),
    /// What the finder has just found.
    Found(Found),
}

/// How many fingerprints are stored at once.
#[derive(Clone, Copy)]
pub struct Capacity {
    /// The number of rows that the query is expected to want; 0 if that is not known.
    wanted: usize,
    now: usize,
    /// The capacity of `work_mem`.
    largest: usize,
}

impl Capacity {
    /// The capacity for a query that is expected to want so many rows; None if that is not known.
    pub fn new(expected: Option<f64>) -> Self {
        // SAFETY: the setting is a plain number, of kilobytes.
        let memory = usize::try_from(unsafe { pg_sys::work_mem }).unwrap_or(64).saturating_mul(1024);
        // While a vector grows, it takes three times what it holds.
        let largest = memory / (3 * size_of::<Kept>());
        // Only whole distances are stored, and the last one may have several times as many rows as those before it.
        let now = expected.map_or(largest, |rows| (8.0 * rows).max(256.0) as usize).min(largest);
        Self { wanted: expected.unwrap_or(0.0) as usize, now, largest }
    }

    /// Grows, if it is not the largest capacity, because more is wanted than was expected.
    fn grow(&mut self) -> bool {
        let before = self.now;
        self.now = self.now.saturating_mul(8).min(self.largest);
        self.now > before
    }

    /// The number of full scans that return everything within a distance, of so many uniform fingerprints.
    pub fn full_scans(mut self, rows: f64, distance: i32) -> f64 {
        let at = |distance| rows * (share_within(distance) - share_within(distance - 1));
        let (mut scans, mut current) = (0.0, 0);
        while current <= distance.min(LARGEST_DISTANCE) {
            scans += 1.0;
            let (first, mut stored) = (current, at(current));
            while current <= LARGEST_DISTANCE && stored <= self.now as f64 {
                current += 1;
                stored += at(current);
            }
            if !self.grow() && current == first {
                scans += 1.0;
                current += 1;
            }
        }
        scans
    }
}

impl Nearest {
    /// Begins a search for what is within `limit`. A full scan is expected to cost `full_scan` microseconds.
    pub fn new(limit: i32, growth: &Growth, full_scan: f64, capacity: Capacity, needs_visibility: bool) -> Self {
        let limit = limit.min(LARGEST_DISTANCE);
        Self {
            limit,
            kept: vec![Vec::new(); LARGEST_DISTANCE as usize + 1],
            count: 0,
            capacity,
            current: 0,
            complete: -1,
            // If steps do not reach a distance before a full scan is cheaper, the full scan finds it again.
            farthest: growth.reach(full_scan).clamp(0, limit.max(0)),
            reading: Reading::Steps,
            full_scan,
            needs_visibility,
        }
    }

    /// The next row; None at the end.
    pub fn next(&mut self, finder: &mut Finder, rows: &mut Rows) -> Option<Nearby> {
        while self.current <= self.limit {
            if self.current <= self.complete {
                let of_distance = &mut self.kept[self.current as usize];
                if let Some(kept) = of_distance.pop() {
                    self.count -= 1;
                    return Some(Nearby::Kept(kept));
                }
                *of_distance = Vec::new();
                self.current += 1;
                continue;
            }
            match self.reading {
                Reading::Steps if self.complete < self.farthest => self.make_step(finder, rows),
                Reading::Steps => self.reading = Reading::Passes,
                Reading::Passes => self.make_pass(finder, rows),
                Reading::Current => {
                    let current = self.current as u32;
                    match finder.next(rows, 0, &(current..=current), 0.0) {
                        Next::Found(found) => return Some(Nearby::Found(found)),
                        Next::Complete | Next::Exhausted => {
                            self.complete = self.current;
                            self.reading = Reading::Passes;
                        }
                    }
                }
            }
        }
        None
    }

    /// Makes the next step; if a full scan is cheaper, full scans come next.
    fn make_step(&mut self, finder: &mut Finder, rows: &mut Rows) {
        let target = (finder.growth().complete_within() + 1).max(USUAL_DISTANCE).min(self.limit);
        let left = self.full_scan - finder.growth().spent();
        while let Ok(farthest) = u32::try_from(self.farthest) {
            match finder.next(rows, target, &(0..=farthest), left) {
                Next::Found(found) => self.keep(found, rows),
                Next::Complete => {
                    self.complete = finder.growth().complete_within().min(self.farthest);
                    return;
                }
                Next::Exhausted => {
                    let is_complete = finder.growth().complete_within() >= target;
                    self.complete = if is_complete { self.farthest } else { self.complete };
                    self.reading = Reading::Passes;
                    return;
                }
            }
        }
    }

    /// Makes a full scan that finds everything from the current distance on, up to the limit of memory.
    fn make_pass(&mut self, finder: &mut Finder, rows: &mut Rows) {
        self.kept.iter_mut().for_each(|of_distance| *of_distance = Vec::new());
        self.count = 0;
        self.farthest = self.limit;
        finder.begin_pass(rows, false);
        while self.farthest >= self.current {
            match finder.next(rows, 0, &(self.current as u32..=self.farthest as u32), 0.0) {
                Next::Found(found) => self.keep(found, rows),
                Next::Complete | Next::Exhausted => {
                    self.complete = self.farthest;
                    self.capacity.grow();
                    return;
                }
            }
        }
        // The rows at the current distance exceed the limit.
        if !self.capacity.grow() {
            finder.begin_pass(rows, false);
            self.reading = Reading::Current;
        }
    }

    fn keep(&mut self, found: Found, rows: &mut Rows) {
        let Found { fingerprint, tid, distance, .. } = found;
        let is_visible_to_all = self.needs_visibility && rows.is_visible_to_all(tid);
        push(&mut self.kept[distance as usize], Kept { fingerprint, tid, is_visible_to_all });
        self.count += 1;
        while self.count > self.capacity.now && self.farthest >= 0 {
            // What is nearer must suffice. Many rows may be at one distance, such as copies of the query's text.
            let rest = self.count - self.kept[self.farthest as usize].len();
            if rest < self.capacity.wanted && self.capacity.grow() {
                continue;
            }
            let dropped = std::mem::take(&mut self.kept[self.farthest as usize]);
            self.count -= dropped.len();
            self.farthest -= 1;
        }
    }
}
