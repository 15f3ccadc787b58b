//! The row that each running statement of this session is storing into a guarded table.
//!
//! After the guard's decision and before the row is stored, no search finds it, and other triggers and functions run,
//! which may write a near row into the same table. So the row is [pending](super::pending_row) until it is stored. At
//! the end of the call it is forgotten, also if a later trigger drops it ([`CurrentRow::clear_after_call`]).

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::{Rc, Weak};

use pgrx::PgMemoryContexts;
use pgrx::prelude::*;
use postgres::memory::OnDrop;

use super::pending_row::PendingRow;
use super::registration::Registration;
use crate::sql::guard::definition::guard::GuardIdentity;

/// The row that a statement is storing into a guarded table.
pub struct CurrentRow {
    /// The statement's memory context, which identifies it.
    memory: pg_sys::MemoryContext,
    /// The subtransaction in which the statement runs.
    subtransaction: pg_sys::SubTransactionId,
    guard: GuardIdentity,
    pub registration: RefCell<Registration>,
    /// The row itself, once the guard has accepted it.
    pub pending: RefCell<Option<PendingRow>>,
}

thread_local! {
    /// The current rows of the running statements. The statements own them.
    static CURRENT_ROWS: RefCell<Vec<Weak<CurrentRow>>> = const { RefCell::new(Vec::new()) };
    /// Whether PostgreSQL calls `subtransaction_ended`.
    static HAS_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// The current row of a guard in the statement with this memory context. All partitions of a table share it: PostgreSQL
/// stores or drops a row before the trigger fires for the next one.
pub fn current_row(memory: pg_sys::MemoryContext, guard: GuardIdentity) -> Rc<CurrentRow> {
    if !HAS_CALLBACK.replace(true) {
        // SAFETY: the callback is a function of this library, which is never unloaded.
        unsafe { pg_sys::RegisterSubXactCallback(Some(subtransaction_ended), std::ptr::null_mut()) };
    }
    CURRENT_ROWS.with_borrow_mut(|rows| {
        rows.retain(|row| row.strong_count() > 0);
        let is_of_statement = |row: &Rc<CurrentRow>| row.memory == memory && row.guard == guard;
        if let Some(row) = rows.iter().filter_map(Weak::upgrade).find(is_of_statement) {
            return row;
        }
        // SAFETY: a trigger function runs in a transaction.
        let subtransaction = unsafe { pg_sys::GetCurrentSubTransactionId() };
        let row = Rc::new(CurrentRow {
            memory,
            subtransaction,
            guard,
            registration: RefCell::default(),
            pending: RefCell::default(),
        });
        rows.push(Rc::downgrade(&row));
        row
    })
}

/// The current rows of the same guard in other running statements. For example, a trigger or function runs a nested
/// statement while the row of the outer one has been accepted and is not stored yet.
pub fn current_rows_of_others(own: &CurrentRow) -> Vec<Rc<CurrentRow>> {
    let is_other = |row: &Rc<CurrentRow>| row.memory != own.memory && row.guard == own.guard;
    CURRENT_ROWS.with_borrow(|rows| rows.iter().filter_map(Weak::upgrade).filter(is_other).collect())
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
    CURRENT_ROWS.with(|rows| {
        // This cannot fail: only `current_row` borrows the list mutably, and nothing that it calls rolls back. A panic
        // would be an error within the rollback: PostgreSQL rolls back again, and in the end restarts the server.
        let Ok(rows) = rows.try_borrow() else { return };
        for row in rows.iter().filter_map(Weak::upgrade) {
            // Subtransactions that began within this one have higher numbers.
            if row.subtransaction >= subtransaction {
                row.clear();
            }
        }
    });
}

impl CurrentRow {
    /// Clears the row when the memory of the call is reset. PostgreSQL calls BEFORE triggers in memory that it resets
    /// after the row has been stored, or dropped by a later trigger, and before it fetches the statement's next row.
    pub fn clear_after_call(self: &Rc<Self>) {
        let weak = Rc::downgrade(self);
        let clear = move || {
            if let Some(row) = weak.upgrade() {
                row.clear();
            }
        };
        PgMemoryContexts::CurrentMemoryContext.leak_and_drop_on_delete(OnDrop(clear));
    }

    /// Ends the registration of the row and forgets the row: it has been stored, or never will be.
    fn clear(&self) {
        // This cannot fail. The guard's call for this row borrows both cells. Calls in nested statements, which run
        // before this row is stored, borrow `pending`. All of them have returned or failed when the call's memory is
        // reset, or when the statement's subtransaction is rolled back. Both may happen in a rollback: do not panic.
        if let (Ok(mut pending), Ok(mut registration)) =
            (self.pending.try_borrow_mut(), self.registration.try_borrow_mut())
        {
            *pending = None;
            registration.release();
        }
    }
}
