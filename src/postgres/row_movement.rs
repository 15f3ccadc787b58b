//! Row movement: an UPDATE or MERGE that changes a row's partition deletes it in one and inserts it into the other.
//!
//! A BEFORE trigger of that INSERT cannot see that it belongs to an UPDATE, but [`effects_of`] tells that a statement
//! may move rows. A worker of logical replication runs no statement: there, the context of its errors is read instead.

use std::ffi::CStr;
use std::ptr::NonNull;

use pgrx::prelude::*;

use super::catalog::partition::{PartitionTree, topmost_of};
use super::catalog::relation::{ACCESS_SHARE, Relation};
use super::running_statement::effects_of;
use super::trigger::RowEvent;

/// Whether an INSERT into a partition may be the second half of an UPDATE that moves a row there. `statement` is the
/// memory context of the executor that fires the trigger.
///
/// May be true for other rows of a MERGE, and of a statement with an UPDATE in WITH: they count as moved if the
/// transaction has deleted rows in other partitions. So do the rows of the statement that has loaded the library,
/// unless the client itself has sent it and it moves none.
///
/// # Safety
/// The memory context exists.
pub unsafe fn may_complete_move(event: &RowEvent, statement: pg_sys::MemoryContext) -> bool {
    let table = event.table();
    if event.old_row().is_some() || !table.is_partition() {
        return false;
    }
    // SAFETY: the caller passes a memory context that exists.
    is_applying_update().unwrap_or_else(|| unsafe { effects_of(statement).moves_rows } && has_deleted_elsewhere(&table))
}

/// Whether the running transaction has deleted rows of other partitions of the table's partition tree; true if nobody
/// counts them (track_counts is off). It may still move rows to a partition that another session is detaching.
fn has_deleted_elsewhere(table: &Relation) -> bool {
    let has_deletions = |&member: &pg_sys::Oid| {
        let partition = Relation::open(member);
        // SAFETY: an open table may have counts, with a list of its counts in this transaction by subtransactions.
        unsafe {
            let counts = partition.pgstat_info.as_ref().and_then(|counts| counts.trans.as_ref());
            let mut levels = std::iter::successors(counts, |level| level.upper.as_ref());
            levels.any(|level| level.tuples_deleted + level.deleted_pre_truncdrop > 0)
        }
    };
    // SAFETY: a plain variable.
    let is_counted = unsafe { pg_sys::pgstat_track_counts };
    let PartitionTree { members, .. } = PartitionTree::read(topmost_of(table.oid()), table.oid(), ACCESS_SHARE);
    !is_counted || members.iter().filter(|&&member| member != table.oid()).any(has_deletions)
}

/// Whether a worker of logical replication fires the trigger because it applies an UPDATE, by which it may move a row.
/// None in other processes, and if the INSERT is of a function or statement that the worker runs: then the context of
/// its errors has several lines.
///
/// Only this context tells: `.. during message type "UPDATE" for replication target relation "public.docs" ..`. The
/// type is the same in all languages. The table's name is never taken for it, because it has a point. While a worker
/// copies a new table's rows, it applies no UPDATE. If the context names no type, it may apply one.
fn is_applying_update() -> Option<bool> {
    // SAFETY: a worker has its entry. GetErrorContextStack returns null or a NUL-terminated text in memory of its own.
    let (state, context) = unsafe {
        if !pg_sys::IsLogicalWorker() {
            return None;
        }
        let start = NonNull::new(pg_sys::GetErrorContextStack());
        ((*pg_sys::MyLogicalRepWorker).relstate as u8, start.map(|start| CStr::from_ptr(start.as_ptr())))
    };
    let lines = context.unwrap_or_default().to_bytes();
    let mut words = lines.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'.');
    let message_type = words.find(|word| *word == b"INSERT" || *word == b"UPDATE");
    let is_update = message_type.is_none_or(|message_type| message_type == b"UPDATE");
    (!lines.contains(&b'\n')).then_some(state != pg_sys::SUBREL_STATE_DATASYNC && is_update)
}
