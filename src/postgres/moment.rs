//! Other transactions: when they were in progress, and waiting for them.

use pgrx::pg_sys;

use super::catalog::relation::Relation;

/// A time, as a snapshot: which transactions were in progress then.
pub struct Moment(pg_sys::Snapshot);

impl Moment {
    pub fn now() -> Self {
        // SAFETY: in a transaction. A registered snapshot is a copy.
        Self(unsafe { pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot()) })
    }

    /// Whether another transaction was in progress then, and has committed since.
    pub fn precedes_commit_of(&self, transaction: pg_sys::TransactionId) -> bool {
        // SAFETY: a registered snapshot; any number may be asked for as a transaction's.
        unsafe {
            !pg_sys::TransactionIdIsCurrentTransactionId(transaction)
                && pg_sys::XidInMVCCSnapshot(transaction, self.0)
                && pg_sys::TransactionIdDidCommit(transaction)
        }
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        // After an error of PostgreSQL's, PostgreSQL unregisters the snapshot when it ends the (sub)transaction.
        if !std::thread::panicking() {
            // SAFETY: registered, and unregistered only here.
            unsafe { pg_sys::UnregisterSnapshot(self.0) };
        }
    }
}

/// A transaction in progress that has written or locked a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Transaction {
    pub id: pg_sys::TransactionId,
    /// The token of a speculative insertion, of INSERT .. ON CONFLICT, which may yet be taken back; 0 if it is none.
    pub speculation: u32,
}

impl Transaction {
    /// Waits until the transaction has ended, or a speculative insertion is decided. Can be cancelled; a deadlock is an
    /// error of PostgreSQL's. `place` is that of the row in the table, for the error's context.
    pub fn wait(self, table: &Relation, mut place: pg_sys::ItemPointerData) {
        // SAFETY: in a transaction; the table is open.
        unsafe {
            if self.speculation != 0 {
                pg_sys::SpeculativeInsertionWait(self.id, self.speculation);
            } else {
                let operation = pg_sys::XLTW_Oper::XLTW_RecheckExclusionConstr;
                pg_sys::XactLockTableWait(self.id, table.as_ptr(), &mut place, operation);
            }
        }
    }
}
