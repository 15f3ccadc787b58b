//! Locks on what near-duplicates have in common.
//!
//! Between the search for near-duplicates and the storing of the new row, no other writer may do the same for a near
//! row. So both happen under locks on the row's keys ([`shared_keys`]): any two near rows share a key. The locks are
//! held only until the row is in the table and its indexes, where others find it, committed or not: until the
//! statement's next row, or its end. So a statement of a million rows holds as many locks as a statement of one row.
//!
//! They are advisory locks in a class of their own (in pg_locks: `objsubid` 3, with the table's OID as `classid`),
//! which no SQL function can take.
//!
//! An UPDATE has locked its row before its trigger takes the keys. So an INSERT that finds its own row locked by
//! another transaction ([`super::own_row`]) waits for that transaction without keys, before ON CONFLICT waits for it
//! with keys. An UPDATE that changes neither the fingerprint and its source nor the unique keys takes no keys.

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

/// The secret of a table: SHA-256 of the table and of a random number of the database cluster. Only users with access
/// to the cluster's files can read that number (PostgreSQL derives from it the salts of roles that do not exist). As
/// each table has its own secret, the locks on a user's own table reveal nothing about another's.
pub fn secret(table: Oid) -> Result<Secret, ErrorReport> {
    // SAFETY: the number has this length, and stays in shared memory as long as the server runs.
    let nonce = unsafe {
        let nonce = pg_sys::GetMockAuthenticationNonce().cast::<u8>();
        slice::from_raw_parts(nonce, pg_sys::MOCK_AUTH_NONCE_LEN as usize)
    };
    let mut secret = [0; _];
    for (number, part) in (0u32..).zip(secret.chunks_mut(32)) {
        let numbers = [database().to_u32(), table.to_u32(), number].map(u32::to_le_bytes);
        let hashed = [nonce, numbers.as_flattened()].concat();
        // SAFETY: sha256 takes a bytea and returns one, never NULL.
        let hash: Option<Vec<u8>> = unsafe { direct_function_call(pg_sys::sha256_bytea, &[hashed.into_datum()]) };
        let hash = hash.ok_or_else(|| user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "sha256 gives no result"))?;
        part.copy_from_slice(&hash);
    }
    Ok(Secret(secret))
}

fn database() -> Oid {
    // SAFETY: MyDatabaseId is a plain number, set when the session started.
    unsafe { pg_sys::MyDatabaseId }
}

/// The locks on the keys of a statement's last row, and the row, if it was accepted. PostgreSQL releases the locks at
/// the end of the transaction in any case.
#[derive(Default)]
pub struct Locks {
    keys: Vec<pg_sys::LOCKTAG>,
    pub pending: Pending,
    /// Whether an UPDATE moves the last row to another partition, where it will be inserted.
    pub moves: bool,
}

impl Locks {
    const MODE: pg_sys::LOCKMODE = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;
    /// The classes 1 and 2 are taken by SQL's advisory locks.
    const CLASS: u16 = 3;

    /// The locks of a guard in a statement, which is identified by its memory context. All partitions of a table share
    /// them: when the row of one partition comes, the previous row is already in its own.
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
        // SAFETY: a trigger function runs in a transaction.
        let subtransaction = unsafe { pg_sys::GetCurrentSubTransactionId() };
        running.push(Running { statement, subtransaction, guard, locks: Rc::downgrade(&locks) });
        locks
    }

    /// When a subtransaction is rolled back, releases the locks of the statements that failed with it, and forgets
    /// their rows. The memory of a statement in an SQL function may outlive the subtransaction, so dropping it is not
    /// enough.
    pub fn release_aborted<K>(running: &RefCell<Vec<Running<K>>>, subtransaction: pg_sys::SubTransactionId) {
        let Ok(running) = running.try_borrow() else { return };
        // Subtransactions that began within this one have higher numbers.
        let failed = running.iter().filter(|statement| statement.subtransaction >= subtransaction);
        for locks in failed.filter_map(|statement| statement.locks.upgrade()) {
            if let Ok(mut locks) = locks.try_borrow_mut() {
                locks.pending.clear();
                locks.moves = false;
                locks.release();
            }
        }
    }

    /// Waits until no other transaction holds the locks that a row of a table needs, and takes them.
    ///
    /// If the session already holds exactly these locks, it keeps them: a row that was checked in one partition and is
    /// being moved to another stays locked in between.
    pub fn take(&mut self, table: Oid, secret: &Secret, fingerprint: i64, max_distance: i32) {
        let database = database().to_u32();
        let keys = shared_keys(fingerprint.cast_unsigned(), max_distance.max(0).cast_unsigned(), secret);
        // SAFETY: `take` has built the tags, and a trigger function runs in a transaction.
        let is_held = |(tag, key): (&pg_sys::LOCKTAG, &u32)| unsafe {
            (tag.locktag_field1, tag.locktag_field2, tag.locktag_field3) == (database, table.to_u32(), *key)
                && is_held(tag, Self::MODE)
        };
        if self.keys.len() == keys.len() && self.keys.iter().zip(&keys).all(is_held) {
            return;
        }
        self.release();
        // Lock in ascending order, so that two rows cannot wait for each other.
        for key in keys {
            let tag = pg_sys::LOCKTAG {
                locktag_field1: database,
                locktag_field2: table.to_u32(),
                locktag_field3: key,
                locktag_field4: Self::CLASS,
                locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
                locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
            };
            // SAFETY: the tag is complete, and a trigger function runs in a transaction. The wait can be cancelled.
            of_transaction(|| unsafe { pg_sys::LockAcquire(&tag, Self::MODE, false, false) });
            self.keys.push(tag);
        }
    }

    pub fn release(&mut self) {
        self.keys.drain(..).for_each(Self::give_back);
    }

    fn give_back(tag: pg_sys::LOCKTAG) {
        // SAFETY: `take` has built the tag. After an error, PostgreSQL has released the lock already, and it is not
        // held.
        unsafe {
            if is_held(&tag, Self::MODE) {
                of_transaction(|| pg_sys::LockRelease(&tag, Self::MODE, false));
            }
        }
    }

    /// The locks of the other running statements with the same guard. A nested statement runs while a row of the outer
    /// one has been accepted and is not stored yet.
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

/// A guard's locks in a running statement.
pub struct Running<K> {
    statement: pg_sys::MemoryContext,
    /// The subtransaction in which the statement runs.
    subtransaction: pg_sys::SubTransactionId,
    guard: K,
    locks: Weak<RefCell<Locks>>,
}

impl Drop for Locks {
    fn drop(&mut self) {
        self.release();
    }
}

/// Whether this session holds a lock.
///
/// # Safety
/// All fields of the tag are set.
unsafe fn is_held(tag: &pg_sys::LOCKTAG, mode: pg_sys::LOCKMODE) -> bool {
    // SAFETY: the caller passes a complete tag.
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    return unsafe { pg_sys::LockHeldByMe(tag, mode) };
    // SAFETY: the caller passes a complete tag.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    return unsafe { pg_sys::LockHeldByMe(tag, mode, false) };
}

/// Takes or releases locks on behalf of the top-level transaction: a lock that one statement takes may be released by
/// another, in another subtransaction.
fn of_transaction<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: both resource owners belong to the running transaction, and the current one is restored. After an error,
    // PostgreSQL sets it anew.
    unsafe {
        let current = pg_sys::CurrentResourceOwner;
        pg_sys::CurrentResourceOwner = pg_sys::TopTransactionResourceOwner;
        let result = f();
        pg_sys::CurrentResourceOwner = current;
        result
    }
}
