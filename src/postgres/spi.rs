//! Runs SQL statements. Tables are attached by SQL commands, so that PostgreSQL checks, locks, logs and replicates
//! these as if the owner had typed them.
//!
//! Every name and literal in a statement must be quoted. Names are [`super::server_text`].

use pgrx::pg_sys::panic::{CaughtError, ErrorReport};
use pgrx::prelude::*;

use super::error::user_error;
use super::raised::raise_with_hint;
use super::text::{from_server, to_server};

/// Runs a statement, and returns the number of rows it processed.
///
/// If the current user lacks a privilege and is not the caller, the error's hint names the current user.
pub fn execute(statement: &str) -> Result<u64, ErrorReport> {
    // SAFETY: no arguments, no conditions.
    let user = unsafe { pg_sys::GetUserId() };
    PgTryBuilder::new(|| connected(|| run(statement, false)))
        .catch_when(PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, |error| {
            // SAFETY: no arguments, no conditions; the name is NUL-terminated, or null.
            let user = unsafe {
                // If a SECURITY DEFINER function has failed, the current user is now another one: give no hint.
                let is_lent = user == pg_sys::GetUserId() && user != pg_sys::GetOuterUserId();
                let name = if is_lent { pg_sys::GetUserNameFromId(user, true) } else { std::ptr::null_mut() };
                (!name.is_null()).then(|| from_server(name)).transpose()?
            };
            match (error, user) {
                (CaughtError::PostgresError(error), Some(user)) if error.hint().is_none() => raise_with_hint(
                    &error,
                    format!(
                        "The command runs as the table's owner, \"{user}\", in a security-restricted operation. Event \
                         triggers that it fires run as that user too."
                    ),
                ),
                (error, _) => error.rethrow(),
            }
        })
        .execute()
}

/// The first column of a query's result, without NULLs. The query sees everything that is committed now, including
/// commits while this statement waited for a lock.
pub fn query_strings(query: &str) -> Result<Vec<String>, ErrorReport> {
    connected(|| {
        // SAFETY: a transaction is running. After a successful query, its table has `numvals` rows, and lives until
        // SPI_finish.
        unsafe {
            pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot());
            run(query, true)?;
            pg_sys::PopActiveSnapshot();
            let Some(table) = pg_sys::SPI_tuptable.as_ref() else {
                return Ok(Vec::new());
            };
            let row = |row: u64| pg_sys::SPI_getvalue(*table.vals.add(row as usize), table.tupdesc, 1);
            (0..table.numvals).map(row).filter(|value| !value.is_null()).map(|value| from_server(value)).collect()
        }
    })
}

fn connected<T>(f: impl FnOnce() -> Result<T, ErrorReport>) -> Result<T, ErrorReport> {
    // SAFETY: each connection is finished here or, if `f` fails, by PostgreSQL at the end of the transaction.
    unsafe {
        check(pg_sys::SPI_connect())?;
        let result = f()?;
        check(pg_sys::SPI_finish())?;
        Ok(result)
    }
}

fn run(statement: &str, read_only: bool) -> Result<u64, ErrorReport> {
    let statement = to_server(statement)?;
    // SAFETY: SPI is connected, and the statement is NUL-terminated.
    unsafe {
        check(pg_sys::SPI_execute(statement.as_ptr(), read_only, 0))?;
        Ok(pg_sys::SPI_processed)
    }
}

fn check(code: i32) -> Result<(), ErrorReport> {
    if code < 0 {
        let message = format!("statement failed in the server programming interface ({code})");
        return Err(user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, message));
    }
    Ok(())
}
