//! The registration of a row that is being stored, in PostgreSQL's table of locks.
//!
//! While a writer searches for near-duplicates and stores its row, no other writer may do so for a near row. So a row
//! is registered from before the search until it is in the table and its indexes, where other writers find it,
//! committed or not. A statement registers one row at a time, beside those of outer statements.
//!
//! A registration is a lock on the row, whose tag holds the encrypted fingerprint and the number of the session, and
//! locks on the row's keys ([`LockKeys`]). Locks on keys do not conflict with each other, and only one session takes a
//! given lock on a row. So registering a row waits for no other row. Then the session looks up the keys that near rows
//! may have. Only if another session has locked one of them, which is rare, it reads the locks on rows, and compares
//! fingerprints.
//!
//! Of two near rows that are registered, at least one finds the other, and waits for it. Where the votes of a text say
//! what is near it, a row finds those that are near by its own votes: what it does not find may go on, as if it had
//! been stored before. A session remains registered while it waits only if it comes before all sessions that it waits
//! for, by their numbers or, beyond 65,504 sessions, by the class that follows from these and the process. So no two
//! sessions wait for each other, unless one has registered another row in an outer statement, which PostgreSQL finds as
//! a deadlock. `tests/registry` checks this for all interleavings of sessions that register one row each.
//!
//! For example, sessions 1 and 2 store near rows. If 2 looks keys up before 1 has registered, 1 finds 2, waits until
//! the row of 2 is in the indexes, and then finds it there. If both have registered before either looks keys up, they
//! find each other: 2 ends its registration and waits for 1, and 1 goes on when 2 is no longer registered.
//!
//! The locks are advisory locks in classes of their own, which no SQL function can take, nor Citus, which has the
//! classes 4 to 16. In pg_locks, `objsubid` is 3 for a key, with the table's OID as `classid`, and greater for a row.
//!
//! An UPDATE has locked its row before its trigger registers the new version. So an INSERT waits for the transaction of
//! such an UPDATE, if the row has the same key as the new row ([`super::same_key`]), while the new row is not
//! registered. An UPDATE that need not be checked, and that leaves the unique keys unchanged, registers nothing.

use std::slice;

use pgrx::pg_sys::{self, Oid};
use simhash::search::lock_keys::LockKeys;

/// The locks of a registered row. PostgreSQL releases them at the end of the transaction in any case.
#[derive(Default)]
pub struct Registration {
    /// The lock on the row, then the locks on its keys.
    held: Vec<(pg_sys::LOCKTAG, pg_sys::LOCKMODE)>,
}

/// The mode of the lock on a registered row.
const ROW_LOCK_MODE: pg_sys::LOCKMODE = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;
/// The mode of locks on keys, and of the lock with which a session waits for a row. It conflicts with `ROW_LOCK_MODE`,
/// but not with itself.
const SHARED_LOCK_MODE: pg_sys::LOCKMODE = pg_sys::ShareLock as pg_sys::LOCKMODE;
/// The class of locks on keys. SQL's advisory locks have the classes 1 and 2.
const KEY_LOCK_CLASS: u16 = 3;
/// The class of the locks on rows of the session with the number 0. Each of 65,504 sessions has a class of its own, so
/// that two rows with the same fingerprint have two locks.
const FIRST_ROW_LOCK_CLASS: u16 = 32;

impl Registration {
    /// Registers a row of a table. Waits as long as another session has registered a near row.
    pub fn register(&mut self, table: Oid, keys: &LockKeys, fingerprint: i64) {
        let fingerprint = fingerprint.cast_unsigned();
        let row = row_tag(keys.encrypt(fingerprint));
        self.release();
        loop {
            pgrx::check_for_interrupts!();
            if self.held.is_empty() {
                self.hold(row, ROW_LOCK_MODE);
                keys.of_row(fingerprint).for_each(|key| self.hold(key_tag(table, key), SHARED_LOCK_MODE));
            }
            let mut others = Vec::new();
            if keys.of_near(fingerprint).any(|key| is_held_elsewhere(&key_tag(table, key))) {
                others = registered_elsewhere();
                others.retain(|(other, _)| keys.is_near(encrypted_fingerprint(other), fingerprint));
            }
            if others.is_empty() {
                return;
            }
            let own = (row.locktag_field4, process_id());
            if others.iter().any(|(other, process)| (other.locktag_field4, *process) < own) {
                self.release();
            }
            for (other, _) in others {
                while_waited_for(&other, SHARED_LOCK_MODE, || {});
            }
        }
    }

    fn hold(&mut self, tag: pg_sys::LOCKTAG, mode: pg_sys::LOCKMODE) {
        if !try_lock(&tag, mode) {
            // Another session has just waited for this row, and has not yet released its lock.
            while_waited_for(&tag, mode, || try_lock(&tag, mode));
        }
        self.held.push((tag, mode));
    }

