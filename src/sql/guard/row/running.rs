//! The running statements of this session that have guards, and the row that each statement is storing.
//!
//! Between the guard's decision and the storing of the row, no search finds it, and other triggers and functions run,
//! which may write a near row into the same table. So the row is pending until it is stored. It is forgotten at the end
//! of the call, also if a later trigger drops it ([`clear_after_call`]).

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::{Rc, Weak};

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, CommandId, Oid};
use pgrx::prelude::*;
use postgres::catalog::relation::Relation;
use postgres::heap::row::{Row, TableSlot, tid_numbers};
use postgres::heap::row_version::RowVersion;
use postgres::memory::small_context;
use postgres::trigger::RowEvent;

use super::registration::Registration;
use super::search::NearQuery;
use crate::sql::guard::definition::guard::Identity;
use crate::sql::guard::definition::scope::{GuardScope, GuardScopeValues};

/// The row that a statement is storing.
#[derive(Default)]
pub struct CurrentRow {
    pub registration: Registration,
    /// The row itself, once the guard has accepted it.
    pub pending: Pending,
    /// Whether an UPDATE moves the row to another partition, where it will be inserted.
    pub moves: bool,
}

/// A guard in a running statement.
struct RunningStatement {
    /// The statement's memory context, which identifies it.
    memory: pg_sys::MemoryContext,
    /// The subtransaction in which the statement runs.
    subtransaction: pg_sys::SubTransactionId,
    guard: Identity,
    row: Weak<RefCell<CurrentRow>>,
}

thread_local! {
    static RUNNING: RefCell<Vec<RunningStatement>> = const { RefCell::new(Vec::new()) };
    /// Whether `subtransaction_ended` is registered with PostgreSQL.
    static HAS_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// The current row of a guard in a statement, which is identified by its memory context. All partitions of a table
/// share it: when the trigger fires for a row of one partition, the previous row has been stored or dropped.
pub fn current_row(memory: pg_sys::MemoryContext, guard: Identity) -> Rc<RefCell<CurrentRow>> {
    if !HAS_CALLBACK.replace(true) {
        // SAFETY: the callback is a function of this library, which is never unloaded.
        unsafe { pg_sys::RegisterSubXactCallback(Some(subtransaction_ended), std::ptr::null_mut()) };
    }
    RUNNING.with_borrow_mut(|running| {
        running.retain(|other| other.row.strong_count() > 0);
        let same = running.iter().find(|other| other.memory == memory && other.guard == guard);
        if let Some(row) = same.and_then(|same| same.row.upgrade()) {
            return row;
        }
        let row = Rc::<RefCell<CurrentRow>>::default();
        // SAFETY: a trigger function runs in a transaction.
        let subtransaction = unsafe { pg_sys::GetCurrentSubTransactionId() };
        running.push(RunningStatement { memory, subtransaction, guard, row: Rc::downgrade(&row) });
        row
    })
}

/// The current rows of the same guard in the other running statements. A nested statement runs while a row of the outer
/// statement has been accepted and is not stored yet.
pub fn rows_of_other_statements(memory: pg_sys::MemoryContext, guard: &Identity) -> Vec<Rc<RefCell<CurrentRow>>> {
    RUNNING.with_borrow(|running| {
        let others = running.iter().filter(|other| other.memory != memory && other.guard == *guard);
        others.filter_map(|other| other.row.upgrade()).collect()
    })
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
        let Ok(running) = running.try_borrow() else { return };
        // Subtransactions that began within this one have higher numbers.
        let failed = running.iter().filter(|statement| statement.subtransaction >= subtransaction);
        failed.for_each(|statement| clear(&statement.row));
    });
}

/// Clears the row when the memory of the call is reset. PostgreSQL calls BEFORE triggers in memory that it resets after
/// the row has been stored, or dropped by a later trigger, and before it fetches the statement's next row.
pub fn clear_after_call(row: &Rc<RefCell<CurrentRow>>) {
    /// Clears the row when dropped.
    struct ClearedRow(Weak<RefCell<CurrentRow>>);
    impl Drop for ClearedRow {
        fn drop(&mut self) {
            clear(&self.0);
        }
    }
    PgMemoryContexts::CurrentMemoryContext.leak_and_drop_on_delete(ClearedRow(Rc::downgrade(row)));
}

/// Releases the locks of a row and forgets it. The row is stored now, or will never be stored.
fn clear(row: &Weak<RefCell<CurrentRow>>) {
    if let Some(row) = row.upgrade()
        && let Ok(mut row) = row.try_borrow_mut()
    {
        row.pending.clear();
        row.moves = false;
        row.registration.release();
    }
}

