//! The last row that a guard accepted, until it is stored: no search can find it yet.
//!
//! Between the guard's decision and the storing of the row, other triggers and functions run. They may write a near row
//! into the same table. The row is forgotten at the end of the call, also if a later trigger drops it
//! ([`super::running::clear_after_call`]).

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, CommandId, Oid};
use postgres::catalog::relation::Relation;
use postgres::heap::row::{Row, TableSlot, tid_numbers};
use postgres::heap::row_version::RowVersion;
use postgres::memory::small_context;
use postgres::trigger::RowEvent;

use super::search::NearQuery;
use crate::sql::guard::definition::scope::{GuardScope, GuardScopeValues};

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
