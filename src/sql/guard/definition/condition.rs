//! The conditions of a guard. Only existing rows for which `among` holds count as near-duplicates. A new row for which
//! `unless` holds is stored unchecked.

use std::ffi::{CStr, CString};

use postgres::catalog::column::Column;
use postgres::catalog::relation::Relation;
use postgres::error::{Result, invalid_parameter};
use postgres::expression::Expression;
use postgres::row_expression::{self, Argument};
use postgres::settings::{search_path, set_locally, with_fixed_settings, with_settings};
use postgres::text::{RawText, from_bytes};

use super::source::context;

pub const AMONG: &CStr = c"among";
pub const UNLESS: &CStr = c"unless";

pub struct AskedCondition {
    /// The name of the argument.
    name: &'static CStr,
    condition: String,
    /// The user's search path, in the server's encoding.
    search_path: CString,
}

impl AskedCondition {
    /// None if there is no condition.
    pub fn new(name: &'static CStr, condition: Option<RawText<'_>>) -> Result<Option<Self>> {
        let new = |condition| Ok(Self { name, condition: from_bytes(condition)?, search_path: search_path() });
        condition.map(new).transpose()
    }

    /// The condition as SQL, with the schemas of the names that are not PostgreSQL's own. An error if it is not a
    /// condition on a row of the table, or if it reads the mark column.
    pub fn to_sql(&self, table: &Relation, mark_column: Option<&str>) -> Result<String> {
        let condition = with_settings(|| {
            set_locally(c"search_path", &self.search_path);
            parse(table, &self.condition, self.name)
        })?;
        let mark = mark_column.map(|mark| Column::find(table, mark)).transpose()?.flatten();
        if let Some(mark) = mark.filter(|mark| condition.own_columns().contains(&mark.attnum)) {
            return Err(invalid_parameter(format!("among must not have the mark column \"{}\"", mark.name()?))
                .set_detail("Rows with a mark do not count, whatever the condition."));
        }
        with_fixed_settings(|| condition.to_sql(table, None))
    }
}

/// Parses a condition in a guard's arguments, as [`AskedCondition::to_sql`] prints it.
pub fn parse_condition(table: &Relation, sql: &str, name: &CStr) -> Result<Expression> {
    with_fixed_settings(|| parse(table, sql, name))
}

fn parse(table: &Relation, sql: &str, name: &CStr) -> Result<Expression> {
    row_expression::parse_condition(table, sql, Argument { name, context: &context(table, name)? })
}
