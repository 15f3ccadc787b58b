//! Recognises statements that may lock rows by ON CONFLICT.

use pgrx::pg_sys;

use super::list::nodes;
use super::modify_table::modify_tables;

/// Whether the client's statement may lock rows by ON CONFLICT. `executor_memory` is the memory context of its
/// executor. Also true if that is not of the active portal, or if the portal's statement has no known plan.
///
/// # Safety
/// The memory context exists.
pub unsafe fn may_lock_on_conflict(executor_memory: pg_sys::MemoryContext) -> bool {
    // SAFETY: the active portal is null or valid. Its statements have plans, or are utility statements such as COPY.
    unsafe {
        // The executor's memory context is a child of the portal's context. COPY uses the portal's context itself.
        let is_own =
            |portal: &&pg_sys::PortalData| [executor_memory, (*executor_memory).parent].contains(&portal.portalContext);
        let Some(portal) = pg_sys::ActivePortal.as_ref().filter(is_own) else { return true };
        let locks_rows = |node: &pg_sys::ModifyTable| {
            use pg_sys::OnConflictAction::{ONCONFLICT_NONE, ONCONFLICT_NOTHING};
            ![ONCONFLICT_NONE, ONCONFLICT_NOTHING].contains(&node.onConflictAction)
        };
        let may_lock = |statement: *mut pg_sys::PlannedStmt| match (*statement).utilityStmt.as_ref() {
            Some(utility) => utility.type_ != pg_sys::NodeTag::T_CopyStmt,
            None => modify_tables(&*statement).any(locks_rows),
        };
        nodes(portal.stmts).into_iter().any(may_lock)
    }
}
