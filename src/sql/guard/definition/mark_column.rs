//! The column in which a guard that marks rows stores the key of the near-duplicate.
//!
//! The near-duplicate has the marked row's scope values. So if all columns of the primary key but one are in the scope,
//! the value of that column identifies the near-duplicate. A column of type jsonb can store any key, as an object.

use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::catalog::column::Column;
use postgres::catalog::relation::Relation;
use postgres::error::{ErrorReport, Result, sendable, user_error};
use postgres::heap::primary_key::KeyValue;
use postgres::json::to_jsonb;

use super::searched_table::SearchedTable;

/// The mark column of a table, and the part of this table's keys that a mark stores.
pub struct MarkColumn {
    pub column: i16,
    content: MarkContent,
}

/// The part of the near-duplicate's primary key that a mark stores.
#[derive(Clone, Copy)]
enum MarkContent {
    /// The value of the key's column at this position.
    Value(usize),
    /// The whole key as a JSON object.
    Object,
}

impl MarkColumn {
    /// Finds the mark column of each searched table. An error if it cannot store the keys of all of them.
    pub fn set(searched: &mut [SearchedTable], name: &str) -> Result<()> {
        for position in 0..searched.len() {
            let own = &searched[position];
            let column = check(&Relation::open(own.oid), name, Some(own), searched)?;
            // All partitions have the column with the same type, so their marks store the same part of a key.
            let content = MarkContent::of(own, &column).expect("a mark column that was checked stores the keys");
            searched[position].mark = Some(Self { column: column.attnum, content });
        }
        Ok(())
    }

    /// The mark for a key of this table, which is `searched`.
    pub fn value(&self, searched: &SearchedTable, key: &KeyValue) -> Result<Option<Datum>> {
        match self.content {
            MarkContent::Value(position) => Ok(key.value(position)),
            MarkContent::Object => {
                let key = searched.primary_key.to_json(key)?;
                Ok(key.map(|key| to_jsonb(&key)).transpose()?.flatten().map(|key| key.datum()))
            }
        }
    }
}

impl MarkContent {
    /// The part of a table's keys that a mark column of this type stores; None if it cannot store them.
    fn of(searched: &SearchedTable, mark: &Column) -> Option<Self> {
        let key: Vec<_> = searched.primary_key.columns().collect();
        if let Some(position) = identifying_column(searched)
            && (key[position].data_type, key[position].type_modifier) == (mark.data_type, mark.type_modifier)
        {
            return Some(Self::Value(position));
        }
        (mark.data_type == pg_sys::JSONBOID && !key.is_empty()).then_some(Self::Object)
    }
}

/// The position, in the primary key, of the column that identifies a row within the scope: the only column outside the
/// scope, or the only column of the key. None if there is no such column.
fn identifying_column(searched: &SearchedTable) -> Option<usize> {
    let is_outside = |column: &Column| !searched.scope.columns().any(|scope| scope == column.attnum);
    let columns = || searched.primary_key.columns().enumerate();
    let mut outside = columns().filter(|(_, column)| is_outside(column)).map(|(position, _)| position);
    match (outside.next(), outside.next()) {
        (Some(position), None) => Some(position),
        // The key's only column is in the scope. Two rows of one scope then have the same key, which only partitions
        // with keys of their own allow.
        (None, None) if columns().count() == 1 => Some(0),
        _ => None,
    }
}

/// The mark column of a table. An error if it cannot store the keys of all searched tables. `own` is the table as it is
/// searched; None if it has no rows of its own.
pub fn check(table: &Relation, name: &str, own: Option<&SearchedTable>, searched: &[SearchedTable]) -> Result<Column> {
    let column = Column::named(table, name)?;
    let unfit = || unfit(table, &column);
    if column.is_generated {
        return Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, unfit()?)
            .set_detail("The column is generated.")
            .set_hint("Add another column for the mark."));
    }
    if let Some(other) = searched.iter().find(|searched| MarkContent::of(searched, &column).is_none()) {
        return Err(wrong_type(table, &column, other)?);
    }
    if own.is_some_and(|own| own.depends_on(column.attnum)) {
        return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_COLUMN_REFERENCE, unfit()?)
            .set_detail(
                "It is a column of the primary key, the fingerprint, its source, the scope, or the partition key.",
            )
            .set_hint("Add another column for the mark."));
    }
    // Check this last: key columns are NOT NULL too, and the error above explains that case better. It is raised only
    // for a table with rows, so check a table without rows only if no table is searched.
    if own.is_none() && !searched.is_empty() {
        return Ok(column);
    }
    if column.is_not_null {
        return Err(user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, unfit()?)
            .set_detail("The column is NOT NULL, but a row without a near-duplicate gets NULL.")
            .set_hint("Run ALTER TABLE ... ALTER COLUMN ... DROP NOT NULL."));
    }
    // SAFETY: the type of an existing column exists. PostgreSQL raises an error if it is a domain that is NOT NULL.
    unsafe {
        let (memory, none) = (pg_sys::CurrentMemoryContext, std::ptr::null_mut());
        if pg_sys::getBaseType(column.data_type) != column.data_type {
            pg_sys::domain_check(Datum::null(), true, column.data_type, none, memory);
        }
    }
    Ok(column)
}

fn unfit(table: &Relation, column: &Column) -> Result<String> {
    Ok(format!("column \"{}\" of table \"{}\" cannot take the key of a row", column.name()?, table.name()?))
}

/// The error for a mark column whose type does not fit the primary key of a table.
fn wrong_type(table: &Relation, mark: &Column, searched: &SearchedTable) -> Result<ErrorReport> {
    let error = user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, unfit(table, mark)?);
    let key: Vec<_> = searched.primary_key.columns().collect();
    let named = Relation::open(searched.oid).name()?;
    if key.is_empty() {
        return Ok(error
            .set_detail(sendable(format!("Table \"{named}\" has no primary key, which would name the row.")))
            .set_hint("Run ALTER TABLE ... ADD PRIMARY KEY."));
    }
    let names = key.iter().map(|column| column.name()).collect::<Result<Vec<_>, _>>()?;
    let detail = format!(
        "The column has type {}, and the primary key of table \"{named}\" is ({}).",
        mark.type_name(),
        names.iter().map(quote_identifier).collect::<Vec<_>>().join(", ")
    );
    Ok(error.set_detail(sendable(detail)).set_hint(
        "A column of type jsonb gets the whole key. If all columns of the key but one are in the scope, a column of that \
         one's type gets its value.",
    ))
}
