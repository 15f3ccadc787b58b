//! Evaluates expressions for a row, stored or not.

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum};

use super::row::Row;
use crate::expression::Expression;

/// An expression of a table's columns, ready to be evaluated.
pub struct Computed {
    expression: *mut pg_sys::ExprState,
    context: *mut pg_sys::ExprContext,
}

impl Computed {
    /// Prepares an expression. The result lives in the current memory context.
    pub fn new(expression: Expression) -> Self {
        // SAFETY: the expression is valid, and refers only to columns of a table.
        unsafe {
            let expression = pg_sys::expression_planner(expression.as_ptr().cast());
            Self {
                expression: pg_sys::ExecInitExpr(expression, std::ptr::null_mut()),
                context: pg_sys::CreateStandaloneExprContext(),
            }
        }
    }

    /// Calls `use_value`, in memory that is freed afterwards, with the expression's value for a row; None for NULL.
    ///
    /// # Safety
    /// The row is of the expression's table. `use_value` does not evaluate this expression again,
    /// which would free the value.
    pub unsafe fn with_value<T>(&self, row: Row<'_>, use_value: impl FnOnce(Option<Datum>) -> T) -> T {
        // SAFETY: the caller passes a row of the expression's table. The memory is the context's own.
        unsafe {
            (*self.context).ecxt_scantuple = row.slot();
            let value = evaluate(self.expression, self.context);
            let memory = (*self.context).ecxt_per_tuple_memory;
            let result = PgMemoryContexts::For(memory).switch_to(|_| use_value(value));
            pg_sys::MemoryContextReset(memory);
            result
        }
    }
}

/// The value of an expression in its context; None for NULL. It lives in the context's memory for one row.
///
/// # Safety
/// The expression and the context exist, and the expression was prepared for rows such as those in the context.
pub unsafe fn evaluate(expression: *mut pg_sys::ExprState, context: *mut pg_sys::ExprContext) -> Option<Datum> {
    let mut is_null = false;
    let value = unsafe { pg_sys::ExecEvalExprSwitchContext(expression, context, &mut is_null) };
    (!is_null).then_some(value)
}
