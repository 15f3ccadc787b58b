//! A lock of one row, as SELECT FOR SHARE takes it.

use pgrx::pg_sys::{self, TransactionId};

use super::catalog::relation::Relation;

/// What became of an attempt to lock a row.
pub enum RowLock {
    /// The row is locked until the transaction ends. No other transaction has changed it, or will.
    Held,
    /// Another transaction has replaced or deleted the row, and has committed.
    Gone,
    /// The lock must wait for another transaction, which has changed the row or locked it.
    Blocked(Option<Blocker>),
    /// This command has changed the row itself.
    Own,
}

/// A transaction, not this one, that was in progress.
pub struct Blocker(TransactionId);

impl Blocker {
    /// Waits until the transaction has ended. The wait can be cancelled; a deadlock raises a PostgreSQL error.
    pub fn wait(&self) {
        // SAFETY: a transaction is running, as in every function call. Without an operation, no context is added to
        // errors, and the table and the place may be null.
        unsafe {
            let (table, place) = (std::ptr::null_mut(), std::ptr::null_mut());
            pg_sys::XactLockTableWait(self.0, table, place, pg_sys::XLTW_Oper::XLTW_None);
        }
    }
}

/// Tries to lock a row FOR SHARE, and does not wait.
///
/// # Safety
/// The table is open, in RowShareLock or a stronger mode. An active snapshot sees the row, so that it is not removed.
pub unsafe fn lock_row(table: &Relation, row: pg_sys::HeapTuple) -> RowLock {
    // SAFETY: the caller passes a row of the table. heap_lock_tuple reads only its place, and pins the row's page, which
    // stays pinned until `blocker` has read the row's header.
    unsafe {
        let mut current = pg_sys::HeapTupleData { t_self: (*row).t_self, ..Default::default() };
        let mut buffer = pg_sys::InvalidBuffer as pg_sys::Buffer;
        let result = pg_sys::heap_lock_tuple(
            table.as_ptr(),
            &mut current,
            pg_sys::GetCurrentCommandId(true),
            pg_sys::LockTupleMode::LockTupleShare,
            pg_sys::LockWaitPolicy::LockWaitSkip,
            false, // No later version: a row that another transaction has changed is not locked.
            &mut buffer,
            &mut pg_sys::TM_FailureData::default(),
        );
        let lock = match result {
            pg_sys::TM_Result::TM_Ok => RowLock::Held,
            pg_sys::TM_Result::TM_Updated | pg_sys::TM_Result::TM_Deleted => RowLock::Gone,
            pg_sys::TM_Result::TM_WouldBlock => RowLock::Blocked(blocker(buffer, current.t_data)),
            _ => RowLock::Own,
        };
        pg_sys::ReleaseBuffer(buffer);
        lock
    }
}

/// A transaction whose lock on a row conflicts with FOR SHARE; None if it has ended.
///
/// # Safety
/// The row is on this page, which is pinned and not locked.
unsafe fn blocker(buffer: pg_sys::Buffer, row: pg_sys::HeapTupleHeader) -> Option<Blocker> {
    // SAFETY: the caller passes a row on a pinned page. GetMultiXactIdMembers returns an array with as many members as
    // it says, allocated in the current memory context; it is read only if there are any.
    unsafe {
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let flags = u32::from((*row).t_infomask);
        let holder = (*row).t_choice.t_heap.t_xmax;
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);

        let in_progress = |&holder: &TransactionId| {
            pg_sys::TransactionIdIsInProgress(holder) && !pg_sys::TransactionIdIsCurrentTransactionId(holder)
        };
        if flags & pg_sys::HEAP_XMAX_INVALID != 0 {
            return None;
        }
        if flags & pg_sys::HEAP_XMAX_IS_MULTI == 0 {
            return Some(holder).filter(in_progress).map(Blocker);
        }
        let only_locks = flags & pg_sys::HEAP_XMAX_LOCK_ONLY != 0;
        let mut members = std::ptr::null_mut();
        let number = pg_sys::GetMultiXactIdMembers(holder, &mut members, false, only_locks);
        (0..usize::try_from(number).unwrap_or(0))
            .map(|index| *members.add(index))
            .filter(|member| member.status >= pg_sys::MultiXactStatus::MultiXactStatusForNoKeyUpdate)
            .map(|member| member.xid)
            .find(in_progress)
            .map(Blocker)
    }
}
