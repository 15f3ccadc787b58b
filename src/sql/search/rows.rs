//! The rows of the searched table, fetched by their tids after the scan of the index has read on.

use pgrx::pg_sys;

/// Fetches rows of a table into a slot. [`RowFetcher::end`] releases all resources that it holds.
pub struct RowFetcher {
    snapshot: pg_sys::Snapshot,
    fetch: *mut pg_sys::IndexFetchTableData,
    slot: *mut pg_sys::TupleTableSlot,
    /// Number of fetches, whether the snapshot sees the rows or not.
    pub fetches: u64,
}

impl RowFetcher {
    /// # Safety
    /// The table, the snapshot and the slot for its rows live as long as the result.
    pub unsafe fn new(table: pg_sys::Relation, snapshot: pg_sys::Snapshot, slot: *mut pg_sys::TupleTableSlot) -> Self {
        // SAFETY: the caller passes an open table.
        unsafe {
            #[cfg(not(feature = "pg19"))]
            let fetch = pg_sys::table_index_fetch_begin(table);
            #[cfg(feature = "pg19")]
            let fetch = pg_sys::table_index_fetch_begin(table, 0);
            Self { snapshot, fetch, slot, fetches: 0 }
        }
    }

    /// Fetches the row version at a tid that the snapshot sees; false if there is none.
    pub fn fetch(&mut self, mut tid: pg_sys::ItemPointerData) -> bool {
        self.fetches += 1;
        let (mut call_again, all_dead) = (false, std::ptr::null_mut());
        // The snapshot sees one version of a HOT chain at most, so there is no second call.
        // SAFETY: the slot is for rows of the table. An index entry had the tid.
        unsafe {
            pg_sys::table_index_fetch_tuple(self.fetch, &mut tid, self.snapshot, self.slot, &mut call_again, all_dead)
        }
    }

    pub fn reset(&mut self) {
        // SAFETY: the fetch has begun.
        unsafe { pg_sys::table_index_fetch_reset(self.fetch) };
    }

    pub fn end(self) {
        // SAFETY: the fetch ends only here.
        unsafe { pg_sys::table_index_fetch_end(self.fetch) };
    }
}
