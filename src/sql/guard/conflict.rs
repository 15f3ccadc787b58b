//! The error of a rejected row, with the fields that drivers read.

use std::ffi::{CString, c_char, c_int, c_void};

use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::disclosure::Disclosure;
use crate::postgres::error::{sendable, user_error};
use crate::postgres::spi::to_server;
use crate::postgres::trigger::RowEvent;

/// The fields that pgrx's error reports lack.
struct Fields {
    trigger: *const pg_sys::TriggerData,
    /// What the user may be told about the near-duplicate, as JSON.
    near: *const c_char,
}

/// An exclusion_violation with the table's schema and name, as the constraint the trigger's name, and as the data type
/// what the user may be told about the near-duplicate: of the fields that drivers read, it is the only one that
/// nothing reads for another purpose in an error about a constraint.
///
/// pgrx's error reports lack these fields, so an error context callback adds them while PostgreSQL reports the error.
/// The trigger function must return the error at once.
pub fn conflict(event: &RowEvent, near: &Disclosure) -> Result<ErrorReport, ErrorReport> {
    let (name, table) = (event.trigger_name()?, event.table().name()?);
    let message = format!("near-duplicate violates guard \"{name}\" of table \"{table}\"");
    let json: CString = to_server(&near.to_json())?;
    // SAFETY: what is palloc'd here lives until the error is reported. The callback is not called after the trigger has
    // returned: the error handler, which runs then, resets the stack to what it was before the trigger was called.
    unsafe {
        let fields = pg_sys::palloc(size_of::<Fields>()).cast::<Fields>();
        fields.write(Fields { trigger: event.data, near: pg_sys::pstrdup(json.as_ptr()) });
        let size = size_of::<pg_sys::ErrorContextCallback>();
        let callback = pg_sys::palloc0(size).cast::<pg_sys::ErrorContextCallback>();
        (*callback).previous = pg_sys::error_context_stack;
        (*callback).callback = Some(add_fields);
        (*callback).arg = fields.cast();
        pg_sys::error_context_stack = callback;
    }
    Ok(user_error(PgSqlErrorCode::ERRCODE_EXCLUSION_VIOLATION, message)
        .set_detail(sendable(near.to_sentence()))
        .set_hint("Skip the row, or change the existing one."))
}

#[pg_guard]
unsafe extern "C-unwind" fn add_fields(fields: *mut c_void) {
    // SAFETY: `conflict` has passed the fields, with the trigger data of the call that is failing.
    unsafe {
        let fields = &*fields.cast::<Fields>();
        let trigger = &*fields.trigger;
        pg_sys::errtable(trigger.tg_relation);
        pg_sys::err_generic_string(pg_sys::PG_DIAG_CONSTRAINT_NAME as c_int, (*trigger.tg_trigger).tgname);
        pg_sys::err_generic_string(pg_sys::PG_DIAG_DATATYPE_NAME as c_int, fields.near);
    }
}
