//! The fingerprint that a column's name stands for: the column, or the indexed expression that is made from the column.

use pgrx::prelude::*;
use postgres::catalog::column::Column;
use postgres::catalog::index::Index;
use postgres::catalog::relation::Relation;
use postgres::catalog::row_value::RowValue;
use postgres::error::{Explain, Result, not_supported, user_error};
use postgres::expression::Expression;

use super::bits::Bits;
use super::recognise::block_keys;

/// The name of the fingerprint column, unless the user chooses another one.
pub const DEFAULT_NAME: &str = "simhash";
const NO_FINGERPRINT_HINT: &str =
    "simhash_attach adds the fingerprint column, named simhash by default, or its indexes.";

/// The name of the column that the argument `fingerprint` means. If a table has no column of the default name, but
/// indexes on expressions, it is the column from which their fingerprint is made; an error if there are several.
pub fn find_column_name(table: &Relation, name: &str) -> Result<String> {
    if name != DEFAULT_NAME || Column::find(table, name)?.is_some() {
        return Ok(name.to_owned());
    }
    let mut sources = Vec::new();
    for fingerprint in indexed_expressions(table) {
        if let [column] = fingerprint.own_columns()[..]
            && let Some(column) = Column::at(table, column)
        {
            sources.push(column.name()?);
        }
    }
    sources.sort();
    sources.dedup();
    match &sources[..] {
        [] => Ok(name.to_owned()),
        [source] => Ok(source.clone()),
        several => {
            let message = format!("table \"{}\" has fingerprints of several columns", table.name()?);
            Err(user_error(PgSqlErrorCode::ERRCODE_AMBIGUOUS_COLUMN, message)
                .with_detail(format!("They are made from {}.", several.join(", ")))
                .with_hint("Name one of these columns as fingerprint."))
        }
    }
}

/// The fingerprint that a column's name stands for. An error unless the column holds fingerprints, or an indexed
/// fingerprint is made from it.
pub fn named_fingerprint(table: &Relation, name: &str) -> Result<RowValue> {
    let column = Column::named(table, name).map_err(|error| error.with_hint(NO_FINGERPRINT_HINT))?;
    if let Some(fingerprint) = fingerprint_of(table, &column)? {
        return Ok(fingerprint);
    }
    let message =
        format!("column \"{name}\" of relation \"{}\" is of type {}, not bigint", table.name()?, column.type_name()?);
    Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message)
        .with_detail("No fingerprint that is made from it is indexed either.")
        .with_hint(NO_FINGERPRINT_HINT))
}

/// The fingerprint in a column, or the indexed fingerprint that is made from the column; None if neither exists.
pub fn fingerprint_of(table: &Relation, column: &Column) -> Result<Option<RowValue>> {
    // SAFETY: getBaseType looks up a system cache; the column's type exists.
    if unsafe { pg_sys::getBaseType(column.data_type) } == pg_sys::INT8OID {
        check_is_stored(table, column)?;
        return Ok(Some(RowValue::Column(column.attnum)));
    }
    let mut indexed = indexed_expressions(table).into_iter().filter(|value| is_made_from(table, column, *value));
    let (first, second) = (indexed.next(), indexed.next());
    if second.is_some() {
        let message =
            format!("column \"{}\" of table \"{}\" has several indexed fingerprints", column.name()?, table.name()?);
        return Err(user_error(PgSqlErrorCode::ERRCODE_AMBIGUOUS_COLUMN, message)
            .with_detail("They are made with different options.")
            .with_hint("Detach all but one, or attach a fingerprint column."));
    }
    Ok(first.map(|fingerprint| {
        let stored = column_storing(table, Bits::of_bigint(fingerprint));
        stored.map_or(RowValue::Expression(fingerprint), |column| RowValue::Column(column.attnum))
    }))
}

/// Whether the expression of a fingerprint is made from a column: it refers to this column alone or, if the column is
/// generated, to the columns that it is computed from.
pub fn is_made_from(table: &Relation, column: &Column, fingerprint: Expression) -> bool {
    let columns = fingerprint.own_columns();
    columns == [column.attnum] || column.generation(table).map(Expression::own_columns) == Some(columns)
}

/// The fingerprints that are expressions and whose blocks are indexed, each once.
fn indexed_expressions(table: &Relation) -> Vec<Expression> {
    let mut distinct: Vec<Expression> = Vec::new();
    for index in Index::all(table) {
        for fingerprint in block_keys(table, &index).map(|key| key.call.fingerprint) {
            let is_fingerprint = |other: &Expression| Bits::of_bigint(*other).equals(Bits::of_bigint(fingerprint));
            if fingerprint.as_own_column().is_none() && !distinct.iter().any(is_fingerprint) {
                distinct.push(fingerprint);
            }
        }
    }
    distinct
}

/// The generated column that stores these bits as a `bigint`; None if no column does.
pub fn column_storing(table: &Relation, bits: Bits) -> Option<Column> {
    let mut columns = Column::all(table).filter(|column| column.is_stored && column.data_type == pg_sys::INT8OID);
    columns.find(|column| column.generation(table).is_some_and(|generation| Bits::of_bigint(generation).equals(bits)))
}

/// Refuses a fingerprint column whose values are not stored: a virtual generated column, which PostgreSQL supports from
/// version 18 on. It cannot be indexed, and it is NULL in a row that is not read by a query.
pub fn check_is_stored(table: &Relation, column: &Column) -> Result<()> {
    if !column.is_generated || column.is_stored {
        return Ok(());
    }
    let message = format!("column \"{}\" of table \"{}\" is a virtual generated column", column.name()?, table.name()?);
    Err(not_supported(message)
        .with_detail("Its values are not stored, so that they can be neither indexed nor guarded.")
        .with_hint("Drop the column, and add it again as GENERATED ALWAYS AS (...) STORED."))
}
