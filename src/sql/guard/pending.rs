//! The row that a guard has let in last, until it is stored: no search can find it yet.
//!
//! Between the guard's decision and the storing of the row, other triggers and functions run, which may write a row into
//! the same table that is near the one that is about to be stored.

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum};

use super::search::Scope;
use super::table::datumCopy;
use crate::simhash::distance::hamming;

/// The last row of a statement that was let in.
#[derive(Default)]
pub struct Pending {
    row: Option<Row>,
    /// Memory for the row's values, a part of the statement's; made when it is needed.
    memory: Option<pg_sys::MemoryContext>,
}

/// A row that has been let in and is not stored yet.
pub struct Row {
    fingerprint: i64,
    /// The command that will store it, or an earlier one of the same transaction.
    command: pg_sys::CommandId,
    /// Its values of the scope columns.
    scope: Vec<Option<Datum>>,
}

impl Pending {
    pub fn clear(&mut self) {
        self.row = None;
    }

    /// Replaces the row by another one.
    ///
    /// # Safety
    /// The memory is that of the statement whose row it is, and the values are those of the scope columns.
    pub unsafe fn set(
        &mut self,
        statement: pg_sys::MemoryContext,
        fingerprint: i64,
        scope: &[Scope],
        values: &[Option<Datum>],
    ) {
        self.row = None;
        // SAFETY: a BEFORE trigger runs under the snapshot of its statement, which has the statement's command.
        let command = unsafe { (*pg_sys::GetActiveSnapshot()).curcid };
        if scope.is_empty() {
            self.row = Some(Row { fingerprint, command, scope: Vec::new() });
            return;
        }
        let memory = *self.memory.get_or_insert_with(|| {
            // SAFETY: by the contract.
            unsafe {
                pg_sys::AllocSetContextCreateInternal(
                    statement,
                    c"row let in by pg_simhash".as_ptr(),
                    pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
                    pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
                    pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
                )
            }
        });
        // SAFETY: by the contract. The memory is a part of the statement's.
        let copies = unsafe {
            pg_sys::MemoryContextReset(memory);
            let copy = |(scope, value): (&Scope, &Option<Datum>)| {
                value.map(|value| {
                    let copy = || datumCopy(value, scope.by_value, scope.length.into());
                    pg_sys::ffi::pg_guard_ffi_boundary(copy)
                })
            };
            PgMemoryContexts::For(memory).switch_to(|_| scope.iter().zip(values).map(copy).collect())
        };
        self.row = Some(Row { fingerprint, command, scope: copies });
    }

    /// The row, if it is near another one, and within the same scope.
    ///
    /// # Safety
    /// The values are those of the scope columns, which are of the same types as the row's.
    pub unsafe fn near(
        &self,
        fingerprint: i64,
        max_distance: i32,
        scope: &[Scope],
        values: &[Option<Datum>],
    ) -> Option<&Row> {
        let row = self.row.as_ref()?;
        let distance = hamming(row.fingerprint.cast_unsigned(), fingerprint.cast_unsigned()).cast_signed();
        let mut pairs = scope.iter().zip(row.scope.iter().zip(values));
        // SAFETY: by the contract.
        let is_near = distance <= max_distance && pairs.all(|(scope, (&a, &b))| unsafe { scope.are_equal(a, b) });
        is_near.then_some(row)
    }
}

impl Row {
    /// Whether it has been stored after all, and is one of those rows of this transaction, given by fingerprint and
    /// command, that have been changed or deleted since.
    pub fn is_among(&self, gone: &[(i64, pg_sys::CommandId)]) -> bool {
        gone.iter().any(|&(fingerprint, command)| fingerprint == self.fingerprint && command >= self.command)
    }
}
