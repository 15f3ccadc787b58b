//! Raises errors with fields that pgrx's reports lack: the names of objects, and a detail for the server's log alone.
//! Errors of PostgreSQL and other code do not need this: they pass through pgrx unchanged, as panics.

use std::ffi::{CString, c_int};
use std::ptr;

use pgrx::pg_sys::AsPgCStr;
use pgrx::pg_sys::panic::{CaughtError, ErrorReport};
use pgrx::prelude::*;

use super::error::sendable;
use super::interrupts::is_interrupt;

/// The names of objects in an error, in the server's encoding. Drivers read these fields of an error.
pub struct ErrorNames {
    pub schema: CString,
    pub table: CString,
    pub constraint: CString,
    pub data_type: CString,
}

/// Raises an error of this library with names of objects. `code` must be the report's SQLSTATE.
pub fn raise_with_names(code: PgSqlErrorCode, report: &ErrorReport, names: &ErrorNames) -> ! {
    throw(pg_sys::ErrorData {
        sqlerrcode: code as c_int,
        message: report.message().as_pg_cstr(),
        detail: report.detail().as_pg_cstr(),
        hint: report.hint().as_pg_cstr(),
        schema_name: names.schema.as_ptr().cast_mut(),
        table_name: names.table.as_ptr().cast_mut(),
        constraint_name: names.constraint.as_ptr().cast_mut(),
        datatype_name: names.data_type.as_ptr().cast_mut(),
        ..Default::default()
    })
}

/// Raises a caught error again with its SQLSTATE and another message, without its other fields. The old message goes to
/// the server's log. The error of a cancelled statement keeps its message, which is PostgreSQL's.
pub fn raise_without_values(error: CaughtError, message: String) -> ! {
    let (report, sqlerrcode, old_message) = match &error {
        CaughtError::PostgresError(report) => {
            // PostgreSQL's stack holds five errors, and guards may run within expressions of other guards. So the
            // caught error leaves the stack before the other one is raised.
            // SAFETY: a caught error is in the stack. Its copy is palloc'd.
            let copy = unsafe {
                let copy = &*pg_sys::CopyErrorData();
                pg_sys::FlushErrorState();
                copy
            };
            (report, copy.sqlerrcode, copy.message)
        }
        CaughtError::ErrorReport(report) => (report, report.sql_error_code() as c_int, report.message().as_pg_cstr()),
        CaughtError::RustPanic { .. } => error.rethrow(),
    };
    let (message, detail_log) = if is_interrupt(report) {
        (old_message, ptr::null_mut())
    } else {
        (sendable(message).as_pg_cstr(), old_message)
    };
    throw(pg_sys::ErrorData { sqlerrcode, message, detail_log, ..Default::default() })
}

fn throw(mut error: pg_sys::ErrorData) -> ! {
    error.elevel = PgLogLevel::ERROR as c_int;
    // SAFETY: all strings are null or NUL-terminated, and PostgreSQL copies them.
    unsafe { pg_sys::ThrowErrorData(&mut error) };
    unreachable!("an error has been raised")
}
