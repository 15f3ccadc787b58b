//! Checks of what runs long: any of its ticks may panic, and the shares that they report ascend.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use simhash::pairs::{Phase, Progress};

/// Runs again and again, with a panic in another tick each time; of many ticks, in a hundred of them.
pub fn any_tick_may_panic(fewest: usize, run: impl Fn(&dyn Fn(Progress))) {
    let ticks = Cell::new(0);
    run(&|_| ticks.set(ticks.get() + 1));
    let all = ticks.get();
    assert!(all >= fewest, "{all} ticks");
    for nth in (0..all).step_by(1 + all / 100) {
        ticks.set(0);
        let panics = |_: Progress| {
            ticks.set(ticks.get() + 1);
            if ticks.get() > nth {
                // Unlike a panic, this prints no message.
                resume_unwind(Box::new(()));
            }
        };
        assert!(catch_unwind(AssertUnwindSafe(|| run(&panics))).is_err(), "tick {nth} of {all}");
    }
}

/// The phases and shares that a run reports.
pub fn ascending_shares(run: impl Fn(&dyn Fn(Progress))) -> Vec<(Phase, f64)> {
    let reports = RefCell::new(Vec::new());
    run(&|Progress { phase, share }| reports.borrow_mut().push((phase, share)));
    let reports = reports.into_inner();
    assert_eq!(reports.windows(2).find(|two| two[0] > two[1]), None);
    assert!(reports.iter().all(|(_, share)| (0.0..=1.0).contains(share)));
    reports
}
