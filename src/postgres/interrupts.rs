//! Cancelling.

/// Checks for interrupts, so that the user can cancel. The algorithm's loops call this as their tick.
pub fn tick() {
    pgrx::check_for_interrupts!();
}
