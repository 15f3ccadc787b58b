//! PostgreSQL's interface for window functions (`windowapi.h`), which pgrx does not bind.

use std::ffi::c_int;
use std::{ptr, slice};

use pgrx::pg_sys::NodeTag;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::{AnyArray, FromDatum};

use super::call::Call;
use super::error::user_error;
use super::ffi::guarded;
#[cfg(feature = "pg19")]
use super::ffi::windowapi::WinCheckAndInitializeNullTreatment;
use super::ffi::windowapi::{
    FROM_HEAD, WinGetCurrentPosition, WinGetFuncArgCurrent, WinGetFuncArgInPartition, WinGetPartitionLocalMemory,
    WinGetPartitionRowCount, WinSetMarkPosition, WindowObject,
};
use super::text::RawText;

/// The window that a function is called over, at its current row.
pub struct Window {
    object: WindowObject,
    /// The number of rows in the partition.
    pub rows: usize,
    /// The position of the current row in the partition, from 0. Rows before it cannot be read any more.
    pub current: usize,
    numbers: *mut u32,
}

impl Window {
    /// The window of the running call of a window function. If the partition has more than `max_rows` rows, the error
    /// that `too_many` returns for their number.
    ///
    /// This runs for every row, so it crosses the guarded boundary only once: crossing it costs more than the
    /// functions.
    pub fn from_call(
        call: Call<'_>,
        max_rows: usize,
        too_many: impl FnOnce(usize) -> ErrorReport,
    ) -> Result<Self, ErrorReport> {
        let Some(object) = call.context(NodeTag::T_WindowObjectData) else {
            let code = PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
            return Err(user_error(code, "window function called without a window"));
        };
        // SAFETY: the window object of the running call. The memory has the same size in each call of a partition.
        unsafe {
            let (rows, current, numbers) = guarded(|| {
                // An error with RESPECT NULLS or IGNORE NULLS.
                #[cfg(feature = "pg19")]
                WinCheckAndInitializeNullTreatment(object, false, call.info());
                let rows = WinGetPartitionRowCount(object);
                let current = WinGetCurrentPosition(object);
                WinSetMarkPosition(object, current);
                let numbers = if rows <= max_rows as i64 {
                    WinGetPartitionLocalMemory(object, (rows as usize + 1) * size_of::<u32>())
                } else {
                    ptr::null_mut()
                };
                (rows as usize, current as usize, numbers.cast::<u32>())
            });
            if numbers.is_null() {
                return Err(too_many(rows));
            }
            Ok(Self { object, rows, current, numbers })
        }
    }

    /// The function's memory for the partition: one number, then one number for each row. They are zero when the
    /// partition begins, and last until it ends.
    pub fn partition_memory(&mut self) -> &mut [u32] {
        // SAFETY: the memory holds `rows + 1` numbers, and is aligned like any palloc'd memory; PostgreSQL zeroed it,
        // and it lives as long as the partition. Nothing else refers to it.
        unsafe { slice::from_raw_parts_mut(self.numbers, self.rows + 1) }
    }

    /// An argument at the current row.
    pub fn argument<T: FromDatum>(&self, argument: c_int) -> Option<T> {
        let (datum, is_null) = self.datum(argument);
        // SAFETY: the argument is of the type that the SQL declaration says.
        unsafe { T::from_datum(datum, is_null) }
    }

    /// An `integer[]` argument at the current row.
    pub fn array(&self, argument: c_int) -> Option<AnyArray> {
        let (datum, is_null) = self.datum(argument);
        // SAFETY: the SQL declaration makes the argument an integer[].
        unsafe { AnyArray::from_polymorphic_datum(datum, is_null, pg_sys::INT4ARRAYOID) }
    }

    fn datum(&self, argument: c_int) -> (pg_sys::Datum, bool) {
        let mut is_null = false;
        // SAFETY: the window is the running call's.
        let datum = unsafe { guarded(|| WinGetFuncArgCurrent(self.object, argument, &mut is_null)) };
        (datum, is_null)
    }

    /// Reads a `bigint` argument at consecutive rows of the partition from `position` on, which is at most 2^31 - 1.
    /// The argument is evaluated in the current memory context, which PostgreSQL does not reset before the function
    /// returns.
    pub fn bigints_from(&self, argument: c_int, position: usize, values: &mut [Option<i64>]) {
        // SAFETY: the window is the running call's, and the SQL declaration makes the argument a bigint, which is its
        // datum.
        unsafe {
            guarded(|| {
                for (row, value) in (position as c_int..).zip(values) {
                    let (mut is_null, mut is_out) = (false, false);
                    let datum = WinGetFuncArgInPartition(
                        self.object,
                        argument,
                        row,
                        FROM_HEAD,
                        false,
                        &mut is_null,
                        &mut is_out,
                    );
                    *value = (!is_null && !is_out).then(|| datum.value() as i64);
                }
            });
        }
    }

    /// Calls `f` with a `text` argument at a row of the partition; None if it is NULL. The argument is evaluated and
    /// detoasted in the current memory context.
    pub fn with_text<T>(&self, argument: c_int, position: usize, f: impl FnOnce(RawText<'_>) -> T) -> Option<T> {
        let (mut is_null, mut is_out) = (false, false);
        // SAFETY: the window is the running call's, and the SQL declaration makes the argument a text. `f` uses the
        // bytes before anything frees them.
        unsafe {
            let (null, out) = (&mut is_null, &mut is_out);
            let datum = guarded(|| {
                WinGetFuncArgInPartition(self.object, argument, position as c_int, FROM_HEAD, false, null, out)
            });
            RawText::from_datum(datum, is_null || is_out).map(f)
        }
    }
}
