//! How far the rewrite of a table is.
//!
//! PostgreSQL has no progress view for ALTER TABLE. But the rewrite computes a block of each row exactly once, so
//! counting these calls tells. While nobody watches, that costs `simhash_block` one comparison with a static.

use std::cell::Cell;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use crate::postgres::error::tell;

/// The block number whose computations are counted. An atomic is the plain way to a static that is cheap to read; there
/// is one thread.
static WATCHED: AtomicI32 = AtomicI32::new(NONE);
/// No block has this number.
const NONE: i32 = -1;

const INTERVAL: Duration = Duration::from_secs(5);
/// Rows between two looks at the clock.
const STRIDE: u64 = 256;

thread_local! {
    static REWRITE: Cell<Option<Rewrite>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct Rewrite {
    expected: f64,
    rows: u64,
    next: Instant,
}

/// Counts as long as it lives, also if an error ends that.
pub struct Watch;

/// Reports, every few seconds, how many of the expected rows have got this block.
pub fn watch(block: i32, expected: f64) -> Watch {
    REWRITE.set(Some(Rewrite { expected, rows: 0, next: Instant::now() + INTERVAL }));
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
    let due = rewrite.rows.is_multiple_of(STRIDE) && Instant::now() >= rewrite.next;
    if due {
        rewrite.next = Instant::now() + INTERVAL;
    }
    REWRITE.set(Some(rewrite));
    if due {
        tell(format!("attach: {}", of_about(rewrite.rows, rewrite.expected, "rows")));
    }
}

/// "1200000 of about 5000000 rows (24 %)".
pub fn of_about(done: u64, expected: f64, what: &str) -> String {
    let done_so_far = done as f64;
    if expected <= done_so_far {
        return format!("{done} {what}");
    }
    format!("{done} of about {expected:.0} {what} ({:.0} %)", 100.0 * done_so_far / expected)
}
