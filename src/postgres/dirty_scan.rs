//! An index scan under a dirty snapshot: it finds what every transaction has written, committed or not, as PostgreSQL's
//! own look-up for unique and exclusion constraints does (`check_exclusion_or_unique_constraint` in execIndexing.c).

use pgrx::pg_sys::{self, Datum};

use super::catalog::relation::Relation;
use super::moment::{Moment, Transaction};
use super::row::{Row, TableSlot};
use super::row_version::RowVersion;

/// Whether a row version is in the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is.
    Present,
    /// It depends on another transaction, which has inserted it, or is deleting it.
    Depends(Transaction),
    /// It has been deleted, or replaced by another version.
    Gone {
        /// Another transaction has done that, and committed since the search began.
        lately: bool,
        /// The command of this transaction that stored it; None if another transaction did.
        stored_by: Option<pg_sys::CommandId>,
    },
}

/// A scan of one index of a table of the access method heap.
pub struct DirtyScan<'a> {
    description: pg_sys::IndexScanDesc,
    snapshot: Box<pg_sys::SnapshotData>,
    slot: &'a TableSlot,
    since: &'a Moment,
    /// The versions of the current entry are gone, and they are being read.
    is_among_gone: bool,
    wants_entries: bool,
    /// Entries that are still read.
    left: usize,
}

/// An entry of an index.
pub struct Entry {
    tuple: pg_sys::IndexTuple,
    description: pg_sys::TupleDesc,
}

impl<'a> DirtyScan<'a> {
    /// Begins a scan that reads at most `most` entries. `since` is when the search of which it is a part began.
    ///
    /// # Safety
    /// Table and index stay open as long as the scan; the index is one of the table's, and supports these comparisons of
    /// its keys. The slot is one of the table.
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
        // SAFETY: by the contract. The keys are copied; the snapshot is on the heap and outlives the scan.
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

    /// Whether the scan has ended before it had read as many entries as it may.
    pub fn has_read_all(&self) -> bool {
        self.left > 0
    }

    /// The next row version; None if there is none, or enough has been read. Where entries are wanted, those that are not
    /// accepted are passed over without a look at the table.
    pub fn next(&mut self, accepts: impl Fn(&Entry) -> bool) -> Option<(RowVersion<'_>, State)> {
        let direction = pg_sys::ScanDirection::ForwardScanDirection;
        let slot = self.slot.as_ptr();
        let state = loop {
            pgrx::check_for_interrupts!();
            // SAFETY: a scan that has begun; the slot is one of its table. Both snapshots outlive the scan, and neither
            // is one that lets an index scan give up its pins.
            unsafe {
                let description = &mut *self.description;
                // The versions of a row may share an entry, and differ in columns that the index does not have.
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
                // What the index may forget is gone for everybody.
                if !is_same_entry && !description.kill_prior_tuple {
                    self.is_among_gone = true;
                    description.xs_snapshot = &raw mut pg_sys::SnapshotAnyData;
                    if pg_sys::index_fetch_heap(description, slot) {
                        break self.gone();
                    }
                }
            }
        };
        // Only tables of the heap are scanned, so that there always is a version.
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
        // SAFETY: begun by this, and ended only here.
        unsafe { pg_sys::index_endscan(self.description) };
    }
}

impl Entry {
    /// The value of a column of the index, from 1; None for NULL.
    pub fn value(&self, place: i16) -> Option<Datum> {
        const MOST: usize = pg_sys::INDEX_MAX_KEYS as usize;
        let (mut values, mut nulls) = ([Datum::null(); MOST], [false; MOST]);
        // SAFETY: an entry that the scan has just found, as its description says. No index has more columns than there
        // is room for.
        unsafe {
            pg_sys::index_deform_tuple(self.tuple, self.description, values.as_mut_ptr(), nulls.as_mut_ptr());
        }
        let place = usize::try_from(place).ok()?.checked_sub(1)?;
        (!nulls.get(place)?).then_some(values[place])
    }
}

/// A snapshot that sees what every transaction has written. InitDirtySnapshot in PostgreSQL's snapmgr.h sets nothing but
/// the type.
fn dirty_snapshot() -> Box<pg_sys::SnapshotData> {
    let snapshot_type = pg_sys::SnapshotType::SNAPSHOT_DIRTY;
    Box::new(pg_sys::SnapshotData { snapshot_type, ..Default::default() })
}

/// The state of a row version that has just been read under a dirty snapshot.
fn state_of(snapshot: &pg_sys::SnapshotData) -> State {
    // The snapshot says which transaction in progress has inserted the row, or else is deleting it.
    let transaction = |id| State::Depends(Transaction { id, speculation: snapshot.speculativeToken });
    match (snapshot.xmin, snapshot.xmax) {
        (inserter, _) if inserter != pg_sys::InvalidTransactionId => transaction(inserter),
        (_, deleter) if deleter != pg_sys::InvalidTransactionId => {
            State::Depends(Transaction { id: deleter, speculation: 0 })
        }
        _ => State::Present,
    }
}
