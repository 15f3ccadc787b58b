//! A row in a slot of the executor.

use std::marker::PhantomData;

use pgrx::pg_sys::{self, Datum};

use super::catalog::relation::Relation;
use super::ffi::{attribute, datum_image_eq};

/// A row of a table, in a slot, for as long as the slot holds it.
///
/// The values of its columns have the types that the slot's descriptor says.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    slot: *mut pg_sys::TupleTableSlot,
    lifetime: PhantomData<&'a pg_sys::TupleTableSlot>,
}

impl<'a> Row<'a> {
    /// # Safety
    /// The slot holds a row, and keeps it for `'a`.
    pub unsafe fn new(slot: *mut pg_sys::TupleTableSlot) -> Self {
        Self { slot, lifetime: PhantomData }
    }

    pub fn slot(self) -> *mut pg_sys::TupleTableSlot {
        self.slot
    }

    /// The value of a user column; None for NULL, and if the column does not exist.
    pub fn value(self, column: i16) -> Option<Datum> {
        self.attribute(column)?;
        let mut is_null = false;
        // SAFETY: the slot holds a row, and `attribute` has found the column.
        let value = unsafe { pg_sys::slot_getattr(self.slot, column.into(), &mut is_null) };
        (!is_null).then_some(value)
    }

    /// The row's place in its table; meaningless for a row that is not stored yet.
    pub fn place(self) -> pg_sys::ItemPointerData {
        // SAFETY: every slot has this field, whatever it holds.
        unsafe { (*self.slot).tts_tid }
    }

    /// Whether two rows of one table have the same values, byte for byte, in some columns.
    pub fn has_same_values(self, other: Row<'_>, mut columns: impl Iterator<Item = i16>) -> bool {
        columns.all(|column| match (self.value(column), other.value(column)) {
            (None, None) => true,
            (Some(a), Some(b)) => match (self.attribute(column), other.attribute(column)) {
                (Some(ours), Some(theirs)) if ours.atttypid == theirs.atttypid => {
                    // SAFETY: both values are of the attribute's type.
                    unsafe { datum_image_eq(a, b, ours.attbyval, ours.attlen) }
                }
                _ => false,
            },
            _ => false,
        })
    }

    /// The descriptor's entry for a user column; None if the column does not exist.
    fn attribute(self, column: i16) -> Option<&'a pg_sys::FormData_pg_attribute> {
        // SAFETY: a slot that holds a row has a descriptor, for as long as it holds the row.
        unsafe { attribute((*self.slot).tts_tupleDescriptor, column) }
    }
}

/// A slot for the stored rows of a table.
pub struct TableSlot(*mut pg_sys::TupleTableSlot);

impl TableSlot {
    /// Creates a slot. The table must stay open as long as the slot is used.
    pub fn new(table: &Relation) -> Self {
        // SAFETY: the table is open.
        Self(unsafe { pg_sys::table_slot_create(table.as_ptr(), std::ptr::null_mut()) })
    }

    pub fn as_ptr(&self) -> *mut pg_sys::TupleTableSlot {
        self.0
    }
}

impl Drop for TableSlot {
    fn drop(&mut self) {
        // After a PostgreSQL error, PostgreSQL itself releases what the slot pins and frees its memory.
        if !std::thread::panicking() {
            // SAFETY: `new` created the slot, and it is dropped only here.
            unsafe { pg_sys::ExecDropSingleTupleTableSlot(self.0) };
        }
    }
}
