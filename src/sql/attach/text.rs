//! The text that is indexed by its bands: a column, or an expression of columns.

use std::ffi::CStr;

use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::catalog::column::{Column, type_name};
use postgres::catalog::names::lock_names_in;
use postgres::catalog::relation::Relation;
use postgres::catalog::target::Target;
use postgres::error::{Result, not_supported, sendable, user_error};
use postgres::expression::Expression;
use postgres::json::RawJsonb;
use postgres::row_expression::{Argument, parse_index_key};
use postgres::settings::{set_locally, with_settings};

use crate::sql::indexed::fingerprint_column::check_is_stored;
use crate::sql::indexed::source::WrittenOptions;

const SOURCE: Argument<'static> = Argument { name: c"source", context: c"argument \"source\"" };

pub struct Text {
    /// The text as a user writes it in a query.
    pub written: String,
    /// The text as SQL in which all names outside pg_catalog are qualified.
    pub sql: String,
    pub options: WrittenOptions,
}

impl Text {
    /// Reads the source: the name of a column or, if there is none of this name, an expression, whose names are looked
    /// up in `search_path`. An error unless it is a text that can be indexed.
    pub fn read(table: &Target, source: &str, search_path: &CStr, options: Option<RawJsonb<'_>>) -> Result<Self> {
        let relation = table.open();
        let (written, value) = match Column::find(&relation, source)? {
            Some(column) => {
                // An index cannot have a virtual generated column. A query that reads it has its expression.
                let is_virtual = column.is_generated && !column.is_stored;
                let value = if is_virtual { column.generation(&relation) } else { column.as_variable() };
                (quote_identifier(source), value)
            }
            None => {
                let parse = || {
                    set_locally(c"search_path", search_path);
                    parse_index_key(&relation, source, SOURCE)
                };
                (source.to_owned(), Some(with_settings(parse)?))
            }
        };
        let text = value.and_then(|value| value.implicitly_coerced_to(pg_sys::TEXTOID));
        let Some(text) = text else {
            let type_name = value.map(|value| type_name(value.value_type())).transpose()?.unwrap_or_default();
            let message = format!("source \"{source}\" is of type {type_name}, not text");
            return Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message).set_hint(
                "Write a cast to text. For fingerprints (bigint, bit(64)), text[] and tsvector, call simhash_attach.",
            ));
        };
        check(&relation, text)?;
        let sql = repeatable_sql(&relation, text)?;
        Ok(Self { written, sql, options: WrittenOptions::read(options)? })
    }

    /// The text of a table of the family, as [`Index::all`](postgres::catalog::index::Index::all) reads it.
    pub fn in_table(&self, table: &Relation) -> Result<Expression> {
        Ok(parse_index_key(table, &self.sql, SOURCE)?.with_folded_constants())
    }
}

/// Refuses what PostgreSQL would refuse only when it creates an index.
fn check(table: &Relation, text: Expression) -> Result<()> {
    if text.is_mutable() {
        let message = "functions in source must be marked IMMUTABLE";
        return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION, message)
            .set_hint("Join columns as in coalesce(a, '') || ' ' || coalesce(b, ''): concat_ws is not immutable."));
    }
    for attnum in text.own_columns() {
        let Some(column) = Column::at(table, attnum) else {
            return Err(not_supported("source must not use system columns or whole rows"));
        };
        check_is_stored(table, &column)?;
    }
    Ok(())
}

/// The text as SQL that means the same until the transaction ends. An error if PostgreSQL parses it as another
/// expression, because it prints no implicit casts, and functions by names that others may have.
fn repeatable_sql(table: &Relation, text: Expression) -> Result<String> {
    lock_names_in(text)?;
    let sql = text.to_sql(table, None)?;
    if parse_index_key(table, &sql, SOURCE)?.equals(text) {
        return Ok(sql);
    }
    Err(not_supported("the expression of the source cannot be repeated")
        .set_detail(sendable(format!("Parsed again, {sql} is another expression.")))
        .set_hint("Write its implicit casts."))
}
