//! Interrupts, and on request a word on how far a long computation has come.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::simhash::pairs::{Phase, Progress};
use crate::sql::error::{tell, tick};

/// Between two reports.
pub const INTERVAL: Duration = Duration::from_secs(3);

/// The tick of a computation on all fingerprints.
pub struct Reporter {
    /// The function that runs.
    name: &'static str,
    /// When the next report is due; None if none is wanted.
    next: Option<Cell<Instant>>,
}

impl Reporter {
    pub fn new(name: &'static str, wanted: bool) -> Self {
        Self { name, next: wanted.then(|| Cell::new(Instant::now() + INTERVAL)) }
    }

    /// Lets the user cancel, and reports if it is time.
    pub fn tick(&self, progress: Progress) {
        tick();
        if let Some(report) = self.report(progress, Instant::now()) {
            tell(report);
        }
    }

    /// What is to be reported now, if anything.
    pub fn report(&self, progress: Progress, now: Instant) -> Option<String> {
        let next = self.next.as_ref()?;
        if now < next.get() {
            return None;
        }
        next.set(now + INTERVAL);
        let phase = match progress.phase {
            Phase::Sort => "sorting fingerprints",
            Phase::Equal => "listing equal fingerprints",
            Phase::Near => "comparing fingerprints",
        };
        Some(format!("{}: {phase}, {:.0} %", self.name, progress.share * 100.0))
    }
}
