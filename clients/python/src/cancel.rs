//! Work without the GIL, which Ctrl-C can cancel.
//!
//! The algorithm's loops call a tick every few milliseconds. Python runs its signal handlers only when the main thread
//! holds the GIL and asks for them. If one raises an exception, the tick unwinds with it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Time between two looks for signals. To take the GIL may take 5 ms if another thread runs Python code.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Work on fewer bytes keeps the GIL: releasing it takes as long as a fingerprint of 50 bytes, and it takes 10 us at
/// most to fingerprint so many.
const MAX_BYTES_WITH_GIL: usize = 1 << 12;

/// Looks for signals when the work ticks.
pub struct Signals {
    last: Cell<Option<Instant>>,
}

impl Signals {
    /// Runs Python's signal handlers if some time has passed. Unwinds with the exception if one raises it.
    pub fn tick(&self) {
        let now = Instant::now();
        match self.last.get() {
            Some(last) if now.duration_since(last) < SIGNAL_CHECK_INTERVAL => (),
            Some(_) => {
                // None: the interpreter is shutting down.
                if let Some(Err(raised)) = Python::try_attach(|py| py.check_signals()) {
                    resume_unwind(Box::new(raised));
                }
                self.last.set(Some(Instant::now()));
            }
            None => self.last.set(Some(now)),
        }
    }
}

/// Runs work without the GIL. Returns the exception if a signal handler raises one.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce(&Signals) -> T + Send) -> PyResult<T> {
    py.detach(|| cancellable(work))
}

/// Runs work on `bytes` bytes: without the GIL, unless there are so few that releasing the GIL takes longer.
pub fn detached_unless_small<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce(&Signals) -> T + Send,
) -> PyResult<T> {
    if bytes < MAX_BYTES_WITH_GIL { cancellable(work) } else { detached(py, work) }
}

fn cancellable<T>(work: impl FnOnce(&Signals) -> T) -> PyResult<T> {
    let signals = Signals { last: Cell::new(None) };
    // What the work has changed is dropped if it unwinds.
    catch_unwind(AssertUnwindSafe(|| work(&signals))).map_err(|payload| match payload.downcast::<PyErr>() {
        Ok(raised) => *raised,
        // A defect: pyo3 makes an exception of the panic.
        Err(panic) => resume_unwind(panic),
    })
}
