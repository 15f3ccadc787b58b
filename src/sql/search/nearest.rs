//! The nearest rows first.
//!
//! Entries are stored by their distance, until all entries at that distance have been found. When the steps have cost
//! as much as a full scan of an index, one full scan finds the rest. Memory is limited: if more entries are found, the
//! farthest are dropped, and another full scan finds them again. If the rows at one distance alone exceed the limit, a
//! full scan returns them without storing them.

use pgrx::pg_sys::{self, ItemPointerData};
use postgres::error::push;
use simhash::distance::share_within;
use simhash::search::growth::{Growth, LARGEST_DISTANCE};

use super::USUAL_DISTANCE;
use super::finder::{Finder, FinderOutcome, NearEntry};
use super::rows::FetchedRows;

pub struct NearestSearch {
    limit: i32,
    stored: Vec<Vec<StoredEntry>>,
    count: usize,
    capacity: Capacity,
    /// The distance whose rows are being returned.
    current: i32,
    /// Everything within this distance has been found and stored.
    complete_within: i32,
    /// Entries farther than this are dropped.
    farthest: i32,
    reading: Reading,
    /// The expected cost of a full scan, in microseconds.
    full_scan: f64,
    /// Whether to look up in the visibility map whether rows are visible to all.
    needs_visibility: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Reading {
    Steps,
    FullScans,
    /// By a full scan that returns the entries at the current distance without storing them.
    Current,
}

/// A near entry that is stored until its distance is the current one.
#[derive(Clone, Copy)]
pub struct StoredEntry {
    pub fingerprint: u64,
    pub tid: ItemPointerData,
    /// Whether every transaction sees all rows of its page; false if this was not read.
    pub is_visible_to_all: bool,
}

/// A row of the result.
pub enum Nearby {
    Stored(StoredEntry),
    /// An entry that the finder has just found.
    Found(NearEntry),
}

/// The limit on the number of stored entries.
#[derive(Clone, Copy)]
pub struct Capacity {
    /// The number of rows that the query is expected to read; 0 if that is not known.
    expected: usize,
    /// The present limit, which grows up to `largest`.
    now: usize,
    /// The limit by `work_mem`.
    largest: usize,
}

impl Capacity {
    /// The capacity for a query that is expected to read `expected` rows; `expected` is None if that is not known.
    pub fn new(expected: Option<f64>) -> Self {
        // SAFETY: the setting is a plain number, of kilobytes.
        let memory = usize::try_from(unsafe { pg_sys::work_mem }).unwrap_or(64).saturating_mul(1024);
        // While a vector grows, it takes three times the memory of its elements.
        let largest = memory / (3 * size_of::<StoredEntry>());
        // All entries at a distance are stored, or none. The largest distance may have several times as many rows as
        // all smaller ones.
        let now = expected.map_or(largest, |rows| (8.0 * rows).max(256.0) as usize).min(largest);
        Self { expected: expected.unwrap_or(0.0) as usize, now, largest }
    }

    /// Grows because the query reads more rows than expected. False if the capacity cannot grow.
    fn grow(&mut self) -> bool {
        let before = self.now;
        self.now = self.now.saturating_mul(8).min(self.largest);
        self.now > before
    }

    /// The number of full scans that return everything within a distance, among `rows` uniform fingerprints.
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

impl NearestSearch {
    /// Begins a search for everything within `limit`. A full scan is expected to cost `full_scan` microseconds.
    pub fn new(limit: i32, growth: &Growth, full_scan: f64, capacity: Capacity, needs_visibility: bool) -> Self {
        let limit = limit.min(LARGEST_DISTANCE);
        Self {
            limit,
            stored: vec![Vec::new(); LARGEST_DISTANCE as usize + 1],
            count: 0,
            capacity,
            current: 0,
            complete_within: -1,
            // Store only entries that the steps find before a full scan is cheaper. The full scan finds the farther
            // ones.
            farthest: growth.reach(full_scan).clamp(0, limit.max(0)),
            reading: Reading::Steps,
            full_scan,
            needs_visibility,
        }
    }

