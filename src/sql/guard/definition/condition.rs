//! The conditions of a guard. Only existing rows for which `among` holds count as near-duplicates. A new row for which
//! `unless` holds is stored unchecked.

use std::collections::BTreeSet;
use std::ffi::CStr;

use pgrx::prelude::*;
use postgres::built_in::other_functions;
use postgres::catalog::column::Column;
use postgres::catalog::relation::Relation;
use postgres::error::{Explain, Result, invalid_parameter, user_error};
use postgres::expression::Expression;
use postgres::row_expression::{self, Argument};
use postgres::settings::with_fixed_settings;

use super::asked_sql::AskedSql;
use super::distribution::user_name_of;
use super::source::{error_context, with_plain_columns};

pub const AMONG: &CStr = c"among";
pub const UNLESS: &CStr = c"unless";

/// The condition `among` as SQL, with the schemas of the names that are not PostgreSQL's own; None for an empty one.
pub fn among_sql(asked: Option<&AskedSql>, table: &Relation, mark_column: Option<&str>) -> Result<Option<String>> {
    let among = parse_asked(asked, table, AMONG, mark_column)?;
    among.map(|among| condition_sql(table, among)).transpose()
}

fn condition_sql(table: &Relation, condition: Expression) -> Result<String> {
    with_fixed_settings(|| condition.to_sql(table, None))
}

/// Parses a condition that a user asks for; None for an empty one. An error if it is not a condition on a row of the
/// table, or if it reads the mark column, which the guard sets, or a generated column that is made from it.
fn parse_asked(
    asked: Option<&AskedSql>,
    table: &Relation,
    name: &CStr,
    mark_column: Option<&str>,
) -> Result<Option<Expression>> {
    let Some(asked) = asked.filter(|asked| !asked.sql.is_empty()) else { return Ok(None) };
    let condition = asked.parse(|sql| parse(table, sql, name))?;
    let mark = mark_column.map(|mark| Column::find(table, mark)).transpose()?.flatten();
    if let Some(mark) = mark.filter(|mark| with_plain_columns(table, condition).own_columns().contains(&mark.attnum)) {
        let (name, mark) = (name.to_string_lossy(), mark.name()?);
        return Err(invalid_parameter(format!("{name} must not have the mark column \"{mark}\""))
            .with_detail("The guard sets the mark. Rows with a mark do not count, whatever the condition.")
            .with_hint("Name another column, in which the application says what it wants."));
    }
    Ok(Some(condition))
}

/// Parses a condition in a guard's arguments, as it was printed.
pub fn parse_condition(table: &Relation, sql: &str, name: &CStr) -> Result<Expression> {
    with_fixed_settings(|| parse(table, sql, name))
}

fn parse(table: &Relation, sql: &str, name: &CStr) -> Result<Expression> {
    row_expression::parse_condition(table, sql, Argument { name, context: &error_context(table, name)? })
}

/// The condition under which a new row is stored unchecked.
#[derive(Clone)]
pub struct Unless {
    pub sql: String,
    /// The functions in it that PostgreSQL does not ship. The SQL names them without the types of their arguments, so
    /// by a new function of the same name it could come to mean that one, which another user has made.
    pub functions: BTreeSet<String>,
}

impl Unless {
    /// The condition that a user asks for; None for an empty one.
    pub fn asked(asked: Option<&AskedSql>, table: &Relation, mark_column: Option<&str>) -> Result<Option<Self>> {
        let unless = parse_asked(asked, table, UNLESS, mark_column)?;
        let read = |unless| Ok(Self { sql: condition_sql(table, unless)?, functions: other_functions(unless)? });
        unless.map(read).transpose()
    }

    /// The condition as an expression. An error if it has come to mean other functions.
    pub fn parse(&self, table: &Relation) -> Result<Expression> {
        let condition = parse_condition(table, &self.sql, UNLESS)?;
        let other = other_functions(condition)?.into_iter().find(|function| !self.functions.contains(function));
        let Some(other) = other else { return Ok(condition) };
        let (table, sql) = (user_name_of(table)?, &self.sql);
        let message = format!("the condition unless of the guard of table \"{table}\" now runs function {other}");
        let functions: Vec<_> = self.functions.iter().map(String::as_str).collect();
        let functions = if functions.is_empty() { "none".to_owned() } else { functions.join(", ") };
        Err(user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .with_detail(format!(
                "The condition is: {sql}. Its functions were, when it was given to simhash_guard: {functions}."
            ))
            .with_hint("Drop that function. If it is the right one, give simhash_guard the condition again."))
    }
}
