//! The expressions that a guard evaluates on the rows of a table: its source, and its conditions.
//!
//! On stored rows, it runs only immutable code that PostgreSQL ships, arithmetic of times, and functions of the
//! extension ([`foreign_code`]): other code could reveal hidden rows to the writer, and a name may later mean other
//! code. On the new row, it also computes generated columns as the writer, with any code, like a CHECK constraint.

use std::ffi::CStr;

use pgrx::pg_sys::Oid;
use postgres::built_in::{DependsOn, foreign_code};
use postgres::catalog::column::replace_generated_columns;
use postgres::catalog::relation::Relation;
use postgres::error::{ErrorReport, Explain, Result, not_supported};
use postgres::expression::{Expression, StoredExpression};
use postgres::heap::row::Row;

use super::arguments::Arguments;
use super::condition::{AMONG, UNLESS, parse_condition};
use super::criterion::GuardCriterion;
use super::source::{SOURCE, as_text, not_a_text, parse_source, with_plain_columns};
use crate::sql::functions::ExtensionSchema;

/// The expressions of a guard for one table.
pub struct GuardExpressions {
    pub source: GuardExpression,
    /// The condition under which existing rows count; None if all rows count.
    pub among: Option<GuardExpression>,
    /// The condition under which a new row is stored unchecked.
    pub unless: Option<GuardExpression>,
}

impl GuardExpressions {
    /// Reads the source and the conditions from a guard's arguments. Also returns the source as it was parsed, with its
    /// generated columns. An error if a guard must not evaluate one of the expressions.
    pub fn read(table: &Relation, arguments: &Arguments, schema: ExtensionSchema) -> Result<(Self, Expression)> {
        let mut source = parse_source(table, &arguments.source)?;
        if let GuardCriterion::Texts(_) = arguments.criterion {
            source = as_text(source).ok_or_else(|| not_a_text(table))?;
        }
        let new = |argument, expression| GuardExpression::new(table, argument, expression, schema);
        let among = arguments.among.as_ref().map(|sql| {
            new(AMONG, parse_condition(table, sql, AMONG)?)?.checked_for_stored_rows(
                "Put the condition into a stored column, which may be generated: among => 'live'.",
            )
        });
        let unless = arguments.unless.as_ref().map(|sql| new(UNLESS, parse_unless(table, sql, schema)?));
        let expressions = Self {
            source: new(SOURCE, source)?.checked_for_stored_rows(
                "Put the text into a stored generated column, and index and guard that column.",
            )?,
            among: among.transpose()?,
            unless: unless.transpose()?,
        };
        Ok((expressions, source))
    }

    /// The relations of the composite types whose fields the expressions read.
    pub fn composite_types(&self) -> Vec<Oid> {
        let Self { source, among, unless } = self;
        [Some(source), among.as_ref(), unless.as_ref()]
            .into_iter()
            .flatten()
            .flat_map(|expression| expression.composite_types.iter().copied())
            .collect()
    }
}

/// Parses the condition `unless`, which may also depend on the writer. An error if it runs code that [`foreign_code`]
/// refuses for such conditions.
fn parse_unless(table: &Relation, sql: &str, schema: ExtensionSchema) -> Result<Expression> {
    const DETAIL: &str = "It may run immutable functions of PostgreSQL's own that no setting affects, functions of \
        times, current_user, pg_has_role and current_setting.";
    let unless = parse_condition(table, sql, UNLESS)?;
    let Some(code) = foreign_code(unless, DependsOn::RowAndWriter, |function| schema.owns(function))? else {
        return Ok(unless);
    };
    Err(not_supported(format!("cannot use {code} in unless"))
        .with_detail(DETAIL)
        .with_hint("Put the condition into a stored column, which may be generated: unless => 'confirmed'."))
}

/// An expression of a guard, on the rows of one table.
pub struct GuardExpression {
    pub table: Oid,
    /// The argument of the guard that the expression comes from: source, among or unless.
    pub argument: &'static CStr,
    /// For a new row: generated columns are replaced by their expressions, because PostgreSQL computes the columns only
    /// after the trigger.
    pub for_new_row: StoredExpression,
    /// For a stored row: virtual generated columns are replaced.
    pub for_stored_row: StoredExpression,
    /// Whether the expression for a stored row is a column alone.
    pub is_column: bool,
    /// The columns that the value for a new row is made from.
    pub new_row_columns: Vec<i16>,
    /// The columns from which the value for a stored row is read.
    pub stored_row_columns: Vec<i16>,
    /// The relations of the composite types whose fields the expression reads.
    composite_types: Vec<Oid>,
    /// The code in the expression that a guard must not run on stored rows, for a message; None if there is none.
    foreign_code: Option<String>,
}

impl GuardExpression {
    fn new(table: &Relation, argument: &'static CStr, expression: Expression, schema: ExtensionSchema) -> Result<Self> {
        let for_new_row = with_plain_columns(table, expression);
        let for_stored_row = replace_generated_columns(table, expression, |column| !column.is_stored);
        Ok(Self {
            table: table.oid(),
            argument,
            is_column: for_stored_row.as_own_column().is_some(),
            new_row_columns: for_new_row.own_columns(),
            stored_row_columns: for_stored_row.own_columns(),
            composite_types: expression.parts().into_iter().filter_map(Expression::composite).collect(),
            foreign_code: foreign_code(for_stored_row, DependsOn::Row, |function| schema.owns(function))?,
            for_new_row: StoredExpression::new(for_new_row),
            for_stored_row: StoredExpression::new(for_stored_row),
        })
    }

    /// Whether the guard may evaluate the expression on stored rows.
    pub fn is_for_stored_rows(&self) -> bool {
        self.foreign_code.is_none()
    }

    /// Whether a value that the expression reads of this stored row is stored out of line.
    pub fn reads_out_of_line(&self, row: Row<'_>) -> bool {
        self.stored_row_columns.iter().any(|&column| row.is_out_of_line(column))
    }

    /// An error with this hint unless the guard may evaluate the expression on stored rows.
    fn checked_for_stored_rows(self, hint: &'static str) -> Result<Self> {
        match &self.foreign_code {
            Some(code) => Err(refused_code(code, &self.argument.to_string_lossy(), hint)),
            None => Ok(self),
        }
    }
}

/// The error for a type whose values a guard must not compare on stored rows, because foreign code would compare them.
pub fn refused_type(type_name: &str, argument: &str) -> ErrorReport {
    refused_code(&format!("type {type_name}"), argument, "Name a column of a type of PostgreSQL's own, or of an enum.")
}

fn refused_code(code: &str, argument: &str, hint: &'static str) -> ErrorReport {
    const DETAIL: &str = "On stored rows, a guard runs only immutable functions of PostgreSQL's own that no setting \
        affects, and functions of times.";
    not_supported(format!("cannot use {code} in {argument}")).with_detail(DETAIL).with_hint(hint)
}
