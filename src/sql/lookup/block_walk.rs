//! Finds near fingerprints in the block indexes of a table.
//!
//! A search makes steps. [`Growth`] says which values of which block the next step looks up. A step is given up if it
//! reads too many entries that are not near, because a value is common: other blocks are looked up instead. Each entry
//! has the fingerprint, so it is compared before the row is fetched.
//!
//! The order of calls is: [`BlockWalk::begin`]; [`BlockWalk::next_of_steps`], until it is exhausted; and if it has not
//! found everything, [`BlockWalk::begin_scan_of_rest`] and [`BlockWalk::next_of_full_scan`]; or a full scan in place of
//! the steps, by [`BlockWalk::begin_full_scan`]. The entries of rows without a fingerprint may follow:
//! [`BlockWalk::begin_nulls`] and [`BlockWalk::next_null`].

use std::collections::HashSet;
use std::ops::RangeInclusive;

use pgrx::itemptr::item_pointer_to_u64;
use pgrx::pg_sys::ItemPointerData;
use postgres::error::out_of_memory;
use postgres::heap::entry_scan::{EntryRead, Fetched, KeyCondition, MAX_VALUES_AT_ONCE};
use postgres::memory::{insert, push};
use simhash::hamming;
use simhash::search::cost::ENTRY_MICROSECONDS;
use simhash::search::growth::{Growth, Step};

use super::query_indexes::QueryIndexes;
use crate::sql::indexed::layouts::{Layout, layout_blocks};

/// A search in the indexes of a table.
pub struct BlockWalk {
    /// The indexes of the first layout, then those of the next one.
    pub indexes: QueryIndexes,
    layouts: Vec<Layout>,
    pub growth: Growth,
    /// The estimated number of rows of the table, or within the scope.
    row_count: f64,
    query: u64,
    task: Option<Task>,
    /// The values of a look-up.
    probes: Vec<i32>,
    /// The tids that were found by steps that were given up.
    given_up_tids: HashSet<u64>,
    /// The tids of fetched rows that no transaction sees, up to [`MAX_STORED_TIDS`]. An index marks its entry as dead
    /// only when the row is fetched from this entry. So such a row is fetched again from each index that has it.
    dead_tids: HashSet<u64>,
}

/// A step or a full scan in progress.
struct Task {
    kind: TaskKind,
    index: usize,
    /// The values that are still to be looked up.
    values: Box<dyn Iterator<Item = i32>>,
    /// Whether the index scan may have further entries for the last values.
    is_scanning: bool,
    /// Number of entries that were read and are not near.
    far_entries: u64,
    /// The tids that the step has found; None if it may no longer be given up, and for a full scan.
    found_tids: Option<Vec<u64>>,
}

#[derive(Clone, Copy, PartialEq)]
enum TaskKind {
    Step(Step),
    /// A full scan of an index.
    FullScan,
    /// A full scan of an index that leaves out the entries that steps have found.
    ScanOfRest,
}

/// An index entry of a near fingerprint.
#[derive(Clone, Copy)]
pub struct NearEntry {
    pub distance: u32,
    pub tid: ItemPointerData,
    /// The number of the index that has the entry.
    index: usize,
}

/// The outcome of [`BlockWalk::next_of_steps`].
pub enum StepRead {
    Entry(NearEntry),
    /// A step is complete.
    Complete,
    /// No step is left, or a full scan is cheaper.
    Exhausted,
}

/// The index that full scans read. Every layout has an index.
const FIRST_INDEX: usize = 0;

/// A step that has found this many tids (a quarter of a megabyte) is not given up. Once the steps that were given up
/// have found this many tids together, no further step is given up. The set of these tids takes at most two megabytes.
const MAX_STORED_TIDS: usize = 1 << 15;

impl BlockWalk {
    /// A walk in a table of about `row_count` rows. `indexes` are those of the layouts, in this order.
    pub fn new(layouts: &[Layout], row_count: f64, indexes: QueryIndexes) -> Self {
        Self {
            indexes,
            growth: Growth::new(row_count, layout_blocks(layouts)),
            layouts: layouts.to_vec(),
            row_count,
            query: 0,
            task: None,
            probes: Vec::new(),
            given_up_tids: HashSet::new(),
            dead_tids: HashSet::new(),
        }
    }

