//! The scope of a search: conditions on the columns that come before the block in an index.

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, CustomScanState, Datum};
use postgres::expression::Expression;
use postgres::heap::computed::evaluate;
use postgres::memory::small_context;

use super::plan::ScopeKey;

/// The conditions that define a scope. Their values are evaluated when a search begins.
pub struct ScopeConditions {
    conditions: Vec<ScopeCondition>,
    /// Holds the values of the running search.
    memory: pg_sys::MemoryContext,
}

struct ScopeCondition {
    value: *mut pg_sys::ExprState,
    by_value: bool,
    length: i16,
    key: pg_sys::ScanKeyData,
}

impl ScopeConditions {
    /// # Safety
    /// The expressions belong to the plan of `parent`, which is being initialised. There is one for each key.
    pub unsafe fn new(keys: &[ScopeKey], values: &[Expression], parent: *mut pg_sys::PlanState) -> Self {
        let strategy = pg_sys::BTEqualStrategyNumber as pg_sys::StrategyNumber;
        let condition = |(attnum, (key, value)): (i16, (&ScopeKey, &Expression))| {
            let (mut length, mut by_value) = (0, false);
            let mut scan_key = pg_sys::ScanKeyData::default();
            // SAFETY: the caller passes expressions of the plan. The function is the equality of the index's operator
            // family for the two types.
            unsafe {
                pg_sys::get_typlenbyval(value.value_type(), &mut length, &mut by_value);
                let ScopeKey { function, value_type, collation } = *key;
                let no_argument = Datum::null();
                pg_sys::ScanKeyEntryInitialize(
                    &mut scan_key,
                    0,
                    attnum,
                    strategy,
                    value_type,
                    collation,
                    function,
                    no_argument,
                );
                let value = pg_sys::ExecInitExpr(value.as_ptr().cast(), parent);
                ScopeCondition { value, by_value, length, key: scan_key }
            }
        };
        let conditions = (1..).zip(keys.iter().zip(values)).map(condition).collect();
        // SAFETY: the new context is deleted with the current one, the query's.
        let memory = unsafe { small_context(pg_sys::CurrentMemoryContext, c"simhash scope") };
        Self { conditions, memory }
    }

    /// The scan keys of a new search; None if a value is NULL. They are valid until the next call.
    ///
    /// # Safety
    /// The node is running, and the expressions belong to it.
    pub unsafe fn keys(&mut self, node: &CustomScanState) -> Option<Vec<pg_sys::ScanKeyData>> {
        // SAFETY: the values of the last search are no longer used. The expressions belong to the node; their values
        // are copied.
        unsafe {
            pg_sys::MemoryContextReset(self.memory);
            let key = |condition: &mut ScopeCondition| {
                let value = evaluate(condition.value, node.ss.ps.ps_ExprContext)?;
                condition.key.sk_argument = pg_sys::datumCopy(value, condition.by_value, condition.length.into());
                Some(condition.key)
            };
            let conditions = self.conditions.iter_mut();
            PgMemoryContexts::For(self.memory).switch_to(|_| conditions.map(key).collect())
        }
    }
}
