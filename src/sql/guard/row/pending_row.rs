//! A row that the guard has accepted, and that may not be stored yet.

use pgrx::itemptr::item_pointer_to_u64;
use pgrx::pg_sys::{self, CommandId, HeapTuple, Oid};
use postgres::catalog::relation::Relation;
use postgres::heap::row::{Row, TableSlot};
use postgres::heap::row_version::RowVersion;
use postgres::trigger::RowEvent;

use crate::sql::guard::definition::row_key::RowKey;

/// The last row that was accepted in a statement, which may not be stored yet.
pub struct PendingRow {
    pub table: Oid,
    pub key: RowKey,
    /// A copy of the row, in the memory of the call.
    pub tuple: HeapTuple,
    /// Whether a conflicting row was present: PostgreSQL stores the new row only if that one disappears.
    pub is_conflicting: bool,
    /// The slot from which PostgreSQL stores the row, and the slot's tid before that: it may be the tid of a row of
    /// another table, from which the row was copied.
    slot: *mut pg_sys::TupleTableSlot,
    tid_before: u64,
    /// The command that will store the row, or an earlier command of the same transaction.
    command: CommandId,
}

impl PendingRow {
    /// # Safety
    /// The tuple is a row of the event's table. The function is called in the memory of the trigger's call, with which
    /// the result is dropped.
    pub unsafe fn new(event: &RowEvent, key: RowKey, tuple: HeapTuple, is_conflicting: bool) -> Self {
        let new = event.new_row();
        // SAFETY: the caller passes a row. A BEFORE trigger runs under its statement's snapshot, which has the
        // statement's command.
        let (tuple, command) = unsafe { (pg_sys::heap_copytuple(tuple), (*pg_sys::GetActiveSnapshot()).curcid) };
        let tid_before = item_pointer_to_u64(new.tid());
        Self { table: event.table().oid(), key, tuple, is_conflicting, slot: new.slot(), tid_before, command }
    }

    /// Whether the row has been stored, changed by a later trigger or not. Its slot then has a new tid: the tid of a
    /// version that this transaction has written since the guard accepted the row. (A row that gets the same tid as
    /// `tid_before` counts as not stored, which is safe: it is compared again.)
    ///
    /// A stored row is still pending while RETURNING and the triggers of a worker of logical replication run, because
    /// the memory of the call is freed only after them.
    pub fn is_stored(&self) -> bool {
        // SAFETY: the slot lives until the statement ends, and the row is forgotten before.
        let tid = unsafe { Row::new(self.slot) }.tid();
        if item_pointer_to_u64(tid) == self.tid_before {
            return false;
        }
        let table = Relation::open(self.table);
        let slot = TableSlot::new(&table);
        // SAFETY: a static snapshot, by which every version is visible.
        let stored = unsafe { RowVersion::fetch_visible(&table, tid, &slot, &raw mut pg_sys::SnapshotAnyData) };
        stored.and_then(RowVersion::own_command).is_some_and(|command| command >= self.command)
    }
}
