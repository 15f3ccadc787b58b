//! A search for near texts by the indexes on their bands.

use std::collections::HashSet;
use std::slice;

use pgrx::itemptr::item_pointer_to_u64;
use pgrx::pg_sys::{self, Oid, ScanKeyData, TupleTableSlot};
use postgres::error::out_of_memory;
use postgres::heap::entry_scan::{EntryRead, EntryScan, Fetched, KeyCondition, key_count};

use super::plan::SearchedBands;
use crate::sql::lookup::text_keys::TextKeys;

/// Looks up the bands of a text, one after the other, and fetches the rows that have one of them. [`BandSearch::end`]
/// releases all resources that it holds.
pub struct BandSearch {
    table: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    slot: *mut TupleTableSlot,
    indexes: Vec<SearchedIndex>,
    has_same: bool,
    /// What is looked up; None if the search is for nothing.
    keys: Option<TextKeys>,
    /// The conditions on the keys before the band.
    scope: Vec<ScanKeyData>,
    /// The number of bands that have been looked up completely.
    band: usize,
    /// Whether the band after these is being looked up.
    is_scanning: bool,
    /// The tids of the rows that were fetched by a band which others follow: near rows have several bands in common.
    /// About 16 bytes each.
    found: HashSet<u64>,
    /// Whether index scans stay open for the next search, as in [`Finder`](super::finder::Finder).
    reuses_scans: bool,
    counts: BandCounts,
}

/// The work of all searches.
#[derive(Clone, Copy, Default)]
pub struct BandCounts {
    pub descents: u64,
    /// Number of index entries that were read.
    pub entries: u64,
    /// Number of rows that were fetched, whether the snapshot sees them or not.
    pub fetches: u64,
}

struct SearchedIndex {
    relation: pg_sys::Relation,
    scan: Option<EntryScan>,
}

impl BandSearch {
    /// Opens the indexes until [`BandSearch::end`].
    ///
    /// # Safety
    /// The table, the snapshot and the slot for its rows live as long as the result. The indexes are btrees of the
    /// table, each on the columns of the scope, a band and a size.
    pub unsafe fn new(
        bands: &SearchedBands,
        table: pg_sys::Relation,
        snapshot: pg_sys::Snapshot,
        slot: *mut TupleTableSlot,
    ) -> Self {
        let open = |index: &Oid| {
            // SAFETY: the index is one of the plan, whose table is locked, so that the index exists.
            let relation = unsafe { pg_sys::index_open(*index, pg_sys::AccessShareLock as pg_sys::LOCKMODE) };
            SearchedIndex { relation, scan: None }
        };
        Self {
            table,
            snapshot,
            slot,
            indexes: bands.indexes.iter().map(open).collect(),
            has_same: bands.has_same,
            keys: None,
            scope: Vec::new(),
            band: 0,
            is_scanning: false,
            found: HashSet::new(),
            reuses_scans: false,
            counts: BandCounts::default(),
        }
    }

    /// Begins a search. `is_again` says whether there was one before.
    pub fn begin(&mut self, keys: Option<TextKeys>, scope: Vec<ScanKeyData>, is_again: bool) {
        (self.keys, self.scope) = (keys, scope);
        (self.band, self.is_scanning) = (0, false);
        self.reuses_scans = is_again;
        // The memory of a search that has found many rows is freed.
        self.found = HashSet::new();
    }

    /// Fetches the next row that has one of the bands, each once, into the slot; false at the end.
    pub fn next(&mut self) -> bool {
        loop {
            pgrx::check_for_interrupts!();
            if !self.is_scanning && !self.look_up_next() {
                return false;
            }
            let is_last = self.band + 1 == self.indexes.len();
            let Some(scan) = &mut self.indexes[self.band].scan else { return false };
            // SAFETY: the closure does not panic.
            if unsafe { scan.next(|_| true) } == EntryRead::End {
                self.is_scanning = false;
                self.release(self.band);
                self.band += 1;
                continue;
            }
            self.counts.entries += 1;
            let tid = item_pointer_to_u64(scan.tid());
            if self.found.contains(&tid) {
                continue;
            }
            self.counts.fetches += 1;
            // SAFETY: the slot is for rows of the table, and the scan has just read an entry.
            let fetched = unsafe { scan.fetch(self.slot) };
            // The entries of a dead row are marked in each index.
            if !is_last && fetched != Fetched::Dead {
                self.found.try_reserve(1).unwrap_or_else(|_| out_of_memory());
                self.found.insert(tid);
            }
            if fetched == Fetched::Row {
                return true;
            }
        }
    }

    /// Begins to look up the next band; false if none is left.
    fn look_up_next(&mut self) -> bool {
        let Self { table, snapshot, scope, band, has_same, .. } = self;
        let (Some(keys), Some(SearchedIndex { relation, scan })) = (&self.keys, self.indexes.get_mut(*band)) else {
            return false;
        };
        let (count, value) = (key_count(scope.len(), true), keys.band(*band, *has_same));
        // SAFETY: both relations stay open until the scan ends, and the snapshot is the query's. The index has the
        // scope's columns, then the band and the size, two integers. The scan has the keys for them.
        unsafe {
            let scan = scan.get_or_insert_with(|| EntryScan::begin(*table, *relation, *snapshot, count, None));
            scan.look_up(scope, KeyCondition::AnyOf(slice::from_ref(&value)), Some(&keys.sizes));
        }
        self.counts.descents += 1;
        self.is_scanning = true;
        true
    }

    pub fn counts(&self) -> BandCounts {
        self.counts
    }

    /// Ends the scan of an index, unless scans are reused.
    fn release(&mut self, band: usize) {
        let reuses_scans = self.reuses_scans;
        if let Some(scan) = self.indexes[band].scan.take_if(|_| !reuses_scans) {
            scan.end();
        }
    }

    pub fn end(self) {
        for SearchedIndex { relation, scan } in self.indexes {
            if let Some(scan) = scan {
                scan.end();
            }
            // SAFETY: the index was opened by `BandSearch::new`, and is closed only here.
            unsafe { pg_sys::index_close(relation, pg_sys::NoLock as pg_sys::LOCKMODE) };
        }
    }
}
