//! Interrupts: loops check for them, and code that catches errors lets them pass.

use pgrx::pg_sys::panic::ErrorReportWithLevel;

use super::error::out_of_memory;
use super::reserve::is_memory_out;

/// Whether an interrupt has raised the error: the statement is cancelled, or the session is terminated. Only the name
/// of the function that raised it is certain, because other code can use its SQLSTATE.
pub fn is_interrupt(report: &ErrorReportWithLevel) -> bool {
    report.function_name() == Some("ProcessInterrupts")
}

/// Checks for interrupts, so that the user can cancel, and whether memory is out. Each long loop calls this; the
/// algorithm gets it as `tick`.
pub fn tick() {
    if is_memory_out() {
        out_of_memory();
    }
    pgrx::check_for_interrupts!();
}
