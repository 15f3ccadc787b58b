//! The error of a rejected row, with the fields that drivers read.

use std::ffi::{CString, c_char, c_int};

use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::sql::error::{sendable, user_error};
use crate::sql::spi::from_server;

/// Raises exclusion_violation with the table's schema and name and, as the constraint, the trigger's name.
///
/// These fields are what pgrx's own error reports lack.
pub fn report<T>(trigger: &pg_sys::TriggerData, distance: u32, key: Option<String>) -> Result<T, ErrorReport> {
    // SAFETY: a trigger has a name, and is of an open table; both are NUL-terminated.
    let (name, message) = unsafe {
        let (name, table) = ((*trigger.tg_trigger).tgname, &*(*trigger.tg_relation).rd_rel);
        let table = from_server(table.relname.data.as_ptr())?;
        (name, format!("near-duplicate violates guard \"{}\" of table \"{table}\"", from_server(name)?))
    };
    let bits = if distance == 1 { "bit" } else { "bits" };
    let detail = match key {
        Some(key) => format!("The fingerprint differs in {distance} {bits} from that of key {key}."),
        None => format!("The fingerprint differs in {distance} {bits} from that of another row."),
    };
    let hint = "The row is close to one that exists: skip it, or change that one.";
    let texts = [message.clone(), detail.clone(), hint.to_owned()].map(|text| CString::new(sendable(text)));
    let [Ok(message), Ok(detail), Ok(hint)] = texts else {
        return Err(user_error(PgSqlErrorCode::ERRCODE_EXCLUSION_VIOLATION, message).set_detail(detail).set_hint(hint));
    };
    // SAFETY: the functions take NUL-terminated texts, which they copy, and the last does not return. Rust's values on
    // the way up are dropped, for the error becomes a panic here.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            if errstart(PgLogLevel::ERROR as c_int, std::ptr::null()) {
                errcode(PgSqlErrorCode::ERRCODE_EXCLUSION_VIOLATION as c_int);
                errmsg(c"%s".as_ptr(), message.as_ptr());
                errdetail(c"%s".as_ptr(), detail.as_ptr());
                errhint(c"%s".as_ptr(), hint.as_ptr());
                errtable(trigger.tg_relation);
                err_generic_string(pg_sys::PG_DIAG_CONSTRAINT_NAME as c_int, name);
                errfinish(c"conflict.rs".as_ptr(), line!() as c_int, c"simhash_dedup".as_ptr());
            }
        });
    }
    unreachable!("an error does not return")
}

// PostgreSQL's `utils/elog.h` and `utils/rel.h`.
unsafe extern "C-unwind" {
    fn errstart(level: c_int, domain: *const c_char) -> bool;
    fn errcode(code: c_int) -> c_int;
    fn errmsg(format: *const c_char, ...) -> c_int;
    fn errdetail(format: *const c_char, ...) -> c_int;
    fn errhint(format: *const c_char, ...) -> c_int;
    fn errtable(relation: pg_sys::Relation) -> c_int;
    fn err_generic_string(field: c_int, text: *const c_char) -> c_int;
    fn errfinish(file: *const c_char, line: c_int, function: *const c_char);
}
