//! The indexes that a query reads: under its snapshot, in one search after the other.

use std::ops::RangeInclusive;

use pgrx::pg_sys::{self, ItemPointerData, Oid, ScanKeyData, TupleTableSlot};
use postgres::catalog::relation::{ACCESS_SHARE, NO_LOCK};
use postgres::heap::entry_scan::{EntryScan, Fetched, KeyCondition, key_count};

/// Open indexes of a table. [`QueryIndexes::end`] releases all resources that they hold.
pub struct QueryIndexes {
    table: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    /// For rows of the table.
    slot: *mut TupleTableSlot,
    /// For rows that are fetched by their tids.
    table_fetch: *mut pg_sys::IndexFetchTableData,
    indexes: Vec<OpenIndex>,
    /// The conditions on the keys before the block or the band that restrict the search.
    scope: Vec<ScanKeyData>,
    work: Work,
}

/// The work of all searches.
#[derive(Clone, Copy, Default)]
pub struct Work {
    pub searches: u64,
    /// Number of descents in btrees: one for each value, each full scan, and each scan of the entries with a NULL
    /// block.
    pub descents: u64,
    /// Number of index entries that were read.
    pub entries: u64,
    pub full_scans: u64,
    /// Number of rows that were fetched, whether the snapshot sees them or not.
    pub fetches: u64,
}

struct OpenIndex {
    relation: pg_sys::Relation,
    /// The attnum of the fingerprint, which is read with each entry.
    fingerprint_attnum: i16,
    scan: Option<EntryScan>,
}

impl QueryIndexes {
    /// Opens these indexes, each with the attnum of a fingerprint in it.
    ///
    /// # Safety
    /// The table, the snapshot and the slot for its rows live as long as the result. The indexes are btrees of the
    /// table, which is locked: on columns of the scope, and then on a block, or on a band and a size. A fingerprint is
    /// a `bigint`.
    pub unsafe fn open(
        table: pg_sys::Relation,
        snapshot: pg_sys::Snapshot,
        slot: *mut TupleTableSlot,
        indexes: Vec<(Oid, i16)>,
    ) -> Self {
        let open_index = |(index, fingerprint_attnum)| {
            // SAFETY: the index exists, because its table is locked.
            let relation = unsafe { pg_sys::index_open(index, ACCESS_SHARE) };
            OpenIndex { relation, fingerprint_attnum, scan: None }
        };
        let indexes = indexes.into_iter().map(open_index).collect();
        // SAFETY: the caller passes an open table.
        #[cfg(not(feature = "pg19"))]
        let table_fetch = unsafe { pg_sys::table_index_fetch_begin(table) };
        #[cfg(feature = "pg19")]
        let table_fetch = unsafe { pg_sys::table_index_fetch_begin(table, 0) };
        Self { table, snapshot, slot, table_fetch, indexes, scope: Vec::new(), work: Work::default() }
    }

    /// Begins a search within a scope.
    pub fn begin(&mut self, scope: Vec<ScanKeyData>) {
        self.scope = scope;
        self.work.searches += 1;
        // SAFETY: the fetch has begun.
        unsafe { pg_sys::table_index_fetch_reset(self.table_fetch) };
    }

    /// Begins to look up entries within the scope, by a condition on the block, or on the band and a range of sizes.
    pub fn look_up(&mut self, index: usize, condition: KeyCondition<'_>, sizes: Option<&RangeInclusive<i32>>) {
        let Self { table, snapshot, indexes, scope, work, .. } = self;
        let OpenIndex { relation, fingerprint_attnum, scan } = &mut indexes[index];
        work.descents += if let KeyCondition::AnyOf(values) = condition { values.len() as u64 } else { 1 };
        work.full_scans += u64::from(matches!(condition, KeyCondition::NotNull));
        let keys = key_count(scope.len(), sizes.is_some());
        // SAFETY: both relations stay open until the scan ends, and the snapshot is the query's. The index has the
        // scope's columns, then one or two integers. The scan has the keys for them.
        unsafe {
            let begin = || EntryScan::begin(*table, *relation, *snapshot, keys, Some(*fingerprint_attnum));
            scan.get_or_insert_with(begin).look_up(scope, condition, sizes);
        }
    }

    /// The scan of an index. Panics unless something is being looked up in this index.
    pub fn scan(&mut self, index: usize) -> &mut EntryScan {
        self.indexes[index].scan.as_mut().expect("the scan has begun")
    }

    /// Fetches the row of the entry that the scan of an index has just read, into the slot.
    pub fn fetch(&mut self, index: usize) -> Fetched {
        let slot = self.slot;
        // SAFETY: the slot is for rows of the table. The scan has just read an entry.
        let fetched = unsafe { self.scan(index).fetch(slot) };
        self.work.fetches += 1;
        fetched
    }

    /// Fetches the row version at the tid of an entry that a scan has read before, into the slot; false if the snapshot
    /// sees none.
    pub fn fetch_tid(&mut self, mut tid: ItemPointerData) -> bool {
        self.work.fetches += 1;
        let (mut call_again, all_dead) = (false, std::ptr::null_mut());
        // The snapshot sees one version of a HOT chain at most, so there is no second call.
        // SAFETY: the slot is for rows of the table. An index entry had the tid.
        unsafe {
            let Self { table_fetch, snapshot, slot, .. } = *self;
            pg_sys::table_index_fetch_tuple(table_fetch, &mut tid, snapshot, slot, &mut call_again, all_dead)
        }
    }

    /// Ends the scan of an index in the first search, because an open scan takes up to 45 kB. A later search, as in a
    /// join, leaves its scan open: the next search probably uses the scan again.
    pub fn release(&mut self, index: usize) {
        if self.work.searches == 1
            && let Some(scan) = self.indexes[index].scan.take()
        {
            self.work.entries += scan.entries_read;
            scan.end();
        }
    }

    pub fn work(&self) -> Work {
        let scans = self.indexes.iter().filter_map(|index| index.scan.as_ref());
        let entries = self.work.entries + scans.map(|scan| scan.entries_read).sum::<u64>();
        Work { entries, ..self.work }
    }

    /// Ends the scans, and closes the indexes.
    pub fn end(self) {
        for OpenIndex { relation, scan, .. } in self.indexes {
            if let Some(scan) = scan {
                scan.end();
            }
            // SAFETY: `open` has opened the index, and it is closed only here.
            unsafe { pg_sys::index_close(relation, NO_LOCK) };
        }
        // SAFETY: the fetch ends only here.
        unsafe { pg_sys::table_index_fetch_end(self.table_fetch) };
    }
}
