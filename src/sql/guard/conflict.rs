//! The error of a rejected row, with the fields that drivers read.

use std::convert::Infallible;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::disclosure::Disclosure;
use super::distribution::known_names;
use crate::postgres::catalog::names::schema_name;
use crate::postgres::error::{sendable, user_error};
use crate::postgres::raised::{Names, raise_with};
use crate::postgres::spi::to_server;
use crate::postgres::trigger::RowEvent;

/// Raises an exclusion_violation with the table's schema and name, as the constraint the trigger's name, and as the
/// data type what the user may be told about the near-duplicate: of the fields that drivers read, it is the only one
/// that nothing reads for another purpose in an error about a constraint.
pub fn conflict(event: &RowEvent, near: &Disclosure) -> Result<Infallible, ErrorReport> {
    const CODE: PgSqlErrorCode = PgSqlErrorCode::ERRCODE_EXCLUSION_VIOLATION;
    let (table, name) = known_names(&event.table(), event.trigger_name()?)?;
    let names = Names {
        schema: to_server(&schema_name(event.table().schema())?)?,
        table: to_server(&table)?,
        constraint: to_server(&name)?,
        data_type: to_server(&near.to_json())?,
    };
    let report = user_error(CODE, format!("near-duplicate violates guard \"{name}\" of table \"{table}\""))
        .set_detail(sendable(near.to_sentence()))
        .set_hint("Skip the row, or change the existing one.");
    raise_with(CODE, report, &names)
}
