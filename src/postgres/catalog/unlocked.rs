//! Reads the catalogs about tables that are not locked. The answers may change at any time.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};

/// The attnum of the column with this name; None if it does not exist or is a system column.
pub fn attnum_of(table: Oid, name: &CStr) -> Option<i16> {
    // SAFETY: get_attnum looks up a system cache; the name is NUL-terminated.
    let attnum = unsafe { pg_sys::get_attnum(table, name.as_ptr()) };
    (attnum > 0).then_some(attnum)
}
