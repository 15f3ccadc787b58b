//! PostgreSQL's interface for window functions (`windowapi.h`), which pgrx does not bind.

use std::ffi::c_int;
use std::{ptr, slice};

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary as guarded;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, NodeTag};
use pgrx::prelude::*;

use crate::postgres::error::user_error;

/// `WindowObject` of windowapi.h: nobody but PostgreSQL looks into it.
type WindowObject = *mut pg_sys::Node;

/// WINDOW_SEEK_HEAD of windowapi.h.
const FROM_HEAD: c_int = 1;

// As windowapi.h declares them, in all versions from 14 to 18. Errors leave them by longjmp: only to be called in
// `guarded`.
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
pub struct Window {
    object: WindowObject,
    /// Rows of the partition.
    pub rows: usize,
    /// Position of the current row in the partition, from 0. No row before it is asked for any more.
    pub current: usize,
    numbers: *mut u32,
}

impl Window {
    /// That of the running call, which the SQL declaration makes one of a window function; an error if the partition
    /// has more than `max_rows`.
    ///
    /// Every row comes here, so it is one call through the boundary, which is dearer than what is called.
    pub fn from_call(fcinfo: pg_sys::FunctionCallInfo, max_rows: usize) -> Result<Self, ErrorReport> {
        // SAFETY: `fcinfo` is that of the running call; its context is null or a node, and if it is a window object
        // that of the call. The numbers are as many in each call of a partition.
        unsafe {
            let object = (*fcinfo).context;
            if object.is_null() || (*object).type_ != NodeTag::T_WindowObjectData {
                let code = PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
                return Err(user_error(code, "window function called without a window"));
            }
            let (rows, current, numbers) = guarded(|| {
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
                let message = format!("cannot find clusters among {rows} rows");
                return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
                    .set_detail(format!("A partition has at most {max_rows} rows."))
                    .set_hint("Partition the window, or leave out rows that have no fingerprint."));
            }
            Ok(Self { object, rows, current, numbers })
        }
    }

    /// A number for each row of the partition, and one before them. All are zero at its first row, and are kept to its
    /// last.
    pub fn numbers(&mut self) -> &mut [u32] {
        // SAFETY: the memory is as large as that and aligned as any palloc'd memory; it was made zero, and lives as
        // long as the partition. Nothing else has a reference to it.
        unsafe { slice::from_raw_parts_mut(self.numbers, self.rows + 1) }
    }

    /// An argument at the current row.
    pub fn argument<T: FromDatum>(&self, argument: c_int) -> Option<T> {
        let mut is_null = false;
        // SAFETY: the window is that of the running call; the argument is of the type that the SQL declaration says.
        unsafe {
            let datum = guarded(|| WinGetFuncArgCurrent(self.object, argument, &mut is_null));
            T::from_datum(datum, is_null)
        }
    }

    /// A `bigint` argument at some rows from that position on, which is at most 2^31 - 1, in the partition. It is
    /// computed in the current memory context, which nobody empties before the function returns.
    pub fn bigints_from(&self, argument: c_int, position: usize, values: &mut [Option<i64>]) {
        // SAFETY: as above; a bigint is its datum.
        unsafe {
            guarded(|| {
                for (place, value) in (position as c_int..).zip(values) {
                    let (mut is_null, mut is_out) = (false, false);
                    let datum = WinGetFuncArgInPartition(
                        self.object,
                        argument,
                        place,
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
}
