//! Reads rows of PostgreSQL's system caches.

use pgrx::pg_sys::SysCacheIdentifier::Type as SysCache;
use pgrx::pg_sys::{self, Datum};

/// Calls `read` with the row of a system cache that has these keys; None if it does not exist.
///
/// # Safety
/// The cache has as many keys, of these types, and its rows begin with a `T`.
pub unsafe fn read_cached<T, R>(cache: SysCache, keys: &[Datum], read: impl FnOnce(&T) -> R) -> Option<R> {
    let key_or_null = |position| keys.get(position).copied().unwrap_or(Datum::null());
    // SAFETY: the caller passes keys of the cache, and the type of its rows. A row is valid until it is released.
    unsafe {
        let row = pg_sys::SearchSysCache(cache as _, key_or_null(0), key_or_null(1), key_or_null(2), key_or_null(3));
        let value = pg_sys::heap_tuple_get_struct::<T>(row).as_ref().map(read);
        if value.is_some() {
            pg_sys::ReleaseSysCache(row);
        }
        value
    }
}
