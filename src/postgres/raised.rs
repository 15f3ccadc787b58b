//! Errors that PostgreSQL or other code raises while a function of this library runs.
//!
//! pgrx turns such an error into a panic, and reports it again where the panic leaves the library. Its report lacks the
//! context, the names of objects and the position, supports only PostgreSQL's own SQLSTATEs, and assumes that all text
//! is UTF-8. So an error context callback copies each error when it is raised. When pgrx reports the error, another
//! callback sets its fields from the copy.

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::AsPgCStr;
use pgrx::pg_sys::panic::{CaughtError, ErrorReport, ErrorReportWithLevel};
use pgrx::prelude::*;

use super::error::{raise, sendable, user_error};
use super::ffi::{errcode, errcontext_msg, errhint};
use super::memory::small_context;
use super::text::from_server;

thread_local! {
    /// A copy of the last error, in a memory context of its own (`assoc_context`); null if there is none.
    static LAST_ERROR: Cell<*mut pg_sys::ErrorData> = const { Cell::new(ptr::null_mut()) };
    /// The callback that sets the fields of the last error in the report.
    static RESTORE: UnsafeCell<pg_sys::ErrorContextCallback> = const {
        UnsafeCell::new(pg_sys::ErrorContextCallback {
            previous: ptr::null_mut(),
            callback: Some(restore),
            arg: ptr::null_mut(),
        })
    };
}

/// Runs `f`, and forwards errors of other code unchanged.
///
/// It must be the outermost call in a function that PostgreSQL calls: its effect lasts until pgrx reports the error.
pub fn forward_errors<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: the first callback is in the stack as long as this function runs, and the second one is never freed.
    unsafe {
        forget();
        let previous = pg_sys::error_context_stack;
        let mut callback = pg_sys::ErrorContextCallback { previous, callback: Some(copy), arg: ptr::null_mut() };
        pg_sys::error_context_stack = &raw mut callback;
        let result = catch_unwind(AssertUnwindSafe(f));
        pg_sys::error_context_stack = previous;
        result.unwrap_or_else(|panic| {
            let report = match panic.downcast_ref() {
                Some(CaughtError::PostgresError(report) | CaughtError::ErrorReport(report)) => Some(report),
                _ => panic.downcast_ref::<ErrorReportWithLevel>(),
            };
            if report.is_some_and(is_last) {
                RESTORE.with(|callback| {
                    (*callback.get()).previous = previous;
                    pg_sys::error_context_stack = callback.get();
                });
            }
            resume_unwind(panic)
        })
    }
}

/// Raises an error again with another message, and with nothing else but its SQLSTATE. The message that it had goes to
/// the server's log. Only a statement that was cancelled keeps its message, which is PostgreSQL's. `report` is pgrx's
/// report of that error.
pub fn raise_without_values(report: &ErrorReportWithLevel, message: String) -> ! {
    if !is_last(report) {
        forget();
    }
    let is_cancelled = is_interrupt();
    let raised = user_error(report.sql_error_code(), if is_cancelled { report.message().to_owned() } else { message });
    change(|last| {
        let (message, detail_log) = if is_cancelled {
            (last.message, ptr::null_mut())
        } else {
            (copy_text(Some(raised.message())), last.message)
        };
        let (sqlerrcode, assoc_context) = (last.sqlerrcode, last.assoc_context);
        *last = pg_sys::ErrorData { sqlerrcode, message, detail_log, assoc_context, ..Default::default() };
    });
    raise(raised)
}

/// Whether PostgreSQL has raised the last error because the statement was cancelled, by a user or a timeout. Other
/// code can use the same SQLSTATE.
fn is_interrupt() -> bool {
    // SAFETY: the copy is null or this module's. A function's name is null or NUL-terminated, and never freed.
    unsafe {
        let function = LAST_ERROR.get().as_ref().map_or(ptr::null(), |last| last.funcname);
        !function.is_null() && CStr::from_ptr(function) == c"ProcessInterrupts"
    }
}

/// Runs `f`, and sends the client nothing meanwhile: no message of any level, not even INFO, which client_min_messages
/// does not hold back. The caller has to raise errors anew, as [`raise_without_values`] does: an error that is only
/// passed on is not sent either. If the server ends the session meanwhile, the client does not get the reason.
pub fn without_messages<T>(f: impl FnOnce() -> T) -> T {
    /// Restores the destination, also while a panic unwinds.
    struct Restore(pg_sys::CommandDest::Type);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: this was the destination before the call.
            unsafe { pg_sys::whereToSendOutput = self.0 };
        }
    }
    // SAFETY: a plain variable of this process, which has one thread.
    let _restore = unsafe { Restore(pg_sys::whereToSendOutput) };
    // SAFETY: as above. `f` returns or unwinds: pgrx makes a panic of PostgreSQL's errors.
    unsafe { pg_sys::whereToSendOutput = pg_sys::CommandDest::DestNone };
    f()
}

/// Raises the last error again, with a hint. `report` is pgrx's report of that error.
pub fn raise_with_hint(report: &ErrorReportWithLevel, hint: String) -> ! {
    let mut raised = user_error(report.sql_error_code(), report.message()).set_hint(sendable(hint));
    if let Some(detail) = report.detail() {
        raised = raised.set_detail(sendable(detail.to_owned()));
    }
    change(|last| last.hint = copy_text(raised.hint()));
    raise(raised)
}

/// The message of the last error, as [`super::server_text`]. `report` is pgrx's report of that error.
pub fn message(report: &ErrorReportWithLevel) -> Result<String, ErrorReport> {
    // SAFETY: the copy is null or this module's, and its message is NUL-terminated.
    unsafe {
        match LAST_ERROR.get().as_ref() {
            Some(last) if is_last(report) => from_server(last.message),
            _ => Ok(report.message().to_owned()),
        }
    }
}

