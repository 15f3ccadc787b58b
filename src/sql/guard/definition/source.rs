//! The source of a guard: what it compares, a text or a fingerprint, as an expression of the columns of each table.
//!
//! An argument of the trigger stores the source as SQL. The guard does not read it from an index, which may be dropped.

use std::ffi::{CStr, CString};

use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::catalog::column::{Column, replace_generated_columns};
use postgres::catalog::relation::Relation;
use postgres::catalog::row_value::RowValue;
use postgres::error::{ErrorReport, Explain, Result, user_error, wrong_state};
use postgres::expression::Expression;
use postgres::row_expression::{Argument, parse_value};
use postgres::server_string::to_server_cstring;
use postgres::settings::with_fixed_settings;

use super::distribution::name_without_shard;
use crate::sql::indexed::fingerprint_column::check_is_stored;

pub const SOURCE: &CStr = c"source";

/// Parses an expression of a table's columns under the current search path, in the current memory context.
pub fn parse_asked(table: &Relation, sql: &str) -> Result<Expression> {
    parse_value(table, sql, Argument { name: SOURCE, context: &error_context(table, SOURCE)? })
}

/// The CONTEXT of an error in an argument of a guard. It names the guard, because the error may reach a writer, who has
/// passed no argument.
pub fn error_context(table: &Relation, argument: &CStr) -> Result<CString> {
    let (argument, table) = (argument.to_string_lossy(), name_without_shard(table)?);
    to_server_cstring(&format!(
        "argument \"{argument}\" of the guard of table \"{table}\"; if the table has changed, call simhash_guard again"
    ))
}

/// Parses the source in a guard's arguments, as [`source_sql`] prints it.
pub fn parse_source(table: &Relation, sql: &str) -> Result<Expression> {
    with_fixed_settings(|| parse_asked(table, sql))
}

/// A source as SQL, with the schemas of the names that are not PostgreSQL's own.
pub fn source_sql(table: &Relation, source: Expression) -> Result<String> {
    with_fixed_settings(|| source.without_relabelling().to_sql(table, None))
}

/// A source as an expression of type `text`; None if its type has no implicit cast to `text`.
pub fn as_text(source: Expression) -> Option<Expression> {
    let implicit = pg_sys::CoercionContext::COERCION_IMPLICIT;
    // SAFETY: look-ups in system caches; each pointer points to one type, as the count says.
    let is_text = unsafe { pg_sys::can_coerce_type(1, &source.value_type(), &pg_sys::TEXTOID, implicit) };
    source.coerced_to(pg_sys::TEXTOID).filter(|_| is_text)
}

/// A source as a fingerprint, in a column or computed by an expression; None if its type is not `bigint`, or a domain
/// of it. An error if the fingerprint is in a virtual generated column.
pub fn as_fingerprint(table: &Relation, source: Expression) -> Result<Option<RowValue>> {
    // SAFETY: getBaseType looks up a system cache; the type of an expression exists.
    if unsafe { pg_sys::getBaseType(source.value_type()) } != pg_sys::INT8OID {
        return Ok(None);
    }
    let Some(column) = source.as_own_column().and_then(|column| Column::at(table, column)) else {
        return Ok(Some(RowValue::Expression(source)));
    };
    check_is_stored(table, &column)?;
    Ok(Some(RowValue::Column(column.attnum)))
}

/// The error for a source that is not a text, under a criterion for texts.
pub fn not_a_text(table: &Relation) -> ErrorReport {
    let name = table.name().unwrap_or_default();
    let message = format!("the source of a guard of table \"{name}\" is not a text");
    user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message)
        .with_detail("By its criterion, the guard compares texts.")
        .with_hint("For fingerprints, give {\"resemblance\": null}.")
}

/// The name of the column, if the SQL of a source, as [`source_sql`] prints it, is a column alone.
pub fn column_name(sql: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || !c.is_ascii() || "_$".contains(c);
    match sql.strip_prefix('"').and_then(|sql| sql.strip_suffix('"')) {
        Some(quoted) => Some(quoted.replace("\"\"", "\"")).filter(|name| quote_identifier(name) == sql),
        None => sql.chars().all(is_plain).then(|| sql.to_owned()),
    }
}

/// The expression with all generated columns replaced by their generation expressions, which give the same value.
pub fn with_plain_columns(table: &Relation, expression: Expression) -> Expression {
    replace_generated_columns(table, expression, |column| column.is_generated)
}

/// Refuses a partition in which the source has another expression: a generated column of the partition may have one.
pub fn check_has_source_of(table: &Relation, partition: &Relation, source: &str) -> Result<()> {
    let plain_sql = |table: &Relation| source_sql(table, with_plain_columns(table, parse_source(table, source)?));
    let (table_sql, partition_sql) = (plain_sql(table)?, plain_sql(partition)?);
    if table_sql == partition_sql {
        return Ok(());
    }
    let (table, partition) = (table.name()?, partition.name()?);
    let message = format!("partition \"{partition}\" computes {source} in another way than table \"{table}\"");
    Err(wrong_state(message)
        .with_detail(format!("In the partition it is {partition_sql}, and in the table {table_sql}."))
        .with_hint("A guard compares the same text in all partitions: give the columns the same expression."))
}