    /// Begins to look for fingerprints near `query`. Call [`QueryIndexes::begin`] first.
    pub fn begin(&mut self, query: u64) {
        self.growth = Growth::new(self.row_count, layout_blocks(&self.layouts));
        self.query = query;
        self.task = None;
        self.given_up_tids.clear();
        self.dead_tids.clear();
    }

    /// The expected cost of a full scan of an index, in microseconds.
    pub fn full_scan_cost(&self) -> f64 {
        self.row_count * ENTRY_MICROSECONDS
    }

    /// Finds the next entry at a distance of at most `farthest`. Makes steps until everything within the distance
    /// `target` has been found, as long as the remaining steps cost at most `cost_limit` microseconds. An entry that
    /// several steps find is returned once.
    pub fn next_of_steps(&mut self, target: i32, farthest: u32, cost_limit: f64) -> StepRead {
        loop {
            let Some(mut task) = self.task.take().or_else(|| self.next_step(target, cost_limit)) else {
                return StepRead::Exhausted;
            };
            if let Some(entry) = self.next_near(&mut task, &(0..=farthest)) {
                task.store_tid(entry.tid);
                self.task = Some(task);
                return StepRead::Entry(entry);
            }
            let TaskKind::Step(step) = task.kind else { return StepRead::Complete };
            self.indexes.release(task.index);
            if !task.is_given_up() {
                self.growth.complete(step);
                return StepRead::Complete;
            }
            self.growth.give_up(step);
            let tids = task.found_tids.unwrap_or_default();
            self.given_up_tids.try_reserve(tids.len()).unwrap_or_else(|_| out_of_memory());
            self.given_up_tids.extend(tids);
        }
    }

    /// The next entry at one of these distances of the full scan that has begun; None at its end.
    pub fn next_of_full_scan(&mut self, distances: &RangeInclusive<u32>) -> Option<NearEntry> {
        let mut task = self.task.take()?;
        let entry = self.next_near(&mut task, distances);
        match entry {
            Some(_) => self.task = Some(task),
            None => self.indexes.release(FIRST_INDEX),
        }
        entry
    }

    fn next_step(&self, target: i32, cost_limit: f64) -> Option<Task> {
        let step = self.growth.next(target, cost_limit)?;
        let index = self.layouts[..step.layout].iter().map(Vec::len).sum::<usize>() + step.block;
        let values = self.growth.values(step, self.query);
        let found_tids = (self.given_up_tids.len() < MAX_STORED_TIDS).then(Vec::new);
        Some(Task { found_tids, ..Task::new(TaskKind::Step(step), index, values) })
    }

    /// Begins a full scan, which finds the entries that steps have found too.
    pub fn begin_full_scan(&mut self) {
        self.begin_scan(TaskKind::FullScan);
    }

    /// Begins a full scan that leaves out the entries that steps have found.
    pub fn begin_scan_of_rest(&mut self) {
        self.begin_scan(TaskKind::ScanOfRest);
    }

    fn begin_scan(&mut self, kind: TaskKind) {
        self.indexes.look_up(FIRST_INDEX, KeyCondition::NotNull, None);
        self.task = Some(Task { is_scanning: true, ..Task::new(kind, FIRST_INDEX, std::iter::empty()) });
    }

    /// Begins to read the entries of rows without a fingerprint, for [`BlockWalk::next_null`].
    pub fn begin_nulls(&mut self) {
        self.indexes.look_up(FIRST_INDEX, KeyCondition::Null, None);
    }

    /// The tid of the next row without a fingerprint; None at the end.
    pub fn next_null(&mut self) -> Option<ItemPointerData> {
        postgres::interrupts::tick();
        let scan = self.indexes.scan(FIRST_INDEX);
        scan.next_any().then(|| scan.tid())
    }

