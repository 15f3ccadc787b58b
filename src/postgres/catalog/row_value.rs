//! Values that each row of a table has: columns and expressions.

use super::column::{Column, generation_of};
use super::relation::Relation;
use crate::expression::Expression;

/// A value that each row of a table has, such as the key of an index.
#[derive(Clone, Copy, Debug)]
pub enum RowValue {
    Column(i16),
    /// An expression of the table's columns, whose column references have varno 1, as in the catalogs.
    Expression(Expression),
}

impl RowValue {
    /// The attnum, if the value is a column.
    pub fn column(self) -> Option<i16> {
        match self {
            Self::Column(attnum) => Some(attnum),
            Self::Expression(_) => None,
        }
    }

    /// The value as an expression; None if it is a column that does not exist.
    pub fn expression(self, table: &Relation) -> Option<Expression> {
        match self {
            Self::Column(attnum) => Column::at(table, attnum)?.as_variable(),
            Self::Expression(expression) => Some(expression),
        }
    }

    /// The expression that computes the value: of a column, its generation expression; None if it is a plain column.
    pub fn computation(self, table: &Relation) -> Option<Expression> {
        match self {
            Self::Column(attnum) => generation_of(table, attnum),
            Self::Expression(expression) => Some(expression),
        }
    }
}
