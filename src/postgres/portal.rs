//! The statement that the client has sent.

use pgrx::pg_sys;

/// Whether the statement that runs in this memory may lock a row by ON CONFLICT. True for statements in functions and
/// in commands such as EXPLAIN, whose plans are not known.
pub fn may_lock_on_conflict(memory: pg_sys::MemoryContext) -> bool {
    // SAFETY: the memory is valid, as is the active portal, if there is one. Its statements have plans, or are utility
    // statements such as COPY.
    unsafe {
        let Some(portal) = pg_sys::ActivePortal.as_ref() else { return true };
        // The executor's memory context for a statement of the portal is a child of the portal's context. COPY uses the
        // portal's context itself.
        let is_its_statement = [memory, (*memory).parent].contains(&portal.portalContext);
        let locks = |plan: *mut pg_sys::Plan| {
            use pg_sys::OnConflictAction::{ONCONFLICT_NONE, ONCONFLICT_NOTHING};
            !plan.is_null()
                && (*plan).type_ == pg_sys::NodeTag::T_ModifyTable
                && ![ONCONFLICT_NONE, ONCONFLICT_NOTHING]
                    .contains(&(*plan.cast::<pg_sys::ModifyTable>()).onConflictAction)
        };
        let may_lock = |statement: *mut pg_sys::PlannedStmt| match (*statement).utilityStmt.as_ref() {
            Some(utility) => utility.type_ != pg_sys::NodeTag::T_CopyStmt,
            None => elements((*statement).subplans).any(|plan| locks(plan.cast())) || locks((*statement).planTree),
        };
        !is_its_statement || elements(portal.stmts).any(|statement| may_lock(statement.cast()))
    }
}

/// The elements of a list.
///
/// # Safety
/// The list is null or valid, and remains valid.
unsafe fn elements(list: *mut pg_sys::List) -> impl Iterator<Item = *mut std::ffi::c_void> {
    // SAFETY: the caller passes a valid list, and `list_nth` is called for existing elements only.
    let length = unsafe { list.as_ref() }.map_or(0, |list| list.length);
    (0..length).map(move |i| unsafe { pg_sys::list_nth(list, i) })
}
