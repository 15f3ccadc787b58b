//! Other transactions: whether one has committed since a given moment, and how to wait for its end.

use pgrx::pg_sys;

use crate::catalog::relation::Relation;

/// A point in time, stored as a snapshot, which has the transactions that were in progress then.
pub struct Moment(pg_sys::Snapshot);

impl Moment {
    pub fn now() -> Self {
        // SAFETY: a transaction is running, as in every function call. A registered snapshot is a copy.
        Self(unsafe { pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot()) })
    }

    /// Whether `transaction` is another transaction, and has committed since this moment.
    pub fn precedes_commit_of(&self, transaction: pg_sys::TransactionId) -> bool {
        // SAFETY: the snapshot is registered; the functions accept any number as a transaction.
        unsafe {
            !pg_sys::TransactionIdIsCurrentTransactionId(transaction)
                && pg_sys::XidInMVCCSnapshot(transaction, self.0)
                && pg_sys::TransactionIdDidCommit(transaction)
        }
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        // After a PostgreSQL error, PostgreSQL unregisters the snapshot itself when it ends the (sub)transaction.
        if !std::thread::panicking() {
            // SAFETY: `now` registered the snapshot, and it is unregistered only here.
            unsafe { pg_sys::UnregisterSnapshot(self.0) };
        }
    }
}

/// A transaction in progress that has written or locked a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transaction {
    pub id: pg_sys::TransactionId,
    /// The token of a speculative insertion by INSERT .. ON CONFLICT, which may still be undone; otherwise 0.
    pub speculation: u32,
}

impl Transaction {
    /// Waits until the transaction has ended, or until its speculative insertion is decided. The wait can be cancelled;
    /// a deadlock raises a PostgreSQL error, whose context names the row by `table` and `tid`.
    pub fn wait(self, table: &Relation, mut tid: pg_sys::ItemPointerData) {
        // SAFETY: a transaction is running, as in every function call; the table is open.
        unsafe {
            if self.speculation != 0 {
                pg_sys::SpeculativeInsertionWait(self.id, self.speculation);
            } else {
                let operation = pg_sys::XLTW_Oper::XLTW_RecheckExclusionConstr;
                pg_sys::XactLockTableWait(self.id, table.as_ptr(), &mut tid, operation);
            }
        }
    }
}

/// A transaction to wait for, and the row that it has written or locked.
#[derive(Clone, Copy, Debug)]
pub struct Awaited {
    pub transaction: Transaction,
    /// The row's table.
    pub table: pg_sys::Oid,
    pub tid: pg_sys::ItemPointerData,
}

impl Awaited {
    /// Waits as [`Transaction::wait`] does.
    pub fn wait(self) {
        self.transaction.wait(&Relation::open(self.table), self.tid);
    }
}
