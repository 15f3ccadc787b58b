//! An index scan under a dirty snapshot: it finds the row versions of all transactions, committed or not. PostgreSQL
//! checks unique and exclusion constraints in the same way (`check_exclusion_or_unique_constraint` in execIndexing.c).
//!
//! A query's snapshot sees no uncommitted row, and at REPEATABLE READ no row that was committed after the transaction
//! began. So by queries, two transactions that store the same text at the same time miss each other. For example,
//! A has stored a row and not committed. B's query finds nothing; B's dirty scan finds the version, whose state depends
//! on A. B waits for A to end and scans again: if A has committed, the version is present, whatever the isolation level
//! of B; if A has rolled back, the version is gone.
//!
//! A plain index scan can miss a row that another transaction updates at the same time: if the new version gets an
//! entry that the scan has passed, the scan finds only the old version, which is gone. From such a version, a dirty
//! scan follows the replacements to the present version. So it finds every row that exists from its beginning to its
//! end.

use std::cell::RefCell;
use std::collections::HashSet;

use pgrx::itemptr::item_pointer_to_u64;
use pgrx::pg_sys::{self, ItemPointerData, Oid, TransactionId};

use super::entry_scan::{EntryRead, EntryScan};
use super::row::{Row, TableSlot};
use super::row_version::RowVersion;
use super::transactions::{Moment, Transaction};
use crate::catalog::relation::Relation;
use crate::memory::insert;

/// The state of a version that a dirty scan has found. It finds no version that was deleted or replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum VersionState {
    /// Its inserter has committed, or is this transaction, and nothing has deleted it.
    Present,
    /// Another transaction in progress has inserted the version, or is deleting it.
    Depends { on: Transaction, inserts: bool },
}

/// A row version that a search has found.
pub struct FoundVersion<'a> {
    pub table: &'a Relation,
    pub version: RowVersion<'a>,
    pub state: VersionState,
    /// The tid in the index entry, which all versions of a HOT chain share; without an entry, the version's own tid.
    pub entry: ItemPointerData,
    /// The value of the included column in the entry; None without one.
    pub value: Option<i64>,
    /// Whether the version may have other keys than were looked up: no entry leads to it, or only to a replaced
    /// version.
    pub may_have_other_keys: bool,
}

impl FoundVersion<'_> {
    /// Whether VACUUM may at any time remove a value of these columns: it is stored out of line, by a transaction that
    /// may roll back. The caller must not read such a value before that transaction has ended.
    pub fn may_lose(&self, mut columns: impl Iterator<Item = i16>) -> bool {
        matches!(self.state, VersionState::Depends { inserts: true, .. })
            && columns.any(|column| self.version.row().is_out_of_line(column))
    }
}

/// A set of tids of index entries, or of row versions, with their tables. A tid identifies an entry: all indexes of
/// a table have the same tid for a HOT chain.
#[derive(Default)]
pub struct EntrySet(RefCell<HashSet<(u32, u64)>>);

impl EntrySet {
    /// Adds an entry of a table; false if it was added before. Raises an error if out of memory.
    pub fn add(&self, table: Oid, tid: ItemPointerData) -> bool {
        insert(&mut self.0.borrow_mut(), (table.to_u32(), item_pointer_to_u64(tid)))
    }

    pub fn contains(&self, table: Oid, tid: ItemPointerData) -> bool {
        self.0.borrow().contains(&(table.to_u32(), item_pointer_to_u64(tid)))
    }
}

/// What the scans of one search share.
#[derive(Clone, Copy)]
pub struct DirtySearch<'a> {
    /// When the search began.
    pub since: &'a Moment,
    /// The entries whose rows no longer exist, as the scans find them. Each search needs a new set: after VACUUM, the
    /// tid of such an entry may be a new row's.
    pub entries_without_row: &'a EntrySet,
}

/// A scan of one index of a heap table.
pub struct DirtyScan<'a> {
    table: &'a Relation,
    scan: EntryScan,
    snapshot: Box<pg_sys::SnapshotData>,
    slot: &'a TableSlot,
    search: DirtySearch<'a>,
    /// The number of refused entries at which the scan ends; the caller may change it.
    pub refusal_limit: u64,
    /// The tid in the current entry, and the value of its included column.
    entry: ItemPointerData,
    value: Option<i64>,
}

