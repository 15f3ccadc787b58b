//! The nodes of plans that change tables.

use pgrx::pg_sys::{ActivePortal, MemoryContext, ModifyTable, NodeTag, Plan, PlannedStmt, PortalData};

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

/// Whether the running statement may do what `may` tells of a plan. Also true if the client itself has not sent it, or
/// if it is a utility statement other than COPY, such as EXPLAIN. `executor_memory` is the memory context of its
/// executor, or that in which COPY runs.
///
/// # Safety
/// The memory context exists.
pub unsafe fn client_statement_may(executor_memory: MemoryContext, may: impl Fn(&PlannedStmt) -> bool) -> bool {
    // SAFETY: the active portal is null or valid, and so are its statements.
    unsafe {
        // The executor's memory context is a child of the portal's context. The triggers of COPY have the portal's.
        let runs_here =
            |portal: &&PortalData| [executor_memory, (*executor_memory).parent].contains(&portal.portalContext);
        let Some(portal) = ActivePortal.as_ref().filter(runs_here) else { return true };
        nodes(portal.stmts).into_iter().any(|statement: *mut PlannedStmt| match (*statement).utilityStmt.as_ref() {
            Some(utility) => utility.type_ != NodeTag::T_CopyStmt,
            None => may(&*statement),
        })
    }
}
