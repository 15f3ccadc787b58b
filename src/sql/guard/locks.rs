//! The registry of rows that are being stored, in PostgreSQL's table of locks.
//!
//! Between the search for near-duplicates and the storing of the new row, no other writer may do the same for a near
//! row. So a row is registered from before the search until it is in the table and its indexes, where others find it,
//! committed or not. A statement of a million rows registers one row at a time.
//!
//! A registration is a lock on the row, whose tag holds the encrypted fingerprint and the number of the session, and
//! locks on the row's keys ([`LockKeys`]). The locks on keys do not conflict with each other, and those on rows are each
//! of one session. So registering a row does not wait. Then the session looks up the keys that near rows may have. Only
//! if another session has locked one, which is rare, it reads the locks on rows, and compares fingerprints.
//!
//! Of two near rows that are registered, at least one finds the other, and waits for it. It remains registered while it
//! waits only if its session has a smaller number than all that it waits for. So no two wait for each other, and one of
//! them goes on. `tests/registry` checks this for all interleavings.
//!
//! The locks are advisory locks in classes of their own, which no SQL function can take. In pg_locks, `objsubid` is 3
//! for a key, with the table's OID as `classid`, and greater for a row.
//!
//! An UPDATE has locked its row before its trigger registers the new version. So an INSERT that finds its own row
//! changed or locked by another transaction ([`super::own_row`]), for which ON CONFLICT would wait, waits for that
//! transaction first, while it is not registered. An UPDATE that changes neither the fingerprint and its source nor the
//! unique keys registers nothing.

use std::cell::RefCell;
use std::ffi::CString;
use std::rc::{Rc, Weak};
use std::slice;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use pgrx::{IntoDatum, PgMemoryContexts, direct_function_call};
use simhash::search::lock_keys::{LockKeys, Secret};

use super::pending::Pending;
use crate::postgres::error::user_error;

