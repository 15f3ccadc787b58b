//! A search by distance in the block indexes of a table.

use pgrx::pg_sys::{self, ScanKeyData, TupleTableSlot};
use postgres::heap::entry_scan::Fetched;
use simhash::search::growth::LARGEST_DISTANCE;

use super::finder::{Finder, FinderOutcome};
use super::nearest::NearestSearch;
use super::plan::DistanceSettings;
use super::rows::FetchedRows;

/// Finds near rows, or returns rows nearest first. [`DistanceSearch::end`] releases all resources that it holds.
pub struct DistanceSearch {
    pub finder: Finder,
    rows: FetchedRows,
    state: SearchState,
}

enum SearchState {
    /// It finds near rows in any order.
    Near {
        /// Whether steps are over, and a full scan finds the rest.
        is_full_scan: bool,
    },
    /// It returns rows nearest first.
    Nearest {
        nearest: Box<NearestSearch>,
        /// Whether the rows without a fingerprint follow.
        and_nulls: bool,
    },
    /// It returns the rows without a fingerprint.
    Nulls,
    Done,
}

/// The rows that a search is for.
pub struct Goal {
    pub query: u64,
    pub max_distance: i32,
    /// Whether the search is for all rows, with or without a fingerprint.
    pub is_for_all: bool,
}

impl DistanceSearch {
    /// Opens the indexes until [`DistanceSearch::end`].
    ///
    /// # Safety
    /// The table, the snapshot and the slot for its rows live as long as the result.
    pub unsafe fn new(
        settings: &DistanceSettings,
        table: pg_sys::Relation,
        snapshot: pg_sys::Snapshot,
        slot: *mut TupleTableSlot,
    ) -> Self {
        // SAFETY: the caller passes an open table, a snapshot and a slot, which live as long as the result.
        unsafe {
            let pages = pg_sys::RelationGetNumberOfBlocksInFork(table, pg_sys::ForkNumber::MAIN_FORKNUM);
            let finder = Finder::new(settings, settings.rows_in(pages.into()), table, snapshot, slot);
            let rows = FetchedRows::new(table, snapshot, slot);
            Self { finder, rows, state: SearchState::Done }
        }
    }

    /// Begins a search within a scope; None finds nothing. `is_again` says whether there was one before.
    pub fn begin(&mut self, settings: &DistanceSettings, goal: Option<(Goal, Vec<ScanKeyData>)>, is_again: bool) {
        self.rows.reset();
        self.state = match goal {
            Some((Goal { query, max_distance, is_for_all }, scope)) if max_distance >= 0 => {
                self.finder.scope = scope;
                self.finder.begin(settings, query, max_distance, is_again);
                if settings.is_ordered {
                    let nearest = Box::new(NearestSearch::new(&self.finder));
                    SearchState::Nearest { nearest, and_nulls: is_for_all }
                } else {
                    SearchState::Near { is_full_scan: false }
                }
            }
            _ => SearchState::Done,
        };
    }

    /// Fetches the next row into the slot; false at the end.
    pub fn next(&mut self) -> bool {
        loop {
            pgrx::check_for_interrupts!();
            let found = match &mut self.state {
                SearchState::Done => return false,
                SearchState::Near { is_full_scan } => {
                    let limit = self.finder.max_distance.min(LARGEST_DISTANCE);
                    let full_scan = self.finder.full_scan_cost();
                    match self.finder.next(limit, &(0..=limit as u32), full_scan) {
                        FinderOutcome::Entry(_) => {
                            if self.finder.fetch_found() == Fetched::Row {
                                return true;
                            }
                        }
                        FinderOutcome::Complete if !*is_full_scan => {}
                        FinderOutcome::Exhausted if !*is_full_scan && self.finder.growth.complete_within() < limit => {
                            *is_full_scan = true;
                            self.finder.begin_full_scan(true);
                        }
                        FinderOutcome::Complete | FinderOutcome::Exhausted => self.state = SearchState::Done,
                    }
                    continue;
                }
                SearchState::Nearest { nearest, and_nulls } => {
                    let found = nearest.next(&mut self.finder);
                    if found.is_none() {
                        self.state = if *and_nulls {
                            self.finder.begin_nulls();
                            SearchState::Nulls
                        } else {
                            SearchState::Done
                        };
                    }
                    found
                }
                SearchState::Nulls => {
                    let found = self.finder.next_null();
                    if found.is_none() {
                        self.state = SearchState::Done;
                    }
                    found
                }
            };
            if let Some(tid) = found
                && self.rows.fetch(tid)
            {
                return true;
            }
        }
    }

    /// Number of rows that were fetched in all searches, whether the snapshot sees them or not.
    pub fn fetches(&self) -> u64 {
        self.finder.counts().fetches + self.rows.fetches
    }

    pub fn end(self) {
        self.finder.end();
        self.rows.end();
    }
}
