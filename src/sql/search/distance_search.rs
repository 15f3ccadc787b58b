//! A search by distance in the block indexes of a table.

use pgrx::pg_sys::{self, ItemPointerData, ScanKeyData, TupleTableSlot};
use postgres::heap::entry_scan::Fetched;

use super::nearest::NearestSearch;
use super::plan::DistanceSettings;
use crate::sql::lookup::block_walk::{BlockWalk, Outcome};
use crate::sql::lookup::query_indexes::{QueryIndexes, Work};

/// Finds near rows, or returns rows nearest first. [`DistanceSearch::end`] releases all resources that it holds.
pub struct DistanceSearch {
    pub walk: BlockWalk,
    snapshot: pg_sys::Snapshot,
    slot: *mut TupleTableSlot,
    /// For rows that are fetched by their tids after the scan of the index has read on.
    fetch: *mut pg_sys::IndexFetchTableData,
    /// Number of rows that were fetched so, whether the snapshot sees them or not.
    fetches: u64,
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
    /// Whether the rows without a fingerprint follow.
    pub and_nulls: bool,
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
            // The table may have grown since the query was planned.
            let rows = (settings.rows * f64::from(pages) / settings.pages.max(1.0)).max(1.0);
            let blocks = settings.layouts.iter().flatten();
            let indexes = blocks.map(|indexed| (indexed.index, Some(indexed.fingerprint)));
            let walk = BlockWalk::new(&settings.layouts, rows, QueryIndexes::open(table, snapshot, slot, indexes));
            #[cfg(not(feature = "pg19"))]
            let fetch = pg_sys::table_index_fetch_begin(table);
            #[cfg(feature = "pg19")]
            let fetch = pg_sys::table_index_fetch_begin(table, 0);
            Self { walk, snapshot, slot, fetch, fetches: 0, is_ordered: settings.is_ordered, state: SearchState::Done }
        }
    }

    /// Begins a search within a scope; None finds nothing.
    pub fn begin(&mut self, goal: Option<Goal>, scope: Vec<ScanKeyData>) {
        // SAFETY: the fetch has begun.
        unsafe { pg_sys::table_index_fetch_reset(self.fetch) };
        self.walk.indexes.begin(scope);
        self.state = match goal {
            Some(Goal { query, max_distance, and_nulls }) if max_distance >= 0 => {
                self.walk.begin(query, max_distance);
                if self.is_ordered {
                    let nearest = Box::new(NearestSearch::new(&self.walk));
                    SearchState::Nearest { nearest, and_nulls }
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
                    let max_distance = self.walk.max_distance;
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
            if let Some(tid) = tid {
                if self.fetch(tid) {
                    return true;
                }
            } else if let SearchState::Nearest { and_nulls: true, .. } = self.state {
                self.walk.begin_nulls();
                self.state = SearchState::Nulls;
            } else {
                self.state = SearchState::Done;
            }
        }
    }

    /// Fetches the row version at a tid that the snapshot sees; false if there is none.
    fn fetch(&mut self, mut tid: ItemPointerData) -> bool {
        self.fetches += 1;
        let (mut call_again, all_dead) = (false, std::ptr::null_mut());
        // The snapshot sees one version of a HOT chain at most, so there is no second call.
        // SAFETY: the slot is for rows of the table. An index entry had the tid.
        unsafe {
            pg_sys::table_index_fetch_tuple(self.fetch, &mut tid, self.snapshot, self.slot, &mut call_again, all_dead)
        }
    }

    /// The work of all searches.
    pub fn work(&self) -> Work {
        let work = self.walk.indexes.work();
        Work { fetches: work.fetches + self.fetches, ..work }
    }

    pub fn end(self) {
        self.walk.indexes.end();
        // SAFETY: the fetch ends only here.
        unsafe { pg_sys::table_index_fetch_end(self.fetch) };
    }
}
