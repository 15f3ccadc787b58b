//! Locks of single rows, as SELECT FOR SHARE takes them, and the transactions that hold such locks.

use pgrx::pg_sys::{self, TransactionId};

use super::relation::Relation;
use crate::ffi::read_page;

pub enum RowLock {
    /// The row is locked until the (sub)transaction ends. No other transaction has changed it, or can change it.
    Held,
    /// Another transaction has replaced or deleted the row, and has committed.
    Gone,
    /// The lock must wait for another transaction, which has changed or locked the row, or waits for the row.
    Blocked(Blocker),
    /// This command has changed the row itself.
    Own,
}

pub enum Blocker {
    /// This other transaction, which was in progress.
    Transaction(TransactionId),
    /// The transactions that wait for the row, which has this tid.
    Queue(pg_sys::ItemPointerData),
}

impl Blocker {
    /// Waits until the transaction has ended, or until it is this transaction's turn. The wait can be cancelled; a
    /// deadlock raises a PostgreSQL error. `table` is the table of the row.
    pub fn wait(self, table: &Relation) {
        // SAFETY: a transaction is running, as in every function call, and the table is open. Without an operation, no
        // context is added to errors, and the arguments for it may be null.
        unsafe {
            match self {
                Self::Transaction(id) => {
                    let (no_table, no_tid) = (std::ptr::null_mut(), std::ptr::null_mut());
                    pg_sys::XactLockTableWait(id, no_table, no_tid, pg_sys::XLTW_Oper::XLTW_None);
                }
                // heap_lock_tuple takes this lock before it waits, so that waiting transactions take turns.
                Self::Queue(mut tid) => {
                    let lock = pg_sys::RowShareLock as pg_sys::LOCKMODE;
                    pg_sys::LockTuple(table.as_ptr(), &mut tid, lock);
                    pg_sys::UnlockTuple(table.as_ptr(), &mut tid, lock);
                }
            }
        }
    }
}

/// Tries to lock a row FOR SHARE, and does not wait.
///
/// # Safety
/// The table is open, in RowShareLock or a stronger mode. An active snapshot sees the row, so that it is not removed.
pub unsafe fn lock_row(table: &Relation, row: pg_sys::HeapTuple) -> RowLock {
    // SAFETY: the caller passes a row of the table. heap_lock_tuple reads only its tid, and pins the row's page, which
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
            false, // Do not lock a later version of a row that another transaction has changed.
            &mut buffer,
            &mut pg_sys::TM_FailureData::default(),
        );
        let lock = match result {
            pg_sys::TM_Result::TM_Ok => RowLock::Held,
            pg_sys::TM_Result::TM_Updated | pg_sys::TM_Result::TM_Deleted => RowLock::Gone,
            pg_sys::TM_Result::TM_WouldBlock => RowLock::Blocked(blocker(buffer, current.t_data, current.t_self)),
            _ => RowLock::Own,
        };
        pg_sys::ReleaseBuffer(buffer);
        lock
    }
}

/// A transaction in progress whose lock on a row conflicts with FOR SHARE; if there is none, the transactions that wait
/// for the row.
///
/// # Safety
/// The row is on this page, which is pinned and not locked.
unsafe fn blocker(buffer: pg_sys::Buffer, row: pg_sys::HeapTupleHeader, tid: pg_sys::ItemPointerData) -> Blocker {
    // SAFETY: the caller passes a row on a pinned page, with the flags and the multitransaction of its header.
    unsafe {
        let (flags, holder) = read_page(buffer, || (u32::from((*row).t_infomask), (*row).t_choice.t_heap.t_xmax));

        let only_locks = flags & pg_sys::HEAP_XMAX_LOCK_ONLY != 0;
        let mut holders = Vec::new();
        if flags & pg_sys::HEAP_XMAX_IS_MULTI != 0 {
            let conflicts = |member: &pg_sys::MultiXactMember| {
                member.status >= pg_sys::MultiXactStatus::MultiXactStatusForNoKeyUpdate
            };
            let members = multixact_members(holder, only_locks).into_iter();
            holders.extend(members.filter(conflicts).map(|member| member.xid));
        } else {
            // FOR SHARE sets both flags.
            let strength = flags & (pg_sys::HEAP_XMAX_EXCL_LOCK | pg_sys::HEAP_XMAX_KEYSHR_LOCK);
            if flags & pg_sys::HEAP_XMAX_INVALID == 0 && (!only_locks || strength == pg_sys::HEAP_XMAX_EXCL_LOCK) {
                holders.push(holder);
            }
        }
        let in_progress = |holder: &TransactionId| is_in_progress_elsewhere(*holder);
        holders.into_iter().find(in_progress).map_or(Blocker::Queue(tid), Blocker::Transaction)
    }
}

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

pub fn is_in_progress_elsewhere(transaction: TransactionId) -> bool {
    // SAFETY: any number may be passed as a transaction.
    unsafe {
        !pg_sys::TransactionIdIsCurrentTransactionId(transaction) && pg_sys::TransactionIdIsInProgress(transaction)
    }
}
