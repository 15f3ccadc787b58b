//! A row in a slot of the executor.

use std::marker::PhantomData;
use std::slice;

use pgrx::itemptr::item_pointer_to_u64;
use pgrx::pg_sys::{self, Datum, ItemPointerData, Snapshot};
use pgrx::varlena::{varatt_is_1b_e, varsize_any};

use crate::catalog::relation::Relation;
use crate::ffi::attribute;

/// A row of a table, valid as long as the slot holds it.
///
/// The values of its columns have the types in the slot's descriptor.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    slot: *mut pg_sys::TupleTableSlot,
    lifetime: PhantomData<&'a pg_sys::TupleTableSlot>,
}

impl<'a> Row<'a> {
    /// # Safety
    /// The slot holds a row for all of `'a`.
    pub unsafe fn new(slot: *mut pg_sys::TupleTableSlot) -> Self {
        Self { slot, lifetime: PhantomData }
    }

    pub fn slot(self) -> *mut pg_sys::TupleTableSlot {
        self.slot
    }

    /// The value of the user column with this attnum; None for NULL, and if the column does not exist.
    pub fn value(self, column: i16) -> Option<Datum> {
        self.attribute(column)?;
        let mut is_null = false;
        // SAFETY: the slot holds a row, and `attribute` has found the column.
        let value = unsafe { pg_sys::slot_getattr(self.slot, column.into(), &mut is_null) };
        (!is_null).then_some(value)
    }

    /// The row's tid; meaningless for a row that is not stored yet.
    pub fn tid(self) -> ItemPointerData {
        // SAFETY: every slot has this field.
        unsafe { (*self.slot).tts_tid }
    }

    /// Whether two rows of one table have the same values in these columns, byte for byte once detoasted.
    pub fn has_same_values(self, other: Row<'_>, mut columns: impl Iterator<Item = i16>) -> bool {
        columns.all(|column| match (self.value(column), other.value(column)) {
            (None, None) => true,
            (Some(own), Some(others)) => {
                self.attribute(column).zip(other.attribute(column)).is_some_and(|(ours, theirs)| {
                    // Values with the same stored bytes are equal, and need not be detoasted.
                    let have_same_bytes =
                        || self.varlena(column).is_some_and(|bytes| other.varlena(column) == Some(bytes));
                    // SAFETY: both values are of the attribute's type.
                    let are_equal =
                        || unsafe { pg_sys::datum_image_eq(own, others, ours.attbyval, ours.attlen.into()) };
                    ours.atttypid == theirs.atttypid && (have_same_bytes() || are_equal())
                })
            }
            _ => false,
        })
    }

    /// Whether a column's value is stored out of line.
    pub fn is_out_of_line(self, column: i16) -> bool {
        // SAFETY: a varlena has a header.
        self.varlena(column).is_some_and(|value| unsafe { varatt_is_1b_e(value.as_ptr().cast()) })
    }

    /// The stored bytes of the values of these columns: for a value out of line, its TOAST pointer. A new version that
    /// leaves the values unchanged has the same bytes. None if a value is NULL, or of a type of fixed length.
    pub fn stored_bytes(self, columns: &[i16]) -> Option<Vec<u8>> {
        let values: Option<Vec<_>> = columns.iter().map(|&column| self.varlena(column)).collect();
        values.map(|values| values.concat())
    }

    /// The stored bytes of a value of variable length, compressed or not; None for NULL and for types of fixed length.
    fn varlena(self, column: i16) -> Option<&'a [u8]> {
        if self.attribute(column)?.attlen != -1 {
            return None;
        }
        let value: *const pg_sys::varlena = self.value(column)?.cast_mut_ptr();
        // SAFETY: a value of this length is a varlena, as long as its header says. It lives as long as the row.
        Some(unsafe { slice::from_raw_parts(value.cast(), varsize_any(value)) })
    }

    /// The descriptor's entry for a user column; None if the column does not exist.
    fn attribute(self, column: i16) -> Option<&'a pg_sys::FormData_pg_attribute> {
        // SAFETY: a slot that holds a row has a descriptor, for as long as it holds the row.
        unsafe { attribute((*self.slot).tts_tupleDescriptor, column) }
    }
}

/// Whether a tid is one of `tids`.
pub fn has_tid(tids: &[ItemPointerData], tid: ItemPointerData) -> bool {
    tids.iter().any(|other| item_pointer_to_u64(*other) == item_pointer_to_u64(tid))
}

/// A slot for the rows of a table.
pub struct TableSlot(*mut pg_sys::TupleTableSlot);

impl TableSlot {
    /// Creates a slot for stored rows. The table must stay open as long as the slot is used.
    pub fn new(table: &Relation) -> Self {
        // SAFETY: the table is open.
        Self(unsafe { pg_sys::table_slot_create(table.as_ptr(), std::ptr::null_mut()) })
    }

    /// Fetches the row version at a tid, whose page must exist; None if the snapshot does not see it.
    ///
    /// # Safety
    /// The snapshot is valid.
    pub unsafe fn fetch(&self, table: &Relation, mut tid: ItemPointerData, snapshot: Snapshot) -> Option<Row<'_>> {
        // SAFETY: the table is open and the slot is for its stored rows; the caller passes a valid snapshot.
        unsafe {
            let is_visible = pg_sys::table_tuple_fetch_row_version(table.as_ptr(), &mut tid, snapshot, self.0);
            is_visible.then(|| Row::new(self.0))
        }
    }

    /// Fetches the first row of the table that the snapshot sees; None if it sees none.
    ///
    /// # Safety
    /// The snapshot is valid.
    pub unsafe fn first(&self, table: &Relation, snapshot: Snapshot) -> Option<Row<'_>> {
        // SAFETY: the table is open and the slot is for its stored rows; the caller passes a valid snapshot.
        unsafe {
            #[cfg(not(feature = "pg19"))]
            let scan = pg_sys::table_beginscan(table.as_ptr(), snapshot, 0, std::ptr::null_mut());
            #[cfg(feature = "pg19")]
            let scan = pg_sys::table_beginscan(table.as_ptr(), snapshot, 0, std::ptr::null_mut(), 0);
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            let tid = pg_sys::table_scan_getnextslot(scan, forward, self.0).then(|| (*self.0).tts_tid);
            // The slot refers to the scan's memory, which is freed, so the row is fetched again.
            pg_sys::ExecClearTuple(self.0);
            pg_sys::table_endscan(scan);
            self.fetch(table, tid?, snapshot)
        }
    }

    pub fn as_ptr(&self) -> *mut pg_sys::TupleTableSlot {
        self.0
    }
}

impl Drop for TableSlot {
    fn drop(&mut self) {
        // After a PostgreSQL error, PostgreSQL itself releases the slot's pins and frees its memory.
        if !std::thread::panicking() {
            // SAFETY: `new` created the slot, and it is dropped only here.
            unsafe { pg_sys::ExecDropSingleTupleTableSlot(self.0) };
        }
    }
}
