//! Locks on tables, with a notice about who is in the way.
//!
//! A command that waits for a lock shows nothing, and those who come after it wait too. So after a second it says which
//! processes hold the lock. PostgreSQL does not let an extension act while a process is in a lock's queue. So for this
//! second the lock is tried again and again, and others may pass; then the process enters the queue as usual, with
//! deadlock detection and what is left of `lock_timeout`.

use std::ffi::CString;
use std::time::{Duration, Instant};

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use pgrx::spi::quote_literal;

use super::catalog::relation::relation_name;
use super::error::{sendable, user_error};
use super::owner::{set, with_settings};
use super::spi::{from_server, strings};

/// The time after which to say for whom the command waits.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two attempts.
const PAUSE_MS: i64 = 10;

/// The most processes that are named.
const MOST_NAMED: usize = 5;

/// Locks a relation until the transaction ends. The relation need not exist.
pub fn lock_relation(relation: Oid, lock: pg_sys::LOCKMODE) -> Result<(), ErrorReport> {
    let since = Instant::now();
    // SAFETY: any OID may be locked. The setting is a plain number, in milliseconds; 0 means no limit.
    unsafe {
        let limit = u64::try_from(pg_sys::LockTimeout).ok().filter(|&limit| limit > 0).map(Duration::from_millis);
        // A wait that fails within the second needs no notice.
        let may_last = limit.is_none_or(|limit| limit > PATIENCE);
        while may_last && since.elapsed() < PATIENCE {
            if pg_sys::ConditionalLockRelationOid(relation, lock) {
                return Ok(());
            }
            pause();
        }
        if may_last {
            tell_of_wait(relation, lock)?;
        }
        let wait = || pg_sys::LockRelationOid(relation, lock);
        match limit.filter(|_| may_last) {
            Some(limit) => with_settings(|| {
                let left = limit.saturating_sub(since.elapsed()).as_millis().max(1);
                let left = CString::new(left.to_string()).unwrap_or_default();
                set(c"lock_timeout", &left);
                wait();
            }),
            None => wait(),
        }
    }
    Ok(())
}

/// Sleeps until the next attempt. The user can cancel it.
fn pause() {
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: MyLatch is this process's own latch. It is reset before interrupts are looked at, as its protocol wants.
    unsafe {
        pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, PAUSE_MS, pg_sys::PG_WAIT_EXTENSION);
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
    pgrx::check_for_interrupts!();
}

/// Tells the user which processes hold or want locks that conflict with the wanted one. What is told of each is what
/// `pg_stat_activity` shows the user.
fn tell_of_wait(relation: Oid, lock: pg_sys::LOCKMODE) -> Result<(), ErrorReport> {
    let Some(name) = relation_name(relation)? else { return Ok(()) };
    let notice = user_error(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, format!("waiting for a lock on \"{name}\""))
        .set_hint("The setting lock_timeout limits the wait.");
    let holders = in_the_way(relation, lock)?;
    let notice =
        if holders.is_empty() { notice } else { notice.set_detail(sendable(format!("{}.", holders.join("; ")))) };
    notice.report(PgLogLevel::NOTICE);
    Ok(())
}

/// The processes that are in the way, each as a clause. Those that hold a lock come before those that wait too.
fn in_the_way(relation: Oid, lock: pg_sys::LOCKMODE) -> Result<Vec<String>, ErrorReport> {
    let modes = 1..=pg_sys::AccessExclusiveLock as pg_sys::LOCKMODE;
    // SAFETY: these are all modes of locks on tables, and each has a NUL-terminated name.
    let conflicting = unsafe {
        let name = |mode| from_server(pg_sys::GetLockmodeName(pg_sys::DEFAULT_LOCKMETHOD as u16, mode));
        modes.filter(|&mode| pg_sys::DoLockModesConflict(mode, lock)).map(name).collect::<Result<Vec<_>, _>>()?
    };
    let conflicting: Vec<_> = conflicting.iter().map(quote_literal).collect();
    with_settings(|| {
        set(c"search_path", c"pg_catalog, pg_temp");
        // The views can be withdrawn from users, for whom the notice then names nobody.
        let may_read = strings(
            "SELECT 'yes' WHERE has_table_privilege('pg_catalog.pg_locks', 'SELECT') \
             AND has_table_privilege('pg_catalog.pg_stat_activity', 'SELECT')",
        )?;
        if may_read.is_empty() {
            return Ok(Vec::new());
        }
        strings(&format!(
            "SELECT concat(
                 CASE WHEN pid IS NULL THEN 'A prepared transaction' ELSE 'Process ' END, pid,
                 ' (' || nullif(application_name, '') || ')',
                 CASE WHEN granted THEN ' holds ' ELSE ' waits for ' END, mode,
                 ', in a transaction since ' || date_trunc('second', xact_start))
             FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
             WHERE locktype = 'relation' AND relation = '{}'::oid AND mode = ANY (ARRAY[{}])
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                 AND pid IS DISTINCT FROM pg_backend_pid()
             ORDER BY granted DESC, xact_start, pid LIMIT {MOST_NAMED}",
            relation.to_u32(),
            conflicting.join(", ")
        ))
    })
}
