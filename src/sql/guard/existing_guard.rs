//! The guard of a table, as its trigger defines it.

use std::ffi::CStr;

use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::catalog::target::Target;
use postgres::error::{Explain, Result, user_error};
use postgres::server_string::server_string;
use postgres::trigger::{arguments, fires_before_each_row, triggers};

use super::definition::arguments::TRIGGER_NAME;
use crate::sql::functions::ExtensionSchema;

/// The trigger of a guard.
pub struct ExistingGuard {
    pub oid: pg_sys::Oid,
    /// Whether PostgreSQL has cloned the trigger from the partitioned table's trigger.
    pub is_clone: bool,
    pub arguments: Vec<String>,
    /// Whether the trigger fires before each row that is inserted or updated, like a trigger of `simhash_guard`.
    pub fires_before_each_row: bool,
    /// `tgenabled` of `pg_trigger`: when the trigger fires.
    pub tgenabled: u8,
}

/// The guard of a table; None if it has none. An error if the trigger of this name is no guard, or if the guard's
/// trigger has another name.
pub fn find_guard(schema: ExtensionSchema, table: &Target) -> Result<Option<ExistingGuard>> {
    let relation = table.open();
    // SAFETY: a trigger has a NUL-terminated name.
    let name_of = |trigger: &pg_sys::Trigger| unsafe { CStr::from_ptr(trigger.tgname) }.to_bytes();
    let is_named = |trigger: &&pg_sys::Trigger| name_of(trigger) == TRIGGER_NAME.as_bytes();
    let function = schema.function(c"simhash_dedup", &[]);
    let executes = |trigger: &&pg_sys::Trigger| function == Some(trigger.tgfoid);
    let Some(guard) = triggers(&relation).iter().find(is_named) else {
        let Some(other) = triggers(&relation).iter().find(executes) else { return Ok(None) };
        let name = server_string(name_of(other))?;
        let message = format!("table \"{}\" has a guard of another name, \"{name}\"", table.name);
        let sql = format!("ALTER TRIGGER {} ON {} RENAME TO {TRIGGER_NAME}", quote_identifier(name), table.sql()?);
        return Err(user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT, message)
            .with_hint(format!("Drop the trigger, or run {sql}.")));
    };
    if !executes(&guard) {
        let message = format!(
            "trigger \"{TRIGGER_NAME}\" for relation \"{}\" already exists with a different definition",
            table.name
        );
        return Err(user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT, message)
            .with_detail("It does not execute simhash_dedup.")
            .with_hint("Drop or rename the trigger."));
    }
    // SAFETY: a trigger in the relation cache has NUL-terminated arguments, as many as `tgnargs` says.
    let stored_arguments = unsafe { arguments(guard) }.into_iter();
    let is_conditional = !guard.tgqual.is_null() || guard.tgnattr > 0;
    Ok(Some(ExistingGuard {
        oid: guard.tgoid,
        is_clone: guard.tgisclone,
        arguments: stored_arguments.map(|argument| server_string(argument.to_bytes())).collect::<Result<_, _>>()?,
        fires_before_each_row: fires_before_each_row(guard.tgtype, is_conditional),
        tgenabled: guard.tgenabled as u8,
    }))
}
