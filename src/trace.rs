//! Writes down the steps of guarded rows, which `tests/registry/traces` compares with its model.

/// Appends a step to the file `registry.trace` of the data directory, if the file exists. The session then pauses for a
/// random time, so that sessions run in many orders.
///
/// A caller must write the step of a lock after it takes the lock, and the step of its release before it releases it.
/// So no two sessions seem to hold one lock. While PostgreSQL aborts a transaction, every step is written as the abort.
#[cfg(feature = "pg_test")]
pub fn step(step: impl std::fmt::Debug) {
    use std::io::Write;
    let Ok(mut trace) = std::fs::OpenOptions::new().append(true).open("registry.trace") else { return };
    // SAFETY: the function only reads the transaction's state.
    let is_running = unsafe { pgrx::pg_sys::IsTransactionState() };
    let text = if is_running { format!("{step:?}") } else { "abort".to_owned() };
    // One call for a line, so that the lines of several sessions do not mix.
    let _ = trace.write_all(format!("{} {text}\n", std::process::id()).as_bytes());
    let random = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.subsec_nanos() / 100);
    std::thread::sleep(std::time::Duration::from_micros(u64::from(random % 200)));
}

#[cfg(not(feature = "pg_test"))]
pub fn step(_: impl std::fmt::Debug) {}
