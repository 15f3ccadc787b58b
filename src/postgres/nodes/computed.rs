//! Expressions of a row before it is stored, as PostgreSQL will compute them.

use pgrx::pg_sys::{self, Datum};

use super::expression::Expression;
use crate::postgres::catalog::column::generation_of;
use crate::postgres::catalog::partition::partition_constraint;
use crate::postgres::catalog::relation::Relation;
use crate::postgres::row::Row;

/// An expression of a table's columns, ready to be computed.
pub struct Computed {
    expression: *mut pg_sys::ExprState,
    context: *mut pg_sys::ExprContext,
}

impl Computed {
    /// Lives in the current memory context.
    fn new(expression: Expression) -> Self {
        // SAFETY: a valid expression of a table's columns.
        unsafe {
            let expression = pg_sys::expression_planner(expression.as_ptr().cast());
            Self {
                expression: pg_sys::ExecInitExpr(expression, std::ptr::null_mut()),
                context: pg_sys::CreateStandaloneExprContext(),
            }
        }
    }

    /// A column as PostgreSQL computes it; None if it is not generated.
    pub fn generated(table: &Relation, column: i16) -> Option<Self> {
        generation_of(table, column).map(Self::new)
    }

    /// The condition that a partition's rows fulfil; None if the table is no partition.
    pub fn partition(table: &Relation) -> Option<Self> {
        let constraint = partition_constraint(table);
        if constraint.is_null() {
            return None;
        }
        // SAFETY: a list of valid expressions of the table's columns, or of one.
        unsafe { Expression::new(pg_sys::make_ands_explicit(constraint)) }.map(Self::new)
    }

    /// The expression's value for a row, which is one that is passed by value.
    ///
    /// # Safety
    /// The row is of the table that the expression is of.
    pub unsafe fn value(&self, row: Row<'_>) -> Option<Datum> {
        // SAFETY: by the contract.
        unsafe {
            let result = self.value_in(row, self.context);
            pg_sys::MemoryContextReset((*self.context).ecxt_per_tuple_memory);
            result
        }
    }

    /// The expression's value for a row, of any type, which lives in the context's memory for one row.
    ///
    /// # Safety
    /// The row is of the table that the expression is of.
    pub unsafe fn value_in(&self, row: Row<'_>, context: *mut pg_sys::ExprContext) -> Option<Datum> {
        let mut is_null = false;
        // SAFETY: by the contract.
        unsafe {
            (*context).ecxt_scantuple = row.slot();
            let result = pg_sys::ExecEvalExprSwitchContext(self.expression, context, &mut is_null);
            (!is_null).then_some(result)
        }
    }
}
