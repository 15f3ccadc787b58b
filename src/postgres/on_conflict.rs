//! Recognises statements that may lock rows by ON CONFLICT.

use pgrx::pg_sys;
use pgrx::pg_sys::OnConflictAction::{ONCONFLICT_NONE, ONCONFLICT_NOTHING};

use super::modify_table::{client_statement_may, modify_tables};

/// Whether the client's statement may lock rows by ON CONFLICT. `executor_memory` is as in [`client_statement_may`].
///
/// # Safety
/// The memory context exists.
pub unsafe fn may_lock_on_conflict(executor_memory: pg_sys::MemoryContext) -> bool {
    let locks_rows =
        |node: &pg_sys::ModifyTable| ![ONCONFLICT_NONE, ONCONFLICT_NOTHING].contains(&node.onConflictAction);
    // SAFETY: `client_statement_may` passes valid statements.
    unsafe { client_statement_may(executor_memory, |statement| modify_tables(statement).any(locks_rows)) }
}
