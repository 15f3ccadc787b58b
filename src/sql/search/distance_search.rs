//! A search by distance in the block indexes of a table.

use pgrx::pg_sys::{self, ScanKeyData, TupleTableSlot};
use postgres::heap::entry_scan::Fetched;
use simhash::search::growth::LARGEST_DISTANCE;

use super::nearest::NearestSearch;
use super::plan::DistanceSettings;
use super::rows::RowFetcher;
use crate::sql::lookup::block_walk::{BlockWalk, Outcome};
use crate::sql::lookup::query_indexes::{QueryIndexes, Work};

/// Finds near rows, or returns rows nearest first. [`DistanceSearch::end`] releases all resources that it holds.
pub struct DistanceSearch {
    pub walk: BlockWalk,
    rows: RowFetcher,
    is_ordered: bool,
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
            let indexes = QueryIndexes::open(table, snapshot, slot, BlockWalk::indexes_of(&settings.layouts));
            let walk = BlockWalk::new(&settings.layouts, settings.rows_in(pages.into()), indexes);
            let rows = RowFetcher::new(table, snapshot, slot);
            Self { walk, rows, is_ordered: settings.is_ordered, state: SearchState::Done }
        }
    }

    /// Begins a search within a scope; None finds nothing.
    pub fn begin(&mut self, goal: Option<Goal>, scope: Vec<ScanKeyData>) {
        self.rows.reset();
        self.walk.indexes.begin(scope);
        self.state = match goal {
            Some(Goal { query, max_distance, is_for_all }) if max_distance >= 0 => {
                self.walk.begin(query, max_distance);
                if self.is_ordered {
                    let nearest = Box::new(NearestSearch::new(&self.walk));
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
            let tid = match &mut self.state {
                SearchState::Done => return false,
                SearchState::Near { is_full_scan } => {
                    let max_distance = self.walk.max_distance.min(LARGEST_DISTANCE);
                    let full_scan = self.walk.full_scan_cost();
                    match self.walk.next(max_distance, &(0..=max_distance as u32), full_scan) {
                        Outcome::Entry(_) if self.walk.fetch_last() == Fetched::Row => return true,
                        Outcome::Entry(_) => {}
                        Outcome::Complete if !*is_full_scan => {}
                        Outcome::Exhausted if !*is_full_scan && self.walk.growth.complete_within() < max_distance => {
                            *is_full_scan = true;
                            self.walk.begin_full_scan(true);
                        }
                        Outcome::Complete | Outcome::Exhausted => self.state = SearchState::Done,
                    }
                    continue;
                }
                SearchState::Nearest { nearest, .. } => nearest.next(&mut self.walk),
                SearchState::Nulls => self.walk.next_null(),
            };
            match (tid, &self.state) {
                (Some(tid), _) if self.rows.fetch(tid) => return true,
                (Some(_), _) => {}
                (None, SearchState::Nearest { and_nulls: true, .. }) => {
                    self.walk.begin_nulls();
                    self.state = SearchState::Nulls;
                }
                (None, _) => self.state = SearchState::Done,
            }
        }
    }

    /// The work of all searches.
    pub fn work(&self) -> Work {
        let work = self.walk.indexes.work();
        Work { fetches: work.fetches + self.rows.fetches, ..work }
    }

    pub fn end(self) {
        self.walk.indexes.end();
        self.rows.end();
    }
}
