//! The elements of PostgreSQL's lists and sets.

use pgrx::PgList;
use pgrx::pg_sys::{self, Oid};

/// The elements of a list of pointers, such as nodes.
///
/// # Safety
/// `list` is a valid list of pointers to `T`, or null.
pub unsafe fn nodes<T>(list: *mut pg_sys::List) -> Vec<*mut T> {
    unsafe { PgList::from_pg(list) }.iter_ptr().collect()
}

/// The members of a set, in ascending order.
///
/// # Safety
/// `set` is a valid set, or null. It does not change while the result is used.
pub unsafe fn members(set: *const pg_sys::Bitmapset) -> impl Iterator<Item = i32> {
    let mut last = -1;
    std::iter::from_fn(move || {
        last = unsafe { pg_sys::bms_next_member(set, last) };
        (last >= 0).then_some(last)
    })
}

/// The elements of a list of OIDs.
///
/// # Safety
/// `list` is a valid list of OIDs, or null.
pub unsafe fn oids(list: *mut pg_sys::List) -> Vec<Oid> {
    unsafe { PgList::<Oid>::from_pg(list) }.iter_oid().collect()
}
