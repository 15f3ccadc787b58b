//! The btrees that a call of `simhash_index` asks for: on the bands of a text, a column or an expression of columns.
//!
//! ```sql
//! CREATE INDEX ON news (simhash_band(body, 0), simhash_size(body), simhash(body));
//! ```

use std::ffi::CStr;

use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::argument_length::check_argument_length;
use postgres::catalog::column::Column;
use postgres::catalog::index::Index;
use postgres::catalog::names::lock_names_in;
use postgres::catalog::relation::Relation;
use postgres::catalog::target::Target;
use postgres::catalog::types::type_name;
use postgres::error::{ErrorReport, Explain, Result, not_supported, user_error};
use postgres::expression::Expression;
use postgres::json::RawJsonb;
use postgres::row_expression::{Argument, parse_index_key};
use postgres::settings::{restoring_settings, set_locally};
use simhash::fingerprint::bands::DEFAULT_BANDS;

use super::index_steps::WantedIndexes;
use crate::sql::fingerprint::options::merged;
use crate::sql::functions::{BAND_ARGUMENTS, ExtensionSchema, TEXT_AND_OPTIONS};
use crate::sql::indexed::fingerprint_column::check_is_stored;
use crate::sql::indexed::scope::Scope;
use crate::sql::indexed::source::{WrittenOptions, shown_literal};
use crate::sql::lookup::band_indexes::BandIndex;

const SOURCE: Argument<'static> = Argument { name: c"source", context: c"argument \"source\"" };

/// The indexes on the first bands of a text, within a scope.
pub struct BandIndexes<'a> {
    pub schema: ExtensionSchema,
    pub text: SourceText,
    pub band_count: usize,
    pub scope: &'a Scope,
}

impl WantedIndexes for BandIndexes<'_> {
    fn count(&self) -> usize {
        self.band_count
    }

    fn find_existing(&self, table: &Target) -> Result<Vec<(usize, Index)>> {
        let relation = table.open();
        let Some(scope) = self.scope.attnums(&relation)? else { return Ok(Vec::new()) };
        let text = self.text.in_table(&relation)?;
        let indexes = Index::all_and_dying(&relation)?.filter_map(|index| {
            let band_index = BandIndex::read(&relation, &index)?;
            let is_wanted = band_index.call.schema == self.schema
                && band_index.call.is_of(text, &self.text.options.parsed)
                && band_index.call.band < self.band_count
                && band_index.scope == scope
                && band_index.has_default_equality
                && !band_index.is_partial;
            is_wanted.then_some((band_index.call.band, index))
        });
        Ok(indexes.collect())
    }

    fn key_name(&self, number: usize) -> String {
        format!("simhash_band{number}")
    }

    fn keys_sql(&self, number: usize) -> Result<Vec<String>> {
        let (text, options) = (&self.text.sql, self.text.options.sql());
        let band_function = self.schema.locked_name(c"simhash_band", BAND_ARGUMENTS)?;
        let size_function = self.schema.locked_name(c"simhash_size", TEXT_AND_OPTIONS)?;
        let fingerprint_function = self.schema.locked_name(c"simhash", TEXT_AND_OPTIONS)?;
        Ok(vec![
            format!("{band_function}({text}, {number}{options})"),
            format!("{size_function}({text}{options})"),
            format!("{fingerprint_function}({text}{options})"),
        ])
    }

    fn scope(&self) -> &Scope {
        self.scope
    }
}

impl BandIndexes<'_> {
    /// A condition that the indexes serve, for users.
    pub fn condition_sql(&self) -> Result<String> {
        let bands = self.band_count;
        let criterion_of_bands =
            if bands < DEFAULT_BANDS { format!(r#"{{"bands": {bands}}}"#) } else { "{}".to_owned() };
        let criterion = match merged(&criterion_of_bands, self.text.options.json.as_deref().unwrap_or("{}"))? {
            empty if empty == "{}" => String::new(),
            criterion => format!(", {}", shown_literal(&criterion)),
        };
        Ok(format!("{}simhash_near({}, $1{criterion})", self.scope.condition_sql(), self.text.user_sql))
    }
}

/// The text to index.
pub struct SourceText {
    /// The text as a user writes it in a query.
    pub user_sql: String,
    /// The text as SQL in which all names outside pg_catalog are qualified.
    pub sql: String,
    pub options: WrittenOptions,
}

impl SourceText {
    /// Reads the source: the name of a column or, if there is none of this name, an expression, whose names are looked
    /// up in `search_path`. An error unless it is a text that can be indexed.
    pub fn read(table: &Target, source: &str, search_path: &CStr, options: Option<RawJsonb<'_>>) -> Result<Self> {
        check_argument_length(source.as_bytes(), "source")?;
        let relation = table.open();
        let (user_sql, value) = match Column::find(&relation, source)? {
            Some(column) => {
                // An index cannot have a virtual generated column. A query that reads it has its expression.
                let is_virtual = column.is_generated && !column.is_stored;
                let value = if is_virtual { column.generation(&relation) } else { column.as_variable() };
                (quote_identifier(source), value)
            }
            None => {
                // The line break ends a comment that the user may have written at the end.
                let line_break = if source.contains("--") { "\n" } else { "" };
                (format!("{source}{line_break}"), Some(parse_in(search_path, &relation, source)?))
            }
        };
        let text = value.and_then(|value| value.implicitly_coerced_to(pg_sys::TEXTOID));
        let Some(text) = text else {
            let type_name = value.map(|value| type_name(value.value_type())).transpose()?.unwrap_or_default();
            let message = format!("source \"{source}\" is of type {type_name}, not text");
            return Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message).with_hint(
                "Write a cast to text. For fingerprints (bigint, bit(64)), text[] and tsvector, call simhash_attach.",
            ));
        };
        check_indexable(&relation, text)?;
        let sql = repeatable_sql(&relation, text)?;
        Ok(Self { user_sql, sql, options: WrittenOptions::read(options)? })
    }

    /// An error if the SQL is another expression in `search_path`, where a user runs commands that have it.
    pub fn check_repeatable_in(&self, search_path: &CStr, table: &Target) -> Result<()> {
        let relation = table.open();
        if parse_in(search_path, &relation, &self.sql)?.equals(parse_index_key(&relation, &self.sql, SOURCE)?) {
            return Ok(());
        }
        Err(not_repeatable(&self.sql).with_hint("Put pg_catalog first in search_path, here and for the commands."))
    }

    /// The text of a table of the family, as [`Index::all`](postgres::catalog::index::Index::all) reads it.
    pub fn in_table(&self, table: &Relation) -> Result<Expression> {
        Ok(parse_index_key(table, &self.sql, SOURCE)?.with_folded_constants())
    }
}

/// Refuses what PostgreSQL would refuse only when it creates an index.
fn check_indexable(table: &Relation, text: Expression) -> Result<()> {
    if text.is_mutable() {
        let message = "functions in source must be marked IMMUTABLE";
        return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION, message)
            .with_hint("Join columns as in coalesce(a, '') || ' ' || coalesce(b, ''): concat_ws is not immutable."));
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
    Err(not_repeatable(&sql).with_hint("Write its implicit casts."))
}

fn not_repeatable(sql: &str) -> ErrorReport {
    not_supported("the expression of the source cannot be repeated")
        .with_detail(format!("Parsed again, {sql} is another expression."))
}

/// Parses a source, whose names are looked up in `search_path`.
fn parse_in(search_path: &CStr, table: &Relation, source: &str) -> Result<Expression> {
    restoring_settings(|| {
        set_locally(c"search_path", search_path);
        parse_index_key(table, source, SOURCE)
    })
}
