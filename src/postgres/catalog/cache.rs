//! Rows of PostgreSQL's system caches.

use pgrx::pg_sys;

/// Reads the row that a look-up in a system cache has returned, and releases it. None if it has found no row.
///
/// # Safety
/// `row` is null or such a row, of a catalog whose rows begin with a `T`.
pub unsafe fn read_cached<T, R>(row: pg_sys::HeapTuple, read: impl FnOnce(&T) -> R) -> Option<R> {
    // SAFETY: the caller passes a row of this form, which is valid until it is released.
    unsafe {
        let found = pg_sys::heap_tuple_get_struct::<T>(row).as_ref().map(read);
        if found.is_some() {
            pg_sys::ReleaseSysCache(row);
        }
        found
    }
}
