//! The nodes of plans that change tables.

use pgrx::pg_sys::{ModifyTable, NodeTag, Plan, PlannedStmt};

use super::list::nodes;

/// The ModifyTable nodes of a statement: each is the root of the plan or, for a statement in WITH, of a subplan.
///
/// # Safety
/// The statement is valid. If it has a plan, this lives as long as the result.
pub unsafe fn modify_tables<'a>(statement: &PlannedStmt) -> impl Iterator<Item = &'a ModifyTable> {
    // SAFETY: the caller passes a valid statement. A plan may be null.
    unsafe {
        let plans = nodes::<Plan>(statement.subplans).into_iter().chain([statement.planTree]);
        let modifying = plans.filter(|plan| plan.as_ref().is_some_and(|plan| plan.type_ == NodeTag::T_ModifyTable));
        modifying.map(|plan| &*plan.cast())
    }
}
