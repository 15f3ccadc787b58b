//! Other transactions: whether one has committed since a given moment, and how to wait for its end.

use pgrx::pg_sys;

use crate::catalog::relation::Relation;

/// A point in time: a snapshot of the transactions that were in progress then.
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

/// A transaction in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transaction {
    pub id: pg_sys::TransactionId,
    /// The token of a speculative insertion by INSERT .. ON CONFLICT, which may still be undone; otherwise 0.
    pub speculative_token: u32,
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
    /// Waits until the transaction has ended, or until its speculative insertion is decided. The wait can be cancelled;
    /// a deadlock raises a PostgreSQL error, whose context names the row.
    pub fn wait(self) {
        let Self { transaction: Transaction { id, speculative_token }, table, mut tid } = self;
        let table = Relation::open(table);
        // SAFETY: a transaction is running, as in every function call; the table is open.
        unsafe {
            if speculative_token != 0 {
                pg_sys::SpeculativeInsertionWait(id, speculative_token);
            } else {
                let operation = pg_sys::XLTW_Oper::XLTW_RecheckExclusionConstr;
                pg_sys::XactLockTableWait(id, table.as_ptr(), &mut tid, operation);
            }
        }
    }
}
