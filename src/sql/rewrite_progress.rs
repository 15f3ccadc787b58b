//! Progress of a table's rewrite.
//!
//! PostgreSQL has no progress view for ALTER TABLE. But the rewrite computes a given block exactly once for each row, or
//! the fingerprint if that is the only new column, so counting these calls shows the progress. When nothing is watched,
//! that costs `simhash_block` and `simhash` one comparison with a static.

use std::cell::Cell;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

use crate::postgres::error::tell;
use crate::postgres::report::{Schedule, out_of_about};

/// The number of the block whose computations are counted. The backend has one thread; an atomic is the simplest static
/// that is cheap to read.
static WATCHED: AtomicI32 = AtomicI32::new(NONE);
/// Numbers that no block has.
const NONE: i32 = -1;
const FINGERPRINT: i32 = -2;

/// What is computed once for each row.
#[derive(Clone, Copy)]
pub enum Counted {
    Block(i32),
    Fingerprint,
}

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

/// Reports, every few seconds, for how many of the expected rows this has been computed.
pub fn watch(counted: Counted, expected: f64) -> Watch {
    REWRITE.set(Some(Rewrite { expected, rows: 0, schedule: Schedule::start() }));
    let number = match counted {
        Counted::Block(block) => block,
        Counted::Fingerprint => FINGERPRINT,
    };
    WATCHED.store(number, Ordering::Relaxed);
    Watch
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.store(NONE, Ordering::Relaxed);
        REWRITE.set(None);
    }
}

/// Whether calls are being counted, for `pg_test/progress.rs`.
#[cfg(feature = "pg_test")]
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

/// Called for each fingerprint that is computed.
#[inline]
pub fn computed_fingerprint() {
    computed(FINGERPRINT);
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
