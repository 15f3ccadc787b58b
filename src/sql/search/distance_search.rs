//! A search by distance in the block indexes of a table.

use pgrx::pg_sys::ScanKeyData;
use postgres::heap::entry_scan::Fetched;

use super::nearest::NearestSearch;
use super::plan::DistanceSettings;
use crate::sql::lookup::block_walk::{BlockWalk, StepRead};
use crate::sql::lookup::query_indexes::QueryIndexes;

/// Finds near rows, or returns rows nearest first.
pub struct DistanceSearch {
    pub walk: BlockWalk,
    is_ordered: bool,
    state: SearchState,
}

enum SearchState {
    /// It finds near rows in any order, by steps.
    Near {
        max_distance: i32,
    },
    /// A full scan finds the near rows that the steps have not found.
    ScanOfRest {
        max_distance: i32,
    },
    /// It returns rows nearest first.
    Nearest {
        nearest: Box<NearestSearch>,
        /// Whether the rows without a fingerprint follow.
        nulls_follow: bool,
    },
    /// It returns the rows without a fingerprint.
    Nulls,
    Done,
}

/// What a search looks for.
pub struct Goal {
    pub query: u64,
    pub max_distance: i32,
    /// Whether the rows without a fingerprint follow.
    pub nulls_follow: bool,
}

impl DistanceSearch {
    /// A search in the indexes of these settings, of a table that has `pages` pages.
    pub fn new(settings: &DistanceSettings, pages: f64, indexes: QueryIndexes) -> Self {
        // The table may have grown since the query was planned.
        let rows = (settings.rows * pages / settings.pages.max(1.0)).max(1.0);
        let walk = BlockWalk::new(&settings.layouts, rows, indexes);
        Self { walk, is_ordered: settings.is_ordered, state: SearchState::Done }
    }

    /// Begins a search within a scope; None finds nothing.
    pub fn begin(&mut self, search: Option<(Goal, Vec<ScanKeyData>)>) {
        let (goal, scope) = search.unzip();
        self.walk.indexes.begin(scope.unwrap_or_default());
        self.state = match goal {
            Some(Goal { query, max_distance, nulls_follow }) if max_distance >= 0 => {
                self.walk.begin(query);
                if self.is_ordered {
                    let nearest = Box::new(NearestSearch::new(&self.walk, max_distance));
                    SearchState::Nearest { nearest, nulls_follow }
                } else {
                    SearchState::Near { max_distance }
                }
            }
            _ => SearchState::Done,
        };
    }

    /// Fetches the next row into the slot; false at the end.
    pub fn next(&mut self) -> bool {
        loop {
            postgres::interrupts::tick();
            let tid = match &mut self.state {
                SearchState::Done => return false,
                &mut SearchState::Near { max_distance } => {
                    let full_scan_cost = self.walk.full_scan_cost();
                    match self.walk.next_of_steps(max_distance, max_distance as u32, full_scan_cost) {
                        StepRead::Entry(entry) if self.walk.fetch(entry) == Fetched::Row => return true,
                        StepRead::Entry(_) | StepRead::Complete => {}
                        StepRead::Exhausted if self.walk.growth.complete_within() < max_distance => {
                            self.walk.begin_scan_of_rest();
                            self.state = SearchState::ScanOfRest { max_distance };
                        }
                        StepRead::Exhausted => self.state = SearchState::Done,
                    }
                    continue;
                }
                &mut SearchState::ScanOfRest { max_distance } => {
                    match self.walk.next_of_full_scan(&(0..=max_distance as u32)) {
                        Some(entry) if self.walk.fetch(entry) == Fetched::Row => return true,
                        Some(_) => {}
                        None => self.state = SearchState::Done,
                    }
                    continue;
                }
                SearchState::Nearest { nearest, .. } => nearest.next(&mut self.walk),
                SearchState::Nulls => self.walk.next_null(),
            };
            if let Some(tid) = tid {
                if self.walk.indexes.fetch_tid(tid) {
                    return true;
                }
            } else if let SearchState::Nearest { nulls_follow: true, .. } = self.state {
                self.walk.begin_nulls();
                self.state = SearchState::Nulls;
            } else {
                self.state = SearchState::Done;
            }
        }
    }
}
