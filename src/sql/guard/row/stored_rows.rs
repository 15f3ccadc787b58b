//! A guard in one statement, and how it evaluates expressions of a table on rows.
//!
//! Those on a new row are evaluated as the writer, like a CHECK constraint. Those on stored rows, which may be hidden
//! from the writer, run PostgreSQL's own code alone, with times in UTC: they mean the same in every session. Their
//! errors do not show values to a writer who may not read the rows.

use std::cell::OnceCell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use postgres::catalog::relation::{Relation, may_select_rows};
use postgres::error::{Result, raise};
use postgres::expression::StoredExpression;
use postgres::heap::computed::Computed;
use postgres::heap::row::Row;
use postgres::raised::raise_without_values;
use postgres::settings::with_fixed_times;

use crate::sql::guard::definition::cache::{PerTable, of_table};
use crate::sql::guard::definition::distribution::user_name_of;
use crate::sql::guard::definition::guard_expression::GuardExpression;

/// A guard in a running statement.
#[derive(Clone)]
pub struct RunningGuard {
    /// The trigger function.
    pub function: Oid,
    name: Rc<str>,
    memory: pg_sys::MemoryContext,
}

impl RunningGuard {
    /// # Safety
    /// The memory context lives as long as the result and its clones.
    pub unsafe fn new(function: Oid, name: &str, memory: pg_sys::MemoryContext) -> Self {
        Self { function, name: name.into(), memory }
    }

    /// Memory that lives as long as the statement, and identifies it.
    pub fn memory(&self) -> pg_sys::MemoryContext {
        self.memory
    }

    /// Runs `f` in the statement's memory.
    pub fn in_memory<T>(&self, f: impl FnOnce() -> T) -> T {
        // SAFETY: the memory context lives as long as this.
        unsafe { PgMemoryContexts::For(self.memory).switch_to(|_| f()) }
    }

    /// Reads a value of a stored row. If the current user may not read the rows of the table, an error keeps its
    /// SQLSTATE, and the message says only which guard has failed.
    fn on_stored_row<T>(&self, table: Oid, read: impl FnOnce() -> Result<T>) -> Result<T> {
        if may_select_rows(table) {
            return read();
        }
        let (guard, name) = (&self.name, user_name_of(&Relation::open(table))?);
        let message = || format!("guard \"{guard}\" of table \"{name}\" cannot evaluate an expression on another row");
        Ok(PgTryBuilder::new(AssertUnwindSafe(|| read().unwrap_or_else(|error| raise(error))))
            .catch_others(|error| raise_without_values(error, message()))
            .execute())
    }
}

/// An expression of a guard in one statement, ready to be evaluated for the rows of a table and its partitions.
pub struct Evaluated {
    guard: RunningGuard,
    tables: PerTable<PreparedExpression>,
}

/// Each is made when it is first evaluated.
#[derive(Default)]
struct PreparedExpression {
    of_new_row: OnceCell<Computed>,
    of_stored_row: OnceCell<Computed>,
}

impl Evaluated {
    pub fn new(guard: &RunningGuard) -> Self {
        Self { guard: guard.clone(), tables: PerTable::default() }
    }

    /// Calls `f` with the expression's value for a new row, also if it needs a generated column, which is not computed
    /// yet; None for NULL. `f` runs in memory that is freed when it returns, and must not evaluate the expression
    /// again.
    pub fn of_new_row<T>(
        &self,
        table: Oid,
        expression: &GuardExpression,
        row: Row<'_>,
        f: impl FnOnce(Option<Datum>) -> Result<T>,
    ) -> Result<T> {
        self.evaluate(&self.table(table)?.of_new_row, &expression.of_new_row, row, f)
    }

    /// Calls `f` with the expression's value for a stored row, as [`Self::of_new_row`] does.
    pub fn of_stored_row<T>(
        &self,
        table: Oid,
        expression: &GuardExpression,
        row: Row<'_>,
        f: impl FnOnce(Option<Datum>) -> Result<T>,
    ) -> Result<T> {
        let prepared = self.table(table)?;
        let read = || self.evaluate(&prepared.of_stored_row, &expression.of_stored_row, row, f);
        let is_column = expression.is_column;
        self.guard.on_stored_row(table, || if is_column { read() } else { with_fixed_times(read) })
    }

    fn evaluate<T>(
        &self,
        prepared: &OnceCell<Computed>,
        expression: &StoredExpression,
        row: Row<'_>,
        f: impl FnOnce(Option<Datum>) -> Result<T>,
    ) -> Result<T> {
        let make = || self.guard.in_memory(|| Computed::new(expression.read()));
        // SAFETY: the row is of the table for which the expression was made. Nothing in this library passes an `f` that
        // evaluates an expression.
        unsafe { prepared.get_or_init(make).with_value(row, f) }
    }

    fn table(&self, table: Oid) -> Result<Rc<PreparedExpression>> {
        of_table(&self.tables, table, || Ok(PreparedExpression::default()))
    }
}
