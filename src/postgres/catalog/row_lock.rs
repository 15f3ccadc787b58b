//! Locks single rows, as SELECT FOR SHARE does, and finds the transactions that hold such locks.

use pgrx::pg_sys::{self, TransactionId};

use super::relation::{ROW_SHARE, Relation};

/// The outcome of [`lock_row`].
pub enum RowLock {
    /// The row is locked until the (sub)transaction ends. No other transaction has changed it, or can change it.
    Held,
    /// Another transaction has replaced or deleted the row, and has committed.
    Gone,
    /// This other transaction in progress has changed or locked the row.
    Blocked(TransactionId),
    /// Other transactions wait for the row, which has this tid.
    Queued(pg_sys::ItemPointerData),
    /// This command has changed the row itself.
    Own,
}

impl RowLock {
    /// If other transactions block the lock, waits for their end, or until it is this transaction's turn. The wait can
    /// be cancelled; a deadlock raises a PostgreSQL error. `table` is the row's table.
    pub fn wait(self, table: &Relation) {
        let (no_table, no_tid) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: a transaction is running, as in every function call, and the table is open. Without an operation, no
        // context is added to errors, and the arguments for it may be null.
        unsafe {
            match self {
                Self::Blocked(id) => pg_sys::XactLockTableWait(id, no_table, no_tid, pg_sys::XLTW_Oper::XLTW_None),
                // heap_lock_tuple too takes this lock before it waits, so that waiting transactions take turns.
                Self::Queued(mut tid) => {
                    pg_sys::LockTuple(table.as_ptr(), &mut tid, ROW_SHARE);
                    pg_sys::UnlockTuple(table.as_ptr(), &mut tid, ROW_SHARE);
                }
                Self::Held | Self::Gone | Self::Own => {}
            }
        }
    }
}

/// Tries to lock a row FOR SHARE, without waiting.
///
/// # Safety
/// The table is open, in RowShareLock or a stronger mode. An active snapshot sees the row, so that it is not removed.
pub unsafe fn lock_row(table: &Relation, row: pg_sys::HeapTuple) -> RowLock {
    // SAFETY: heap_lock_tuple reads only the row's tid, and pins its page, which is released only at the end.
    unsafe {
        let mut current = pg_sys::HeapTupleData { t_self: (*row).t_self, ..Default::default() };
        let mut buffer = pg_sys::InvalidBuffer as pg_sys::Buffer;
        let result = pg_sys::heap_lock_tuple(
            table.as_ptr(),
            &mut current,
            pg_sys::GetCurrentCommandId(true),
            pg_sys::LockTupleMode::LockTupleShare,
            pg_sys::LockWaitPolicy::LockWaitSkip,
            false, // Do not lock a later version of a row that another transaction has changed.
            &mut buffer,
            &mut pg_sys::TM_FailureData::default(),
        );
        let outcome = match result {
            pg_sys::TM_Result::TM_Ok => RowLock::Held,
            pg_sys::TM_Result::TM_Updated | pg_sys::TM_Result::TM_Deleted => RowLock::Gone,
            pg_sys::TM_Result::TM_WouldBlock => {
                // FOR SHARE conflicts with this mode and stronger ones.
                let conflicting = pg_sys::MultiXactStatus::MultiXactStatusForNoKeyUpdate;
                conflicting_transaction(buffer, current.t_data, conflicting)
                    .map_or(RowLock::Queued(current.t_self), RowLock::Blocked)
            }
            _ => RowLock::Own,
        };
        pg_sys::ReleaseBuffer(buffer);
        outcome
    }
}

/// Another transaction in progress that has locked a row in this mode or a stronger one, updated it or deleted it.
///
/// # Safety
/// The row is on this page, which is pinned and not locked.
pub unsafe fn conflicting_transaction(
    buffer: pg_sys::Buffer,
    row: pg_sys::HeapTupleHeader,
    weakest: pg_sys::MultiXactStatus::Type,
) -> Option<TransactionId> {
    #[cfg(feature = "pg19")]
    use pg_sys::BufferLockMode::{BUFFER_LOCK_SHARE, BUFFER_LOCK_UNLOCK};
    #[cfg(not(feature = "pg19"))]
    use pg_sys::{BUFFER_LOCK_SHARE, BUFFER_LOCK_UNLOCK};
    // SAFETY: reading the row's header raises no error while its page is locked.
    let (infomask, xmax) = unsafe {
        pg_sys::LockBuffer(buffer, BUFFER_LOCK_SHARE as _);
        let infomask_and_xmax = (u32::from((*row).t_infomask), (*row).t_choice.t_heap.t_xmax);
        pg_sys::LockBuffer(buffer, BUFFER_LOCK_UNLOCK as _);
        infomask_and_xmax
    };
    let conflicts = |member: &pg_sys::MultiXactMember| {
        // SAFETY: any number may be passed as a transaction.
        let is_elsewhere = || unsafe {
            !pg_sys::TransactionIdIsCurrentTransactionId(member.xid) && pg_sys::TransactionIdIsInProgress(member.xid)
        };
        member.status >= weakest && is_elsewhere()
    };
    xmax_members(infomask, xmax).into_iter().find(conflicts).map(|member| member.xid)
}

/// The transactions in `xmax` of a row, each with the mode in which it has locked the row, or changed it.
fn xmax_members(infomask: u32, xmax: TransactionId) -> Vec<pg_sys::MultiXactMember> {
    use pg_sys::MultiXactStatus::{
        MultiXactStatusForKeyShare, MultiXactStatusForNoKeyUpdate, MultiXactStatusForShare, MultiXactStatusNoKeyUpdate,
    };
    if infomask & pg_sys::HEAP_XMAX_INVALID != 0 {
        return Vec::new();
    }
    if infomask & pg_sys::HEAP_XMAX_IS_MULTI != 0 {
        let mut members = std::ptr::null_mut();
        // SAFETY: a wrong number of a multitransaction raises an error. GetMultiXactIdMembers pallocs as many members
        // as it returns: none if all of them have ended and are no longer stored.
        unsafe {
            let count = pg_sys::GetMultiXactIdMembers(xmax, &mut members, false, is_only_locked(infomask));
            let Ok(count @ 1..) = usize::try_from(count) else { return Vec::new() };
            let copy = std::slice::from_raw_parts(members, count).to_vec();
            pg_sys::pfree(members.cast());
            return copy;
        }
    }
    // One transaction. FOR SHARE sets both flags.
    let status = match infomask & (pg_sys::HEAP_XMAX_EXCL_LOCK | pg_sys::HEAP_XMAX_KEYSHR_LOCK) {
        _ if !is_only_locked(infomask) => MultiXactStatusNoKeyUpdate,
        pg_sys::HEAP_XMAX_EXCL_LOCK => MultiXactStatusForNoKeyUpdate,
        pg_sys::HEAP_XMAX_KEYSHR_LOCK => MultiXactStatusForKeyShare,
        _ => MultiXactStatusForShare,
    };
    vec![pg_sys::MultiXactMember { xid: xmax, status }]
}

/// Whether `xmax` of a row has only locked it (PostgreSQL's macro HEAP_XMAX_IS_LOCKED_ONLY).
pub fn is_only_locked(infomask: u32) -> bool {
    let lock_bits = pg_sys::HEAP_XMAX_EXCL_LOCK | pg_sys::HEAP_XMAX_KEYSHR_LOCK;
    infomask & pg_sys::HEAP_XMAX_LOCK_ONLY != 0
        || infomask & (pg_sys::HEAP_XMAX_IS_MULTI | lock_bits) == pg_sys::HEAP_XMAX_EXCL_LOCK
}
