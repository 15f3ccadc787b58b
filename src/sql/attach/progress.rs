//! How far the rewrite of a table is.
//!
//! PostgreSQL has no progress view for ALTER TABLE. But the rewrite computes a block of each row exactly once, so
//! counting these calls tells. While nobody watches, that costs `simhash_block` one comparison with a static.

use std::cell::Cell;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

use crate::postgres::error::tell;
use crate::postgres::report::{Schedule, of_about};

/// The block number whose computations are counted. An atomic is the plain way to a static that is cheap to read; there
/// is one thread.
static WATCHED: AtomicI32 = AtomicI32::new(NONE);
/// No block has this number.
const NONE: i32 = -1;

/// Rows between two looks at the clock.
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

/// Counts as long as it lives, also if an error ends that.
pub struct Watch;

/// Reports, every few seconds, how many of the expected rows have got this block.
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

/// Whether calls are counted, for `pg_test/progress.rs`.
#[cfg(any(test, feature = "pg_test"))]
pub fn is_watching() -> bool {
    WATCHED.load(Ordering::Relaxed) != NONE
}

/// To be called for each block that is computed.
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
        tell(format!("attach: {}", of_about(rewrite.rows, rewrite.expected, "rows")));
    }
}
