//! Runs SQL statements. Attaching runs SQL commands, so that PostgreSQL checks, locks, logs and replicates them.
//!
//! Every name and literal in a statement must be quoted. Names are strings as in [`super::server_text`].

use pgrx::prelude::*;

use super::error::{Result, user_error};
use super::settings::with_safe_search_path;
use super::text::{from_server, to_server};

/// Runs a statement, and returns the number of rows it processed.
pub fn execute(statement: &str) -> Result<u64> {
    with_connection(|| run(statement, false))
}

/// The first column of a query's result, without NULLs. Its operators are PostgreSQL's own, whatever the search path.
/// The query sees everything that is committed now, including commits while this statement waited for a lock.
pub fn query_strings(query: &str) -> Result<Vec<String>> {
    let run_query = || {
        // SAFETY: a transaction is running. The query's table has `numvals` rows, and lives until SPI_finish.
        unsafe {
            pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot());
            run(query, true)?;
            pg_sys::PopActiveSnapshot();
            let Some(table) = pg_sys::SPI_tuptable.as_ref() else {
                return Ok(Vec::new());
            };
            let read_value = |row: u64| pg_sys::SPI_getvalue(*table.vals.add(row as usize), table.tupdesc, 1);
            let values = (0..table.numvals).map(read_value).filter(|value| !value.is_null());
            values.map(|value| from_server(value)).collect()
        }
    };
    with_connection(|| with_safe_search_path(run_query))
}

fn with_connection<T>(use_connection: impl FnOnce() -> Result<T>) -> Result<T> {
    // SAFETY: each connection is finished here or, after an error, by PostgreSQL at the end of the transaction.
    unsafe {
        check(pg_sys::SPI_connect())?;
        let result = use_connection()?;
        check(pg_sys::SPI_finish())?;
        Ok(result)
    }
}

fn run(statement: &str, is_read_only: bool) -> Result<u64> {
    let statement = to_server(statement)?;
    // SAFETY: SPI is connected, and the statement is NUL-terminated.
    unsafe {
        check(pg_sys::SPI_execute(statement.as_ptr(), is_read_only, 0))?;
        Ok(pg_sys::SPI_processed)
    }
}

fn check(code: i32) -> Result<()> {
    if code < 0 {
        let message = format!("statement failed in the server programming interface ({code})");
        return Err(user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, message));
    }
    Ok(())
}
