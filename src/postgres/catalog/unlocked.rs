//! Reads the catalogs about tables that are not locked. The answers may change at any time.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};

/// The number of the column with this name; None if it does not exist or is a system column.
pub fn column_number(table: Oid, name: &CStr) -> Option<i16> {
    // SAFETY: get_attnum looks up a system cache; the name is NUL-terminated.
    let number = unsafe { pg_sys::get_attnum(table, name.as_ptr()) };
    (number > 0).then_some(number)
}
