//! Locks on what near-duplicates have in common.
//!
//! Between looking for near-duplicates and having stored the new row, no other writer may do the same with a row that
//! is near. So both are done under locks on the row's keys ([`shared_keys`]), of which any two near rows share one.
//! They are held no longer than until the row is in the table and its indexes, where others find it, committed or not:
//! until the statement's next row, or its end. So a statement of a million rows holds as many locks as one of one row.
//!
//! They are advisory locks, in a class of their own (in pg_locks: `objsubid` 3, with the table's OID as `classid`),
//! which no SQL function can take.
//!
//! An UPDATE has locked its row when its trigger wants the keys. So an INSERT that finds its own row locked by another
//! transaction ([`super::own_row`]) waits for that without keys, before ON CONFLICT waits for it with keys. An UPDATE that
//! leaves the fingerprint and the unique keys alone wants none.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::slice;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use pgrx::{IntoDatum, direct_function_call};
use simhash::search::lock_keys::{Secret, shared_keys};

use super::pending::Pending;
use crate::postgres::error::user_error;

/// The secret of a table: SHA-256 of a random number which every cluster has, and shows to nobody without access to its
/// files (PostgreSQL makes of it the salts of users that do not exist), and of the table. So the locks of one's own
/// table tell nothing of another's.
pub fn secret(table: Oid) -> Result<Secret, ErrorReport> {
    // SAFETY: the number is as long as that, and in shared memory as long as the server runs.
    let nonce = unsafe {
        let nonce = pg_sys::GetMockAuthenticationNonce().cast::<u8>();
        slice::from_raw_parts(nonce, pg_sys::MOCK_AUTH_NONCE_LEN as usize)
    };
    let mut secret = [0; _];
    for (number, part) in (0u32..).zip(secret.chunks_mut(32)) {
        let numbers = [database().to_u32(), table.to_u32(), number].map(u32::to_le_bytes);
        let hashed = [nonce, numbers.as_flattened()].concat();
        // SAFETY: a function of SQL that takes a bytea and gives another, never NULL.
        let hash: Option<Vec<u8>> = unsafe { direct_function_call(pg_sys::sha256_bytea, &[hashed.into_datum()]) };
        let hash = hash.ok_or_else(|| user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "sha256 gives no result"))?;
        part.copy_from_slice(&hash);
    }
    Ok(Secret(secret))
}

fn database() -> Oid {
    // SAFETY: a plain number, set when the session started.
    unsafe { pg_sys::MyDatabaseId }
}

/// The locks of a statement's last row, and the row, if it was let in. Those of the transaction are given back at its
/// end in any case.
#[derive(Default)]
pub struct Locks {
    keys: Vec<pg_sys::LOCKTAG>,
    pub pending: Pending,
    /// The last row was let in as one that an UPDATE moves to another partition, where it will be inserted.
    pub moves: bool,
}

impl Locks {
    const MODE: pg_sys::LOCKMODE = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;
    /// Beside 1 and 2, which SQL's advisory locks have.
    const CLASS: u16 = 3;

