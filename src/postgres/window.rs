//! PostgreSQL's interface for window functions (`windowapi.h`), which pgrx does not bind.

use std::ffi::c_int;
use std::{ptr, slice};

use pgrx::pg_sys::NodeTag;
use pgrx::prelude::*;
use pgrx::{AnyElement, FromDatum};

use super::call::Call;
use super::error::{Explain, Result, invalid_parameter, user_error};
use super::ffi::{guarded, windowapi};
use super::text::RawText;

/// The limit on the rows in a partition: [`PartitionMemory`] and their numbers are one palloc'd chunk of at most 1 GB.
const MAX_PARTITION_ROWS: usize = (1 << 28) - 16;

/// The window that a function is called over, at its current row.
pub struct Window<'a> {
    call: Call<'a>,
    object: windowapi::WindowObject,
    /// The number of rows in the partition.
    pub row_count: usize,
    /// The position of the current row in the partition, from 0.
    pub current_position: usize,
    /// A number for each row of the partition: 0 when the partition begins. They live until it ends.
    pub numbers: &'a mut [u32],
    pub memory: &'a mut PartitionMemory,
}

/// What a window function stores for a partition; a number for each row follows. All bytes are 0 when it begins.
#[repr(C)]
pub struct PartitionMemory {
    /// Memory for `reserved_count` values of one argument, of which the first `stored_count` are written.
    stored: *mut Option<pg_sys::Datum>,
    stored_count: usize,
    reserved_count: usize,
    stored_argument: c_int,
    /// Whether the window function has computed the numbers. It sets this itself; false when the partition begins.
    pub is_computed: bool,
}

