//! Work without the GIL, which Ctrl-C can cancel.
//!
//! The algorithm's loops call a tick every few milliseconds. Python runs its signal handlers only when the main thread
//! holds the GIL and asks for them. If one raises an exception, the tick unwinds with it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use simhash::error::Error;
use simhash::ticking::ITEMS_BETWEEN_TICKS;

use crate::error::algorithm_error;

/// Time between two looks for signals. Taking the GIL may take 5 ms if another thread runs Python code.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Work on fewer bytes keeps the GIL: releasing it takes as long as a fingerprint of 50 bytes, and one of 4 kB takes
/// 10 us at most.
const MAX_BYTES_WITH_GIL: usize = 1 << 12;

/// Runs work, with its tick, without the GIL. Returns the exception if a signal handler raises one.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce(&dyn Fn()) -> Result<T, Error> + Send) -> PyResult<T> {
    py.detach(|| cancellable(work))
}

/// Runs work on `bytes` bytes: without the GIL, unless there are so few that releasing the GIL takes longer.
pub fn detached_unless_small<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce(&dyn Fn()) -> Result<T, Error> + Send,
) -> PyResult<T> {
    if bytes < MAX_BYTES_WITH_GIL { cancellable(work) } else { detached(py, work) }
}

fn cancellable<T>(work: impl FnOnce(&dyn Fn()) -> Result<T, Error>) -> PyResult<T> {
    let last_check = Cell::new(None);
    // What the work has changed is dropped if it unwinds.
    catch_unwind(AssertUnwindSafe(|| work(&|| check_signals(&last_check))))
        .map_err(|payload| match payload.downcast::<PyErr>() {
            Ok(exception) => *exception,
            // A defect: pyo3 makes an exception of the panic.
            Err(panic) => resume_unwind(panic),
        })?
        .map_err(algorithm_error)
}

/// Runs Python's signal handlers if some time has passed since the first tick or the last check. Unwinds with the
/// exception if a handler raises one.
fn check_signals(last_check: &Cell<Option<Instant>>) {
    let now = Instant::now();
    let last = last_check.get().unwrap_or(now);
    if now.duration_since(last) < SIGNAL_CHECK_INTERVAL {
        return last_check.set(Some(last));
    }
    // None: the interpreter is shutting down.
    if let Some(Err(exception)) = Python::try_attach(|py| py.check_signals()) {
        resume_unwind(Box::new(exception));
    }
    last_check.set(Some(Instant::now()));
}

/// The items of an iterator, with a look for signals before the first item and before each [`ITEMS_BETWEEN_TICKS`]th
/// item after it.
pub fn interruptible<T>(py: Python<'_>, items: impl Iterator<Item = T>) -> impl Iterator<Item = PyResult<T>> {
    items.enumerate().map(move |(index, item)| {
        if index % ITEMS_BETWEEN_TICKS == 0 {
            py.check_signals()?;
        }
        Ok(item)
    })
}
