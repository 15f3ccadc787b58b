//! An index scan under a dirty snapshot: it finds what every transaction has written, committed or not. PostgreSQL
//! checks unique and exclusion constraints in the same way (`check_exclusion_or_unique_constraint` in execIndexing.c).

use pgrx::pg_sys::{self, Datum};

use super::catalog::relation::Relation;
use super::moment::{Moment, Transaction};
use super::row::{Row, TableSlot};
use super::row_version::RowVersion;

/// Whether a row version is in the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The version is in the table.
    Present,
    /// Another transaction, still in progress, has inserted the version or is deleting it.
    Depends(Transaction),
    /// The version was deleted, or replaced by another version.
    Gone {
        /// Whether another transaction did this, and committed after the search began.
        lately: bool,
        /// The command of this transaction that inserted the version; None if another transaction did.
        stored_by: Option<pg_sys::CommandId>,
    },
}

/// A scan of one index of a heap table.
pub struct DirtyScan<'a> {
    description: pg_sys::IndexScanDesc,
    snapshot: Box<pg_sys::SnapshotData>,
    slot: &'a TableSlot,
    since: &'a Moment,
    /// Whether the scan is reading the versions of the current entry that are gone.
    is_among_gone: bool,
    wants_entries: bool,
    /// The number of entries that may still be read.
    left: usize,
}

/// An entry of an index.
pub struct Entry {
    tuple: pg_sys::IndexTuple,
    description: pg_sys::TupleDesc,
}

impl<'a> DirtyScan<'a> {
    /// Begins a scan that reads at most `most` entries. `since` is when the search that this scan belongs to began.
    ///
    /// # Safety
    /// The table and the index stay open as long as the scan lives; the index belongs to the table, and supports these
    /// comparisons of its keys. The slot belongs to the table.
    pub unsafe fn begin(
        table: &Relation,
        index: &Relation,
        slot: &'a TableSlot,
        keys: &mut [pg_sys::ScanKeyData],
        since: &'a Moment,
        wants_entries: bool,
        most: usize,
    ) -> Self {
        let mut snapshot = dirty_snapshot();
        let count = keys.len() as i32;
        // SAFETY: the caller passes an open table, an open index of it, and keys that the index supports. The keys are
        // copied; the snapshot is on the heap and outlives the scan.
        let description = unsafe {
            #[cfg(not(feature = "pg18"))]
            let description = pg_sys::index_beginscan(table.as_ptr(), index.as_ptr(), &mut *snapshot, count, 0);
            #[cfg(feature = "pg18")]
            let description =
                pg_sys::index_beginscan(table.as_ptr(), index.as_ptr(), &mut *snapshot, std::ptr::null_mut(), count, 0);
            (*description).xs_want_itup = wants_entries;
            pg_sys::index_rescan(description, keys.as_mut_ptr(), count, std::ptr::null_mut(), 0);
            description
        };
        Self { description, snapshot, slot, since, is_among_gone: false, wants_entries, left: most }
    }

    /// Whether the scan ended before it had read its limit of entries.
    pub fn has_read_all(&self) -> bool {
        self.left > 0
    }

    /// The next row version; None at the end of the scan, or when it has read its limit. Where entries are wanted, an
    /// entry that `accepts` refuses is skipped without reading the table.
    pub fn next(&mut self, accepts: impl Fn(&Entry) -> bool) -> Option<(RowVersion<'_>, State)> {
        let direction = pg_sys::ScanDirection::ForwardScanDirection;
        let slot = self.slot.as_ptr();
        let state = loop {
            pgrx::check_for_interrupts!();
            // SAFETY: the scan has begun, and the slot belongs to its table. Both snapshots outlive the scan, and
            // neither is an MVCC snapshot, with which an index scan may release its pins.
            unsafe {
                let description = &mut *self.description;
                // Versions of a row may share an index entry, and differ in columns that the index does not have.
                let is_same_entry = description.xs_heap_continue;
                if !is_same_entry {
                    self.is_among_gone = false;
                    description.xs_snapshot = &mut *self.snapshot;
                    if self.left == 0 || pg_sys::index_getnext_tid(description, direction).is_null() {
                        return None;
                    }
                    self.left -= 1;
                    let entry = Entry { tuple: description.xs_itup, description: description.xs_itupdesc };
                    if self.wants_entries && !accepts(&entry) {
                        continue;
                    }
                }
                if pg_sys::index_fetch_heap(description, slot) {
                    break if self.is_among_gone { self.gone() } else { Some(state_of(&self.snapshot)) };
                }
                // If `kill_prior_tuple` is set, the versions are dead to every transaction; otherwise, read those that
                // are gone.
                if !is_same_entry && !description.kill_prior_tuple {
                    self.is_among_gone = true;
                    description.xs_snapshot = &raw mut pg_sys::SnapshotAnyData;
                    if pg_sys::index_fetch_heap(description, slot) {
                        break self.gone();
                    }
                }
            }
        };
        // Only heap tables are scanned, so the slot always holds a row version.
        Some((self.version()?, state?))
    }

    fn version(&self) -> Option<RowVersion<'_>> {
        // SAFETY: the scan has stored a row in the slot, which keeps it until the scan goes on.
        RowVersion::new(unsafe { Row::new(self.slot.as_ptr()) })
    }

    /// The state of a row version that the dirty snapshot does not see.
    fn gone(&self) -> Option<State> {
        let version = self.version()?;
        let lately = version.deleter().is_some_and(|deleter| self.since.precedes_commit_of(deleter));
        Some(State::Gone { lately, stored_by: version.own_command() })
    }
}

impl Drop for DirtyScan<'_> {
    fn drop(&mut self) {
        // SAFETY: this value began the scan, and ends it only here.
        unsafe { pg_sys::index_endscan(self.description) };
    }
}

impl Entry {
    /// The value of a column of the index, counted from 1; None for NULL.
    pub fn value(&self, place: i16) -> Option<Datum> {
        const MOST: usize = pg_sys::INDEX_MAX_KEYS as usize;
        let (mut values, mut nulls) = ([Datum::null(); MOST], [false; MOST]);
        // SAFETY: the scan has just found the entry, and has given its descriptor. No index has more columns than
        // INDEX_MAX_KEYS.
        unsafe {
            pg_sys::index_deform_tuple(self.tuple, self.description, values.as_mut_ptr(), nulls.as_mut_ptr());
        }
        let place = usize::try_from(place).ok()?.checked_sub(1)?;
        (!nulls.get(place)?).then_some(values[place])
    }
}

/// A snapshot that sees what every transaction has written. Like InitDirtySnapshot in PostgreSQL's snapmgr.h, it sets
/// nothing but the type.
fn dirty_snapshot() -> Box<pg_sys::SnapshotData> {
    let snapshot_type = pg_sys::SnapshotType::SNAPSHOT_DIRTY;
    Box::new(pg_sys::SnapshotData { snapshot_type, ..Default::default() })
}

/// The state of a row version that was just read under a dirty snapshot.
fn state_of(snapshot: &pg_sys::SnapshotData) -> State {
    // The snapshot names the transaction in progress that has inserted the row, or else the one that is deleting it.
    let transaction = |id| State::Depends(Transaction { id, speculation: snapshot.speculativeToken });
    match (snapshot.xmin, snapshot.xmax) {
        (inserter, _) if inserter != pg_sys::InvalidTransactionId => transaction(inserter),
        (_, deleter) if deleter != pg_sys::InvalidTransactionId => {
            State::Depends(Transaction { id: deleter, speculation: 0 })
        }
        _ => State::Present,
    }
}