impl<'a> Window<'a> {
    /// The window of the running call; an error for a partition of more than [`MAX_PARTITION_ROWS`].
    ///
    /// This runs for every row, so it crosses the guarded boundary only once: that takes longer than the functions.
    pub fn from_call(call: Call<'a>) -> Result<Self> {
        let Some(object) = call.context(NodeTag::T_WindowObjectData) else {
            return Err(invalid_parameter("window function called without a window"));
        };
        // SAFETY: the window is the running call's. The memory has the same size in each call of a partition, and lives
        // as long as the partition. PostgreSQL zeroed it when the partition began; since then only these types were
        // written. A number for each row follows its fields, aligned as they are. Nothing else refers to it.
        unsafe {
            let (row_count, current_position, memory) = guarded(|| {
                // An error with RESPECT NULLS or IGNORE NULLS.
                #[cfg(feature = "pg19")]
                windowapi::WinCheckAndInitializeNullTreatment(object, false, call.info);
                let row_count = windowapi::WinGetPartitionRowCount(object);
                let current_position = windowapi::WinGetCurrentPosition(object);
                let memory = if row_count <= MAX_PARTITION_ROWS as i64 {
                    let numbers = row_count as usize * size_of::<u32>();
                    windowapi::WinGetPartitionLocalMemory(object, size_of::<PartitionMemory>() + numbers)
                } else {
                    ptr::null_mut()
                };
                (row_count as usize, current_position as usize, memory.cast::<PartitionMemory>())
            });
            if memory.is_null() {
                let message = format!("cannot compare {row_count} rows of a window");
                return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
                    .with_detail(format!("A partition has at most {MAX_PARTITION_ROWS} rows."))
                    .with_hint("Partition the window, or leave out rows that have no fingerprint."));
            }
            let numbers = slice::from_raw_parts_mut(memory.add(1).cast(), row_count);
            Ok(Self { call, object, row_count, current_position, numbers, memory: &mut *memory })
        }
    }

    /// Allocates memory for [`Self::store`] to store `count` values of an argument: 16 bytes for each.
    pub fn reserve(&mut self, argument: c_int, count: usize) {
        let size = count * size_of::<Option<pg_sys::Datum>>();
        // SAFETY: the context of the partition's memory, in which the array lives as long as that memory.
        unsafe {
            let partition_context = pg_sys::GetMemoryChunkContext((&raw mut *self.memory).cast());
            self.memory.stored = pg_sys::MemoryContextAllocHuge(partition_context, size).cast();
        }
        (self.memory.stored_count, self.memory.reserved_count, self.memory.stored_argument) = (0, count, argument);
    }

    /// Stores a copy of the argument's value at the current row, and returns its index. Panics if the reserved memory
    /// is full.
    pub fn store(&mut self) -> usize {
        let index = self.memory.stored_count;
        assert!(index < self.memory.reserved_count, "all {index} values that were reserved are stored");
        let (mut length, mut is_by_value) = (0, false);
        let argument = self.memory.stored_argument;
        let value = self.current_datum(argument);
        // SAFETY: the value is of the argument's type, and its copy lives as long as the partition's memory. The array
        // has `reserved_count` elements.
        unsafe {
            let partition_context = pg_sys::GetMemoryChunkContext((&raw mut *self.memory).cast());
            pg_sys::get_typlenbyval(self.call.argument_type(argument), &mut length, &mut is_by_value);
            let previous_context = pg_sys::MemoryContextSwitchTo(partition_context);
            let value = value.map(|value| pg_sys::datumCopy(value, is_by_value, length.into()));
            pg_sys::MemoryContextSwitchTo(previous_context);
            self.memory.stored.add(index).write(value);
        }
        self.memory.stored_count += 1;
        index
    }

    /// A stored value, by its index; None if it is NULL. Panics if no value with this index is stored.
    pub fn stored(&self, index: usize) -> Option<AnyElement> {
        assert!(index < self.memory.stored_count, "no value {index} is stored");
        // SAFETY: `store` has written the value, which is of the type of the argument that was stored.
        unsafe {
            let value = (*self.memory.stored.add(index))?;
            AnyElement::from_polymorphic_datum(value, false, self.call.argument_type(self.memory.stored_argument))
        }
    }

    /// The value of an argument at the current row; None if it is NULL.
    pub fn argument<T: FromDatum>(&self, argument: c_int) -> Option<T> {
        let datum = self.current_datum(argument)?;
        // SAFETY: the argument is of the type that the SQL declaration says.
        unsafe { T::from_polymorphic_datum(datum, false, self.call.argument_type(argument)) }
    }

    fn current_datum(&self, argument: c_int) -> Option<pg_sys::Datum> {
        let mut is_null = false;
        // SAFETY: the window is the running call's.
        let datum = unsafe { guarded(|| windowapi::WinGetFuncArgCurrent(self.object, argument, &mut is_null)) };
        (!is_null).then_some(datum)
    }

    /// Reads a `bigint` argument at consecutive rows of the partition from `position` on, which is at most 2^31 - 1.
    /// What its expression allocates stays in the current memory context until the window function returns.
    pub fn bigints_from(&self, argument: c_int, position: usize, values: &mut [Option<i64>]) {
        // SAFETY: the window is the running call's, and in SQL the argument is a bigint, which is its datum.
        unsafe {
            guarded(|| {
                for (position, value) in (position as c_int..).zip(values) {
                    *value = self.argument_at(argument, position).map(|datum| datum.value() as i64);
                }
            });
        }
    }

    /// Calls `read` with a `text` argument at a position, detoasted in the current memory context; None if it is NULL.
    pub fn with_text<T>(&self, argument: c_int, position: usize, read: impl FnOnce(RawText<'_>) -> T) -> Option<T> {
        // SAFETY: the window is the running call's, and in SQL the argument is a text. `read` uses its bytes at once.
        unsafe { RawText::from_datum(guarded(|| self.argument_at(argument, position as c_int))?, false).map(read) }
    }

    /// An argument at a position in the partition; None if it is NULL, or if there is no such row.
    ///
    /// # Safety
    /// It is called in [`guarded`].
    unsafe fn argument_at(&self, argument: c_int, position: c_int) -> Option<pg_sys::Datum> {
        let (mut is_null, mut is_out) = (false, false);
        let (from_head, null, out) = (windowapi::FROM_HEAD, &mut is_null, &mut is_out);
        // SAFETY: the window is the running call's.
        let value = unsafe {
            windowapi::WinGetFuncArgInPartition(self.object, argument, position, from_head, false, null, out)
        };
        (!is_null && !is_out).then_some(value)
    }
}
