//! The error of a rejected row, with the fields that drivers read.

use std::ffi::{c_int, c_void};

use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::postgres::error::{sendable, user_error};
use crate::postgres::spi::from_server;

/// An exclusion_violation with the table's schema and name and, as the constraint, the trigger's name.
///
/// pgrx's error reports lack these fields, so an error context callback adds them while PostgreSQL reports the error.
/// The trigger function must return the error at once.
pub fn conflict(trigger: &pg_sys::TriggerData, detail: String) -> Result<ErrorReport, ErrorReport> {
    // SAFETY: a trigger has a name and its table is open; both names are NUL-terminated.
    let message = unsafe {
        let name = from_server((*trigger.tg_trigger).tgname)?;
        let table = from_server((*(*trigger.tg_relation).rd_rel).relname.data.as_ptr())?;
        format!("near-duplicate violates guard \"{name}\" of table \"{table}\"")
    };
    // SAFETY: the callback is not called after the trigger has returned: the error handler, which runs then, resets the
    // stack to what it was before the trigger was called.
    unsafe {
        let size = size_of::<pg_sys::ErrorContextCallback>();
        let callback = pg_sys::palloc0(size).cast::<pg_sys::ErrorContextCallback>();
        (*callback).previous = pg_sys::error_context_stack;
        (*callback).callback = Some(add_fields);
        (*callback).arg = std::ptr::from_ref(trigger).cast_mut().cast();
        pg_sys::error_context_stack = callback;
    }
    Ok(user_error(PgSqlErrorCode::ERRCODE_EXCLUSION_VIOLATION, message)
        .set_detail(sendable(detail))
        .set_hint("Skip the row, or change the existing one."))
}

#[pg_guard]
unsafe extern "C-unwind" fn add_fields(trigger: *mut c_void) {
    // SAFETY: `conflict` has passed the trigger data of the call that is failing.
    unsafe {
        let trigger = &*trigger.cast::<pg_sys::TriggerData>();
        pg_sys::errtable(trigger.tg_relation);
        pg_sys::err_generic_string(pg_sys::PG_DIAG_CONSTRAINT_NAME as c_int, (*trigger.tg_trigger).tgname);
    }
}