    /// The locks of a statement, whose memory it is, for a guard. All partitions of a table have them in common: when the
    /// row of one comes, that of another is in the table.
    pub fn for_statement<K: PartialEq + 'static>(
        running: &RefCell<Vec<Running<K>>>,
        statement: pg_sys::MemoryContext,
        guard: K,
    ) -> Rc<RefCell<Self>> {
        let mut running = running.borrow_mut();
        running.retain(|other| other.locks.strong_count() > 0);
        let same = running.iter().find(|other| other.statement == statement && other.guard == guard);
        if let Some(locks) = same.and_then(|same| same.locks.upgrade()) {
            return locks;
        }
        let locks = Rc::new(RefCell::new(Self::default()));
        // SAFETY: in a transaction.
        let subtransaction = unsafe { pg_sys::GetCurrentSubTransactionId() };
        running.push(Running { statement, subtransaction, guard, locks: Rc::downgrade(&locks) });
        locks
    }

    /// Gives back the locks of statements that have failed, and forgets their rows, where a subtransaction is undone. The
    /// memory of a statement of an SQL function may outlive that.
    pub fn release_aborted<K>(running: &RefCell<Vec<Running<K>>>, subtransaction: pg_sys::SubTransactionId) {
        let Ok(running) = running.try_borrow() else { return };
        // Those that began within it have higher numbers.
        let failed = running.iter().filter(|statement| statement.subtransaction >= subtransaction);
        for locks in failed.filter_map(|statement| statement.locks.upgrade()) {
            if let Ok(mut locks) = locks.try_borrow_mut() {
                locks.pending.clear();
                locks.moves = false;
                locks.release();
            }
        }
    }

    /// Waits until no other transaction holds the locks that a row of a table needs.
    ///
    /// Those that it has already it keeps: nobody gets in between when a row that has been checked in one partition is
    /// moved to another.
    pub fn take(&mut self, table: Oid, secret: &Secret, fingerprint: i64, max_distance: i32) {
        let database = database().to_u32();
        let keys = shared_keys(fingerprint.cast_unsigned(), max_distance.max(0).cast_unsigned(), secret);
        // SAFETY: valid tags, in a transaction.
        let is_held = |(tag, key): (&pg_sys::LOCKTAG, &u32)| unsafe {
            (tag.locktag_field1, tag.locktag_field2, tag.locktag_field3) == (database, table.to_u32(), *key)
                && is_held(tag, Self::MODE)
        };
        if self.keys.len() == keys.len() && self.keys.iter().zip(&keys).all(is_held) {
            return;
        }
        self.release();
        // In ascending order, so that two rows cannot wait for each other.
        for key in keys {
            let tag = pg_sys::LOCKTAG {
                locktag_field1: database,
                locktag_field2: table.to_u32(),
                locktag_field3: key,
                locktag_field4: Self::CLASS,
                locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
                locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
            };
            // SAFETY: a valid tag, in a transaction. The wait can be cancelled.
            of_transaction(|| unsafe { pg_sys::LockAcquire(&tag, Self::MODE, false, false) });
            self.keys.push(tag);
        }
    }

    pub fn release(&mut self) {
        self.keys.drain(..).for_each(Self::give_back);
    }

    fn give_back(tag: pg_sys::LOCKTAG) {
        // SAFETY: a valid tag. After a failure, PostgreSQL has given the locks back before they are dropped.
        unsafe {
            if is_held(&tag, Self::MODE) {
                of_transaction(|| pg_sys::LockRelease(&tag, Self::MODE, false));
            }
        }
    }

    /// Those of the other statements that run with a guard: nested ones run while the row of another has been let in
    /// and is not stored yet.
    pub fn of_other_statements<K: PartialEq>(
        running: &RefCell<Vec<Running<K>>>,
        statement: pg_sys::MemoryContext,
        guard: &K,
    ) -> Vec<Rc<RefCell<Self>>> {
        let running = running.borrow();
        let others = running.iter().filter(|other| other.statement != statement && other.guard == *guard);
        others.filter_map(|other| other.locks.upgrade()).collect()
    }
}

/// The locks of a guard in a statement that runs.
pub struct Running<K> {
    statement: pg_sys::MemoryContext,
    /// The one that it runs in.
    subtransaction: pg_sys::SubTransactionId,
    guard: K,
    locks: Weak<RefCell<Locks>>,
}

impl Drop for Locks {
    fn drop(&mut self) {
        self.release();
    }
}

/// # Safety
/// The tag is valid.
unsafe fn is_held(tag: &pg_sys::LOCKTAG, mode: pg_sys::LOCKMODE) -> bool {
    // SAFETY: by the contract.
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
    return unsafe { pg_sys::LockHeldByMe(tag, mode) };
    // SAFETY: by the contract.
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    return unsafe { pg_sys::LockHeldByMe(tag, mode, false) };
}

/// Takes or gives back locks for the transaction, whichever part of it is running: a lock that is taken by one
/// statement may be given back by another.
fn of_transaction<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: both owners are those of the running transaction, and the current one is put back. After an error
    // PostgreSQL sets it anew.
    unsafe {
        let current = pg_sys::CurrentResourceOwner;
        pg_sys::CurrentResourceOwner = pg_sys::TopTransactionResourceOwner;
        let result = f();
        pg_sys::CurrentResourceOwner = current;
        result
    }
}
