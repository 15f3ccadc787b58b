//! The statement that the client has sent.

use pgrx::pg_sys;

/// Whether the statement that runs in this memory may update a row by ON CONFLICT. True for statements of functions,
/// whose plans are not known.
pub fn may_update_on_conflict(memory: pg_sys::MemoryContext) -> bool {
    // SAFETY: the memory is valid, as is the active portal, if there is one. Its statements have plans, or are utility
    // statements such as COPY.
    unsafe {
        let Some(portal) = pg_sys::ActivePortal.as_ref() else { return true };
        // The executor's memory for a statement of the portal is below the portal's; COPY uses the portal's own.
        let is_its_statement = [memory, (*memory).parent].contains(&portal.portalContext);
        let updates = |plan: *mut pg_sys::Plan| {
            !plan.is_null()
                && (*plan).type_ == pg_sys::NodeTag::T_ModifyTable
                && (*plan.cast::<pg_sys::ModifyTable>()).onConflictAction == pg_sys::OnConflictAction::ONCONFLICT_UPDATE
        };
        let may_update = |statement: *mut pg_sys::PlannedStmt| {
            let with = elements((*statement).subplans).any(|plan| updates(plan.cast()));
            with || updates((*statement).planTree)
        };
        !is_its_statement || elements(portal.stmts).any(|statement| may_update(statement.cast()))
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
