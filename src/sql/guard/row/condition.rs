//! Evaluates a condition of a guard in one statement.

use std::rc::Rc;

use pgrx::pg_sys::{Datum, Oid};
use postgres::error::Result;
use postgres::heap::computed::Computed;
use postgres::heap::row::Row;
use postgres::settings::with_fixed_settings;

use super::stored_rows::RunningGuard;
use crate::sql::guard::definition::cache::{PerTable, of_table};
use crate::sql::guard::definition::condition::GuardCondition;

/// The condition of a guard in one statement, ready to be evaluated for the rows of a table and its partitions.
pub struct Condition {
    condition: Rc<GuardCondition>,
    guard: RunningGuard,
    /// The condition for each table, made when it is first evaluated.
    computed: PerTable<Computed>,
}

impl Condition {
    pub fn new(condition: Rc<GuardCondition>, guard: RunningGuard) -> Self {
        Self { condition, guard, computed: PerTable::default() }
    }

    /// Whether the condition holds for a row of a table. It does not hold if it is NULL.
    pub fn holds(&self, table: Oid, row: Row<'_>) -> Result<bool> {
        let condition = self.of_table(table)?;
        // SAFETY: the condition was made for the row's table, and its value is a boolean.
        let holds = || Ok(unsafe { condition.value(row) } == Some(Datum::from(true)));
        self.guard.on_stored_row(table, true, || with_fixed_settings(holds))
    }

    /// Whether the condition holds for a new row, of which the writer knows all values.
    pub fn holds_for_new(&self, table: Oid, row: Row<'_>) -> Result<bool> {
        let condition = self.of_table(table)?;
        // SAFETY: the condition was made for the row's table, and its value is a boolean.
        Ok(with_fixed_settings(|| unsafe { condition.value(row) }) == Some(Datum::from(true)))
    }

    /// Whether two rows of a table have the same values in the condition's columns.
    pub fn has_same_columns(&self, table: Oid, a: Row<'_>, b: Row<'_>) -> Result<bool> {
        Ok(a.has_same_values(b, self.condition.columns(table)?.iter().copied()))
    }

    /// Whether a value that the condition reads is stored out of line.
    pub fn is_out_of_line(&self, table: Oid, row: Row<'_>) -> Result<bool> {
        Ok(self.condition.columns(table)?.iter().any(|&column| row.is_out_of_line(column)))
    }

    fn of_table(&self, table: Oid) -> Result<Rc<Computed>> {
        let make = || {
            let condition = self.condition.parse(table)?;
            Ok(with_fixed_settings(|| Computed::new(condition)))
        };
        of_table(&self.computed, table, || self.guard.in_memory(make))
    }
}
