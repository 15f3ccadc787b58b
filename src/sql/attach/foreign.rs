//! Foreign tables in an attached family. ADD COLUMN only declares a column of a foreign table: the table on the other
//! server must already have the column, with the same values.

use pgrx::pg_sys::panic::{CaughtError, ErrorReport};
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::catalog::foreign::{has_user_mapping, server_name};
use postgres::catalog::names::role_name;
use postgres::catalog::target::Target;
use postgres::error::{sendable, user_error};
use postgres::raised;
use postgres::spi::execute;

use super::prefix::in_quotes;

/// A fingerprint column that is generated here.
pub struct GeneratedFingerprint<'a> {
    pub column: &'a str,
    /// Its generation expression.
    pub expression: String,
    /// The column that it is computed from.
    pub source: &'a str,
}

/// Reads a row of each foreign table with the attached columns. An error if one of them does not exist on its server,
/// or if this server computes another fingerprint.
pub fn check_columns(
    family: &[Target],
    columns: &[&str],
    fingerprint: &GeneratedFingerprint<'_>,
) -> Result<(), ErrorReport> {
    for table in family.iter().filter(|member| member.is_foreign()) {
        let list = columns.iter().map(quote_identifier).collect::<Vec<_>>().join(", ");
        read(table, columns, &format!("SELECT {list} FROM ONLY {} LIMIT 1", table.sql()))?;
        let GeneratedFingerprint { column, expression, source } = fingerprint;
        let query = format!(
            "SELECT FROM (SELECT {} IS DISTINCT FROM {expression} AS is_other FROM ONLY {} WHERE {} IS NOT NULL \
             LIMIT 1) AS found WHERE is_other",
            quote_identifier(column),
            table.sql(),
            quote_identifier(source)
        );
        if read(table, columns, &query)? > 0 {
            return Err(other_fingerprints(table)?);
        }
    }
    Ok(())
}

/// Runs a query on a foreign table, and returns the number of its rows.
fn read(table: &Target, columns: &[&str], query: &str) -> Result<u64, ErrorReport> {
    let server = server_name(table.oid)?;
    // SAFETY: no arguments, no conditions.
    let reader = unsafe { pg_sys::GetUserId() };
    let (role, is_mapped) = (role_name(reader)?, has_user_mapping(reader, table.oid));
    PgTryBuilder::new(|| execute(query))
        .catch_when(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, |error| match error {
            CaughtError::PostgresError(error) => {
                Err(missing_columns_error(table, &server, columns, &raised::message(&error)?))
            }
            error => error.rethrow(),
        })
        .catch_when(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, |error| match error {
            CaughtError::PostgresError(error) if !is_mapped => {
                Err(missing_mapping_error(table, &server, &role, &raised::message(&error)?))
            }
            error => error.rethrow(),
        })
        .execute()
}

/// The error for a table that lacks a column on its own server, which has raised the error `reported`.
fn missing_columns_error(table: &Target, server: &str, columns: &[&str], reported: &str) -> ErrorReport {
    let message = format!("foreign table \"{}\" cannot be read with the columns {}", table.name, in_quotes(columns));
    user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, message)
        .set_detail(sendable(format!("Its server \"{server}\" reports: {reported}")))
        .set_hint("Attach the table on that server first, so that it has columns of these names.")
}

/// The error for a foreign table that the current user cannot read, because no user mapping for its server applies.
/// `reported` is PostgreSQL's message.
fn missing_mapping_error(table: &Target, server: &str, role: &str, reported: &str) -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, reported.to_owned())
        .set_detail(sendable(format!(
            "A row of foreign table \"{}\" is read as the owner of the table that is attached.",
            table.name
        )))
        .set_hint(sendable(format!(
            "CREATE USER MAPPING FOR {} SERVER {}",
            quote_identifier(role),
            quote_identifier(server)
        )))
}

/// The error for a table with a row for which this server computes another fingerprint.
fn other_fingerprints(table: &Target) -> Result<ErrorReport, ErrorReport> {
    let message = format!("foreign table \"{}\" has other fingerprints than this table", table.name);
    Ok(user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .set_detail("A row has another fingerprint there than the same text has here, or none.")
        .set_hint(sendable(format!(
            "Attach the table on its server \"{}\" with the same options.",
            server_name(table.oid)?
        ))))
}
