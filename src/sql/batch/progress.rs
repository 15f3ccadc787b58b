//! Interrupts, and on request a word on how far a long computation has come.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::simhash::pairs::{Phase, Progress};
use crate::sql::error::{tell, tick};

/// Between two reports.
const INTERVAL: Duration = Duration::from_secs(3);

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
        let Some(next) = &self.next else { return };
        let now = Instant::now();
        if now < next.get() {
            return;
        }
        next.set(now + INTERVAL);
        let phase = match progress.phase {
            Phase::Sort => "sorting fingerprints",
            Phase::Equal => "listing equal fingerprints",
            Phase::Near => "comparing fingerprints",
        };
        tell(format!("{}: {phase}, {:.0} %", self.name, progress.share * 100.0));
    }
}