    /// The next near entry of a task; None at the end of the task, or if its step is given up.
    fn next_near(&mut self, task: &mut Task, distances: &RangeInclusive<u32>) -> Option<NearEntry> {
        let query = self.query;
        let is_near = |value: i64| distances.contains(&hamming(value.cast_unsigned(), query));
        loop {
            postgres::interrupts::tick();
            if !task.is_scanning {
                if !next_probes(&mut task.values, &mut self.probes) {
                    return None;
                }
                self.indexes.look_up(task.index, KeyCondition::AnyOf(&self.probes), None);
                task.is_scanning = true;
            }
            let scan = self.indexes.scan(task.index);
            // SAFETY: comparing numbers does not panic.
            let entry_read = unsafe { scan.next(is_near) };
            let tid = scan.tid();
            task.far_entries += std::mem::take(&mut scan.entries_refused);
            match entry_read {
                EntryRead::Entry(Some(value)) => {
                    let difference = value.cast_unsigned() ^ query;
                    let entry = NearEntry { distance: difference.count_ones(), tid, index: task.index };
                    if self.is_new(task, difference, tid) {
                        return Some(entry);
                    }
                    // An earlier step has found the row dead. Fetch it again: this index marks its entry too.
                    if self.dead_tids.contains(&item_pointer_to_u64(tid)) {
                        self.fetch(entry);
                    }
                }
                // The index has no fingerprint for this row.
                EntryRead::Entry(None) => task.far_entries += 1,
                EntryRead::Pause => {}
                EntryRead::End => task.is_scanning = false,
            }
            if task.is_given_up() {
                return None;
            }
        }
    }

    /// Whether no earlier step has found an entry, or the task is a full scan that returns all entries.
    fn is_new(&self, task: &Task, difference: u64, tid: ItemPointerData) -> bool {
        task.kind == TaskKind::FullScan
            || self.growth.is_new(difference) && !self.given_up_tids.contains(&item_pointer_to_u64(tid))
    }

    /// Fetches the row of an entry that the scan of its index has just read, into the slot.
    pub fn fetch(&mut self, NearEntry { index, tid, .. }: NearEntry) -> Fetched {
        let fetched = self.indexes.fetch(index);
        if fetched == Fetched::Dead && self.dead_tids.len() < MAX_STORED_TIDS {
            insert(&mut self.dead_tids, item_pointer_to_u64(tid));
        }
        fetched
    }

    /// The radius within which the last search has looked up each block, in the layout that it has used most. None
    /// before it has completed a step.
    pub fn radii(&self) -> Option<Vec<Option<u32>>> {
        let layouts = self.layouts.iter().zip(self.growth.radii());
        let (layout, radii) = layouts.max_by_key(|(_, radii)| radii.iter().flatten().count())?;
        let first = layout.first().filter(|_| radii.iter().any(Option::is_some))?;
        let mut by_block = vec![None; first.blocks as usize];
        for (indexed, radius) in layout.iter().zip(radii) {
            by_block[indexed.block as usize] = radius;
        }
        Some(by_block)
    }
}

impl Task {
    fn new(kind: TaskKind, index: usize, values: impl Iterator<Item = i32> + 'static) -> Self {
        Self { kind, index, values: Box::new(values), is_scanning: false, far_entries: 0, found_tids: None }
    }

    /// Stores a tid that the step has found. If the step is given up, later steps skip these.
    fn store_tid(&mut self, tid: ItemPointerData) {
        if let Some(tids) = &mut self.found_tids {
            push(tids, item_pointer_to_u64(tid));
            if tids.len() >= MAX_STORED_TIDS {
                self.found_tids = None;
            }
        }
    }

    /// Whether the entries that are not near have cost so much that giving the step up is cheaper.
    fn is_given_up(&self) -> bool {
        let TaskKind::Step(step) = self.kind else { return false };
        self.found_tids.is_some() && self.far_entries as f64 * ENTRY_MICROSECONDS > step.limit
    }
}

/// Fills `probes` with the next values to look up together; false if none is left.
pub fn next_probes(values: &mut impl Iterator<Item = i32>, probes: &mut Vec<i32>) -> bool {
    probes.clear();
    values.take(MAX_VALUES_AT_ONCE).for_each(|value| push(probes, value));
    !probes.is_empty()
}
