//! Foreign tables in an attached family. ADD COLUMN only declares a column of a foreign table: the table on the other
//! server must already have the column, with the same values.

use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::catalog::relation::server_name;
use postgres::catalog::target::Target;
use postgres::error::{ErrorReport, Result, sendable, user_error};
use postgres::spi::execute;

/// Reads a row of each foreign table with the attached columns. PostgreSQL raises an error if one of them does not
/// exist on its server. An error if the expression computes another fingerprint of the source here.
pub fn check_columns(family: &[Target], columns: &[&str], [fingerprint, expression, source]: [&str; 3]) -> Result<()> {
    for table in family.iter().filter(|member| member.is_foreign()) {
        let list = columns.iter().map(quote_identifier).collect::<Vec<_>>().join(", ");
        execute(&format!("SELECT {list} FROM ONLY {} LIMIT 1", table.sql()))?;
        let query = format!(
            "SELECT FROM (SELECT {} IS DISTINCT FROM {expression} AS is_other FROM ONLY {} WHERE {} IS NOT NULL \
             LIMIT 1) AS found WHERE is_other",
            quote_identifier(fingerprint),
            table.sql(),
            quote_identifier(source)
        );
        if execute(&query)? > 0 {
            return Err(other_fingerprints(table)?);
        }
    }
    Ok(())
}

fn other_fingerprints(table: &Target) -> Result<ErrorReport> {
    let message = format!("foreign table \"{}\" has other fingerprints than this table", table.name);
    Ok(user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .set_detail("A row has another fingerprint there than the same text has here, or none.")
        .set_hint(sendable(format!(
            "Attach the table on its server \"{}\" with the same options.",
            server_name(table.oid)?
        ))))
}