/// The last row that was accepted in a statement, if it may not be stored yet.
#[derive(Default)]
pub struct Pending {
    row: Option<PendingRow>,
    /// Memory for the row's values, a child of the statement's memory context; None until first needed.
    memory: Option<pg_sys::MemoryContext>,
}

/// A row that was accepted and is not stored yet.
pub struct PendingRow {
    fingerprint: i64,
    /// The row's table, and the slot from which PostgreSQL stores it.
    table: Oid,
    slot: *mut pg_sys::TupleTableSlot,
    /// The tid in the slot before the row is stored. It may be the tid of a row of another table, from which the row
    /// was copied.
    tid_before: (u32, u16),
    /// The command that will store the row, or an earlier command of the same transaction.
    command: CommandId,
    /// The row's scope values; None if the guard has no scope.
    scope: Option<GuardScopeValues<'static>>,
    /// A copy of the row; None if only its fingerprint and scope matter.
    tuple: Option<pg_sys::HeapTuple>,
}

impl Pending {
    pub fn clear(&mut self) {
        self.row = None;
    }

    /// Replaces the row. `statement` is the memory context of the statement. `tuple` is the new row, or None if only
    /// its fingerprint and scope matter.
    ///
    /// # Safety
    /// The memory context is valid, and lives as long as `self`. The row is valid.
    pub unsafe fn set(
        &mut self,
        statement: pg_sys::MemoryContext,
        event: &RowEvent,
        fingerprint: i64,
        scope: &GuardScope,
        values: &GuardScopeValues<'_>,
        tuple: Option<pg_sys::HeapTuple>,
    ) {
        self.row = None;
        // SAFETY: a BEFORE trigger runs under its statement's snapshot, which has the statement's command.
        let command = unsafe { (*pg_sys::GetActiveSnapshot()).curcid };
        let (table, new) = (event.table().oid(), event.new_row());
        let (slot, tid_before) = (new.slot(), tid_numbers(new.tid()));
        if scope.is_empty() && tuple.is_none() {
            self.row = Some(PendingRow { fingerprint, table, slot, tid_before, command, scope: None, tuple });
            return;
        }
        // SAFETY: the caller passes the statement's memory context.
        let new_memory = || unsafe { small_context(statement, c"row accepted by pg_simhash") };
        let memory = *self.memory.get_or_insert_with(new_memory);
        // SAFETY: a child of the statement's memory context. Only `self.row` used it, and has just been cleared.
        unsafe {
            pg_sys::MemoryContextReset(memory);
            let scope = (!scope.is_empty()).then(|| scope.copy(values, memory));
            let copy = |tuple| PgMemoryContexts::For(memory).switch_to(|_| pg_sys::heap_copytuple(tuple));
            self.row =
                Some(PendingRow { fingerprint, table, slot, tid_before, command, scope, tuple: tuple.map(copy) });
        }
    }

    /// The row, if it is near, has the same scope values, and is not stored yet.
    pub fn near(&self, query: &NearQuery, scope: &GuardScope) -> Option<&PendingRow> {
        let row = self.row.as_ref()?;
        let is_in_scope = row.scope.as_ref().is_none_or(|own| scope.are_equal(own, query.scope));
        (query.distance(row.fingerprint).is_some() && is_in_scope && !row.is_stored()).then_some(row)
    }
}

impl PendingRow {
    /// Whether the row has been stored, changed by a later trigger or not. Its slot then has a new tid: the tid of a
    /// version that this transaction has written since the guard accepted the row. (A row that gets the same tid as
    /// `tid_before` counts as not stored, which is safe.)
    fn is_stored(&self) -> bool {
        // SAFETY: the slot lives until the statement ends, and the row is forgotten before.
        let tid = unsafe { Row::new(self.slot) }.tid();
        if tid_numbers(tid) == self.tid_before {
            return false;
        }
        let table = Relation::open(self.table);
        let slot = TableSlot::new(&table);
        let command = RowVersion::fetch(&table, tid, &slot).and_then(RowVersion::own_command);
        command.is_some_and(|command| command >= self.command)
    }

    /// The row's table and a copy of the row; None if only its fingerprint and scope matter.
    pub fn tuple(&self) -> Option<(Oid, pg_sys::HeapTuple)> {
        self.tuple.map(|tuple| (self.table, tuple))
    }
}
