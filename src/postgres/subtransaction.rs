//! Runs code whose error must not abort the transaction.

use std::panic::UnwindSafe;

use pgrx::PgTryBuilder;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::CaughtError;

use super::error::{Result, raise};
use super::interrupts::is_interrupt;

/// Calls `run` in a subtransaction, and returns the message of its error, if it has one. Interrupts and panics of Rust
/// pass through. The changes of `run` stay if it succeeds, so it should make none.
pub fn try_in_subtransaction(run: impl FnOnce() -> Result<()> + UnwindSafe) -> Result<(), String> {
    // SAFETY: the only caller is the SQL function simhash_guard_error. It runs in a transaction and, being PARALLEL
    // UNSAFE, not in parallel mode. Memory and resources are the caller's again when the subtransaction has ended.
    unsafe {
        let (memory, resources) = (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner);
        let restore = move || {
            pg_sys::CurrentMemoryContext = memory;
            pg_sys::CurrentResourceOwner = resources;
        };
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::CurrentMemoryContext = memory;
        PgTryBuilder::new(|| {
            run().unwrap_or_else(|error| raise(error));
            pg_sys::ReleaseCurrentSubTransaction();
            restore();
            Ok(())
        })
        .catch_others(move |error| {
            // Also for an interrupt: whoever catches it would not know of this subtransaction.
            pg_sys::RollbackAndReleaseCurrentSubTransaction();
            restore();
            match &error {
                CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) if !is_interrupt(report) => {
                    Err(report.message().to_owned())
                }
                _ => error.rethrow(),
            }
        })
        .execute()
    }
}
