//! The ticks of what runs long: their number, and a check that any of them may panic.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

#[derive(Default)]
pub struct Ticks(Cell<usize>);

impl Ticks {
    pub fn tick(&self) {
        self.0.set(self.0.get() + 1);
    }

    pub fn count(&self) -> usize {
        self.0.get()
    }

    /// The count, which begins at 0 again.
    pub fn take(&self) -> usize {
        self.0.take()
    }
}

/// Runs `run` again and again, with a panic in another tick each time; of many ticks, in a hundred of them. A run must
/// tick `min_ticks` times at least.
pub fn any_tick_may_panic(min_ticks: usize, run: impl Fn(&dyn Fn())) {
    let ticks = Ticks::default();
    run(&|| ticks.tick());
    let all = ticks.take();
    assert!(all >= min_ticks, "{all} ticks");
    for nth in (0..all).step_by(1 + all / 100) {
        ticks.take();
        let panics = || {
            ticks.tick();
            if ticks.count() > nth {
                // Unlike a panic, this prints no message.
                resume_unwind(Box::new(()));
            }
        };
        assert!(catch_unwind(AssertUnwindSafe(|| run(&panics))).is_err(), "tick {nth} of {all}");
    }
}
