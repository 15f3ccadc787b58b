//! Checks that a column can take the marks of a guard.

use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::catalog::column::Column;
use postgres::catalog::relation::Relation;
use postgres::catalog::types::check_type_takes_null;
use postgres::error::{ErrorReport, Explain, Result, user_error, wrong_state};

use super::mark_column::MarkColumn;
use super::searched_table::SearchedTable;

/// Sets the mark column of each searched table. An error if it cannot store the keys of all of them. Takes time
/// proportional to the square of the number of tables: each table's column is checked against each table's key.
pub fn set_mark_columns(searched: &mut [SearchedTable], name: &str) -> Result<()> {
    for position in 0..searched.len() {
        let own = &searched[position];
        let column = check_mark_column(&Relation::open(own.oid), name, Some(own), searched)?;
        // Never None: the check was against all tables, because a mark may name a row of another partition.
        searched[position].mark = mark_of(own, &column);
    }
    Ok(())
}

fn mark_of(table: &SearchedTable, column: &Column) -> Option<MarkColumn> {
    MarkColumn::new(&table.primary_key, &table.scope, column)
}

/// The mark column of a table. An error if it cannot store the keys of all searched tables. `own` is the table as it is
/// searched; None for the guarded table, which may have no rows of its own: the searched tables are checked after it.
pub fn check_mark_column(
    table: &Relation,
    name: &str,
    own: Option<&SearchedTable>,
    searched: &[SearchedTable],
) -> Result<Column> {
    let column = Column::named(table, name)?;
    let make_message = || unfit_message(table, &column);
    if column.is_generated {
        return Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, make_message()?)
            .with_detail("The column is generated.")
            .with_hint("Add another column for the mark."));
    }
    if let Some(other) = searched.iter().find(|other| mark_of(other, &column).is_none()) {
        return Err(cannot_store_key(table, &column, other)?);
    }
    if own.is_some_and(|own| own.depends_on(column.attnum)) {
        return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_COLUMN_REFERENCE, make_message()?)
            .with_detail(
                "It is a column of the primary key, the fingerprint, its source, the scope, or the partition key.",
            )
            .with_hint("Add another column for the mark."));
    }
    // NOT NULL comes last: columns of the primary key are NOT NULL too, and the error above explains these better. It
    // needs `own`. Without `own`, only a table of which no part is searched is checked here.
    if own.is_some() || searched.is_empty() {
        check_takes_null(table, &column)?;
    }
    Ok(column)
}

/// An error if the column, or its domain, is NOT NULL.
fn check_takes_null(table: &Relation, column: &Column) -> Result<()> {
    if column.is_not_null {
        let message = unfit_message(table, column)?;
        return Err(wrong_state(message)
            .with_detail("The column is NOT NULL, but a row without a near-duplicate gets NULL.")
            .with_hint("Run ALTER TABLE ... ALTER COLUMN ... DROP NOT NULL."));
    }
    check_type_takes_null(column.data_type);
    Ok(())
}

fn unfit_message(table: &Relation, column: &Column) -> Result<String> {
    Ok(format!("column \"{}\" of table \"{}\" cannot take the key of a row", column.name()?, table.name()?))
}

/// The error for a mark column that cannot store the keys of a searched table: this has no usable primary key, or the
/// column's type does not fit the key.
fn cannot_store_key(table: &Relation, mark: &Column, searched: &SearchedTable) -> Result<ErrorReport> {
    let error = user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, unfit_message(table, mark)?);
    let key: Vec<_> = searched.primary_key.columns().collect();
    let name = Relation::open(searched.oid).name()?;
    if key.is_empty() {
        return Ok(error
            .with_detail(format!("The primary key names the row, and table \"{name}\" has none, or a deferrable one."))
            .with_hint("Run ALTER TABLE ... ADD PRIMARY KEY, in place of a deferrable one."));
    }
    let names = key.iter().map(|column| column.name()).collect::<Result<Vec<_>, _>>()?;
    let detail = format!(
        "The column has type {}, and the primary key of table \"{name}\" is ({}).",
        mark.type_name()?,
        names.iter().map(quote_identifier).collect::<Vec<_>>().join(", ")
    );
    Ok(error.with_detail(detail).with_hint(
        "A column of type jsonb gets the whole key. If all columns of the key but one are in the scope, a column of that \
         one's type gets its value.",
    ))
}
