//! The scope of a search: values of the columns that stand before the block in an index.

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, CustomScanState, Datum};

use super::plan::ScopeKey;
use crate::postgres::expression::Expression;
use crate::postgres::ffi::datum_copy;

/// The conditions on the columns before the block, which are computed at the beginning of each search.
pub struct ScopeValues {
    columns: Vec<Column>,
    /// Holds the values of the running search.
    memory: pg_sys::MemoryContext,
}

struct Column {
    value: *mut pg_sys::ExprState,
    by_value: bool,
    length: i16,
    key: pg_sys::ScanKeyData,
}

impl ScopeValues {
    /// # Safety
    /// The expressions are of the plan of `parent`, which is being initialised, one for each key.
    pub unsafe fn new(keys: &[ScopeKey], values: &[Expression], parent: *mut pg_sys::PlanState) -> Self {
        let strategy = pg_sys::BTEqualStrategyNumber as pg_sys::StrategyNumber;
        let column = |(attnum, (key, value)): (i16, (&ScopeKey, &Expression))| {
            let (mut length, mut by_value) = (0, false);
            let mut scan_key = pg_sys::ScanKeyData::default();
            // SAFETY: the caller passes expressions of the plan. The function is the equality of the index's operator
            // family for the two types.
            unsafe {
                pg_sys::get_typlenbyval(value.value_type(), &mut length, &mut by_value);
                let ScopeKey { function, value_type, collation } = *key;
                let nothing = Datum::null();
                pg_sys::ScanKeyEntryInitialize(
                    &mut scan_key,
                    0,
                    attnum,
                    strategy,
                    value_type,
                    collation,
                    function,
                    nothing,
                );
                let value = pg_sys::ExecInitExpr(value.as_ptr().cast(), parent);
                Column { value, by_value, length, key: scan_key }
            }
        };
        let columns = (1..).zip(keys.iter().zip(values)).map(column).collect();
        // SAFETY: the new context is deleted with the current one, the query's.
        let memory = unsafe {
            pg_sys::AllocSetContextCreateInternal(
                pg_sys::CurrentMemoryContext,
                c"simhash scope".as_ptr(),
                pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
                pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
                pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
            )
        };
        Self { columns, memory }
    }

    /// The scan keys of a search that begins, valid until the next one begins; None if a value is NULL.
    ///
    /// # Safety
    /// The node is running, and the expressions belong to it.
    pub unsafe fn keys(&mut self, node: &CustomScanState) -> Option<Vec<pg_sys::ScanKeyData>> {
        // SAFETY: the last search is over. The caller passes the node of the expressions; their values are copied.
        unsafe {
            pg_sys::MemoryContextReset(self.memory);
            let value = |column: &mut Column| {
                let mut is_null = false;
                let context = node.ss.ps.ps_ExprContext;
                let value = pg_sys::ExecEvalExprSwitchContext(column.value, context, &mut is_null);
                if is_null {
                    return None;
                }
                column.key.sk_argument = datum_copy(value, column.by_value, column.length);
                Some(column.key)
            };
            let columns = self.columns.iter_mut();
            PgMemoryContexts::For(self.memory).switch_to(|_| columns.map(value).collect())
        }
    }
}
