//! Whether the running statement may lock rows by ON CONFLICT.

use pgrx::pg_sys;

use super::list::nodes;

/// Whether the client's statement, to whose executor `memory` belongs, may lock a row by ON CONFLICT. Also true if
/// `memory` does not belong to the active portal, or if the portal's statement has no known plan.
///
/// # Safety
/// The memory context exists.
pub unsafe fn may_lock_on_conflict(memory: pg_sys::MemoryContext) -> bool {
    // SAFETY: the active portal is null or valid. Its statements have plans, or are utility statements such as COPY.
    unsafe {
        // The executor's memory context is a child of the portal's context. COPY uses the portal's context itself.
        let runs_here = |portal: &&pg_sys::PortalData| [memory, (*memory).parent].contains(&portal.portalContext);
        let Some(portal) = pg_sys::ActivePortal.as_ref().filter(runs_here) else { return true };
        let locks = |plan: *mut pg_sys::Plan| {
            use pg_sys::OnConflictAction::{ONCONFLICT_NONE, ONCONFLICT_NOTHING};
            !plan.is_null()
                && (*plan).type_ == pg_sys::NodeTag::T_ModifyTable
                && ![ONCONFLICT_NONE, ONCONFLICT_NOTHING]
                    .contains(&(*plan.cast::<pg_sys::ModifyTable>()).onConflictAction)
        };
        let may_lock = |statement: *mut pg_sys::PlannedStmt| match (*statement).utilityStmt.as_ref() {
            Some(utility) => utility.type_ != pg_sys::NodeTag::T_CopyStmt,
            None => nodes((*statement).subplans).into_iter().any(locks) || locks((*statement).planTree),
        };
        nodes(portal.stmts).into_iter().any(may_lock)
    }
}
