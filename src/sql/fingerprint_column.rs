//! The column that holds a table's fingerprints.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::postgres::catalog::column::Column;
use crate::postgres::catalog::relation::Relation;
use crate::postgres::error::user_error;

/// The column of that name; an error if there is none, or if it is not a `bigint`.
pub fn fingerprint_column(table: &Relation, name: &str) -> Result<Column, ErrorReport> {
    let column = Column::named(table, name)?;
    // SAFETY: a look-up in a system cache, of a type that exists.
    if unsafe { pg_sys::getBaseType(column.data_type) } == pg_sys::INT8OID {
        return Ok(column);
    }
    let message =
        format!("column \"{name}\" of relation \"{}\" is of type {}, not bigint", table.name()?, column.type_name());
    Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message))
}

/// Refuses a column of fingerprints whose values are not stored: a virtual generated one, as there are from PostgreSQL 18
/// on. No index can have it, and in a row that is read without a query it is NULL.
pub fn check_is_stored(table: &Relation, column: &Column) -> Result<(), ErrorReport> {
    if !column.is_generated || column.is_stored {
        return Ok(());
    }
    let message = format!("column \"{}\" of table \"{}\" is a virtual generated column", column.name()?, table.name()?);
    Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
        .set_detail("Its values are not stored, so that they can be neither indexed nor guarded.")
        .set_hint("Drop the column, and add it again as GENERATED ALWAYS AS (...) STORED."))
}
