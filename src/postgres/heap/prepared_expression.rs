//! Expressions that are ready to be evaluated for rows, stored or not.

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum};

use super::row::Row;
use crate::expression::Expression;

/// An expression of a table's columns, ready to be evaluated.
pub struct PreparedExpression {
    state: *mut pg_sys::ExprState,
    context: *mut pg_sys::ExprContext,
}

impl PreparedExpression {
    /// Prepares an expression. The result lives in the current memory context.
    pub fn new(expression: Expression) -> Self {
        // SAFETY: the expression is valid, and refers only to columns of a table.
        unsafe {
            let planned = pg_sys::expression_planner(expression.as_ptr().cast());
            Self {
                state: pg_sys::ExecInitExpr(planned, std::ptr::null_mut()),
                context: pg_sys::CreateStandaloneExprContext(),
            }
        }
    }

    /// Calls `use_value` with the expression's value for a row; None for NULL. The value, and what `use_value` pallocs,
    /// is freed afterwards.
    ///
    /// # Safety
    /// The row is of the expression's table. `use_value` does not evaluate this expression again, which frees the
    /// value.
    pub unsafe fn with_value<T>(&self, row: Row<'_>, use_value: impl FnOnce(Option<Datum>) -> T) -> T {
        // SAFETY: the caller passes a row of the expression's table. The memory is the context's own.
        unsafe {
            (*self.context).ecxt_scantuple = row.slot();
            let value = evaluate(self.state, self.context);
            let memory = (*self.context).ecxt_per_tuple_memory;
            let result = PgMemoryContexts::For(memory).switch_to(|_| use_value(value));
            pg_sys::MemoryContextReset(memory);
            result
        }
    }
}

/// Evaluates an expression for the rows in a context; None for NULL. The value lives in `ecxt_per_tuple_memory`.
///
/// # Safety
/// The expression and the context exist, and the expression was prepared for rows such as those in the context.
pub unsafe fn evaluate(state: *mut pg_sys::ExprState, context: *mut pg_sys::ExprContext) -> Option<Datum> {
    let mut is_null = false;
    let value = unsafe { pg_sys::ExecEvalExprSwitchContext(state, context, &mut is_null) };
    (!is_null).then_some(value)
}
