//! Partitions and inheritance: what tables have to do with each other.

use pgrx::pg_sys::{self, Oid};

use super::relation::Relation;
use crate::postgres::ffi;
use crate::postgres::nodes::expression::{Expression, list, oids};
use crate::postgres::owner::as_owner;

/// A table and all that inherit from it or are its partitions, at all levels: each once, ancestors first. All are
/// locked in that mode.
pub fn with_inheritors(root: Oid, lock: pg_sys::LOCKMODE) -> Vec<Oid> {
    // SAFETY: a list of OIDs.
    unsafe { oids(ffi::find_all_inheritors(root, lock)) }
}

/// The tables that a table is a partition of, from its parent upwards.
pub fn ancestors(table: &Relation) -> Vec<Oid> {
    if !table.is_partition() {
        return Vec::new();
    }
    // SAFETY: a list of OIDs.
    unsafe { oids(ffi::get_partition_ancestors(table.oid())) }
}

/// The condition that a partition's rows fulfil, with those of the partitions above it: a list of expressions, null if
/// the table is no partition, or takes all rows.
///
/// Partition keys are read as their tables' owners: PostgreSQL computes what is constant in them, and calls functions
/// for that.
pub fn partition_constraint(table: &Relation) -> *mut pg_sys::List {
    let mut opened = Vec::new();
    if !table.rd_partcheckvalid {
        for ancestor in ancestors(table) {
            let ancestor = Relation::open(ancestor);
            if ancestor.rd_partkey.is_null() {
                // SAFETY: an open table.
                as_owner(ancestor.owner(), || unsafe { ffi::read_partition_key(ancestor.as_ptr()) });
            }
            // What has been read stays in the relation cache as long as the table is open.
            opened.push(ancestor);
        }
    }
    // SAFETY: an open table.
    unsafe { ffi::partition_qual(table.as_ptr()) }
}

/// The columns of a partition that tell which partition a row belongs to: those of all partition keys above it.
pub fn partition_columns(table: &Relation) -> Vec<i16> {
    // SAFETY: a list of valid expressions.
    let constraint = unsafe { list(partition_constraint(table)) };
    let mut columns: Vec<_> = constraint.into_iter().flat_map(Expression::own_columns).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}
