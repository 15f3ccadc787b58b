//! A check of what runs long: it ticks often, and any of its ticks may panic.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs again and again, with a panic in another tick each time; of many ticks, in a hundred of them.
pub fn any_tick_may_panic(fewest: usize, run: impl Fn(&dyn Fn())) {
    let ticks = Cell::new(0);
    run(&|| ticks.set(ticks.get() + 1));
    let all = ticks.get();
    assert!(all >= fewest, "{all} ticks");
    for nth in (0..all).step_by(1 + all / 100) {
        ticks.set(0);
        let panics = || {
            ticks.set(ticks.get() + 1);
            if ticks.get() > nth {
                // Unlike a panic, this prints no message.
                resume_unwind(Box::new(()));
            }
        };
        assert!(catch_unwind(AssertUnwindSafe(|| run(&panics))).is_err(), "tick {nth} of {all}");
    }
}
