//! Foreign tables among those that are attached. ADD COLUMN only declares a column of a foreign table: the table on the
//! other server must have it already.

use pgrx::pg_sys::panic::{CaughtError, ErrorReport};
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;

use super::prefix::in_quotes;
use crate::postgres::catalog::foreign::server_name;
use crate::postgres::catalog::target::Target;
use crate::postgres::error::{sendable, user_error};
use crate::postgres::spi::execute;

/// Reads a row of each foreign table with the attached columns. An error if one of them does not exist on its server.
pub fn check_columns(family: &[Target], columns: &[&str]) -> Result<(), ErrorReport> {
    let list = columns.iter().map(quote_identifier).collect::<Vec<_>>().join(", ");
    for table in family.iter().filter(|member| member.is_foreign()) {
        let server = server_name(table.oid)?;
        let query = format!("SELECT {list} FROM ONLY {} LIMIT 1", table.sql());
        PgTryBuilder::new(|| execute(&query).map(drop))
            .catch_when(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, |error| match error {
                CaughtError::PostgresError(error) => Err(lacking(table, &server, columns, error.message())),
                error => error.rethrow(),
            })
            .execute()?;
    }
    Ok(())
}

/// The error for a table that lacks a column on its own server, which has raised the error `reported`.
fn lacking(table: &Target, server: &str, columns: &[&str], reported: &str) -> ErrorReport {
    let message = format!("foreign table \"{}\" cannot be read with the columns {}", table.name, in_quotes(columns));
    user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, message)
        .set_detail(sendable(format!("Its server \"{server}\" reports: {reported}")))
        .set_hint("Attach the table on that server first, so that it has columns of these names.")
}
