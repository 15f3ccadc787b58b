//! The running statements of this session that have guards, and the row that each statement is storing.
//!
//! After the guard's decision and before the row is stored, no search finds it, and other triggers and functions run,
//! which may write a near row into the same table. So the row is pending until it is stored. It is forgotten at the end
//! of the call, also if a later trigger drops it ([`CurrentRow::clear_after_call`]).

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::{Rc, Weak};

use pgrx::PgMemoryContexts;
use pgrx::itemptr::item_pointer_to_u64;
use pgrx::pg_sys::{self, CommandId, HeapTuple, Oid};
use pgrx::prelude::*;
use postgres::catalog::relation::Relation;
use postgres::heap::row::{Row, TableSlot};
use postgres::heap::row_version::RowVersion;
use postgres::memory::OnDrop;
use postgres::trigger::RowEvent;

use super::registration::Registration;
use crate::sql::guard::definition::guard::Identity;
use crate::sql::guard::definition::row_key::RowKey;

/// The row that a statement is storing into a guarded table.
pub struct CurrentRow {
    /// The statement's memory context, which identifies it.
    memory: pg_sys::MemoryContext,
    /// The subtransaction in which the statement runs.
    subtransaction: pg_sys::SubTransactionId,
    guard: Identity,
    pub registration: RefCell<Registration>,
    /// The row itself, once the guard has accepted it.
    pub pending: RefCell<Option<PendingRow>>,
}

thread_local! {
    /// The current rows of the running statements. The statements own them.
    static RUNNING: RefCell<Vec<Weak<CurrentRow>>> = const { RefCell::new(Vec::new()) };
    /// Whether PostgreSQL calls `subtransaction_ended`.
    static HAS_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// The current row of a guard in the statement with this memory context. All partitions of a table share it: PostgreSQL
/// stores or drops a row before the trigger fires for the next one.
pub fn current_row(memory: pg_sys::MemoryContext, guard: Identity) -> Rc<CurrentRow> {
    if !HAS_CALLBACK.replace(true) {
        // SAFETY: the callback is a function of this library, which is never unloaded.
        unsafe { pg_sys::RegisterSubXactCallback(Some(subtransaction_ended), std::ptr::null_mut()) };
    }
    RUNNING.with_borrow_mut(|running| {
        running.retain(|row| row.strong_count() > 0);
        let is_same = |row: &Rc<CurrentRow>| row.memory == memory && row.guard == guard;
        if let Some(row) = running.iter().filter_map(Weak::upgrade).find(is_same) {
            return row;
        }
        // SAFETY: a trigger function runs in a transaction.
        let subtransaction = unsafe { pg_sys::GetCurrentSubTransactionId() };
        let (registration, pending) = (RefCell::default(), RefCell::default());
        let row = Rc::new(CurrentRow { memory, subtransaction, guard, registration, pending });
        running.push(Rc::downgrade(&row));
        row
    })
}

/// The current rows of the same guard in other running statements. For example, a trigger or function runs a nested
/// statement while the row of the outer one has been accepted and is not stored yet.
pub fn rows_of_other_statements(own: &CurrentRow) -> Vec<Rc<CurrentRow>> {
    let is_other = |row: &Rc<CurrentRow>| row.memory != own.memory && row.guard == own.guard;
    RUNNING.with_borrow(|running| running.iter().filter_map(Weak::upgrade).filter(is_other).collect())
}

/// If a subtransaction is rolled back, clears the rows of the statements that have failed with it. The memory of a
/// statement in an SQL function may outlive the subtransaction, so clearing the row with that memory would be too late.
#[pg_guard]
unsafe extern "C-unwind" fn subtransaction_ended(
    event: pg_sys::SubXactEvent::Type,
    subtransaction: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    _argument: *mut c_void,
) {
    if event != pg_sys::SubXactEvent::SUBXACT_EVENT_ABORT_SUB {
        return;
    }
    RUNNING.with(|running| {
        // This cannot fail: only `current_row` borrows the list mutably, and nothing that it calls rolls back. A panic
        // would be an error within the rollback: PostgreSQL rolls back again, and in the end restarts the server.
        let Ok(running) = running.try_borrow() else { return };
        // Subtransactions that began within this one have higher numbers.
        let has_failed = |row: &Rc<CurrentRow>| row.subtransaction >= subtransaction;
        running.iter().filter_map(Weak::upgrade).filter(has_failed).for_each(|row| row.clear());
    });
}

impl CurrentRow {
    /// Clears the row when the memory of the call is reset. PostgreSQL calls BEFORE triggers in memory that it resets
    /// after the row has been stored, or dropped by a later trigger, and before it fetches the statement's next row.
    pub fn clear_after_call(self: &Rc<Self>) {
        let row = Rc::downgrade(self);
        let clear = move || row.upgrade().iter().for_each(|row| row.clear());
        PgMemoryContexts::CurrentMemoryContext.leak_and_drop_on_delete(OnDrop(clear));
    }

    /// Ends the registration of the row and forgets the row: it has been stored, or never will be.
    fn clear(&self) {
        // This cannot fail. The guard's call for this row borrows both cells. Calls in nested statements, which run
        // before this row is stored, borrow `pending`. All of them have returned or failed when the call's memory is
        // reset, or when the statement's subtransaction is rolled back. Both may happen in a rollback: do not panic.
        let (pending, registration) = (self.pending.try_borrow_mut(), self.registration.try_borrow_mut());
        if let (Ok(mut pending), Ok(mut registration)) = (pending, registration) {
            *pending = None;
            registration.release();
        }
    }
}

/// The last row that was accepted in a statement, which may not be stored yet.
pub struct PendingRow {
    pub table: Oid,
    pub key: RowKey,
    /// A copy of the row, in the memory of the call.
    pub tuple: HeapTuple,
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
    pub unsafe fn new(event: &RowEvent, key: RowKey, tuple: HeapTuple) -> Self {
        let new = event.new_row();
        // SAFETY: the caller passes a row. A BEFORE trigger runs under its statement's snapshot, which has the
        // statement's command.
        let (tuple, command) = unsafe { (pg_sys::heap_copytuple(tuple), (*pg_sys::GetActiveSnapshot()).curcid) };
        let (slot, tid_before) = (new.slot(), item_pointer_to_u64(new.tid()));
        Self { table: event.table().oid(), key, tuple, slot, tid_before, command }
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