    /// Releases the locks on keys, and then the lock on the row: a session that finds the lock on a key must also find
    /// the lock on the row.
    pub fn release(&mut self) {
        while let Some((tag, mode)) = self.held.pop() {
            unlock(&tag, mode);
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.release();
    }
}

fn key_tag(table: Oid, key: u32) -> pg_sys::LOCKTAG {
    tag([table.to_u32(), key], KEY_LOCK_CLASS)
}

/// The tag of this session's lock on a row with this encrypted fingerprint.
fn row_tag(encrypted: u64) -> pg_sys::LOCKTAG {
    // Beyond 65,504 sessions, some share a class: then one of two rows with the same fingerprint waits to be
    // registered.
    let class = FIRST_ROW_LOCK_CLASS + (session() % u32::from(u16::MAX - FIRST_ROW_LOCK_CLASS + 1)) as u16;
    tag([(encrypted >> 32) as u32, encrypted as u32], class)
}

/// The encrypted fingerprint in the tag of a lock on a row.
fn encrypted_fingerprint(tag: &pg_sys::LOCKTAG) -> u64 {
    u64::from(tag.locktag_field2) << 32 | u64::from(tag.locktag_field3)
}

fn tag(fields: [u32; 2], class: u16) -> pg_sys::LOCKTAG {
    pg_sys::LOCKTAG {
        // SAFETY: MyDatabaseId is a plain number, set when the session started.
        locktag_field1: unsafe { pg_sys::MyDatabaseId }.to_u32(),
        locktag_field2: fields[0],
        locktag_field3: fields[1],
        locktag_field4: class,
        locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
        locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
    }
}

/// The number of this session, which no other running session has.
fn session() -> u32 {
    // SAFETY: MyProc points to this session's PGPROC. The number is set when the session starts.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return (*pg_sys::MyProc).pgprocno as u32;
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        return pg_sys::MyProcNumber as u32;
    }
}

/// Whether another session holds a lock on a key.
fn is_held_elsewhere(key: &pg_sys::LOCKTAG) -> bool {
    let mut count = 0;
    // SAFETY: `key_tag` has built the tag. The result is a list in memory of its own.
    unsafe { pg_sys::pfree(pg_sys::GetLockConflicts(key, ROW_LOCK_MODE, &mut count).cast()) };
    count > 0
}

fn process_id() -> i32 {
    // SAFETY: a plain number, set when the session started.
    unsafe { pg_sys::MyProcPid }
}

/// The locks on rows that other sessions have registered in this database, each with the session's process.
fn registered_elsewhere() -> Vec<(pg_sys::LOCKTAG, i32)> {
    let own = row_tag(0);
    let is_other = |lock: &&pg_sys::LockInstanceData| {
        let tag = &lock.locktag;
        let same = |tag: &pg_sys::LOCKTAG| (tag.locktag_field1, tag.locktag_type, tag.locktag_lockmethodid);
        same(tag) == same(&own)
            && tag.locktag_field4 >= FIRST_ROW_LOCK_CLASS
            && lock.pid != process_id()
            && lock.holdMask & 1 << ROW_LOCK_MODE != 0
    };
    // SAFETY: the result has an array of `nelements` locks, both in memory of their own.
    unsafe {
        let all = pg_sys::GetLockStatusData();
        let locks = slice::from_raw_parts((*all).locks, (*all).nelements as usize);
        let others = locks.iter().filter(is_other).map(|lock| (lock.locktag, lock.pid)).collect();
        pg_sys::pfree((*all).locks.cast());
        pg_sys::pfree(all.cast());
        others
    }
}

/// Takes a lock for the top-level transaction, and does not wait; false if the lock is not available.
fn try_lock(tag: &pg_sys::LOCKTAG, mode: pg_sys::LOCKMODE) -> bool {
    // SAFETY: `tag` has built the tag, and a trigger function runs in a transaction.
    for_transaction(|| unsafe { pg_sys::LockAcquire(tag, mode, false, true) })
        != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
}

/// Waits for a lock, calls `f` while it is held, and releases it. The wait can be cancelled.
///
/// The lock belongs to the current resource owner. So if a timeout ends the wait after another session has granted the
/// lock, PostgreSQL releases it with the subtransaction that fails.
fn while_waited_for<T>(tag: &pg_sys::LOCKTAG, mode: pg_sys::LOCKMODE, f: impl FnOnce() -> T) -> T {
    // SAFETY: `tag` has built the tag, and a trigger function runs in a transaction.
    unsafe {
        pg_sys::LockAcquire(tag, mode, false, false);
        let result = f();
        pg_sys::LockRelease(tag, mode, false);
        result
    }
}

fn unlock(tag: &pg_sys::LOCKTAG, mode: pg_sys::LOCKMODE) {
    // SAFETY: `tag` has built the tag. After an error, PostgreSQL has released the lock already, and it is not held.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        let is_held = pg_sys::LockHeldByMe(tag, mode);
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        let is_held = pg_sys::LockHeldByMe(tag, mode, false);
        if is_held {
            for_transaction(|| pg_sys::LockRelease(tag, mode, false));
        }
    }
}

/// Takes or releases locks on behalf of the top-level transaction: a lock that one statement takes may be released by
/// another, in another subtransaction.
fn for_transaction<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: both resource owners belong to the running transaction, and the current one is restored. After an error,
    // PostgreSQL resets it.
    unsafe {
        let current = pg_sys::CurrentResourceOwner;
        pg_sys::CurrentResourceOwner = pg_sys::TopTransactionResourceOwner;
        let result = f();
        pg_sys::CurrentResourceOwner = current;
        result
    }
}
