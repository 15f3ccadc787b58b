//! Cancelling.

/// PostgreSQL's function that raises the error of an interrupt.
pub const INTERRUPT_HANDLER: &str = "ProcessInterrupts";

/// Checks for interrupts, so that the user can cancel. Each long loop calls this, the algorithm's as their tick.
pub fn tick() {
    pgrx::check_for_interrupts!();
}
