//! Finds near fingerprints in the block indexes of a table.
//!
//! [`Growth`] says which values of which block to look up next. Each entry has the fingerprint, which is compared
//! there.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use pgrx::itemptr::item_pointer_to_u64;
use pgrx::pg_sys::{self, ItemPointerData};
use postgres::error::{out_of_memory, push};
use postgres::heap::entry_scan::{EntryRead, EntryScan, Fetched, KeyCondition, MAX_VALUES_AT_ONCE, key_count};
use simhash::search::cost::ENTRY_MICROSECONDS;
use simhash::search::growth::{Growth, Step};

use super::plan::DistanceSettings;
use crate::sql::indexed::layouts::{IndexedBlock, block_indexes};

/// A search in the indexes of a table. [`Finder::end`] releases all resources that it holds.
pub struct Finder {
    table: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    /// For rows of the table.
    slot: *mut pg_sys::TupleTableSlot,
    layouts: Vec<Vec<SearchedIndex>>,
    pub growth: Growth,
    /// The estimated number of rows of the table, or within the scope.
    row_count: f64,
    query: u64,
    /// The largest distance of the search.
    pub max_distance: i32,
    task: Option<Task>,
    /// The tids that were found by steps that were given up.
    seen: HashSet<u64>,
    /// The tids of rows that were fetched and that no transaction sees, up to [`MAX_SEEN_TIDS`]. Another index that has
    /// one of them marks its entry only after another fetch: VACUUM may have given the tid to a new row.
    dead: HashSet<u64>,
    /// The conditions on the keys before the block that limit the searches.
    pub scope: Vec<pg_sys::ScanKeyData>,
    counts: FinderCounts,
    /// Whether index scans stay open for further steps. An open scan takes 45 kB, so beginning another one is cheaper
    /// unless the scan is soon used again.
    reuses_scans: bool,
}

/// The work of a finder in all its searches.
#[derive(Clone, Copy, Default)]
pub struct FinderCounts {
    /// Number of descents in btrees: one for each probe, each full scan, and each scan of the entries with a NULL
    /// block.
    pub descents: u64,
    /// Number of index entries that were read.
    pub entries: u64,
    /// Number of full scans of an index.
    pub full_scans: u64,
    /// Number of rows that were fetched, whether the snapshot sees them or not.
    pub fetches: u64,
}

/// An index on a block.
struct SearchedIndex {
    indexed: IndexedBlock,
    relation: pg_sys::Relation,
    scan: Option<EntryScan>,
}

/// A step or a full scan in progress.
struct Task {
    kind: TaskKind,
    /// The layout of the index, and the position of the index in it.
    index: (usize, usize),
    /// The values that are still to be looked up.
    values: Box<dyn Iterator<Item = i32>>,
    /// Whether the index scan may have further entries for the last values.
    is_scanning: bool,
    /// Whether all entries have been read.
    is_read: bool,
    /// Number of entries that were read.
    entries: u64,
    /// Number of entries that were read and are near.
    near: u64,
    /// The tids that the step has found; None if it may no longer be given up, and for a full scan.
    found: Option<Vec<u64>>,
}

#[derive(Clone, Copy, PartialEq)]
enum TaskKind {
    Step(Step),
    /// A full scan of an index.
    FullScan {
        /// Whether to leave out entries that steps have found.
        skips_found: bool,
    },
}

/// An index entry of a near fingerprint.
#[derive(Clone, Copy)]
pub struct NearEntry {
    pub distance: u32,
    pub tid: ItemPointerData,
}

/// The outcome of [`Finder::next`].
pub enum FinderOutcome {
    Entry(NearEntry),
    /// A step or a full scan is complete.
    Complete,
    /// No step is left, or a full scan is cheaper.
    Exhausted,
}

/// The index that full scans read. Every layout has an index.
const FIRST_INDEX: (usize, usize) = (0, 0);

