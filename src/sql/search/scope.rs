//! The scope of a search: conditions on the columns that come before the block or the band in an index.

use pgrx::pg_sys::{self, Datum};
use postgres::expression::Expression;
use postgres::heap::entry_scan::equality_key;

use super::plan::ScopeKey;

/// The conditions that define a scope. Their values are evaluated when a search begins.
pub struct ScopeConditions {
    /// The scan keys without their values, each with the expression of its value.
    keys: Vec<(pg_sys::ScanKeyData, *mut pg_sys::ExprState)>,
    /// Its memory holds the values of the running search.
    context: *mut pg_sys::ExprContext,
}

impl ScopeConditions {
    /// # Safety
    /// The expressions belong to the plan of `parent`, which is being initialised and lives as long as the result. Each
    /// column has one expression.
    pub unsafe fn new(columns: &[ScopeKey], values: &[Expression], parent: *mut pg_sys::PlanState) -> Self {
        let scan_key = |(attnum, (column, value)): (i16, (&ScopeKey, &Expression))| {
            let ScopeKey { function, value_type, collation } = *column;
            // SAFETY: the caller passes expressions of the plan. The function is the equality of the index's operator
            // family for the column's type and `value_type`.
            unsafe {
                let mut key = equality_key(attnum, function, collation, Some(Datum::null()));
                key.sk_subtype = value_type;
                (key, pg_sys::ExecInitExpr(value.as_ptr().cast(), parent))
            }
        };
        // The scope's columns are the first ones of each index.
        let keys = (1..).zip(columns.iter().zip(values)).map(scan_key).collect();
        // SAFETY: the node has the query's state, whose end frees the context.
        Self { keys, context: unsafe { pg_sys::CreateExprContext((*parent).state) } }
    }

    /// The scan keys of a new search; None if a value is NULL. They are valid until the next call. A value may be part
    /// of another node's row, as in PostgreSQL's own index scans: a new row restarts this scan.
    pub fn keys(&mut self) -> Option<Vec<pg_sys::ScanKeyData>> {
        let (mut keys, values): (Vec<_>, Vec<_>) = self.keys.iter().copied().unzip();
        let runtime_key =
            |(scan_key, key_expr)| pg_sys::IndexRuntimeKeyInfo { scan_key, key_expr, key_toastable: false };
        let mut runtime_keys: Vec<_> = keys.iter_mut().map(std::ptr::from_mut).zip(values).map(runtime_key).collect();
        // SAFETY: the values of the last search are no longer used, and the node of the expressions is running.
        unsafe {
            pg_sys::ReScanExprContext(self.context);
            pg_sys::ExecIndexEvalRuntimeKeys(self.context, runtime_keys.as_mut_ptr(), runtime_keys.len() as i32);
        }
        keys.iter().all(|key| key.sk_flags & pg_sys::SK_ISNULL as i32 == 0).then_some(keys)
    }
}
