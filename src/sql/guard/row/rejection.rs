//! The error of a rejected row, with the fields that drivers read.

use std::convert::Infallible;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::catalog::names::schema_name;
use postgres::error::{sendable, user_error};
use postgres::raised::{ErrorNames, raise_with_names};
use postgres::text::to_server;
use postgres::trigger::RowEvent;

use super::disclosure::Disclosure;
use crate::sql::guard::definition::distribution::user_names_of;

/// Raises an exclusion_violation with the table's schema and name. The field of the constraint has the trigger's name.
/// The field of the data type has the report about the near-duplicate: of the fields that drivers read, only this one
/// has no other use in an error about a constraint.
pub fn reject(event: &RowEvent, near: &Disclosure) -> Result<Infallible, ErrorReport> {
    const CODE: PgSqlErrorCode = PgSqlErrorCode::ERRCODE_EXCLUSION_VIOLATION;
    let (table, name) = user_names_of(&event.table(), event.trigger_name()?)?;
    let names = ErrorNames {
        schema: to_server(&schema_name(event.table().schema())?)?,
        table: to_server(&table)?,
        constraint: to_server(&name)?,
        data_type: to_server(&near.to_json())?,
    };
    let report = user_error(CODE, format!("near-duplicate violates guard \"{name}\" of table \"{table}\""))
        .set_detail(sendable(near.to_sentence()))
        .set_hint("Skip the row, or change the existing one.");
    raise_with_names(CODE, report, &names)
}
