//! Runs SQL statements through SPI.
//!
//! A statement is a server string ([`super::encoding`]). The caller must quote each name and literal in it.

use pgrx::prelude::*;

use super::error::{Result, user_error};
use super::server_string::{server_string_from_c, to_server_cstring};
use super::settings::with_safe_search_path;

/// Runs a statement, and returns the number of rows it processed.
pub fn execute(statement: &str) -> Result<u64> {
    with_connection(|| execute_connected(statement, false))
}

/// The values in the first column of a query's result, without NULLs. The query's operators are PostgreSQL's own,
/// whatever the search path. It sees everything that is committed now, including commits while this statement waited
/// for a lock.
pub fn query_strings(query: &str) -> Result<Vec<String>> {
    let read_column = || {
        // SAFETY: a transaction is running. The result has `numvals` rows, and lives until SPI_finish.
        unsafe {
            pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot());
            execute_connected(query, true)?;
            pg_sys::PopActiveSnapshot();
            let Some(result) = pg_sys::SPI_tuptable.as_ref() else {
                return Ok(Vec::new());
            };
            let read_value = |row: u64| pg_sys::SPI_getvalue(*result.vals.add(row as usize), result.tupdesc, 1);
            let values = (0..result.numvals).map(read_value).filter(|value| !value.is_null());
            values.map(|value| server_string_from_c(value)).collect()
        }
    };
    with_connection(|| with_safe_search_path(read_column))
}

/// As [`query_strings`], of a column of OIDs.
pub fn query_oids(query: &str) -> Result<Vec<pg_sys::Oid>> {
    Ok(query_strings(query)?.iter().filter_map(|oid| oid.parse().ok().map(pg_sys::Oid::from_u32)).collect())
}

/// Calls `use_connection` within an SPI connection. After an error, PostgreSQL closes it with the (sub)transaction.
fn with_connection<T>(use_connection: impl FnOnce() -> Result<T>) -> Result<T> {
    // SAFETY: a transaction is running, as in every function call.
    unsafe {
        check_spi_result(pg_sys::SPI_connect())?;
        let result = use_connection()?;
        check_spi_result(pg_sys::SPI_finish())?;
        Ok(result)
    }
}

/// Runs a statement within a connection, and returns the number of rows it processed.
fn execute_connected(statement: &str, is_read_only: bool) -> Result<u64> {
    let command = to_server_cstring(statement)?;
    // SAFETY: SPI is connected, and the command is NUL-terminated.
    unsafe {
        check_spi_result(pg_sys::SPI_execute(command.as_ptr(), is_read_only, 0))?;
        Ok(pg_sys::SPI_processed)
    }
}

fn check_spi_result(code: i32) -> Result<()> {
    if code < 0 {
        let message = format!("statement failed in the server programming interface ({code})");
        return Err(user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, message));
    }
    Ok(())
}
