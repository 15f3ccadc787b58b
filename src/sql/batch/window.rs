//! PostgreSQL's interface for window functions (`windowapi.h`), which pgrx does not bind.

use std::ffi::c_int;
use std::slice;

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary as guarded;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, NodeTag};
use pgrx::prelude::*;

use crate::sql::error::user_error;

/// `WindowObject` of windowapi.h: nobody but PostgreSQL looks into it.
type WindowObject = *mut pg_sys::Node;

/// WINDOW_SEEK_HEAD of windowapi.h.
const FROM_HEAD: c_int = 1;

// As windowapi.h declares them, in all versions from 14 to 18. Errors leave them by longjmp: only to be called in `guarded`.
unsafe extern "C-unwind" {
    fn WinGetPartitionLocalMemory(window: WindowObject, size: usize) -> *mut std::ffi::c_void;
    fn WinGetCurrentPosition(window: WindowObject) -> i64;
    fn WinGetPartitionRowCount(window: WindowObject) -> i64;
    fn WinSetMarkPosition(window: WindowObject, position: i64);
    fn WinGetFuncArgInPartition(
        window: WindowObject,
        argument: c_int,
        position: c_int,
        seek_type: c_int,
        set_mark: bool,
        is_null: *mut bool,
        is_out: *mut bool,
    ) -> Datum;
    fn WinGetFuncArgCurrent(window: WindowObject, argument: c_int, is_null: *mut bool) -> Datum;
}

/// The window that a function is called over, at one row.
pub struct Window(WindowObject);

impl Window {
    /// That of the running call, which the SQL declaration makes one of a window function.
    pub fn of_call(fcinfo: pg_sys::FunctionCallInfo) -> Result<Self, ErrorReport> {
        // SAFETY: `fcinfo` is that of the running call; its context is null or a node.
        unsafe {
            let window = (*fcinfo).context;
            if window.is_null() || (*window).type_ != NodeTag::T_WindowObjectData {
                let code = PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
                return Err(user_error(code, "window function called without a window"));
            }
            Ok(Self(window))
        }
    }

    /// Number of rows of the partition.
    pub fn rows(&self) -> usize {
        // SAFETY: the window is that of the running call, here and below.
        usize::try_from(unsafe { guarded(|| WinGetPartitionRowCount(self.0)) }).unwrap_or(0)
    }

    /// Position of the current row in the partition, from 0. No row before it is asked for any more.
    pub fn current(&self) -> usize {
        // SAFETY: as above.
        unsafe {
            let position = guarded(|| WinGetCurrentPosition(self.0));
            guarded(|| WinSetMarkPosition(self.0, position));
            usize::try_from(position).unwrap_or(0)
        }
    }

    /// An argument at the current row.
    pub fn argument<T: FromDatum>(&self, argument: c_int) -> Option<T> {
        let mut is_null = false;
        // SAFETY: as above; the argument is of the type that the SQL declaration says.
        unsafe {
            let datum = guarded(|| WinGetFuncArgCurrent(self.0, argument, &mut is_null));
            T::from_datum(datum, is_null)
        }
    }

    /// An argument at the row of that position, at most 2^31 - 1, in the partition. It is computed in the current memory
    /// context, which nobody empties before the function returns.
    pub fn argument_at<T: FromDatum>(&self, argument: c_int, position: c_int) -> Option<T> {
        let (mut is_null, mut is_out) = (false, false);
        // SAFETY: as above.
        unsafe {
            let datum = guarded(|| {
                WinGetFuncArgInPartition(self.0, argument, position, FROM_HEAD, false, &mut is_null, &mut is_out)
            });
            T::from_datum(datum, is_null || is_out)
        }
    }

    /// A number for each of so many rows, which all are zero at the partition's first row, and are kept to its last.
    ///
    /// Always to be called with the same `rows`, and before any other way to ask for the memory of a partition.
    pub fn numbers(&mut self, rows: usize) -> &mut [u32] {
        // SAFETY: as above. Of the first call in a partition, the memory is as large as asked for and zero; of the others
        // it is the same. It is aligned as any palloc'd memory.
        unsafe {
            let numbers = guarded(|| WinGetPartitionLocalMemory(self.0, rows * size_of::<u32>()));
            slice::from_raw_parts_mut(numbers.cast(), rows)
        }
    }
}