/// Changes the copy of the last error, in its memory context.
fn change(f: impl FnOnce(&mut pg_sys::ErrorData)) {
    // SAFETY: the copy is null or this module's, and its memory context exists as long as the copy.
    unsafe {
        if let Some(last) = LAST_ERROR.get().as_mut() {
            PgMemoryContexts::For(last.assoc_context).switch_to(|_| f(last));
        }
    }
}

/// The names of objects in an error, which drivers can read; in the server's encoding.
pub struct ErrorNames {
    pub schema: CString,
    pub table: CString,
    pub constraint: CString,
    pub data_type: CString,
}

/// Raises an error of this library with names of objects, which pgrx's reports lack.
pub fn raise_with_names(code: PgSqlErrorCode, report: ErrorReport, names: &ErrorNames) -> ! {
    forget();
    // SAFETY: an error of all zeros has no fields. The strings are NUL-terminated, and copied.
    unsafe {
        PgMemoryContexts::For(new_context()).switch_to(|context| {
            let error = pg_sys::palloc0(size_of::<pg_sys::ErrorData>()).cast::<pg_sys::ErrorData>();
            (*error).assoc_context = context.value();
            (*error).sqlerrcode = code as c_int;
            (*error).message = copy_text(Some(report.message()));
            (*error).schema_name = pg_sys::pstrdup(names.schema.as_ptr());
            (*error).table_name = pg_sys::pstrdup(names.table.as_ptr());
            (*error).constraint_name = pg_sys::pstrdup(names.constraint.as_ptr());
            (*error).datatype_name = pg_sys::pstrdup(names.data_type.as_ptr());
            LAST_ERROR.set(error);
        });
    }
    raise(report)
}

/// Whether a report is about the last error.
fn is_last(report: &ErrorReportWithLevel) -> bool {
    // SAFETY: the copy is null or this module's, and its message is NUL-terminated.
    unsafe {
        LAST_ERROR.get().as_ref().is_some_and(|last| {
            let message = CStr::from_ptr(last.message).to_string_lossy().into_owned();
            report.sql_error_code() == last.sqlerrcode.into()
                && sendable(message) == sendable(report.message().to_owned())
        })
    }
}

fn forget() {
    let last = LAST_ERROR.replace(ptr::null_mut());
    if !last.is_null() {
        // SAFETY: the copy is this module's, and nothing else is in its memory context.
        unsafe { pg_sys::MemoryContextDelete((*last).assoc_context) };
    }
}

/// A memory context for one error, which lives until [`forget`].
fn new_context() -> pg_sys::MemoryContext {
    // SAFETY: the parent lives as long as the process.
    unsafe { small_context(pg_sys::TopMemoryContext, c"pg_simhash error") }
}

/// A copy of a text in the current memory context.
fn copy_text(text: Option<&str>) -> *mut c_char {
    text.as_pg_cstr()
}

/// Copies an error that is being raised.
#[pg_guard]
unsafe extern "C-unwind" fn copy(_argument: *mut c_void) {
    // SAFETY: PostgreSQL calls this while it raises an error or a notice. A copy takes memory, so an out-of-memory
    // error is not copied, and pgrx reports it.
    unsafe {
        if pg_sys::geterrcode() == PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as c_int {
            return forget();
        }
        let context = new_context();
        let raised = PgMemoryContexts::For(context).switch_to(|_| pg_sys::CopyErrorData());
        if (*raised).elevel < PgLogLevel::ERROR as c_int {
            pg_sys::MemoryContextDelete(context);
        } else {
            forget();
            LAST_ERROR.set(raised);
        }
    }
}

/// Copies the fields of the last error to the error that is being raised.
#[pg_guard]
unsafe extern "C-unwind" fn restore(_argument: *mut c_void) {
    const TEXT: *const c_char = c"%s".as_ptr();
    // SAFETY: PostgreSQL calls this while it raises an error, whose fields these functions set. The copy is null or
    // this module's, and its strings are null or NUL-terminated.
    unsafe {
        let Some(last) = LAST_ERROR.get().as_ref() else { return };
        let is_set = |text: *mut c_char| !text.is_null();
        errcode(last.sqlerrcode);
        pg_sys::errmsg_internal(TEXT, last.message);
        if is_set(last.detail) {
            pg_sys::errdetail_internal(TEXT, last.detail);
        }
        if is_set(last.detail_log) {
            pg_sys::errdetail_log(TEXT, last.detail_log);
        }
        if is_set(last.hint) {
            errhint(TEXT, last.hint);
        }
        if is_set(last.context) {
            errcontext_msg(TEXT, last.context);
        }
        if is_set(last.internalquery) {
            pg_sys::internalerrquery(last.internalquery);
        }
        pg_sys::internalerrposition(last.internalpos);
        pg_sys::errposition(last.cursorpos);
        for (field, name) in [
            (pg_sys::PG_DIAG_SCHEMA_NAME, last.schema_name),
            (pg_sys::PG_DIAG_TABLE_NAME, last.table_name),
            (pg_sys::PG_DIAG_COLUMN_NAME, last.column_name),
            (pg_sys::PG_DIAG_DATATYPE_NAME, last.datatype_name),
            (pg_sys::PG_DIAG_CONSTRAINT_NAME, last.constraint_name),
        ] {
            if is_set(name) {
                pg_sys::err_generic_string(field as c_int, name);
            }
        }
    }
}
