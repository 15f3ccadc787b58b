//! The conditions of a guard. Only existing rows for which `among` holds count as near-duplicates. A new row for which
//! `unless` holds is stored unchecked.

use std::ffi::CStr;

use postgres::catalog::column::Column;
use postgres::catalog::relation::Relation;
use postgres::error::{Explain, Result, invalid_parameter};
use postgres::expression::Expression;
use postgres::row_expression::{self, Argument};
use postgres::settings::with_fixed_settings;

use super::asked_sql::AskedSql;
use super::source::{error_context, with_plain_columns};

pub const AMONG: &CStr = c"among";
pub const UNLESS: &CStr = c"unless";

/// A condition as SQL, with the schemas of the names that are not PostgreSQL's own; None for an empty one. An error if
/// it is not a condition on a row of the table, or if it reads the mark column, which the guard sets, or a generated
/// column that is made from it.
pub fn condition_sql(
    asked: Option<&AskedSql>,
    table: &Relation,
    argument: &CStr,
    mark_column: Option<&str>,
) -> Result<Option<String>> {
    let Some(asked) = asked.filter(|asked| !asked.sql.is_empty()) else { return Ok(None) };
    let condition = asked.parse(|sql| parse(table, sql, argument))?;
    let mark = mark_column.map(|mark| Column::find(table, mark)).transpose()?.flatten();
    if let Some(mark) = mark.filter(|mark| with_plain_columns(table, condition).own_columns().contains(&mark.attnum)) {
        let (argument, column) = (argument.to_string_lossy(), mark.name()?);
        return Err(invalid_parameter(format!("{argument} must not have the mark column \"{column}\""))
            .with_detail("The guard sets the mark. Rows with a mark do not count, whatever the condition.")
            .with_hint("Name another column, in which the application says what it wants."));
    }
    with_fixed_settings(|| condition.to_sql(table, None)).map(Some)
}

/// Parses a condition in a guard's arguments, as [`condition_sql`] prints it.
pub fn parse_condition(table: &Relation, sql: &str, argument: &CStr) -> Result<Expression> {
    with_fixed_settings(|| parse(table, sql, argument))
}

fn parse(table: &Relation, sql: &str, argument: &CStr) -> Result<Expression> {
    row_expression::parse_condition(table, sql, Argument { name: argument, context: &error_context(table, argument)? })
}
