//! Expressions of a row before it is stored, as PostgreSQL will compute them.

use pgrx::PgRelation;
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;

use crate::sql::tables::partition_constraint;

/// An expression of a row.
pub struct Computed {
    expression: *mut pg_sys::ExprState,
    context: *mut pg_sys::ExprContext,
}

impl Computed {
    /// # Safety
    /// A valid expression of a table's columns. What is made lives in the current memory context.
    unsafe fn of(expression: *mut pg_sys::Node) -> Self {
        // SAFETY: by the contract.
        unsafe {
            let expression = pg_sys::expression_planner(expression.cast());
            Self {
                expression: pg_sys::ExecInitExpr(expression, std::ptr::null_mut()),
                context: pg_sys::CreateStandaloneExprContext(),
            }
        }
    }

    /// A column as PostgreSQL computes it; None if it is not generated.
    pub fn generated(table: &PgRelation, column: i16) -> Option<Self> {
        // SAFETY: a column of an open table, with the expression that PostgreSQL would compute it by.
        unsafe {
            let is_generated = pg_sys::get_attgenerated(table.oid(), column) != 0;
            is_generated.then(|| Self::of(pg_sys::build_column_default(table.as_ptr(), column.into())))
        }
    }

    /// What the rows of a partition have to fulfil; None if the table is none.
    pub fn partition(table: &PgRelation) -> Option<Self> {
        // SAFETY: the constraint is a list of valid expressions of the table's columns.
        unsafe {
            let constraint = partition_constraint(table);
            (!constraint.is_null()).then(|| Self::of(pg_sys::make_ands_explicit(constraint).cast()))
        }
    }

    /// The expression's value of a row, which is one by value.
    ///
    /// # Safety
    /// The slot holds a row of the table.
    pub unsafe fn value(&self, slot: *mut pg_sys::TupleTableSlot) -> Option<Datum> {
        // SAFETY: by the contract.
        unsafe {
            let result = self.value_in(slot, self.context);
            pg_sys::MemoryContextReset((*self.context).ecxt_per_tuple_memory);
            result
        }
    }

    /// The expression's value of a row, of any type, which lives in the memory of a context for one row.
    ///
    /// # Safety
    /// The slot holds a row of the table.
    pub unsafe fn value_in(
        &self,
        slot: *mut pg_sys::TupleTableSlot,
        context: *mut pg_sys::ExprContext,
    ) -> Option<Datum> {
        let mut is_null = false;
        // SAFETY: by the contract.
        unsafe {
            (*context).ecxt_scantuple = slot;
            let result = pg_sys::ExecEvalExprSwitchContext(self.expression, context, &mut is_null);
            (!is_null).then_some(result)
        }
    }
}