impl<'a> DirtyScan<'a> {
    /// Begins a scan as [`EntryScan::begin`] does.
    ///
    /// # Safety
    /// The table and the index stay open as long as the scan lives; the index is a btree of the table. The slot belongs
    /// to the table. A column at `included` is of type `bigint`.
    pub unsafe fn begin(
        table: &'a Relation,
        index: &'a Relation,
        slot: &'a TableSlot,
        search: DirtySearch<'a>,
        key_count: usize,
        included: Option<i16>,
    ) -> Self {
        let mut snapshot = dirty_snapshot();
        // SAFETY: the caller passes an open table and its index. The snapshot is on the heap and outlives the scan.
        let scan = unsafe { EntryScan::begin(table.as_ptr(), index.as_ptr(), &mut *snapshot, key_count, included) };
        let entry = ItemPointerData::default();
        Self { table, scan, snapshot, slot, search, refusal_limit: u64::MAX, entry, value: None }
    }

    /// The scan of the entries, in which the caller looks up keys.
    pub fn scan(&mut self) -> &mut EntryScan {
        &mut self.scan
    }

    pub fn is_at_refusal_limit(&self) -> bool {
        self.scan.entries_refused >= self.refusal_limit
    }

    /// Finds the next row version; None if no entry with the keys is left, or at the limit of refusals. No row is
    /// fetched for an entry whose value `accepts` refuses, or that is `skipped`. Adds to `skipped` the entries whose
    /// rows this transaction has deleted, so that no later search reads them.
    ///
    /// # Safety
    /// `accepts` does not panic.
    pub unsafe fn next(&mut self, accepts: impl Fn(i64) -> bool, skipped: &EntrySet) -> Option<FoundVersion<'_>> {
        let (slot, description) = (self.slot.as_ptr(), self.scan.description);
        let may_have_other_keys = loop {
            crate::interrupts::tick();
            // SAFETY: the scan has begun, and the slot belongs to its table. Both snapshots outlive the scan, and
            // neither is an MVCC snapshot, with which an index scan may release its pins.
            unsafe {
                // Versions of a row may share an index entry, and differ in columns that the index does not have.
                let is_same_entry = (*description).xs_heap_continue;
                if !is_same_entry {
                    self.next_entry(&accepts, skipped)?;
                }
                (*description).xs_snapshot = &mut *self.snapshot;
                if pg_sys::index_fetch_heap(description, slot) {
                    break false;
                }
                if !is_same_entry && self.fetch_replacement(skipped).is_some() {
                    (self.entry, self.value) = (self.version().row().tid(), None);
                    break true;
                }
            }
        };
        let (table, version, state) = (self.table, self.version(), state_seen_by(&self.snapshot));
        Some(FoundVersion { table, version, state, entry: self.entry, value: self.value, may_have_other_keys })
    }

    /// Reads up to the next entry whose row is to be fetched; None at the end, or at the limit of refusals.
    ///
    /// # Safety
    /// `accepts` does not panic.
    unsafe fn next_entry(&mut self, accepts: impl Fn(i64) -> bool, skipped: &EntrySet) -> Option<()> {
        while !self.is_at_refusal_limit() {
            crate::interrupts::tick();
            match unsafe { self.scan.next(&accepts) } {
                EntryRead::Entry(value) => (self.entry, self.value) = (self.scan.tid(), value),
                EntryRead::Pause => continue,
                EntryRead::End => return None,
            }
            let sets = [skipped, self.search.entries_without_row];
            if !sets.iter().any(|set| set.contains(self.table.oid(), self.entry)) {
                return Some(());
            }
        }
        None
    }

    /// Fetches the version that has replaced the versions of the current entry, none of which the dirty snapshot sees;
    /// None if there is none. If the row was deleted or replaced before the search, or by this transaction, notes the
    /// entry in a set, so that it is not read again.
    ///
    /// # Safety
    /// The scan has just read an entry.
    unsafe fn fetch_replacement(&mut self, skipped: &EntrySet) -> Option<RowVersion<'_>> {
        let (slot, description) = (self.slot.as_ptr(), self.scan.description);
        // SAFETY: the caller has just read an entry. Any number is accepted as a transaction.
        unsafe {
            // With `kill_prior_tuple`, no transaction sees a version. Otherwise, read up to the one deleted last.
            let mut has_version = false;
            if !(*description).kill_prior_tuple {
                (*description).xs_snapshot = &raw mut pg_sys::SnapshotAnyData;
                while pg_sys::index_fetch_heap(description, slot) {
                    has_version = true;
                }
            }
            let last = has_version.then(|| self.version());
            let entry_set = match last.and_then(RowVersion::deleter) {
                // VACUUM leaves the version there as long as this transaction runs.
                Some(deleter) if pg_sys::TransactionIdIsCurrentTransactionId(deleter) => skipped,
                Some(deleter) if self.search.since.precedes_commit_of(deleter) => {
                    let (deleter, tid) = last?.replacement()?;
                    return fetch_seen_from(self.table, (Some(deleter), tid), self.slot, &mut self.snapshot);
                }
                // The insertion was rolled back, or the row was deleted or replaced before the search.
                _ => self.search.entries_without_row,
            };
            entry_set.add(self.table.oid(), self.entry);
        }
        None
    }

    /// The version in the slot. Panics unless the table is a heap table.
    fn version(&self) -> RowVersion<'_> {
        // SAFETY: the scan has stored a row in the slot, which holds it until the scan continues.
        RowVersion::new(unsafe { Row::new(self.slot.as_ptr()) }).expect("only heap tables are scanned")
    }
}

