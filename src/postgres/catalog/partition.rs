//! Partitions and inheritance among tables.

use pgrx::pg_sys::{self, Oid};

use super::relation::Relation;
use crate::postgres::ffi;
use crate::postgres::nodes::expression::{Expression, list, oids};
use crate::postgres::owner::as_owner;

/// A table and all its inheritors and partitions, at all levels: each once, level by level from `root`. They are locked
/// in mode `lock`, except `root`, which the caller has locked.
pub fn with_inheritors(root: Oid, lock: pg_sys::LOCKMODE) -> Vec<Oid> {
    // SAFETY: find_all_inheritors returns a valid list of OIDs.
    unsafe { oids(ffi::find_all_inheritors(root, lock)) }
}

/// The tables above a partition, from its parent upwards; empty if the table is not a partition.
pub fn ancestors(table: &Relation) -> Vec<Oid> {
    if !table.is_partition() {
        return Vec::new();
    }
    // SAFETY: get_partition_ancestors returns a valid list of OIDs, or null.
    unsafe { oids(ffi::get_partition_ancestors(table.oid())) }
}

/// The condition that a partition's rows fulfil, with the conditions of the partitions above it: a list of expressions;
/// null if the table is not a partition, or takes all rows.
///
/// Partition keys are read as their tables' owners, because PostgreSQL folds their constants when it reads them, which
/// calls functions.
pub fn partition_constraint(table: &Relation) -> *mut pg_sys::List {
    let mut opened = Vec::new();
    if !table.rd_partcheckvalid {
        for ancestor in ancestors(table) {
            let ancestor = Relation::open(ancestor);
            if ancestor.rd_partkey.is_null() {
                // SAFETY: the table is open.
                as_owner(ancestor.owner(), || unsafe { ffi::read_partition_key(ancestor.as_ptr()) });
            }
            // The relation cache keeps the key as long as the table is open.
            opened.push(ancestor);
        }
    }
    // SAFETY: the table is open.
    unsafe { ffi::partition_qual(table.as_ptr()) }
}

/// The columns of a partition that decide which partition a row belongs to: the columns of all partition keys above it,
/// sorted.
pub fn partition_columns(table: &Relation) -> Vec<i16> {
    // SAFETY: the partition constraint is a list of valid expressions, or null.
    let constraint = unsafe { list(partition_constraint(table)) };
    let mut columns: Vec<_> = constraint.into_iter().flat_map(Expression::own_columns).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}
