//! Progress reports of a long command, one every few seconds.

use std::time::{Duration, Instant};

/// The time between two reports.
pub const REPORT_INTERVAL: Duration = Duration::from_secs(3);

/// When the next report is due.
#[derive(Clone, Copy)]
pub struct Schedule(Instant);

impl Schedule {
    /// The first report is due after one interval.
    pub fn start() -> Self {
        Self(Instant::now() + REPORT_INTERVAL)
    }

    /// Whether a report is due at `now`. If it is, the next one is due one interval later.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.0;
        if is_due {
            self.0 = now + REPORT_INTERVAL;
        }
        is_due
    }
}