/// The secret of a guard: SHA-256 of its table, its arguments, and a random number of the database cluster. Only users
/// with access to the cluster's files can read that number (PostgreSQL derives from it the salts of roles that do not
/// exist). As each guard has its own secret, the locks on a user's own table reveal nothing about another's, and two
/// guards of one table do not wait for each other's rows.
pub fn secret(table: Oid, arguments: &[CString]) -> Result<Secret, ErrorReport> {
    // SAFETY: the number has this length, and stays in shared memory as long as the server runs.
    let nonce = unsafe {
        let nonce = pg_sys::GetMockAuthenticationNonce().cast::<u8>();
        slice::from_raw_parts(nonce, pg_sys::MOCK_AUTH_NONCE_LEN as usize)
    };
    let mut secret = [0; _];
    for (number, part) in (0u32..).zip(secret.chunks_mut(32)) {
        let numbers = [database().to_u32(), table.to_u32(), number].map(u32::to_le_bytes);
        let mut hashed = [nonce, numbers.as_flattened()].concat();
        hashed.extend(arguments.iter().flat_map(|argument| argument.to_bytes_with_nul()));
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

/// The row that a statement is storing: its registration and, if it was accepted, the row. PostgreSQL releases the
/// locks at the end of the transaction in any case.
#[derive(Default)]
pub struct Locks {
    /// The locks of the registration: that on the row, then those on its keys.
    held: Vec<(pg_sys::LOCKTAG, pg_sys::LOCKMODE)>,
    pub pending: Pending,
    /// Whether an UPDATE moves the row to another partition, where it will be inserted.
    pub moves: bool,
}

/// The mode of the lock on a registered row.
const ROW: pg_sys::LOCKMODE = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;
/// The mode of locks on keys, which does not conflict with itself but with `ROW`, and of waiting for a row.
const KEY: pg_sys::LOCKMODE = pg_sys::ShareLock as pg_sys::LOCKMODE;
/// The class of locks on keys. The classes 1 and 2 are taken by SQL's advisory locks.
const KEYS: u16 = 3;
/// The class of the locks on rows of the session with the number 0. Each session has a class of its own, so that two
/// rows with the same fingerprint have two locks.
const ROWS: u16 = 4;

impl Locks {
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
                locks.end();
            }
        }
    }

    /// Ends the row with the memory of the call. PostgreSQL calls BEFORE triggers in memory that it resets after the row
    /// has been stored, or dropped by a later trigger, and before it fetches the statement's next row.
    pub fn end_with_call(locks: &Rc<RefCell<Self>>) {
        PgMemoryContexts::CurrentMemoryContext.leak_and_drop_on_delete(Row(Rc::downgrade(locks)));
    }

    /// Registers a row of a table. Waits until no other session that was registered before is storing a near row.
    ///
    /// A row that is registered already remains so: a row that was checked in one partition and is being moved to
    /// another stays registered in between.
    pub fn register(&mut self, table: Oid, keys: &LockKeys, fingerprint: i64) {
        let fingerprint = fingerprint.cast_unsigned();
        let row = row_tag(keys.encrypt(fingerprint));
        // SAFETY: `row_tag` has built the tag.
        if self.held.first().is_some_and(|(held, _)| of_row(held) == of_row(&row) && unsafe { is_held(held, ROW) }) {
            return;
        }
        self.release();
        loop {
            pgrx::check_for_interrupts!();
            if self.held.is_empty() {
                self.hold(row, ROW);
                keys.own(fingerprint).for_each(|key| self.hold(key_tag(table, key), KEY));
            }
            let mut others = Vec::new();
            if keys.of_near(fingerprint).any(|key| is_held_elsewhere(&key_tag(table, key))) {
                others = registered_elsewhere();
                others.retain(|other| keys.is_near(of_row(other), fingerprint));
            }
            if others.is_empty() {
                return;
            }
            if others.iter().any(|other| other.locktag_field4 < row.locktag_field4) {
                self.release();
            }
            for other in others {
                lock(&other, KEY);
                unlock(&other, KEY);
            }
        }
    }

    fn hold(&mut self, tag: pg_sys::LOCKTAG, mode: pg_sys::LOCKMODE) {
        lock(&tag, mode);
        self.held.push((tag, mode));
    }

    /// Releases the locks on keys, and then that on the row: the lock on a row is held whenever one on its keys is.
    pub fn release(&mut self) {
        while let Some((tag, mode)) = self.held.pop() {
            unlock(&tag, mode);
        }
    }

    /// Forgets the row, which is stored by now, or will not be.
    fn end(&mut self) {
        self.pending.clear();
        self.moves = false;
        self.release();
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

/// Ends a row when dropped.
struct Row(Weak<RefCell<Locks>>);

impl Drop for Row {
    fn drop(&mut self) {
        if let Some(locks) = self.0.upgrade()
            && let Ok(mut locks) = locks.try_borrow_mut()
        {
            locks.end();
        }
    }
}

fn key_tag(table: Oid, key: u32) -> pg_sys::LOCKTAG {
    tag([table.to_u32(), key], KEYS)
}

fn row_tag(encrypted: u64) -> pg_sys::LOCKTAG {
    // Beyond 65,532 sessions, some share a class: then one of two rows with the same fingerprint waits to be
    // registered.
    let class = ROWS + (session() % u32::from(u16::MAX - ROWS + 1)) as u16;
    tag([(encrypted >> 32) as u32, encrypted as u32], class)
}

/// The encrypted fingerprint in the tag of a row.
fn of_row(tag: &pg_sys::LOCKTAG) -> u64 {
    u64::from(tag.locktag_field2) << 32 | u64::from(tag.locktag_field3)
}

fn tag(fields: [u32; 2], class: u16) -> pg_sys::LOCKTAG {
    pg_sys::LOCKTAG {
        locktag_field1: database().to_u32(),
        locktag_field2: fields[0],
        locktag_field3: fields[1],
        locktag_field4: class,
        locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
        locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
    }
}

/// The number of this session, which no other running session has.
fn session() -> u32 {
    // SAFETY: a session has an entry among PostgreSQL's processes, with a number that stays.
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    return unsafe { (*pg_sys::MyProc).pgprocno } as u32;
    // SAFETY: a plain number, set when the session started.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    return unsafe { pg_sys::MyProcNumber } as u32;
}

/// Whether another session holds a lock on a key.
fn is_held_elsewhere(key: &pg_sys::LOCKTAG) -> bool {
    let mut count = 0;
    // SAFETY: `key_tag` has built the tag. The result is a list in memory of its own.
    unsafe { pg_sys::pfree(pg_sys::GetLockConflicts(key, ROW, &mut count).cast()) };
    count > 0
}

/// The locks on rows that other sessions have registered in this database.
fn registered_elsewhere() -> Vec<pg_sys::LOCKTAG> {
    let own = row_tag(0);
    let is_other = |lock: &&pg_sys::LockInstanceData| {
        let tag = &lock.locktag;
        let same = |tag: &pg_sys::LOCKTAG| (tag.locktag_field1, tag.locktag_type, tag.locktag_lockmethodid);
        same(tag) == same(&own)
            && tag.locktag_field4 >= ROWS
            && tag.locktag_field4 != own.locktag_field4
            && lock.holdMask & 1 << ROW != 0
    };
    // SAFETY: the result has an array of `nelements` locks, both in memory of their own.
    unsafe {
        let all = pg_sys::GetLockStatusData();
        let locks = slice::from_raw_parts((*all).locks, (*all).nelements as usize);
        let others = locks.iter().filter(is_other).map(|lock| lock.locktag).collect();
        pg_sys::pfree((*all).locks.cast());
        pg_sys::pfree(all.cast());
        others
    }
}

/// Takes a lock, or waits for it. The wait can be cancelled.
fn lock(tag: &pg_sys::LOCKTAG, mode: pg_sys::LOCKMODE) {
    // SAFETY: `tag` has built the tag, and a trigger function runs in a transaction.
    of_transaction(|| unsafe { pg_sys::LockAcquire(tag, mode, false, false) });
}

fn unlock(tag: &pg_sys::LOCKTAG, mode: pg_sys::LOCKMODE) {
    // SAFETY: `tag` has built the tag. After an error, PostgreSQL has released the lock already, and it is not held.
    unsafe {
        if is_held(tag, mode) {
            of_transaction(|| pg_sys::LockRelease(tag, mode, false));
        }
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
