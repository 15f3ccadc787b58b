//! The registration of a row that is being stored, in PostgreSQL's table of locks.
//!
//! While a writer searches for near-duplicates and stores its row, no other writer may do so for a near row. So a row
//! is registered from before that search until it is in the table and its indexes, where other writers find it,
//! committed or not. A statement registers one row at a time, in addition to the rows of outer statements.
//!
//! A registration is an exclusive lock on each of the row's keys ([`simhash::search::lock_keys`]): its bands or, for a
//! fingerprint, parts of it. Near rows share a key, so only one of them is registered at a time, and the other one then
//! finds it in the indexes. All sessions take their locks in the order of the keys, so no two sessions wait for each
//! other, unless one has registered another row in an outer statement: PostgreSQL detects that deadlock.
//! `tests/registry` checks this on a model, and compares the model with the steps of real sessions ([`crate::trace`]).
//!
//! The locks are advisory locks in a class of their own, which no SQL function can take, nor Citus, which has the
//! classes 4 to 16. In pg_locks, they have the table's OID as `classid`, and `objsubid` is 3.
//!
//! An UPDATE has locked its row before its trigger registers the new version. So an INSERT that conflicts with that row
//! ([`super::conflicting_rows`]) ends its registration before it waits for the transaction of the UPDATE: otherwise,
//! each would wait for the other. An UPDATE that need not be checked, and that leaves the unique keys unchanged,
//! registers nothing.

use pgrx::pg_sys::{self, Oid};
use postgres::catalog::relation::EXCLUSIVE;

use crate::trace;

/// The locks of a registered row. PostgreSQL releases them at the end of the transaction in any case.
#[derive(Default)]
pub struct Registration {
    /// The held locks, by their tables and keys.
    held: Vec<(Oid, u32)>,
}

/// What a registration does if another session has registered a row with one of the keys.
#[derive(Clone, Copy, PartialEq)]
pub enum IfTaken {
    Wait,
    /// It leaves the row unregistered.
    Leave,
}

/// The class of the locks. SQL's advisory locks have the classes 1 and 2.
const LOCK_CLASS: u16 = 3;

impl Registration {
    /// Registers a row of a table by its keys, which must be in ascending order, and ends the registration of the row
    /// before it.
    ///
    /// A row with the same keys as the registered one stays registered. ON CONFLICT DO UPDATE fires the trigger again
    /// while it has the row locked, and sessions that wait for that row may be registered.
    pub fn register(&mut self, table: Oid, keys: &[u32], if_taken: IfTaken) {
        trace::step((if if_taken == IfTaken::Wait { "register" } else { "try" }, keys));
        let wanted = keys.iter().map(|key| (table, *key));
        if self.held.iter().copied().eq(wanted.clone()) {
            return;
        }
        self.release();
        for (table, key) in wanted {
            let tag = lock_tag(table, key);
            if !try_lock(&tag) {
                if if_taken == IfTaken::Leave {
                    trace::step("refuse");
                    return self.release();
                }
                wait_for_lock(&tag);
            }
            self.held.push((table, key));
            trace::step(("lock", key));
        }
    }

    pub fn is_registered(&self) -> bool {
        !self.held.is_empty()
    }

    pub fn release(&mut self) {
        if !self.held.is_empty() {
            trace::step("release");
        }
        self.held.drain(..).for_each(|(table, key)| unlock(&lock_tag(table, key)));
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.release();
    }
}

fn lock_tag(table: Oid, key: u32) -> pg_sys::LOCKTAG {
    pg_sys::LOCKTAG {
        // SAFETY: MyDatabaseId is a plain number, set when the session started.
        locktag_field1: unsafe { pg_sys::MyDatabaseId }.to_u32(),
        locktag_field2: table.to_u32(),
        locktag_field3: key,
        locktag_field4: LOCK_CLASS,
        locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
        locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
    }
}

/// Takes a lock for the top-level transaction, and does not wait; false if the lock is not available.
fn try_lock(tag: &pg_sys::LOCKTAG) -> bool {
    // SAFETY: `lock_tag` has built the tag, and a trigger function runs in a transaction.
    in_top_transaction(|| unsafe { pg_sys::LockAcquire(tag, EXCLUSIVE, false, true) })
        != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
}

/// Waits for a lock, and takes it for the top-level transaction. The wait can be cancelled.
///
/// The wait is on behalf of the current resource owner. So if a timeout ends it after another session has granted the
/// lock, PostgreSQL releases the lock with the subtransaction that fails.
fn wait_for_lock(tag: &pg_sys::LOCKTAG) {
    // SAFETY: `lock_tag` has built the tag, and a trigger function runs in a transaction.
    unsafe {
        pg_sys::LockAcquire(tag, EXCLUSIVE, false, false);
        postgres::interrupts::tick();
        try_lock(tag); // It cannot fail: this session holds the lock.
        pg_sys::LockRelease(tag, EXCLUSIVE, false);
    }
}

fn unlock(tag: &pg_sys::LOCKTAG) {
    // SAFETY: `lock_tag` has built the tag. After an error, the lock is not held: PostgreSQL has released it already.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        let is_held = pg_sys::LockHeldByMe(tag, EXCLUSIVE);
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        let is_held = pg_sys::LockHeldByMe(tag, EXCLUSIVE, false);
        if is_held {
            in_top_transaction(|| pg_sys::LockRelease(tag, EXCLUSIVE, false));
        }
    }
}

/// Takes or releases locks on behalf of the top-level transaction: a lock that one statement takes may be released by
/// another, in another subtransaction.
fn in_top_transaction<T>(lock_or_release: impl FnOnce() -> T) -> T {
    // SAFETY: both resource owners belong to the running transaction, and the current one is restored. After an error,
    // PostgreSQL resets it.
    unsafe {
        let current = pg_sys::CurrentResourceOwner;
        pg_sys::CurrentResourceOwner = pg_sys::TopTransactionResourceOwner;
        let result = lock_or_release();
        pg_sys::CurrentResourceOwner = current;
        result
    }
}
