//! A guard in one statement, and how it evaluates expressions of a table on stored rows, which may be hidden from the
//! writer.
//!
//! They are evaluated as the writer, like everything on a table that PostgreSQL runs when it stores a row. So that a
//! writer does not get hidden values by them, names in functions are not looked up in the writer's search path, and
//! messages do not reach a writer who may not read the rows. PostgreSQL puts the bodies of functions in SQL in place of
//! their calls when it prepares an expression, and looks up the names in them then.

use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use postgres::catalog::relation::Relation;
use postgres::error::{Result, raise};
use postgres::raised::{raise_without_values, without_messages};
use postgres::settings::with_safe_search_path;

use super::disclosure::may_select_rows;
use crate::sql::guard::definition::distribution::user_name_of;

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

    /// Reads a value of a stored row, which may be an expression to evaluate. If the current user may not read the rows
    /// of the table, an error keeps its SQLSTATE, and the message says only which guard has failed.
    pub fn on_stored_row<T>(&self, table: Oid, is_expression: bool, read: impl FnOnce() -> Result<T>) -> Result<T> {
        let is_readable = may_select_rows(table);
        let read = || if is_expression { with_safe_search_path(read) } else { read() };
        if is_readable {
            return read();
        }
        let (guard, name) = (&self.name, user_name_of(&Relation::open(table))?);
        let message = || format!("guard \"{guard}\" of table \"{name}\" cannot evaluate an expression on another row");
        Ok(PgTryBuilder::new(AssertUnwindSafe(|| without_messages(read).unwrap_or_else(|error| raise(error))))
            .catch_others(|error| raise_without_values(error, message()))
            .execute())
    }
}