/// A step that has found this many tids (a quarter of a megabyte) is not given up. Once the steps that were given up
/// have found this many tids together, no further step is given up. The set of these tids takes at most two megabytes.
const MAX_SEEN_TIDS: usize = 1 << 15;

impl Finder {
    /// A finder in a table of about `row_count` rows. It opens the indexes until [`Finder::end`].
    ///
    /// # Safety
    /// The table, the snapshot and the slot for its rows live as long as the result.
    pub unsafe fn new(
        settings: &DistanceSettings,
        row_count: f64,
        table: pg_sys::Relation,
        snapshot: pg_sys::Snapshot,
        slot: *mut pg_sys::TupleTableSlot,
    ) -> Self {
        let index = |indexed: &IndexedBlock| {
            // SAFETY: the index is one of the plan, whose table is locked, so that the index exists.
            let relation = unsafe { pg_sys::index_open(indexed.index, pg_sys::AccessShareLock as pg_sys::LOCKMODE) };
            SearchedIndex { indexed: *indexed, relation, scan: None }
        };
        // No fingerprint is near before a search begins.
        let max_distance = -1;
        Self {
            table,
            snapshot,
            slot,
            layouts: settings.layouts.iter().map(|layout| layout.iter().map(index).collect()).collect(),
            growth: Growth::new(row_count, block_indexes(&settings.layouts)),
            row_count,
            query: 0,
            max_distance,
            task: None,
            seen: HashSet::new(),
            dead: HashSet::new(),
            scope: Vec::new(),
            counts: FinderCounts::default(),
            reuses_scans: false,
        }
    }

    /// Begins a search for fingerprints within a distance of `query`. `is_again` says whether the scan has made a search
    /// before.
    pub fn begin(&mut self, settings: &DistanceSettings, query: u64, max_distance: i32, is_again: bool) {
        self.reuses_scans = is_again;
        self.growth = Growth::new(self.row_count, block_indexes(&settings.layouts));
        self.query = query;
        self.max_distance = max_distance;
        self.task = None;
        self.seen.clear();
        self.dead = HashSet::new();
    }

    /// The expected cost of a full scan of an index, in microseconds.
    pub fn full_scan_cost(&self) -> f64 {
        self.row_count * ENTRY_MICROSECONDS
    }

    /// Finds the next near fingerprint at one of these distances. Makes steps until everything within `target` has been
    /// found, as long as the remaining steps cost at most `otherwise` microseconds. An entry that several steps find is
    /// returned once.
    pub fn next(&mut self, target: i32, distances: &RangeInclusive<u32>, otherwise: f64) -> FinderOutcome {
        loop {
            let Some(mut task) = self.task.take() else {
                let Some(step) = self.growth.next(target, otherwise) else { return FinderOutcome::Exhausted };
                self.begin_step(step);
                continue;
            };
            match (self.next_near(&mut task, distances), task.kind) {
                (Some(found), _) => {
                    task.remember(found.tid);
                    self.task = Some(task);
                    return FinderOutcome::Entry(found);
                }
                (None, TaskKind::Step(step)) if !task.is_read => {
                    self.growth.give_up(step);
                    let found = task.found.unwrap_or_default();
                    self.seen.try_reserve(found.len()).unwrap_or_else(|_| out_of_memory());
                    self.seen.extend(found);
                }
                (None, kind) => {
                    if let TaskKind::Step(step) = kind {
                        self.growth.complete(step);
                    }
                    self.release(task.index);
                    return FinderOutcome::Complete;
                }
            }
        }
    }

    fn begin_step(&mut self, step: Step) {
        let index = (step.layout, step.block);
        let values = self.growth.values(step, self.query);
        let found = (self.seen.len() < MAX_SEEN_TIDS).then(Vec::new);
        self.task = Some(Task::new(TaskKind::Step(step), index, Box::new(values), found));
    }

