//! Adds a row to the guard's log for each row that is skipped or marked.

use pgrx::pg_sys::Datum;
use pgrx::pg_sys::panic::{CaughtError, ErrorReport};
use pgrx::prelude::*;
use pgrx::{IntoDatum, PgMemoryContexts};
use postgres::error::user_error;
use postgres::heap::row::Row;
use postgres::owner::as_owner;
use postgres::raised;
use postgres::text::to_server;
use postgres::trigger::RowEvent;

use super::near_duplicate::NearDuplicate;
use super::statement::Statement;
use crate::sql::guard::definition::log::{LoggedGuard, PreparedLog};

impl Statement {
    /// Adds a row about a skipped or marked row to the guard's log, if the guard has one.
    pub fn log(&self, event: &RowEvent, nearest: &NearDuplicate) -> Result<(), ErrorReport> {
        let Some(log) = &self.guard.log else { return Ok(()) };
        let prepared = match self.log.get() {
            Some(prepared) => prepared,
            None => {
                let guard = LoggedGuard {
                    name: &event.trigger_name()?,
                    root: self.guard.identity.root,
                    table: &event.table(),
                    action: self.guard.action,
                };
                // SAFETY: the statement's memory context lives as long as the statement, and so as long as the result.
                let prepared = unsafe { PgMemoryContexts::For(self.memory).switch_to(|_| log.prepare(&guard)) }?;
                self.log.get_or_init(|| prepared)
            }
        };
        // SAFETY: the memory of the statement, in which the log was prepared for the event's table.
        unsafe { write(prepared, nearest, event.new_row()) }
    }
}

/// Inserts a row about a new row of the trigger's table and its near-duplicate.
///
/// # Safety
/// The memory context in which the log was prepared still exists, and the row is of the table it was prepared for.
unsafe fn write(log: &PreparedLog, nearest: &NearDuplicate, new: Row<'_>) -> Result<(), ErrorReport> {
    let key = nearest.searched.primary_key.to_json(&nearest.key)?.map(|key| to_server(&key)).transpose()?;
    // SAFETY: the text is NUL-terminated.
    let key = key.map(|key| Datum::from(unsafe { pg_sys::cstring_to_text(key.as_ptr()) }));
    let mut values = vec![key, nearest.distance.cast_signed().into_datum(), nearest.resemblance.into_datum()];
    values.extend(log.columns.iter().map(|&column| new.value(column)));
    as_owner(log.owner, || {
        PgTryBuilder::new(|| {
            // SAFETY: the caller says that the plan exists. The values are of the types that it was made for.
            unsafe { log.plan.run(&values) };
            Ok(())
        })
        .catch_others(|error| match error {
            // The detail shows values of the log's row. Its owner may see them, but the writer may not.
            CaughtError::PostgresError(error) if is_about_values(error.sql_error_code()) => {
                let message = format!("{}: {}", log.message, raised::message(&error)?);
                raised::raise_as(user_error(error.sql_error_code(), message))
            }
            error => error.rethrow(),
        })
        .execute()
    })
}

/// Whether errors with this code show values of a row.
fn is_about_values(code: PgSqlErrorCode) -> bool {
    matches!(
        code,
        PgSqlErrorCode::ERRCODE_NOT_NULL_VIOLATION
            | PgSqlErrorCode::ERRCODE_CHECK_VIOLATION
            | PgSqlErrorCode::ERRCODE_UNIQUE_VIOLATION
            | PgSqlErrorCode::ERRCODE_EXCLUSION_VIOLATION
            | PgSqlErrorCode::ERRCODE_FOREIGN_KEY_VIOLATION
    )
}
