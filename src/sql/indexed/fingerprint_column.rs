//! The column that stores a table's fingerprints.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::catalog::column::Column;
use postgres::catalog::relation::Relation;
use postgres::error::user_error;

use super::bits::Bits;

/// The column with this name; an error if it does not exist or is not a `bigint`.
pub fn fingerprint_column(table: &Relation, name: &str) -> Result<Column, ErrorReport> {
    let column = Column::named(table, name)?;
    // SAFETY: getBaseType looks up a system cache; the column's type exists.
    if unsafe { pg_sys::getBaseType(column.data_type) } == pg_sys::INT8OID {
        return Ok(column);
    }
    let message =
        format!("column \"{name}\" of relation \"{}\" is of type {}, not bigint", table.name()?, column.type_name());
    Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message))
}

/// The generated column that stores these bits as a `bigint`; None if there is none.
pub fn column_of(table: &Relation, bits: Bits) -> Option<Column> {
    let mut columns = Column::all(table).filter(|column| column.is_stored && column.data_type == pg_sys::INT8OID);
    columns.find(|column| column.generation(table).is_some_and(|found| Bits::of_bigint(found).equals(bits)))
}

/// Refuses a fingerprint column whose values are not stored: a virtual generated column, which PostgreSQL supports from
/// version 18 on. It cannot be indexed, and it is NULL in a row that is not read by a query.
pub fn check_is_stored(table: &Relation, column: &Column) -> Result<(), ErrorReport> {
    if !column.is_generated || column.is_stored {
        return Ok(());
    }
    let message = format!("column \"{}\" of table \"{}\" is a virtual generated column", column.name()?, table.name()?);
    Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
        .set_detail("Its values are not stored, so that they can be neither indexed nor guarded.")
        .set_hint("Drop the column, and add it again as GENERATED ALWAYS AS (...) STORED."))
}
