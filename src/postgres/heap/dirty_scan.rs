//! An index scan under a dirty snapshot: it finds the row versions of all transactions, committed or not. PostgreSQL
//! checks unique and exclusion constraints in the same way (`check_exclusion_or_unique_constraint` in execIndexing.c).
//!
//! A query's snapshot shows no row that is uncommitted, and at REPEATABLE READ none that was committed after the
//! transaction began. So by queries, two transactions that store the same text at the same time miss each other. For
//! example, A has stored a row and not committed. B's query finds nothing; B's dirty scan finds the version, whose
//! state depends on A. B waits for A to end and scans again: if A has committed, the version is present, whatever the
//! isolation level of B; if A has rolled back, it is gone.

use std::mem::ManuallyDrop;

use pgrx::pg_sys;

use super::entry_scan::{EntryRead, EntryScan};
use super::moment::{Moment, Transaction};
use super::row::{Row, TableSlot};
use super::row_version::RowVersion;
use crate::catalog::relation::Relation;

/// The state of a row version.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum VersionState {
    /// Its insertion is committed, or is this transaction's own, and nothing has deleted it.
    Present,
    /// A transaction in progress has inserted the version, or is deleting it.
    Depends { on: Transaction, inserts: bool },
    /// The version was deleted, or replaced by another version.
    Gone {
        /// Whether another transaction did this, and committed after the search began.
        during_search: bool,
    },
}

/// A row version that a scan has found.
pub struct Found<'a> {
    pub version: RowVersion<'a>,
    pub state: VersionState,
    /// The tid in the index entry. All versions of a HOT chain share it, in all indexes of the table.
    pub entry: pg_sys::ItemPointerData,
    /// The value of the included column in the entry.
    pub value: Option<i64>,
}

/// A scan of one index of a heap table.
pub struct DirtyScan<'a> {
    entries: ManuallyDrop<EntryScan>,
    snapshot: Box<pg_sys::SnapshotData>,
    slot: &'a TableSlot,
    since: &'a Moment,
    /// Whether the scan is returning the versions of the current entry that are gone.
    returns_gone: bool,
    /// The number of entries that may still be refused.
    refusals_left: u64,
    /// The tid in the current entry, and the value of its included column.
    entry: pg_sys::ItemPointerData,
    value: Option<i64>,
}

impl<'a> DirtyScan<'a> {
    /// Begins a scan with `keys` scan keys, for a search that began at `since`. `included` is the attnum of a `bigint`
    /// column of the index, by whose value entries are accepted or refused.
    ///
    /// # Safety
    /// The table and the index stay open as long as the scan lives; the index is a btree of the table. The slot belongs
    /// to the table. A column at `included` is of type `bigint`.
    pub unsafe fn begin(
        table: &Relation,
        index: &Relation,
        slot: &'a TableSlot,
        since: &'a Moment,
        keys: usize,
        included: Option<i16>,
    ) -> Self {
        let mut snapshot = dirty_snapshot();
        // SAFETY: the caller passes an open table and an open index of it. The snapshot is on the heap and outlives the
        // scan.
        let entries = unsafe { EntryScan::begin(table.as_ptr(), index.as_ptr(), &mut *snapshot, keys, included) };
        let entries = ManuallyDrop::new(entries);
        let entry = pg_sys::ItemPointerData::default();
        Self { entries, snapshot, slot, since, returns_gone: false, refusals_left: u64::MAX, entry, value: None }
    }

    /// The entries of the index, in which keys are looked up.
    pub fn entries(&mut self) -> &mut EntryScan {
        &mut self.entries
    }

    /// Limits how many entries may be refused from now on. The scan ends at this limit.
    pub fn limit_refusals(&mut self, most: u64) {
        self.refusals_left = most;
    }

    /// Counts the entry that was just read as refused.
    pub fn refuse(&mut self) {
        self.refusals_left = self.refusals_left.saturating_sub(1);
    }

    /// Whether no look-up was cut short: the limit of refusals has not been reached.
    pub fn has_read_all(&self) -> bool {
        self.refusals_left > 0
    }

