//! Interrupts and, on request, progress reports of a long computation.

use std::cell::Cell;
use std::time::{Duration, Instant};

use pgrx::pg_sys;
use postgres::error::{notice, tick};
use simhash::pairs::{Phase, Progress};

pub const REPORT_INTERVAL: Duration = Duration::from_secs(3);

thread_local! {
    /// The start time of the reporting statement, and when its next report is due. Both outlive a partition, because a
    /// statement may compute many partitions, none of which takes long enough for a report.
    static DUE: Cell<Option<(pg_sys::TimestampTz, Instant)>> = const { Cell::new(None) };
}

/// The tick of a computation on all fingerprints or pairs, which lets it be cancelled and report its progress.
pub struct Reporter {
    name: &'static str,
    rows: usize,
    is_reporting: bool,
}

impl Reporter {
    pub fn new(name: &'static str, rows: usize, is_reporting: bool) -> Self {
        // SAFETY: no arguments, no conditions.
        let statement = unsafe { pg_sys::GetCurrentStatementStartTimestamp() };
        if is_reporting && DUE.get().is_none_or(|(reporting, _)| reporting != statement) {
            DUE.set(Some((statement, Instant::now() + REPORT_INTERVAL)));
        }
        Self { name, rows, is_reporting }
    }

    /// Checks for interrupts, and sends a report if one is due.
    pub fn tick(&self, progress: Progress) {
        tick();
        if let Some(report) = self.report(progress, Instant::now()) {
            notice(report);
        }
    }

    /// The report that is due at `now`; None if none is due.
    pub fn report(&self, progress: Progress, now: Instant) -> Option<String> {
        let (statement, _) = DUE.get().filter(|&(_, due)| self.is_reporting && now >= due)?;
        DUE.set(Some((statement, now + REPORT_INTERVAL)));
        let (phase, what) = match progress.phase {
            Phase::Read => ("reading fingerprints", "rows"),
            Phase::Sort => ("sorting fingerprints", "rows"),
            Phase::Equal => ("listing equal fingerprints", "rows"),
            Phase::Near => ("comparing fingerprints", "rows"),
            Phase::Verify => ("comparing texts", "rows"),
            Phase::SortIds => ("sorting ids", "pairs"),
            Phase::CompareIds => ("comparing ids", "pairs"),
            Phase::JoinPairs => ("joining ids", "pairs"),
        };
        Some(format!("{}: {phase} of {} {what}, {:.0} %", self.name, self.rows, progress.share * 100.0))
    }
}
