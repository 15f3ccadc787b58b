//! Partitions, and tables that inherit from others.

use pgrx::pg_sys::{self, Oid};

use super::expression::oids;

/// A table and all that inherit from it or are its partitions, and so on: each once, ancestors first. All are locked.
pub fn with_inheritors(root: Oid, lock: pg_sys::LOCKMODE) -> Vec<Oid> {
    // SAFETY: reads the catalogue; the list is a copy.
    unsafe {
        let list = || find_all_inheritors(root, lock, std::ptr::null_mut());
        oids(pg_sys::ffi::pg_guard_ffi_boundary(list))
    }
}

unsafe extern "C-unwind" {
    /// PostgreSQL's `catalog/pg_inherits.h`, which pgrx leaves out.
    fn find_all_inheritors(parent: Oid, lock: pg_sys::LOCKMODE, parents: *mut *mut pg_sys::List) -> *mut pg_sys::List;
}
