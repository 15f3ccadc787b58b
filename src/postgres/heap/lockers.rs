//! The transactions that hold locks of a row.

use pgrx::pg_sys::{self, TransactionId};

/// The members of a multitransaction; empty if all of them have ended and it is no longer stored.
///
/// # Safety
/// The multitransaction is of a row on a pinned page. `only_locks` is the row's flag HEAP_XMAX_LOCK_ONLY.
pub unsafe fn multixact_members(multixact: TransactionId, only_locks: bool) -> Vec<pg_sys::MultiXactMember> {
    let mut members = std::ptr::null_mut();
    // SAFETY: the caller passes the multitransaction of a row. GetMultiXactIdMembers pallocs an array of as many
    // members as it returns, or none.
    unsafe {
        let count = pg_sys::GetMultiXactIdMembers(multixact, &mut members, false, only_locks);
        let Ok(count @ 1..) = usize::try_from(count) else { return Vec::new() };
        let copy = std::slice::from_raw_parts(members, count).to_vec();
        pg_sys::pfree(members.cast());
        copy
    }
}

/// Whether a transaction of another session is in progress.
pub fn is_in_progress_elsewhere(transaction: TransactionId) -> bool {
    // SAFETY: any number may be passed as a transaction.
    unsafe {
        !pg_sys::TransactionIdIsCurrentTransactionId(transaction) && pg_sys::TransactionIdIsInProgress(transaction)
    }
}
