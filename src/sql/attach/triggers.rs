//! Triggers that generated columns break. BEFORE triggers fire before generated columns are computed, so in NEW these
//! are NULL. PostgreSQL refuses a WHEN condition that reads them, in a whole row too, but only when the trigger is
//! created: a table that gains such a column keeps its trigger, and its dump cannot be restored.

use pgrx::prelude::*;
use pgrx::spi::quote_literal;
use postgres::catalog::target::Target;
use postgres::error::{Result, sendable, user_error, warn};
use postgres::spi::query_strings;
use postgres::text::from_server;
use postgres::trigger::{reads_whole_row, triggers};

const ALONE: &str = "Call simhash_attach with columns => false, which makes indexes alone.";

/// In the body of a function in PL/pgSQL: NEW or OLD compared with the other, as whole rows.
const COMPARISON: &str = r#"\m(new|old)(\.\*)?\s*\)?\s*(=|<>|!=|is\s+(not\s+)?distinct\s+from)\s*(row\s*)?\(?\s*(new|old)\M(?!\s*\.\s*[[:alpha:]_"])"#;

/// Refuses tables with a trigger whose condition reads a whole row, and warns of trigger functions that compare whole
/// rows.
pub fn check(family: &[Target]) -> Result<()> {
    for table in family {
        let relation = table.open();
        if let Some(trigger) = triggers(&relation).iter().find(|trigger| reads_whole_row(trigger)) {
            // SAFETY: a trigger has a NUL-terminated name.
            let name = unsafe { from_server(trigger.tgname) }?;
            let message = format!("trigger \"{name}\" of table \"{}\" has a condition on a whole row", table.name);
            return Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
                .set_detail("With generated columns, a dump of the table could not be restored.")
                .set_hint(ALONE));
        }
        drop(relation);
        let comparing = query_strings(&format!(
            "SELECT DISTINCT p.proname FROM pg_catalog.pg_trigger JOIN pg_catalog.pg_proc AS p ON p.oid = tgfoid
                 JOIN pg_catalog.pg_language AS l ON l.oid = prolang
             WHERE tgrelid = {} AND NOT tgisinternal AND tgtype & {before_each_row} = {before_each_row}
                 AND lanname = 'plpgsql' AND prosrc ~* {} ORDER BY 1",
            table.oid.to_u32(),
            quote_literal(COMPARISON),
            before_each_row = pg_sys::TRIGGER_TYPE_BEFORE | pg_sys::TRIGGER_TYPE_ROW,
        ))?;
        for function in comparing {
            let message = format!("trigger function \"{function}\" of table \"{}\" compares whole rows", table.name);
            warn(
                user_error(PgSqlErrorCode::ERRCODE_WARNING, sendable(message))
                    .set_detail(
                        "In a BEFORE trigger, generated columns of NEW are NULL, so that the rows always differ.",
                    )
                    .set_hint(ALONE),
            );
        }
    }
    Ok(())
}
