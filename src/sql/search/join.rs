//! Lets the planner see what a join compares. In a semi-join or anti-join, as of EXISTS and NOT EXISTS, PostgreSQL
//! expects a hash join to find a match at once, so that it would prefer one that compares all rows of a tenant with
//! each other to a search for each row.

use std::cell::Cell;

use pgrx::pg_sys;
use pgrx::prelude::*;
use postgres::planner::semi_join::SemiJoin;
use postgres::raised::forward_errors;

use super::condition::is_near_condition;

thread_local! {
    static PREVIOUS_HOOK: Cell<pg_sys::set_join_pathlist_hook_type> = const { Cell::new(None) };
}

/// Sets the hook. Called once, when the library is loaded.
pub fn initialise() {
    // SAFETY: the library is loaded by one thread, and is never unloaded.
    unsafe {
        PREVIOUS_HOOK.set(pg_sys::set_join_pathlist_hook);
        pg_sys::set_join_pathlist_hook = Some(charge_joins);
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn charge_joins(
    root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    outer: *mut pg_sys::RelOptInfo,
    inner: *mut pg_sys::RelOptInfo,
    kind: pg_sys::JoinType::Type,
    extra: *mut pg_sys::JoinPathExtraData,
) {
    // SAFETY: the planner passes what the hook is documented to get.
    unsafe {
        forward_errors(|| {
            if let Some(previous) = PREVIOUS_HOOK.get() {
                pgrx::pg_sys::ffi::pg_guard_ffi_boundary(|| previous(root, relation, outer, inner, kind, extra));
            }
            if let Some(join) = SemiJoin::new(root, relation, outer, inner, kind, extra)
                && join.conditions().into_iter().any(|condition| is_near_condition(condition.expression))
            {
                join.charge_hash_joins();
            }
        });
    }
}
