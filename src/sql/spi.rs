//! Statements to the server: the commands that attach a table are SQL, so that PostgreSQL checks, locks, logs and
//! replicates them as if the owner had typed them.
//!
//! Text is UTF-8 here and in the server's encoding there. What is put into a statement is quoted, whatever it is.

use std::ffi::{CStr, CString, c_char};

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::error::user_error;
use super::text::decode_copy;

/// Runs a statement; how many rows it touched.
pub fn execute(statement: &str) -> Result<u64, ErrorReport> {
    let _context = UserContext::new();
    connected(0, || run(statement, false))
}

/// Runs a statement, and commits the transaction. Only where [`pg_sys::SPI_inside_nonatomic_context`] allows that.
pub fn execute_and_commit(
    statement: impl FnOnce() -> Result<Option<u64>, ErrorReport>,
) -> Result<Option<u64>, ErrorReport> {
    connected(pg_sys::SPI_OPT_NONATOMIC, || {
        let result = statement()?;
        // SAFETY: connected, and not atomic, or else PostgreSQL reports an error.
        unsafe { pg_sys::SPI_commit() };
        Ok(result)
    })
}

/// The first column of a query's result, without NULLs.
pub fn strings(query: &str) -> Result<Vec<String>, ErrorReport> {
    connected(0, || {
        run(query, true)?;
        // SAFETY: a query has just succeeded; its table has `numvals` rows, and lives until SPI_finish.
        unsafe {
            let Some(table) = pg_sys::SPI_tuptable.as_ref() else {
                return Ok(Vec::new());
            };
            let row = |row: u64| pg_sys::SPI_getvalue(*table.vals.add(row as usize), table.tupdesc, 1);
            (0..table.numvals).map(row).filter(|value| !value.is_null()).map(|value| from_server(value)).collect()
        }
    })
}

fn connected<T>(options: u32, f: impl FnOnce() -> Result<T, ErrorReport>) -> Result<T, ErrorReport> {
    // SAFETY: each connection is finished; if `f` fails, by PostgreSQL at the end of the transaction.
    unsafe {
        check(pg_sys::SPI_connect_ext(options as i32))?;
        let result = f()?;
        check(pg_sys::SPI_finish())?;
        Ok(result)
    }
}

fn run(statement: &str, read_only: bool) -> Result<u64, ErrorReport> {
    let statement = to_server(statement)?;
    // SAFETY: SPI is connected, and the statement is NUL-terminated.
    unsafe {
        check(pg_sys::SPI_execute(statement.as_ptr(), read_only, 0))?;
        Ok(pg_sys::SPI_processed)
    }
}

fn check(code: i32) -> Result<(), ErrorReport> {
    if code < 0 {
        let message = format!("statement failed in the server programming interface ({code})");
        return Err(user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, message));
    }
    Ok(())
}

/// A name or a text of the server's, as UTF-8.
///
/// # Safety
///
/// `text` is NUL-terminated.
pub unsafe fn from_server(text: *const c_char) -> Result<String, ErrorReport> {
    // SAFETY: by the caller's promise.
    decode_copy(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// A text in the server's encoding.
pub fn to_server(text: &str) -> Result<CString, ErrorReport> {
    let contains_nul = |_| user_error(PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE, "text contains a NUL");
    let utf8 = CString::new(text).map_err(contains_nul)?;
    let Ok(length) = i32::try_from(text.len()) else {
        return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, "text is too long"));
    };
    // SAFETY: `utf8` is `length` readable bytes. The result is either that, or a palloc'd, NUL-terminated string.
    unsafe {
        let encoded = pg_sys::pg_any_to_server(utf8.as_ptr(), length, pg_sys::pg_enc::PG_UTF8 as i32);
        if encoded.cast_const() == utf8.as_ptr() { Ok(utf8) } else { Ok(CStr::from_ptr(encoded).to_owned()) }
    }
}

/// Names the user in the context of errors, where a statement runs with the rights of another user than who called:
/// event triggers and triggers of the table, say, may fail for want of rights that the caller has.
struct UserContext(*mut pg_sys::ErrorContextCallback);

impl UserContext {
    fn new() -> Self {
        // SAFETY: no arguments, no conditions.
        if unsafe { pg_sys::GetUserId() == pg_sys::GetOuterUserId() } {
            return Self(std::ptr::null_mut());
        }
        let callback = Box::into_raw(Box::new(pg_sys::ErrorContextCallback {
            // SAFETY: a static of PostgreSQL's, which is of this thread.
            previous: unsafe { pg_sys::error_context_stack },
            callback: Some(name_user),
            arg: std::ptr::null_mut(),
        }));
        // SAFETY: the callback is taken away again before it is freed.
        unsafe { pg_sys::error_context_stack = callback };
        Self(callback)
    }
}

impl Drop for UserContext {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: made and put there in `new`; what has been put above it since belongs to calls that have ended.
            unsafe { pg_sys::error_context_stack = Box::from_raw(self.0).previous };
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn name_user(_argument: *mut std::ffi::c_void) {
    // SAFETY: called while an error is reported; the name is NUL-terminated or null, and the format takes one string.
    unsafe {
        let name = pg_sys::GetUserNameFromId(pg_sys::GetUserId(), true);
        if !name.is_null() {
            let report = || {
                errcontext_msg(c"pg_simhash runs this as the table's owner \"%s\", with no other rights".as_ptr(), name)
            };
            pg_sys::ffi::pg_guard_ffi_boundary(report);
        }
    }
}

// PostgreSQL's `utils/elog.h`, which pgrx leaves out.
unsafe extern "C-unwind" {
    fn errcontext_msg(format: *const c_char, ...) -> std::ffi::c_int;
}
