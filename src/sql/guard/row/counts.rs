//! `simhash_guard_counts`: how many rows each guard has checked, rejected, skipped and marked in this session.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::rc::Rc;

use pgrx::AnyElement;
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use postgres::catalog::relation::exists;
use postgres::text::name_to_datum;
use postgres::trigger::RowEvent;

use crate::sql::guard::definition::action::Action;

/// The limit on the guards that are counted: about half a megabyte.
const MAX_COUNTED_GUARDS: usize = 4096;

/// Numbers of rows, including rows of statements and transactions that were rolled back.
#[derive(Default)]
pub struct GuardCounts {
    checked: Cell<i64>,
    rejected: Cell<i64>,
    skipped: Cell<i64>,
    marked: Cell<i64>,
}

/// A guard: its table, which is the partitioned table for triggers of its partitions, and the trigger's name.
type CountedGuard = (Oid, CString);

thread_local! {
    static COUNTS: RefCell<HashMap<CountedGuard, Rc<GuardCounts>>> = RefCell::default();
}

impl GuardCounts {
    /// The counts of the guard whose trigger is running.
    pub fn of(root: Oid, event: &RowEvent) -> Rc<Self> {
        // SAFETY: the data of a call points to its trigger, which has a NUL-terminated name.
        let guard = unsafe { CStr::from_ptr((*event.data.tg_trigger).tgname) };
        COUNTS.with_borrow_mut(|counts| {
            let key = (root, guard.to_owned());
            if let Some(known) = counts.get(&key) {
                return known.clone();
            }
            if counts.len() >= MAX_COUNTED_GUARDS {
                counts.retain(|(table, _), _| exists(*table));
            }
            let new = Rc::<Self>::default();
            // If there are too many guards, further ones are not counted.
            if counts.len() < MAX_COUNTED_GUARDS {
                counts.insert(key, new.clone());
            }
            new
        })
    }

    /// Counts a row that was checked, with the action that was taken if it was a near-duplicate.
    pub fn add(&self, action: Option<Action>) {
        let increment = |count: &Cell<i64>| count.set(count.get() + 1);
        increment(&self.checked);
        match action {
            Some(Action::Reject) => increment(&self.rejected),
            Some(Action::Skip) => increment(&self.skipped),
            Some(Action::Mark) => increment(&self.marked),
            None => {}
        }
    }
}

#[pg_extern(sql = false)]
fn simhash_guard_counts() -> TableIterator<
    'static,
    (
        name!(target, Oid),
        name!(guard, Option<AnyElement>),
        name!(checked, i64),
        name!(rejected, i64),
        name!(skipped, i64),
        name!(marked, i64),
    ),
> {
    let mut rows: Vec<_> = COUNTS.with_borrow(|counts| {
        let row = |((target, guard), counts): (&CountedGuard, &Rc<GuardCounts>)| {
            let GuardCounts { checked, rejected, skipped, marked } = &**counts;
            let counts = [checked, rejected, skipped, marked].map(Cell::get);
            (*target, guard.clone(), counts)
        };
        counts.iter().map(row).collect()
    });
    rows.retain(|(target, ..)| exists(*target));
    rows.sort_unstable_by_key(|(target, guard, _)| (target.to_u32(), guard.clone()));
    TableIterator::new(rows.into_iter().map(|(target, guard, [checked, rejected, skipped, marked])| {
        (target, name_to_datum(&guard), checked, rejected, skipped, marked)
    }))
}
