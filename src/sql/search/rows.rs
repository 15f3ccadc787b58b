//! The rows of the searched table, fetched by their tids.

use pgrx::pg_sys;
use postgres::heap::computed::evaluate;
use postgres::heap::entry_scan::EntryScan;
use postgres::heap::row::tid_numbers;

/// Fetches rows of a table into a slot. [`FetchedRows::end`] releases all resources that it holds.
pub struct FetchedRows {
    table: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    fetch: *mut pg_sys::IndexFetchTableData,
    slot: *mut pg_sys::TupleTableSlot,
    /// Computes the fingerprint of the row in the slot.
    fingerprint: *mut pg_sys::ExprState,
    context: *mut pg_sys::ExprContext,
    /// The page of the visibility map that was read last.
    map_page: pg_sys::Buffer,
    fetches: u64,
}

impl FetchedRows {
    /// # Safety
    /// The table, the slot for its rows, the snapshot, the expression and its context live as long as the result.
    pub unsafe fn new(
        table: pg_sys::Relation,
        snapshot: pg_sys::Snapshot,
        slot: *mut pg_sys::TupleTableSlot,
        fingerprint: *mut pg_sys::ExprState,
        context: *mut pg_sys::ExprContext,
    ) -> Self {
        // SAFETY: the caller passes an open table.
        #[cfg(not(feature = "pg19"))]
        let fetch = unsafe { pg_sys::table_index_fetch_begin(table) };
        // SAFETY: the caller passes an open table.
        #[cfg(feature = "pg19")]
        let fetch = unsafe { pg_sys::table_index_fetch_begin(table, 0) };
        let map_page = pg_sys::InvalidBuffer as pg_sys::Buffer;
        Self { table, snapshot, fetch, slot, fingerprint, context, map_page, fetches: 0 }
    }

    pub fn table(&self) -> pg_sys::Relation {
        self.table
    }

    pub fn snapshot(&self) -> pg_sys::Snapshot {
        self.snapshot
    }

    pub fn slot(&self) -> *mut pg_sys::TupleTableSlot {
        self.slot
    }

    /// The tid of the row version that was fetched last. An index entry has the tid of the root of the HOT chain.
    pub fn tid(&self) -> pg_sys::ItemPointerData {
        // SAFETY: the slot holds a row of the table.
        unsafe { (*self.slot).tts_tid }
    }

    pub fn fetches(&self) -> u64 {
        self.fetches
    }

    /// Fetches the row of the entry that a scan has read last; false if the snapshot does not see the row. The scan
    /// must be of an index of this table.
    pub fn fetch_entry(&mut self, scan: &mut EntryScan) -> bool {
        self.fetches += 1;
        // SAFETY: the slot is for rows of the table.
        unsafe { scan.fetch(self.slot) }
    }

    /// Fetches the row version at a tid that the snapshot sees; false if there is none.
    pub fn fetch(&mut self, mut tid: pg_sys::ItemPointerData) -> bool {
        self.fetches += 1;
        let (mut call_again, all_dead) = (false, std::ptr::null_mut());
        // SAFETY: the slot is for rows of the table. An index entry had the tid.
        unsafe {
            pg_sys::table_index_fetch_tuple(self.fetch, &mut tid, self.snapshot, self.slot, &mut call_again, all_dead)
        }
    }

    /// The fingerprint of the row that was fetched last; None for NULL.
    pub fn fingerprint(&mut self) -> Option<u64> {
        // SAFETY: the slot holds a row. Its fingerprint is a number, which is passed by value.
        unsafe {
            (*self.context).ecxt_scantuple = self.slot;
            let value = evaluate(self.fingerprint, self.context);
            pg_sys::MemoryContextReset((*self.context).ecxt_per_tuple_memory);
            value.map(|value| value.value() as u64)
        }
    }

    /// Whether every transaction sees all rows of the heap page of this tid. Must be called while the index page of the
    /// tid's entry is pinned, so that VACUUM cannot have removed the row.
    pub fn is_visible_to_all(&mut self, tid: pg_sys::ItemPointerData) -> bool {
        let (page, _) = tid_numbers(tid);
        // SAFETY: the table is open. The buffer is invalid, or pinned by an earlier call.
        unsafe {
            let status = pg_sys::visibilitymap_get_status(self.table, page, &mut self.map_page);
            let is_visible = u32::from(status) & pg_sys::VISIBILITYMAP_ALL_VISIBLE != 0;
            if is_visible {
                // The row is not fetched, so register the read for SERIALIZABLE.
                pg_sys::PredicateLockPage(self.table, page, self.snapshot);
            }
            is_visible
        }
    }

    pub fn reset(&mut self) {
        // SAFETY: the fetch has begun.
        unsafe { pg_sys::table_index_fetch_reset(self.fetch) };
    }

    /// Releases everything. Nothing may be fetched after this.
    pub fn end(&mut self) {
        // SAFETY: the fetch ends only here, and the buffer is pinned once.
        unsafe {
            pg_sys::table_index_fetch_end(self.fetch);
            if self.map_page != pg_sys::InvalidBuffer as pg_sys::Buffer {
                pg_sys::ReleaseBuffer(self.map_page);
                self.map_page = pg_sys::InvalidBuffer as pg_sys::Buffer;
            }
        }
    }
}
