//! Subtransactions.

use std::panic::UnwindSafe;

use pgrx::PgTryBuilder;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::CaughtError;

use super::error::{Result, raise};

/// Runs `f`, which must change nothing, in a subtransaction. Returns the message of its error; None if it succeeds. An
/// interrupt is raised, and a panic goes on.
pub fn error_of(f: impl FnOnce() -> Result<()> + UnwindSafe) -> Option<String> {
    // SAFETY: a function runs in a transaction, and outside of parallel mode if it is PARALLEL UNSAFE. Memory and
    // resources are those of the caller again when the subtransaction has ended.
    unsafe {
        let (memory, resources) = (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner);
        let restore = move || {
            pg_sys::CurrentMemoryContext = memory;
            pg_sys::CurrentResourceOwner = resources;
        };
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::CurrentMemoryContext = memory;
        PgTryBuilder::new(|| {
            f().unwrap_or_else(|error| raise(error));
            pg_sys::ReleaseCurrentSubTransaction();
            restore();
            None
        })
        .catch_others(move |error| {
            // Also before an interrupt goes on: whoever catches it ends a subtransaction of its own.
            pg_sys::RollbackAndReleaseCurrentSubTransaction();
            restore();
            match &error {
                CaughtError::PostgresError(report) | CaughtError::ErrorReport(report)
                    if report.function_name() != Some("ProcessInterrupts") =>
                {
                    Some(report.message().to_owned())
                }
                _ => error.rethrow(),
            }
        })
        .execute()
    }
}
