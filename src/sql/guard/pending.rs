//! The last row that a guard accepted, until it is stored: no search can find it yet.
//!
//! Between the guard's decision and the storing of the row, other triggers and functions run. They may write a row near
//! it into the same table.

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, CommandId, Oid};

use super::scope::{Scope, ScopeValues};
use super::search::{Candidate, SearchedTable};
use crate::postgres::row::TableSlot;

/// The last row that was accepted in a statement.
#[derive(Default)]
pub struct Pending {
    row: Option<PendingRow>,
    /// Memory for the row's values, below the statement's memory context; None until first needed.
    memory: Option<pg_sys::MemoryContext>,
}

/// A row that was accepted and is not stored yet.
pub struct PendingRow {
    fingerprint: i64,
    /// The command that will store it, or an earlier one of the same transaction.
    command: CommandId,
    /// The row's scope values; None if the guard has no scope.
    scope: Option<ScopeValues<'static>>,
    /// The row's table and a copy of the row; None if the texts do not matter.
    tuple: Option<(Oid, pg_sys::HeapTuple)>,
}

impl Pending {
    pub fn row(&self) -> Option<&PendingRow> {
        self.row.as_ref()
    }

    pub fn clear(&mut self) {
        self.row = None;
    }

    /// Replaces the row. `statement` is the memory context of the statement that stores the new one, and `tuple` its
    /// table and the row, if the texts matter.
    ///
    /// # Safety
    /// The memory context is valid, and lives as long as this. The row is valid.
    pub unsafe fn set(
        &mut self,
        statement: pg_sys::MemoryContext,
        fingerprint: i64,
        scope: &Scope,
        values: &ScopeValues<'_>,
        tuple: Option<(Oid, pg_sys::HeapTuple)>,
    ) {
        self.row = None;
        // SAFETY: a BEFORE trigger runs under its statement's snapshot, which has the statement's command.
        let command = unsafe { (*pg_sys::GetActiveSnapshot()).curcid };
        if scope.is_empty() && tuple.is_none() {
            self.row = Some(PendingRow { fingerprint, command, scope: None, tuple });
            return;
        }
        let memory = *self.memory.get_or_insert_with(|| new_memory(statement));
        // SAFETY: a child of the statement's memory context. Only `self.row` used it, and has just been cleared.
        unsafe {
            pg_sys::MemoryContextReset(memory);
            let scope = (!scope.is_empty()).then(|| scope.copy(values, memory));
            let copy = |tuple| PgMemoryContexts::For(memory).switch_to(|_| pg_sys::heap_copytuple(tuple));
            let tuple = tuple.map(|(table, tuple)| (table, copy(tuple)));
            self.row = Some(PendingRow { fingerprint, command, scope, tuple });
        }
    }

    /// The pending row, if it is near and has the same scope values.
    pub fn near(&self, wanted: &Wanted, scope: &Scope) -> Option<&PendingRow> {
        let row = self.row.as_ref()?;
        let is_in_scope = row.scope.as_ref().is_none_or(|own| scope.are_equal(own, wanted.scope));
        (wanted.distance(row.fingerprint).is_some() && is_in_scope).then_some(row)
    }
}

impl PendingRow {
    /// Whether a version that `command` of this transaction has stored is this row: it was stored after all.
    pub fn is_stored_as(&self, searched: &SearchedTable, version: &Candidate, command: CommandId) -> bool {
        if version.fingerprint != self.fingerprint || command < self.command {
            return false;
        }
        let Some((table, tuple)) = self.tuple else { return true };
        if table != searched.oid {
            return false;
        }
        // SAFETY: the row is a copy of a row of this table, and lives as long as this.
        unsafe {
            let slot = TableSlot::holding(version.table, tuple);
            searched.has_equal_source(slot.row(), version.version.row())
        }
    }

    /// The row's table and a copy of the row; None if the texts do not matter.
    pub fn tuple(&self) -> Option<(Oid, pg_sys::HeapTuple)> {
        self.tuple
    }
}

fn new_memory(statement: pg_sys::MemoryContext) -> pg_sys::MemoryContext {
    // SAFETY: the statement's memory context exists as long as the statement.
    unsafe {
        pg_sys::AllocSetContextCreateInternal(
            statement,
            c"row accepted by pg_simhash".as_ptr(),
            pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
            pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
            pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
        )
    }
}
