//! The condition `among` of a guard: only existing rows for which it holds count as near-duplicates.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::rc::Rc;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use super::definition::Guard;
use crate::postgres::catalog::column::Column;
use crate::postgres::catalog::relation::Relation;
use crate::postgres::condition::{parse, to_sql};
use crate::postgres::error::user_error;
use crate::postgres::heap::computed::Computed;
use crate::postgres::heap::row::Row;
use crate::postgres::owner::{as_owner, set, with_settings};
use crate::postgres::text::{RawText, decode_copy};

/// The argument's name, for errors.
const NAME: &CStr = c"among";

/// A condition as a user writes it.
pub struct AskedCondition {
    condition: String,
    /// The user's search path, in the server's encoding.
    search_path: CString,
}

impl AskedCondition {
    pub fn new(condition: RawText<'_>) -> Result<Self, ErrorReport> {
        // SAFETY: the setting is NUL-terminated, and copied at once.
        let search_path = unsafe { CStr::from_ptr(pg_sys::namespace_search_path) }.to_owned();
        Ok(Self { condition: decode_copy(condition)?, search_path })
    }

    /// The condition as PostgreSQL prints it, for the search path of [`as_owner`], in which this runs. An error if it
    /// is no condition on a row of the table, or has the mark column.
    pub fn check(&self, table: &Relation, mark: Option<&str>) -> Result<String, ErrorReport> {
        let condition = with_settings(|| {
            set(c"search_path", &self.search_path);
            parse(table, &self.condition, NAME)
        })?;
        let mark = mark.map(|mark| Column::find(table, mark)).transpose()?.flatten();
        if let Some(mark) = mark.filter(|mark| condition.own_columns().contains(&mark.number)) {
            let message = format!("among must not have the mark column \"{}\"", mark.name()?);
            return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
                .set_detail("Rows with a mark do not count, whatever the condition."));
        }
        // As pg_dump, so that constants mean the same whatever a writer has set.
        with_settings(|| {
            set(c"DateStyle", c"ISO");
            set(c"IntervalStyle", c"postgres");
            set(c"extra_float_digits", c"1");
            set(c"quote_all_identifiers", c"off");
            to_sql(table, condition)
        })
    }
}

/// A condition in one statement, ready to be evaluated for the rows of a table and its partitions.
pub struct Among {
    /// The condition as SQL.
    condition: String,
    /// The tables' owner, as whom the condition is evaluated.
    owner: Oid,
    /// Memory that lives as long as the statement.
    memory: pg_sys::MemoryContext,
    /// The condition for each table that was asked about.
    tables: RefCell<HashMap<Oid, Rc<Condition>>>,
}

struct Condition {
    computed: Computed,
    columns: Vec<i16>,
}

impl Among {
    /// # Safety
    /// The memory context lives as long as the result.
    pub unsafe fn new(condition: String, owner: Oid, memory: pg_sys::MemoryContext) -> Self {
        Self { condition, owner, memory, tables: RefCell::default() }
    }

    /// The condition of a guard; None if all rows count.
    ///
    /// # Safety
    /// As for [`Among::new`].
    pub unsafe fn of_guard(guard: &Guard, memory: pg_sys::MemoryContext) -> Option<Self> {
        let owner = || Relation::open(guard.identity.root).owner();
        // SAFETY: the caller passes a memory context that lives long enough.
        guard.among.clone().map(|condition| unsafe { Self::new(condition, owner(), memory) })
    }

    /// Whether the condition holds for a row of a table. NULL does not hold.
    pub fn holds(&self, table: Oid, row: Row<'_>) -> Result<bool, ErrorReport> {
        let condition = self.of_table(table)?;
        // SAFETY: the condition was made for the row's table, and its value is a boolean.
        Ok(as_owner(self.owner, || unsafe { condition.computed.value(row) }) == Some(Datum::from(true)))
    }

    /// Whether two rows of a table have the same values in the condition's columns.
    pub fn has_same_columns(&self, table: Oid, a: Row<'_>, b: Row<'_>) -> Result<bool, ErrorReport> {
        Ok(a.has_same_values(b, self.of_table(table)?.columns.iter().copied()))
    }

    /// Whether a value that the condition reads is stored out of line.
    pub fn is_out_of_line(&self, table: Oid, row: Row<'_>) -> Result<bool, ErrorReport> {
        Ok(self.of_table(table)?.columns.iter().any(|&column| row.is_out_of_line(column)))
    }

    fn of_table(&self, table: Oid) -> Result<Rc<Condition>, ErrorReport> {
        if let Some(known) = self.tables.borrow().get(&table) {
            return Ok(known.clone());
        }
        let make = || {
            // Not as the owner, because a literal may run code of a type before it is known whose code that is.
            let expression = with_settings(|| {
                set(c"search_path", c"pg_catalog, pg_temp");
                set(c"transform_null_equals", c"off");
                set(c"array_nulls", c"on");
                parse(&Relation::open(table), &self.condition, NAME)
            })?;
            // The planner folds constants.
            let computed = as_owner(self.owner, || Computed::new(expression));
            Ok(Rc::new(Condition { columns: expression.own_columns(), computed }))
        };
        // SAFETY: the memory context lives as long as this, and so as long as the condition.
        let made = unsafe { PgMemoryContexts::For(self.memory).switch_to(|_| make()) }?;
        self.tables.borrow_mut().insert(table, made.clone());
        Ok(made)
    }
}
