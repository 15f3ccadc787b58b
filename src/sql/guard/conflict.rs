//! The error of a rejected row, with the fields that drivers read.

use std::ffi::{CString, c_char, c_int, c_void};

use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::disclosure::Disclosure;
use super::distribution::known_names;
use crate::postgres::error::{sendable, user_error};
use crate::postgres::names::schema_name;
use crate::postgres::spi::to_server;
use crate::postgres::trigger::RowEvent;

/// The fields that pgrx's error reports lack.
struct Fields {
    schema: *const c_char,
    table: *const c_char,
    guard: *const c_char,
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
    let (table, name) = known_names(&event.table(), event.trigger_name()?)?;
    let message = format!("near-duplicate violates guard \"{name}\" of table \"{table}\"");
    let schema = schema_name(event.table().schema())?;
    let [schema, table, guard, json] = [&schema, &table, &name, &near.to_json()].map(|field| to_server(field));
    let (schema, table, guard, json): (CString, CString, CString, CString) = (schema?, table?, guard?, json?);
    // SAFETY: what is palloc'd here lives until the error is reported. The callback is not called after the trigger has
    // returned: the error handler, which runs then, resets the stack to what it was before the trigger was called.
    unsafe {
        let fields = pg_sys::palloc(size_of::<Fields>()).cast::<Fields>();
        let [schema, table, guard, near] = [schema, table, guard, json].map(|field| pg_sys::pstrdup(field.as_ptr()));
        fields.write(Fields { schema, table, guard, near });
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
    // SAFETY: `conflict` has passed the fields, whose strings are NUL-terminated.
    unsafe {
        let fields = &*fields.cast::<Fields>();
        pg_sys::err_generic_string(pg_sys::PG_DIAG_SCHEMA_NAME as c_int, fields.schema);
        pg_sys::err_generic_string(pg_sys::PG_DIAG_TABLE_NAME as c_int, fields.table);
        pg_sys::err_generic_string(pg_sys::PG_DIAG_CONSTRAINT_NAME as c_int, fields.guard);
        pg_sys::err_generic_string(pg_sys::PG_DIAG_DATATYPE_NAME as c_int, fields.near);
    }
}