impl Drop for DirtyScan<'_> {
    fn drop(&mut self) {
        // After a PostgreSQL error, PostgreSQL releases what the scan holds when it ends the (sub)transaction.
        if !std::thread::panicking() {
            // SAFETY: the scan has begun, and ends only here.
            unsafe { pg_sys::index_endscan(self.scan.description) };
        }
    }
}

/// Fetches the row version at a tid or the one that has replaced it; None if it is not [`VersionState::Present`].
pub fn fetch_present<'a>(table: &Relation, tid: ItemPointerData, slot: &'a TableSlot) -> Option<RowVersion<'a>> {
    let mut snapshot = dirty_snapshot();
    let version = fetch_seen_from(table, (None, tid), slot, &mut snapshot);
    version.filter(|_| state_seen_by(&snapshot) == VersionState::Present)
}

/// Fetches the version of a row that the dirty snapshot sees, beginning with the version at a tid. None if the row was
/// deleted, or moved to another partition. If the transaction that inserted the version at the tid is given, another
/// row that has got the tid does not count.
fn fetch_seen_from<'a>(
    table: &Relation,
    (mut inserter, mut tid): (Option<TransactionId>, ItemPointerData),
    slot: &'a TableSlot,
    snapshot: &mut pg_sys::SnapshotData,
) -> Option<RowVersion<'a>> {
    let was_inserted_by = |version: RowVersion, inserter: Option<_>| inserter.is_none_or(|id| version.inserter() == id);
    // SAFETY: a snapshot that outlives the calls, and a static one, by which every version is visible.
    unsafe {
        // A version that the dirty snapshot does not see will not change any more.
        while RowVersion::fetch_visible(table, tid, slot, snapshot).is_none() {
            crate::interrupts::tick();
            let replaced = RowVersion::fetch_visible(table, tid, slot, &raw mut pg_sys::SnapshotAnyData);
            let (deleter, next) = replaced.filter(|version| was_inserted_by(*version, inserter))?.replacement()?;
            (inserter, tid) = (Some(deleter), next);
        }
        RowVersion::new(Row::new(slot.as_ptr())).filter(|version| was_inserted_by(*version, inserter))
    }
}

/// A snapshot that sees the row versions of all transactions. Like InitDirtySnapshot in snapmgr.h, sets only the type.
fn dirty_snapshot() -> Box<pg_sys::SnapshotData> {
    let snapshot_type = pg_sys::SnapshotType::SNAPSHOT_DIRTY;
    Box::new(pg_sys::SnapshotData { snapshot_type, ..Default::default() })
}

/// The state of a row version that was just fetched under this dirty snapshot: fetching it sets fields of the snapshot.
fn state_seen_by(snapshot: &pg_sys::SnapshotData) -> VersionState {
    // `xmin` is another transaction in progress that has inserted the row, and `xmax` one that is deleting it.
    let depends =
        |id, speculative_token, inserts| VersionState::Depends { on: Transaction { id, speculative_token }, inserts };
    match (snapshot.xmin, snapshot.xmax) {
        (pg_sys::InvalidTransactionId, pg_sys::InvalidTransactionId) => VersionState::Present,
        (pg_sys::InvalidTransactionId, deleter) => depends(deleter, 0, false),
        (inserter, _) => depends(inserter, snapshot.speculativeToken, true),
    }
}