    /// Begins a full scan of an index. If `skips_found`, it leaves out entries that steps have found.
    pub fn begin_full_scan(&mut self, skips_found: bool) {
        self.counts.full_scans += 1;
        self.read_first_index(KeyCondition::NotNull);
        let kind = TaskKind::FullScan { skips_found };
        let task = Task::new(kind, FIRST_INDEX, Box::new(std::iter::empty()), None);
        self.task = Some(Task { is_scanning: true, ..task });
    }

    /// Begins to read the entries of rows without a fingerprint, for [`Finder::next_null`].
    pub fn begin_nulls(&mut self) {
        self.read_first_index(KeyCondition::Null);
    }

    fn read_first_index(&mut self, condition: KeyCondition<'_>) {
        self.look_up(FIRST_INDEX, condition);
        self.counts.descents += 1;
    }

    /// The tid of the next row without a fingerprint; None at the end.
    pub fn next_null(&mut self) -> Option<ItemPointerData> {
        pgrx::check_for_interrupts!();
        let scan = self.index(FIRST_INDEX).scan.as_mut()?;
        // SAFETY: the closure does not panic. It refuses no entry, so the scan does not pause.
        matches!(unsafe { scan.next(|_| true) }, EntryRead::Entry(_)).then(|| scan.tid())
    }

    /// The next near entry of a task. None at the end of the task, or if its step is to be given up.
    fn next_near(&mut self, task: &mut Task, distances: &RangeInclusive<u32>) -> Option<NearEntry> {
        let query = self.query;
        let is_near = |value: i64| distances.contains(&(value.cast_unsigned() ^ query).count_ones());
        loop {
            pgrx::check_for_interrupts!();
            if !self.look_up_next(task) {
                return None;
            }
            let scan = self.index(task.index).scan.as_mut()?;
            let before = scan.entries;
            // SAFETY: comparing numbers does not panic.
            let read = unsafe { scan.next(is_near) };
            let tid = scan.tid();
            task.entries += scan.entries - before;
            match read {
                EntryRead::Entry(Some(value)) => {
                    task.near += 1;
                    let difference = value.cast_unsigned() ^ query;
                    if self.is_new(task, difference, tid) {
                        return Some(NearEntry { distance: difference.count_ones(), tid });
                    }
                    if self.dead.contains(&item_pointer_to_u64(tid)) {
                        self.fetch(task.index);
                    }
                }
                EntryRead::Entry(None) | EntryRead::Pause => {}
                EntryRead::End => task.is_scanning = false,
            }
            if task.gives_up() {
                return None;
            }
        }
    }

    /// Whether no earlier step has found an entry. Always true in a full scan that skips none.
    fn is_new(&self, task: &Task, difference: u64, tid: ItemPointerData) -> bool {
        task.kind == TaskKind::FullScan { skips_found: false }
            || self.growth.is_new(difference)
                && (self.seen.is_empty() || !self.seen.contains(&item_pointer_to_u64(tid)))
    }

    /// Looks up the next values of a task, unless the index scan may have further entries for the last values. False if
    /// no values are left.
    fn look_up_next(&mut self, task: &mut Task) -> bool {
        if task.is_scanning {
            return true;
        }
        let values: Vec<_> = task.values.by_ref().take(MAX_VALUES_AT_ONCE).collect();
        if values.is_empty() {
            task.is_read = true;
            return false;
        }
        self.counts.descents += values.len() as u64;
        self.look_up(task.index, KeyCondition::AnyOf(&values));
        task.is_scanning = true;
        true
    }

    /// Begins to look up entries by a condition on the block, within the scope. Begins a scan of the index, unless it
    /// has begun.
    fn look_up(&mut self, (layout, index): (usize, usize), condition: KeyCondition<'_>) {
        let Self { table, snapshot, layouts, scope, .. } = self;
        let SearchedIndex { indexed, relation, scan } = &mut layouts[layout][index];
        let (keys, included) = (key_count(scope.len(), false), Some(indexed.fingerprint));
        // SAFETY: both relations stay open until the scan ends, and the snapshot is the query's. A fingerprint is a
        // bigint. The index has the scope's columns, then the block, an integer. The scan has the keys for them.
        unsafe {
            let scan = scan.get_or_insert_with(|| EntryScan::begin(*table, *relation, *snapshot, keys, included));
            scan.look_up(scope, condition, None);
        }
    }

