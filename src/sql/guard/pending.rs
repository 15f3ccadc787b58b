//! The row that a guard has let in last, until it is stored: no search can find it yet.
//!
//! Between the guard's decision and the storing of the row, other triggers and functions run. They may write a row into
//! the same table that is near the one that is about to be stored.

use pgrx::pg_sys::{self, CommandId};
use simhash::distance::hamming;

use super::scope::{Scope, ScopeValues};

/// The last row of a statement that was let in.
#[derive(Default)]
pub struct Pending {
    row: Option<PendingRow>,
    /// Memory for the row's values, a child of the statement's; None until it is needed.
    memory: Option<pg_sys::MemoryContext>,
}

/// A row that has been let in and is not stored yet.
pub struct PendingRow {
    fingerprint: i64,
    /// The command that will store it, or an earlier one of the same transaction.
    command: CommandId,
    /// None if the guard has no scope.
    scope: Option<ScopeValues>,
}

impl Pending {
    pub fn clear(&mut self) {
        self.row = None;
    }

    /// Replaces the row by another one. The memory is that of the statement whose row it is.
    pub fn set(&mut self, statement: pg_sys::MemoryContext, fingerprint: i64, scope: &Scope, values: &ScopeValues) {
        self.row = None;
        // SAFETY: a BEFORE trigger runs under the snapshot of its statement, which has the statement's command.
        let command = unsafe { (*pg_sys::GetActiveSnapshot()).curcid };
        let scope = (!scope.is_empty()).then(|| {
            let memory = *self.memory.get_or_insert_with(|| new_memory(statement));
            // SAFETY: a memory context of this, whose former contents nobody uses any more.
            unsafe { pg_sys::MemoryContextReset(memory) };
            scope.copy(values, memory)
        });
        self.row = Some(PendingRow { fingerprint, command, scope });
    }

    /// The row, if it is near another one, and has the same values of the scope.
    pub fn near(
        &self,
        fingerprint: i64,
        max_distance: i32,
        scope: &Scope,
        values: &ScopeValues,
    ) -> Option<&PendingRow> {
        let row = self.row.as_ref()?;
        let distance = hamming(row.fingerprint.cast_unsigned(), fingerprint.cast_unsigned()).cast_signed();
        let is_in_scope = row.scope.as_ref().is_none_or(|own| scope.are_equal(own, values));
        (distance <= max_distance && is_in_scope).then_some(row)
    }
}

impl PendingRow {
    /// Whether it has been stored after all, and is one of those rows of this transaction, given by fingerprint and
    /// command, that have been changed or deleted since.
    pub fn is_among(&self, gone: &[(i64, CommandId)]) -> bool {
        gone.iter().any(|&(fingerprint, command)| fingerprint == self.fingerprint && command >= self.command)
    }
}

fn new_memory(statement: pg_sys::MemoryContext) -> pg_sys::MemoryContext {
    // SAFETY: a memory context of PostgreSQL's.
    unsafe {
        pg_sys::AllocSetContextCreateInternal(
            statement,
            c"row let in by pg_simhash".as_ptr(),
            pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
            pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
            pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
        )
    }
}