    /// The next row; None at the end.
    pub fn next(&mut self, finder: &mut Finder, rows: &mut FetchedRows) -> Option<Nearby> {
        while self.current <= self.limit {
            if self.current <= self.complete_within {
                let of_distance = &mut self.stored[self.current as usize];
                if let Some(entry) = of_distance.pop() {
                    self.count -= 1;
                    return Some(Nearby::Stored(entry));
                }
                *of_distance = Vec::new();
                self.current += 1;
                continue;
            }
            match self.reading {
                Reading::Steps if self.complete_within < self.farthest => self.make_step(finder, rows),
                Reading::Steps => self.reading = Reading::FullScans,
                Reading::FullScans => self.make_full_scan(finder, rows),
                Reading::Current => {
                    let current = self.current as u32;
                    match finder.next(rows, 0, &(current..=current), 0.0) {
                        FinderOutcome::Entry(entry) => return Some(Nearby::Found(entry)),
                        FinderOutcome::Complete | FinderOutcome::Exhausted => {
                            self.complete_within = self.current;
                            self.reading = Reading::FullScans;
                        }
                    }
                }
            }
        }
        None
    }

    /// Makes the next step. If a full scan is cheaper, full scans come next.
    fn make_step(&mut self, finder: &mut Finder, rows: &mut FetchedRows) {
        let target = (finder.growth().complete_within() + 1).max(USUAL_DISTANCE).min(self.limit);
        let left = self.full_scan - finder.growth().spent();
        while let Ok(farthest) = u32::try_from(self.farthest) {
            match finder.next(rows, target, &(0..=farthest), left) {
                FinderOutcome::Entry(entry) => self.store(entry, rows),
                FinderOutcome::Complete => {
                    self.complete_within = finder.growth().complete_within().min(self.farthest);
                    return;
                }
                FinderOutcome::Exhausted => {
                    let is_complete = finder.growth().complete_within() >= target;
                    self.complete_within = if is_complete { self.farthest } else { self.complete_within };
                    self.reading = Reading::FullScans;
                    return;
                }
            }
        }
    }

    /// Makes a full scan that stores the entries from the current distance on, up to the capacity.
    fn make_full_scan(&mut self, finder: &mut Finder, rows: &mut FetchedRows) {
        self.stored.iter_mut().for_each(|of_distance| *of_distance = Vec::new());
        self.count = 0;
        self.farthest = self.limit;
        finder.begin_full_scan(rows, false);
        while self.farthest >= self.current {
            match finder.next(rows, 0, &(self.current as u32..=self.farthest as u32), 0.0) {
                FinderOutcome::Entry(entry) => self.store(entry, rows),
                FinderOutcome::Complete | FinderOutcome::Exhausted => {
                    self.complete_within = self.farthest;
                    self.capacity.grow();
                    return;
                }
            }
        }
        // The rows at the current distance alone exceed the capacity.
        if !self.capacity.grow() {
            finder.begin_full_scan(rows, false);
            self.reading = Reading::Current;
        }
    }

    /// Stores an entry. If this exceeds the capacity, drops the entries at the largest distances.
    fn store(&mut self, entry: NearEntry, rows: &mut FetchedRows) {
        let NearEntry { fingerprint, tid, distance, .. } = entry;
        let is_visible_to_all = self.needs_visibility && rows.is_visible_to_all(tid);
        push(&mut self.stored[distance as usize], StoredEntry { fingerprint, tid, is_visible_to_all });
        self.count += 1;
        while self.count > self.capacity.now && self.farthest >= 0 {
            // Many rows may be at one distance, such as copies of the query's text. If the nearer rows are fewer than
            // the query is expected to read, grow instead of dropping those rows.
            let rest = self.count - self.stored[self.farthest as usize].len();
            if rest < self.capacity.expected && self.capacity.grow() {
                continue;
            }
            let dropped = std::mem::take(&mut self.stored[self.farthest as usize]);
            self.count -= dropped.len();
            self.farthest -= 1;
        }
    }
}
