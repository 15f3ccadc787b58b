//! Progress of a table's rewrite.
//!
//! PostgreSQL has no progress view for ALTER TABLE. But the rewrite computes a given block exactly once for each row,
//! so counting these calls shows the progress. When nothing is watched, that costs `simhash_block` one comparison with
//! a static.

use std::cell::Cell;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

use crate::postgres::error::tell;
use crate::postgres::report::{Schedule, out_of_about};

/// The number of the block whose computations are counted. The backend has one thread; an atomic is the simplest static
/// that is cheap to read.
static WATCHED: AtomicI32 = AtomicI32::new(NONE);
/// A number that no block has.
const NONE: i32 = -1;

/// Rows between two readings of the clock.
const ROWS: u64 = 256;

thread_local! {
    static REWRITE: Cell<Option<Rewrite>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct Rewrite {
    expected: f64,
    rows: u64,
    schedule: Schedule,
}

/// Counts until it is dropped, also by an error.
pub struct Watch;

/// Reports, every few seconds, for how many of the expected rows this block has been computed.
pub fn watch(block: i32, expected: f64) -> Watch {
    REWRITE.set(Some(Rewrite { expected, rows: 0, schedule: Schedule::start() }));
    WATCHED.store(block, Ordering::Relaxed);
    Watch
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.store(NONE, Ordering::Relaxed);
        REWRITE.set(None);
    }
}

/// Whether calls are being counted, for `pg_test/progress.rs`.
#[cfg(any(test, feature = "pg_test"))]
pub fn is_watching() -> bool {
    WATCHED.load(Ordering::Relaxed) != NONE
}

/// Called for each block that is computed.
#[inline]
pub fn computed(block: i32) {
    if block == WATCHED.load(Ordering::Relaxed) {
        count();
    }
}

#[cold]
fn count() {
    let Some(mut rewrite) = REWRITE.get() else {
        return;
    };
    rewrite.rows += 1;
    let is_due = rewrite.rows.is_multiple_of(ROWS) && rewrite.schedule.is_due(Instant::now());
    REWRITE.set(Some(rewrite));
    if is_due {
        tell(format!("attach: {}", out_of_about(rewrite.rows, rewrite.expected, "rows")));
    }
}
