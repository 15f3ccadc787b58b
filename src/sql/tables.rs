//! Tables as PostgreSQL's catalogue has them: their rows, and what they have to do with each other.

use std::ffi::{CStr, CString};

use pgrx::PgRelation;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use super::error::user_error;
use super::expression::{Expression, list, oids};
use super::owner::as_owner;
use super::spi::from_server;

/// Opens a table or an index.
///
/// # Safety
/// It exists, and cannot go before it is locked: it or its table is locked, or it is a partition of a locked table.
pub unsafe fn open(relation: Oid) -> PgRelation {
    // SAFETY: by the contract.
    unsafe { PgRelation::with_lock(relation, pg_sys::AccessShareLock as pg_sys::LOCKMODE) }
}

/// A column that is to hold fingerprints does not.
pub fn not_bigint(column: &str, table: &str, type_name: &str) -> ErrorReport {
    let message = format!("column \"{column}\" of table \"{table}\" is of type {type_name}, not bigint");
    user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message)
}

/// How many rows the planner would expect of an ordinary table.
///
/// # Safety
/// The table is open.
pub unsafe fn estimated_rows(table: pg_sys::Relation) -> f64 {
    // SAFETY: by the contract. A standby has no files of unlogged tables: reading one is an error, and PostgreSQL's
    // says why.
    let is_missing = unsafe {
        (*(*table).rd_rel).relpersistence as u8 != pg_sys::RELPERSISTENCE_PERMANENT && pg_sys::RecoveryInProgress()
    };
    if is_missing {
        return 0.0;
    }
    let (mut pages, mut rows, mut visible) = (0, 0.0, 0.0);
    // SAFETY: by the contract; the widths of its columns are not asked for.
    unsafe { pg_sys::estimate_rel_size(table, std::ptr::null_mut(), &mut pages, &mut rows, &mut visible) };
    rows
}

/// The name of a table's column, if there is one.
pub fn column_name(table: Oid, number: i16) -> Option<CString> {
    // SAFETY: reads the catalogue; the name is a copy, or null.
    unsafe {
        let name = pg_sys::get_attname(table, number, true);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_owned())
    }
}

/// A table and all that inherit from it or are its partitions, and so on: each once, ancestors first. All are locked.
pub fn with_inheritors(root: Oid, lock: pg_sys::LOCKMODE) -> Vec<Oid> {
    // SAFETY: reads the catalogue; the list is a copy.
    unsafe {
        let list = || find_all_inheritors(root, lock, std::ptr::null_mut());
        oids(pg_sys::ffi::pg_guard_ffi_boundary(list))
    }
}

/// Whether an index leaves out rows of its table.
///
/// # Safety
/// The index is open.
pub unsafe fn is_partial(index: pg_sys::Relation) -> bool {
    // SAFETY: by the contract; an open index has its row of pg_index.
    unsafe { has_in_pg_index(index, pg_sys::Anum_pg_index_indpred) }
}

/// The expressions among an index's keys, in their order.
///
/// They are read as the index's owner: then PostgreSQL computes what is constant in them, calling functions for that.
///
/// # Safety
/// The index is open, and stays so while the expressions are used.
pub unsafe fn index_expressions(index: pg_sys::Relation) -> Vec<Expression> {
    // SAFETY: by the contract; an open index has its rows of pg_index and pg_class.
    unsafe {
        let read = || list(pg_sys::RelationGetIndexExpressions(index));
        if !has_in_pg_index(index, pg_sys::Anum_pg_index_indexprs) {
            return Vec::new();
        }
        // Once read, they are known to the session.
        if (*index).rd_indexprs.is_null() { as_owner((*(*index).rd_rel).relowner, read) } else { read() }
    }
}

/// What an INSERT needs to know of an index, with its expressions and its predicate; in the current memory context.
///
/// They are read as the index's owner, as [`index_expressions`] does.
///
/// # Safety
/// The index is open.
pub unsafe fn index_info(index: pg_sys::Relation) -> *mut pg_sys::IndexInfo {
    // SAFETY: by the contract; an open index has its rows of pg_index and pg_class.
    unsafe {
        let is_unread = (*index).rd_indexprs.is_null() && has_in_pg_index(index, pg_sys::Anum_pg_index_indexprs)
            || (*index).rd_indpred.is_null() && has_in_pg_index(index, pg_sys::Anum_pg_index_indpred);
        let read = || pg_sys::BuildIndexInfo(index);
        if is_unread { as_owner((*(*index).rd_rel).relowner, read) } else { read() }
    }
}

