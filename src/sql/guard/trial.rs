//! Tries a guard on stored rows, so that one that cannot decide says so before a row is written.

use std::ffi::CStr;
use std::panic::AssertUnwindSafe;

use pgrx::AnyElement;
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use postgres::call::Call;
use postgres::catalog::partition::with_inheritors;
use postgres::catalog::relation::Relation;
use postgres::catalog::target::{Lock, Target};
use postgres::error::{Result, user_error};
use postgres::heap::row::TableSlot;
use postgres::owner::is_owner;
use postgres::subtransaction::error_of;
use postgres::text::to_text;
use postgres::trigger::{is_before_each_row, is_enabled, protocol_violated};

use super::definition::arguments::{Arguments, TRIGGER_NAME, USAGE};
use super::definition::mark_check::set_marks;
use super::definition::members::{Members, check_is_whole};
use super::definition::searched_table::SearchedTable;
use super::row::condition::Conditions;
use super::row::confirmation::SourceReader;
use super::row::stored_rows::RunningGuard;
use crate::sql::functions::ExtensionSchema;

/// Evaluates what a guard evaluates on stored rows, for the first row of each table: only errors matter.
pub fn try_stored_rows(tables: &[SearchedTable], sources: &SourceReader, conditions: &Conditions) -> Result<()> {
    for searched in tables {
        let table = Relation::open(searched.oid);
        if table.is_temporary_elsewhere() {
            continue;
        }
        let slot = TableSlot::new(&table);
        // SAFETY: a running function has an active snapshot.
        if let Some(row) = unsafe { slot.first(&table, pg_sys::GetActiveSnapshot()) } {
            sources.stored_key(searched, row)?;
            conditions.is_among(searched, row)?;
        }
    }
    Ok(())
}

/// Why the guard with this trigger, as `pg_trigger` stores it, does not decide about the rows of a table; None if it
/// does, as far as the first row shows. It is tried for the owner alone: other callers choose the arguments, and errors
/// could tell them about rows that they may not read.
#[pg_extern(sql = false)]
fn simhash_guard_error(
    target: Oid,
    arguments: &[u8],
    tgtype: i16,
    is_conditional: bool,
    tgenabled: i8,
    name: &CStr,
    call: Call<'_>,
) -> Result<Option<AnyElement>> {
    let arguments = Arguments::parse_stored(arguments)?;
    let tried = || {
        if !is_before_each_row(tgtype, is_conditional) {
            let message = "the trigger is not BEFORE INSERT OR UPDATE FOR EACH ROW, without OF and WHEN, as that of \
                 simhash_guard";
            return Err(protocol_violated(message.to_owned(), USAGE));
        }
        if !is_enabled(tgenabled.cast_unsigned()) {
            let message = "the trigger does not fire in ordinary sessions";
            return Err(user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        if is_owner(target) {
            check_is_free(target)?;
            Target::lock(target, pg_sys::AccessShareLock as Lock, |table| {
                check_is_whole(table)?;
                try_guard(target, &arguments, call)
            })?;
        }
        if name.to_bytes() != TRIGGER_NAME.as_bytes() {
            let message = format!("the trigger is not named {TRIGGER_NAME}, so others may fire after it");
            return Err(user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        Ok(())
    };
    Ok(error_of(AssertUnwindSafe(tried)).map(|error| to_text(&error)).transpose()?.flatten())
}

/// An error if a table or one of its partitions is locked: a list of guards must not wait.
fn check_is_free(target: Oid) -> Result<()> {
    let lock = pg_sys::AccessShareLock as Lock;
    // SAFETY: any OID may be locked.
    let is_free = |member: Oid| unsafe { pg_sys::ConditionalLockRelationOid(member, lock) };
    if with_inheritors(target, pg_sys::NoLock as Lock).into_iter().all(is_free) {
        return Ok(());
    }
    let message = "the table is locked, and so its guard was not tried";
    Err(user_error(PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE, message))
}

fn try_guard(target: Oid, arguments: &Arguments, call: Call<'_>) -> Result<()> {
    let schema = ExtensionSchema::from_function(call.function());
    let mut searched = Members::read(target, None)?.searched(arguments, schema)?;
    if let Some(mark) = &arguments.mark_column {
        set_marks(&mut searched, mark)?;
    }
    let memory = PgMemoryContexts::CurrentMemoryContext.value();
    // SAFETY: the memory context of the running call.
    let guard = unsafe { RunningGuard::new(call.function(), TRIGGER_NAME, memory) };
    try_stored_rows(&searched, &SourceReader::new(&guard), &Conditions::new(&guard))
}
