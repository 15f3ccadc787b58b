//! Finds the partitions and inheritors of tables, and the tables above them.

use pgrx::pg_sys::{self, Oid};
use pgrx::spi::quote_identifier;

use super::names::{relation_sql, role_name};
use super::relation::{Lock, NO_LOCK, Relation};
use crate::error::{Explain, Result, wrong_state};
use crate::expression::{Expression, expressions};
use crate::ffi::{RelationGetPartitionQual, guarded};
use crate::list::oids;
use crate::spi::query_oids;

/// A table and all its inheritors and partitions, at all levels: each once, level by level from `root`. Locks them in
/// mode `lock`, except `root`, which the caller has locked.
pub fn with_inheritors(root: Oid, lock: Lock) -> Vec<Oid> {
    // SAFETY: any OID may be passed. The result is a valid list of OIDs, without the numbers of parents.
    unsafe { oids(pg_sys::find_all_inheritors(root, lock, std::ptr::null_mut())) }
}

/// The tables that a table inherits from directly, also as a partition.
pub fn parents(table: &Relation) -> Result<Vec<Oid>> {
    query_oids(&format!("SELECT inhparent FROM pg_catalog.pg_inherits WHERE inhrelid = {}", table.oid().to_u32()))
}

/// The tables above a partition, from its parent upwards; empty if the table is not a partition.
pub fn ancestors(table: &Relation) -> Vec<Oid> {
    if !table.is_partition() {
        return Vec::new();
    }
    // SAFETY: get_partition_ancestors accepts any OID, and returns a valid list of OIDs, or null.
    unsafe { oids(pg_sys::get_partition_ancestors(table.oid())) }
}

/// The topmost table above a table, also if a table between them is being detached concurrently; or the table itself.
pub fn topmost_of(table: Oid) -> Oid {
    highest_outside(&[], table)
}

/// The tables of a partition tree: those that PostgreSQL lists, and some that are being detached concurrently.
pub struct PartitionTree {
    pub members: Vec<Oid>,
    /// The members that are being detached, the highest first.
    pub detached: Vec<Oid>,
}

impl PartitionTree {
    /// Reads the tree below `root`, which the caller has locked, and locks the other tables in mode `lock`. If its
    /// partition `table` is not listed, adds it, and the tables that are being detached.
    ///
    /// DETACH CONCURRENTLY ends by locking such a table before those below it. A session that writes to one of them may
    /// deadlock with it, as one that reads the partition constraint may.
    pub fn read(root: Oid, table: Oid, lock: Lock) -> Self {
        let mut members = with_inheritors(root, lock);
        let mut detached = Vec::new();
        while !members.contains(&table) {
            let highest = highest_outside(&members, table);
            if lock != NO_LOCK {
                // SAFETY: any OID may be locked.
                unsafe { pg_sys::LockRelationOid(highest, lock) };
            }
            detached.push(highest);
            members.extend(with_inheritors(highest, lock));
        }
        Self { members, detached }
    }
}

/// Walks up from a table. Returns the table whose parent is one of `members`, or which has no parent.
fn highest_outside(members: &[Oid], table: Oid) -> Oid {
    // SAFETY: get_rel_relispartition accepts any OID, and get_partition_parent that of a partition.
    let parent_of =
        |table| unsafe { pg_sys::get_rel_relispartition(table).then(|| pg_sys::get_partition_parent(table, true)) };
    let mut highest = table;
    while let Some(parent) = parent_of(highest).filter(|parent| !members.contains(parent)) {
        highest = parent;
    }
    highest
}

/// An error if a table, the tables above it and its inheritors `members` have several owners. The caller has locked
/// the table and its inheritors.
///
/// When PostgreSQL plans a statement on one table of a family, or writes to it, it evaluates keys, constraints, indexes
/// and triggers of the others. A command that runs as one owner would lend that owner's rights to the other owners.
pub fn check_one_owner(table: Oid, members: &[Oid]) -> Result<()> {
    let above = ancestors(&Relation::open(table));
    let top = Relation::open(above.last().copied().unwrap_or(table));
    let mut family = above.iter().chain(members).map(|&member| Relation::open(member));
    let Some(member) = family.find(|member| member.owner() != top.owner()) else { return Ok(()) };
    let (owner, other_owner, name) = (role_name(top.owner())?, role_name(member.owner())?, member.name()?);
    let message =
        format!("table \"{name}\" belongs to \"{other_owner}\", not to the owner of table \"{}\"", top.name()?);
    let target = relation_sql(member.oid())?.unwrap_or(name);
    Err(wrong_state(message)
        .with_detail("Code that one owner has put on a table would run with the rights of the other one.")
        .with_hint(format!("ALTER TABLE {target} OWNER TO {}", quote_identifier(owner))))
}

/// The columns of all partition keys above a partition, sorted by their attnums in the partition.
pub fn partition_columns(table: &Relation) -> Vec<i16> {
    // SAFETY: the table is open. The partition constraint is a list of valid expressions, or null.
    let constraint = unsafe { expressions(guarded(|| RelationGetPartitionQual(table.as_ptr()))) };
    let mut columns: Vec<_> = constraint.into_iter().flat_map(Expression::own_columns).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}