    /// The next row version; None if no entry with the keys is left, or at the limit of refusals. No row is fetched for
    /// an entry that `accepts` refuses.
    ///
    /// # Safety
    /// `accepts` does not panic.
    pub unsafe fn next(&mut self, accepts: impl Fn(i64) -> bool) -> Option<Found<'_>> {
        let slot = self.slot.as_ptr();
        let state = loop {
            pgrx::check_for_interrupts!();
            let description = self.entries.description;
            // SAFETY: the scan has begun, and the slot belongs to its table. Both snapshots outlive the scan, and
            // neither is an MVCC snapshot, with which an index scan may release its pins.
            unsafe {
                // Versions of a row may share an index entry, and differ in columns that the index does not have.
                let is_same_entry = (*description).xs_heap_continue;
                if !is_same_entry {
                    if self.refusals_left == 0 {
                        return None;
                    }
                    self.returns_gone = false;
                    (*description).xs_snapshot = &mut *self.snapshot;
                    let before = self.entries.entries;
                    let read = self.entries.next(&accepts);
                    let accepted = u64::from(matches!(read, EntryRead::Entry(_)));
                    let refused = self.entries.entries - before - accepted;
                    self.refusals_left = self.refusals_left.saturating_sub(refused);
                    match read {
                        EntryRead::Entry(value) => (self.entry, self.value) = ((*description).xs_heaptid, value),
                        EntryRead::Pause if self.refusals_left > 0 => continue,
                        EntryRead::Pause | EntryRead::End => return None,
                    }
                }
                if pg_sys::index_fetch_heap(description, slot) {
                    break if self.returns_gone { self.gone() } else { state_of(&self.snapshot) };
                }
                // If `kill_prior_tuple` is set, the versions are dead to all transactions. Otherwise, return the
                // versions that are gone.
                if !is_same_entry && !(*description).kill_prior_tuple {
                    self.returns_gone = true;
                    (*description).xs_snapshot = &raw mut pg_sys::SnapshotAnyData;
                    if pg_sys::index_fetch_heap(description, slot) {
                        break self.gone();
                    }
                }
            }
        };
        Some(Found { version: self.version(), state, entry: self.entry, value: self.value })
    }

    fn version(&self) -> RowVersion<'_> {
        // SAFETY: the scan has stored a row in the slot, and the slot holds it until the scan continues.
        RowVersion::new(unsafe { Row::new(self.slot.as_ptr()) }).expect("only heap tables are scanned")
    }

    /// The state of the row version in the slot, which the dirty snapshot does not see.
    fn gone(&self) -> VersionState {
        let during_search = self.version().deleter().is_some_and(|deleter| self.since.precedes_commit_of(deleter));
        VersionState::Gone { during_search }
    }
}

impl Drop for DirtyScan<'_> {
    fn drop(&mut self) {
        // SAFETY: the scan is taken only here.
        let entries = unsafe { ManuallyDrop::take(&mut self.entries) };
        // After a PostgreSQL error, PostgreSQL releases what the scan holds when it ends the (sub)transaction.
        if !std::thread::panicking() {
            entries.end();
        }
    }
}

/// The row version at a tid, if it is present.
pub fn fetch_present<'a>(
    table: &Relation,
    tid: pg_sys::ItemPointerData,
    slot: &'a TableSlot,
) -> Option<RowVersion<'a>> {
    let mut snapshot = dirty_snapshot();
    // SAFETY: the snapshot outlives the call.
    let version = unsafe { RowVersion::fetch_visible(table, tid, slot, &mut *snapshot) };
    version.filter(|_| state_of(&snapshot) == VersionState::Present)
}

/// A snapshot that sees the row versions of all transactions. Like InitDirtySnapshot in PostgreSQL's snapmgr.h, it sets
/// nothing but the type.
fn dirty_snapshot() -> Box<pg_sys::SnapshotData> {
    let snapshot_type = pg_sys::SnapshotType::SNAPSHOT_DIRTY;
    Box::new(pg_sys::SnapshotData { snapshot_type, ..Default::default() })
}

/// The state of a row version that was just read under a dirty snapshot.
fn state_of(snapshot: &pg_sys::SnapshotData) -> VersionState {
    // The snapshot has the transaction in progress that has inserted the row, or else the transaction that is deleting
    // it.
    match (snapshot.xmin, snapshot.xmax) {
        (inserter, _) if inserter != pg_sys::InvalidTransactionId => {
            let on = Transaction { id: inserter, speculation: snapshot.speculativeToken };
            VersionState::Depends { on, inserts: true }
        }
        (_, deleter) if deleter != pg_sys::InvalidTransactionId => {
            VersionState::Depends { on: Transaction { id: deleter, speculation: 0 }, inserts: false }
        }
        _ => VersionState::Present,
    }
}