    /// Fetches the row of the entry that [`Finder::next`] has just returned, into the slot.
    pub fn fetch_found(&mut self) -> Fetched {
        let current = self.task.as_ref().map(|task| task.index);
        current.map_or(Fetched::Invisible, |index| self.fetch(index))
    }

    /// Fetches the row of the entry that the scan of an index has just read.
    fn fetch(&mut self, index: (usize, usize)) -> Fetched {
        let slot = self.slot;
        let Some(scan) = &mut self.index(index).scan else { return Fetched::Invisible };
        let tid = item_pointer_to_u64(scan.tid());
        // SAFETY: the slot is for rows of the table. The scan has just read an entry.
        let fetched = unsafe { scan.fetch(slot) };
        self.counts.fetches += 1;
        if fetched == Fetched::Dead && self.dead.len() < MAX_SEEN_TIDS {
            self.dead.try_reserve(1).unwrap_or_else(|_| out_of_memory());
            self.dead.insert(tid);
        }
        fetched
    }

    fn index(&mut self, (layout, index): (usize, usize)) -> &mut SearchedIndex {
        &mut self.layouts[layout][index]
    }

    pub fn counts(&self) -> FinderCounts {
        let scans = self.layouts.iter().flatten().filter_map(|index| index.scan.as_ref());
        let entries = self.counts.entries + scans.map(|scan| scan.entries).sum::<u64>();
        FinderCounts { entries, ..self.counts }
    }

    /// The radius within which the last search has looked up each block, in the layout that it has used most. None if
    /// it has completed no step.
    pub fn radii(&self) -> Option<Vec<Option<u32>>> {
        let layouts = self.layouts.iter().zip(self.growth.radii());
        let (layout, found) = layouts.max_by_key(|(_, radii)| radii.iter().flatten().count())?;
        let first = layout.first().filter(|_| found.iter().any(Option::is_some))?;
        let mut radii = vec![None; first.indexed.blocks as usize];
        for (index, radius) in layout.iter().zip(found) {
            radii[index.indexed.block as usize] = radius;
        }
        Some(radii)
    }

    /// Ends the scan of an index, unless scans are reused.
    fn release(&mut self, index: (usize, usize)) {
        let reuses_scans = self.reuses_scans;
        if let Some(scan) = self.index(index).scan.take_if(|_| !reuses_scans) {
            self.counts.entries += scan.entries;
            scan.end();
        }
    }

    pub fn end(self) {
        for index in self.layouts.into_iter().flatten() {
            if let Some(scan) = index.scan {
                scan.end();
            }
            // SAFETY: the index was opened by `Finder::new`, and is closed only here.
            unsafe { pg_sys::index_close(index.relation, pg_sys::NoLock as pg_sys::LOCKMODE) };
        }
    }
}

impl Task {
    fn new(
        kind: TaskKind,
        index: (usize, usize),
        values: Box<dyn Iterator<Item = i32>>,
        found: Option<Vec<u64>>,
    ) -> Self {
        Self { kind, index, values, is_scanning: false, is_read: false, entries: 0, near: 0, found }
    }

    /// Stores a tid that the step has found, for the case that the step is given up.
    fn remember(&mut self, tid: ItemPointerData) {
        if let Some(tids) = &mut self.found {
            push(tids, item_pointer_to_u64(tid));
            if tids.len() >= MAX_SEEN_TIDS {
                self.found = None;
            }
        }
    }

    /// Whether the entries that are not near have cost so much that giving the step up is cheaper.
    fn gives_up(&self) -> bool {
        let TaskKind::Step(step) = self.kind else { return false };
        self.found.is_some() && (self.entries - self.near) as f64 * ENTRY_MICROSECONDS > step.limit
    }
}
