//! PostgreSQL functions that pgrx does not bind, each guarded as pgrx guards its own: a PostgreSQL error becomes a Rust
//! panic here, and an error again where PostgreSQL's call into this library ends.
//!
//! The declarations are the same in PostgreSQL 14 to 18.

use std::ffi::{c_int, c_void};

pub use pgrx::pg_sys::ffi::pg_guard_ffi_boundary as guarded;
use pgrx::pg_sys::{self, Datum, Oid};

mod unguarded {
    use super::*;

    unsafe extern "C-unwind" {
        // catalog/pg_inherits.h, catalog/partition.h, utils/partcache.h
        pub fn find_all_inheritors(
            parent: Oid,
            lock: pg_sys::LOCKMODE,
            parents: *mut *mut pg_sys::List,
        ) -> *mut pg_sys::List;
        pub fn get_partition_ancestors(partition: Oid) -> *mut pg_sys::List;
        pub fn RelationGetPartitionKey(table: pg_sys::Relation) -> pg_sys::PartitionKey;
        pub fn RelationGetPartitionQual(table: pg_sys::Relation) -> *mut pg_sys::List;

        // utils/datum.h
        pub fn datumCopy(value: Datum, by_value: bool, length: c_int) -> Datum;
        pub fn datum_image_eq(a: Datum, b: Datum, by_value: bool, length: c_int) -> bool;

        // nodes/nodeFuncs.h
        #[cfg_attr(any(feature = "pg16", feature = "pg17", feature = "pg18"), link_name = "query_tree_walker_impl")]
        pub fn query_tree_walker(query: *mut pg_sys::Query, walker: Walker, context: *mut c_void, flags: c_int)
        -> bool;
        #[cfg_attr(
            any(feature = "pg16", feature = "pg17", feature = "pg18"),
            link_name = "expression_tree_walker_impl"
        )]
        pub fn expression_tree_walker(node: *mut pg_sys::Node, walker: Walker, context: *mut c_void) -> bool;
    }
}

/// A function that PostgreSQL calls for each node of a tree; it returns true to end the walk.
pub type Walker = unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut c_void) -> bool;

/// A table and all tables that inherit from it; the latter are locked. The list is palloc'd.
pub fn find_all_inheritors(parent: Oid, lock: pg_sys::LOCKMODE) -> *mut pg_sys::List {
    // SAFETY: find_all_inheritors accepts any OID; with a null pointer, no counts of parents are asked for.
    unsafe { guarded(|| unguarded::find_all_inheritors(parent, lock, std::ptr::null_mut())) }
}

/// The tables above a partition, the nearest first. The list is palloc'd.
pub fn get_partition_ancestors(partition: Oid) -> *mut pg_sys::List {
    // SAFETY: get_partition_ancestors accepts any OID.
    unsafe { guarded(|| unguarded::get_partition_ancestors(partition)) }
}

/// Reads a table's partition key into the relation cache.
///
/// # Safety
/// The table is open.
pub unsafe fn read_partition_key(table: pg_sys::Relation) {
    // SAFETY: the caller passes an open table.
    unsafe { guarded(|| unguarded::RelationGetPartitionKey(table)) };
}

/// The condition that a partition's rows fulfil, as a list of expressions.
///
/// # Safety
/// The table is open.
pub unsafe fn partition_qual(table: pg_sys::Relation) -> *mut pg_sys::List {
    // SAFETY: the caller passes an open table.
    unsafe { guarded(|| unguarded::RelationGetPartitionQual(table)) }
}

/// Copies a value into the current memory context.
///
/// # Safety
/// The value is of a type with that `typbyval` and `typlen`.
pub unsafe fn datum_copy(value: Datum, by_value: bool, length: i16) -> Datum {
    // SAFETY: the caller passes a value of a type with this `typbyval` and `typlen`.
    unsafe { guarded(|| unguarded::datumCopy(value, by_value, length.into())) }
}

/// Whether two values are equal byte for byte, once detoasted.
///
/// # Safety
/// Both values are of one type with that `typbyval` and `typlen`.
pub unsafe fn datum_image_eq(a: Datum, b: Datum, by_value: bool, length: i16) -> bool {
    // SAFETY: the caller passes two values of one type with this `typbyval` and `typlen`.
    unsafe { guarded(|| unguarded::datum_image_eq(a, b, by_value, length.into())) }
}

/// Walks over the parts of a query.
///
/// # Safety
/// The query is valid, and `walker` accepts the context.
pub unsafe fn query_tree_walker(query: *mut pg_sys::Query, walker: Walker, context: *mut c_void) -> bool {
    // SAFETY: the caller passes a valid query, and a walker that accepts the context.
    unsafe { guarded(|| unguarded::query_tree_walker(query, walker, context, 0)) }
}

/// Walks over the parts of an expression.
///
/// # Safety
/// The expression is valid, and `walker` accepts the context.
pub unsafe fn expression_tree_walker(node: *mut pg_sys::Node, walker: Walker, context: *mut c_void) -> bool {
    // SAFETY: the caller passes a valid expression, and a walker that accepts the context.
    unsafe { guarded(|| unguarded::expression_tree_walker(node, walker, context)) }
}

/// The descriptor's entry for a column, by its number from 1; None if there is no such column.
///
/// # Safety
/// The descriptor is valid, and lives as long as the result.
pub unsafe fn attribute<'a>(descriptor: pg_sys::TupleDesc, number: i16) -> Option<&'a pg_sys::FormData_pg_attribute> {
    let place = usize::try_from(number).ok()?.checked_sub(1)?;
    // SAFETY: a valid descriptor has `natts` columns, and the place is below that. From PostgreSQL 18 on, compact
    // entries come first; before, TupleDescAttr is a macro.
    unsafe {
        let count = (*descriptor).natts as usize;
        if place >= count {
            return None;
        }
        #[cfg(not(feature = "pg18"))]
        {
            let attributes = &(*descriptor).attrs;
            Some(&attributes.as_slice(count)[place])
        }
        #[cfg(feature = "pg18")]
        {
            Some(&*pg_sys::TupleDescAttr(descriptor, place as i32))
        }
    }
}

/// PostgreSQL's interface for window functions. A window function calls several of these for each row, and crosses the
/// guarded boundary once for all of them: call them only in [`guarded`].
pub mod windowapi {
    use super::*;

    /// `WindowObject`, which only PostgreSQL looks into.
    pub type WindowObject = *mut pg_sys::Node;

    /// WINDOW_SEEK_HEAD.
    pub const FROM_HEAD: c_int = 1;

    unsafe extern "C-unwind" {
        pub fn WinGetPartitionLocalMemory(window: WindowObject, size: usize) -> *mut std::ffi::c_void;
        pub fn WinGetCurrentPosition(window: WindowObject) -> i64;
        pub fn WinGetPartitionRowCount(window: WindowObject) -> i64;
        pub fn WinSetMarkPosition(window: WindowObject, position: i64);
        pub fn WinGetFuncArgInPartition(
            window: WindowObject,
            argument: c_int,
            position: c_int,
            seek_type: c_int,
            set_mark: bool,
            is_null: *mut bool,
            is_out: *mut bool,
        ) -> Datum;
        pub fn WinGetFuncArgCurrent(window: WindowObject, argument: c_int, is_null: *mut bool) -> Datum;
    }
}