/// # Safety
/// The index is open, and the number one of a column of pg_index.
unsafe fn has_in_pg_index(index: pg_sys::Relation, column: u32) -> bool {
    // SAFETY: by the contract. For one of the first columns of a catalogue no description is needed.
    unsafe { !pg_sys::heap_attisnull((*index).rd_indextuple, column as i32, std::ptr::null_mut()) }
}

/// What the rows of a partition have to fulfil, also for the partitions that this is one of: a list of expressions;
/// null if the table is none, or takes all rows.
///
/// Partition keys are read as their tables' owners, as the expressions of indexes are.
pub fn partition_constraint(table: &PgRelation) -> *mut pg_sys::List {
    let mut opened = Vec::new();
    if !table.rd_partcheckvalid {
        for ancestor in ancestors(table) {
            // SAFETY: a partition keeps the tables that it is one of.
            let ancestor = unsafe { open(ancestor) };
            if ancestor.rd_partkey.is_null() {
                let read = || {
                    // SAFETY: an open table.
                    unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| RelationGetPartitionKey(ancestor.as_ptr())) };
                };
                // SAFETY: an open table has its row of pg_class.
                as_owner(unsafe { (*ancestor.rd_rel).relowner }, read);
            }
            // What has been read of it is there as long as it is open.
            opened.push(ancestor);
        }
    }
    // SAFETY: an open table.
    unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| RelationGetPartitionQual(table.as_ptr())) }
}

/// The columns of a partition that tell which one a row belongs to: those of its own partition's key and of all above.
pub fn partition_columns(table: &PgRelation) -> Vec<i16> {
    // SAFETY: a list of valid expressions.
    let constraint = unsafe { list(partition_constraint(table)) };
    let mut columns: Vec<_> = constraint.into_iter().flat_map(Expression::own_columns).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// The tables that a table is a partition of, from its parent upwards.
pub fn ancestors(table: &PgRelation) -> Vec<Oid> {
    // SAFETY: a table that exists, and is open.
    unsafe {
        if !(*table.rd_rel).relispartition {
            return Vec::new();
        }
        oids(pg_sys::ffi::pg_guard_ffi_boundary(|| get_partition_ancestors(table.oid())))
    }
}

/// Refuses a column of fingerprints that has no values in the rows: a virtual generated one, as there are from
/// PostgreSQL 18 on. No index can have it, and where a row is read without a query it would be NULL.
pub fn check_has_values(table: &PgRelation, column: i16) -> Result<(), ErrorReport> {
    // SAFETY: a look-up in a system cache, of an open table, which has its row of pg_class.
    let (generated, table_name) = unsafe {
        (pg_sys::get_attgenerated(table.oid(), column) as u8, from_server((*table.rd_rel).relname.data.as_ptr())?)
    };
    if generated == 0 || generated == pg_sys::ATTRIBUTE_GENERATED_STORED {
        return Ok(());
    }
    // SAFETY: a column that exists.
    let name = unsafe { from_server(pg_sys::get_attname(table.oid(), column, false)) }?;
    let message = format!("column \"{name}\" of table \"{table_name}\" is a virtual generated column");
    Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
        .set_detail("Its values are not stored, so that they can be neither indexed nor guarded.")
        .set_hint("Drop the column, and add it again as GENERATED ALWAYS AS (...) STORED."))
}

// PostgreSQL's `catalog/pg_inherits.h`, `catalog/partition.h` and `utils/partcache.h`, which pgrx leaves out.
unsafe extern "C-unwind" {
    fn find_all_inheritors(parent: Oid, lock: pg_sys::LOCKMODE, parents: *mut *mut pg_sys::List) -> *mut pg_sys::List;
    fn get_partition_ancestors(partition: Oid) -> *mut pg_sys::List;
    fn RelationGetPartitionKey(table: pg_sys::Relation) -> pg_sys::PartitionKey;
    fn RelationGetPartitionQual(table: pg_sys::Relation) -> *mut pg_sys::List;
}
