//! What `simhash_guards` lists of each guard of a database: its definition, and why it does not decide about rows.

use std::ffi::CStr;
use std::panic::AssertUnwindSafe;

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use pgrx::{AnyElement, PgMemoryContexts};
use postgres::call::Call;
use postgres::catalog::partition::{ancestors, with_inheritors};
use postgres::catalog::relation::{ACCESS_SHARE, NO_LOCK, Relation};
use postgres::catalog::target::Target;
use postgres::error::{Result, user_error, wrong_state};
use postgres::json::{object, string, to_jsonb};
use postgres::owner::is_owner;
use postgres::server_string::text_from_server_string;
use postgres::subtransaction::try_in_subtransaction;
use postgres::trigger::{fires_before_each_row, is_enabled, protocol_violated};
use serde_json::Value;

use super::definition::arguments::{Arguments, TRIGGER_NAME, USAGE};
use super::definition::members::{Members, check_is_whole};
use super::row::evaluation::Evaluator;
use crate::sql::functions::ExtensionSchema;

/// The limit on arguments that are shown, in bytes: far below that on a string in a `jsonb`.
const MAX_SHOWN_BYTES: usize = 1 << 24;

/// The arguments of a guard's trigger as a `jsonb`, from the bytes that `pg_trigger` stores: each ends with a NUL. The
/// result has the key `error` alone if they cannot be read or shown: whoever may create a trigger can give it any
/// arguments, and must not be able to make the list of all guards fail.
#[pg_extern(sql = false)]
fn simhash_guard_definition(arguments: &[u8]) -> Result<AnyElement> {
    let error_document = |message: &str| object([("error", string(message))]);
    let document = definition_json(arguments).unwrap_or_else(|error| error_document(error.message()));
    // No subtransaction is needed to catch this error: to_jsonb only allocates memory.
    PgTryBuilder::new(AssertUnwindSafe(|| to_jsonb(&document)))
        .catch_when(PgSqlErrorCode::ERRCODE_UNTRANSLATABLE_CHARACTER, |_| {
            to_jsonb(&error_document("the arguments have a character that this database cannot represent"))
        })
        .execute()
}

fn definition_json(arguments: &[u8]) -> Result<String> {
    if arguments.len() > MAX_SHOWN_BYTES {
        let message = format!("{} bytes of arguments are too many to be shown", arguments.len());
        return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message));
    }
    let document = object(Arguments::parse_stored(arguments)?.to_json_members()?);
    // A guard reads a number as an `f64`, so write the shortest decimal of this `f64`: `jsonb` refuses numbers of very
    // many digits, such as 1e-99999.
    let to_report =
        |error: serde_json::Error| user_error(PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION, error.to_string());
    serde_json::from_str::<Value>(&document).map(|value| value.to_string()).map_err(to_report)
}

/// Why the guard with this trigger, as `pg_trigger` stores it, does not decide about the rows of a table; None if it
/// decides, as far as the first row shows. `is_conditional` says whether the trigger has OF or WHEN. The guard is tried
/// on the first row only for the table's owner: others could pass arguments of their own, and learn from the errors
/// about rows that they may not read.
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
    let check = || {
        if !fires_before_each_row(tgtype, is_conditional) {
            let message = "the trigger is not BEFORE INSERT OR UPDATE FOR EACH ROW, without OF and WHEN, as that of \
                 simhash_guard";
            return Err(protocol_violated(message.to_owned(), USAGE));
        }
        if !is_enabled(tgenabled.cast_unsigned()) {
            let message = "the trigger does not fire in ordinary sessions";
            return Err(wrong_state(message));
        }
        if is_owner(target) {
            lock_without_waiting(target)?;
            Target::lock(target, ACCESS_SHARE, |table| try_guard(table, &arguments, call))?;
        }
        // The name is checked last: under another name, the guard still decides.
        if name.to_bytes() != TRIGGER_NAME.as_bytes() {
            let message = format!("the trigger is not named {TRIGGER_NAME}, so others may fire after it");
            return Err(wrong_state(message));
        }
        Ok(())
    };
    try_in_subtransaction(AssertUnwindSafe(check)).err().map(|error| text_from_server_string(&error)).transpose()
}

/// Locks a table, its partitions, their indexes and the tables above it; an error if it would have to wait for a lock.
fn lock_without_waiting(target: Oid) -> Result<()> {
    // SAFETY: any OID may be locked.
    let try_lock = |relation: Oid| unsafe { pg_sys::ConditionalLockRelationOid(relation, ACCESS_SHARE) };
    let try_lock_indexes = |table: Relation| table.indexes().into_iter().all(try_lock);
    let try_lock_with_indexes =
        |member: Oid| try_lock(member) && Relation::open_until_end(member, ACCESS_SHARE).is_none_or(try_lock_indexes);
    if with_inheritors(target, NO_LOCK).into_iter().all(try_lock_with_indexes)
        && ancestors(&Relation::open(target)).into_iter().all(try_lock)
    {
        return Ok(());
    }
    let message = "the table is locked, and so its guard was not tried";
    Err(user_error(PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE, message))
}

/// Tries a guard with these arguments on the first row of a table and of each partition.
fn try_guard(table: &Target, arguments: &Arguments, call: Call<'_>) -> Result<()> {
    check_is_whole(table)?;
    let schema = ExtensionSchema::from_function(call.function());
    let searched = Members::read(table.oid, table.oid)?.searched_with_marks(arguments, schema)?;
    // SAFETY: the memory context of the running call outlives the evaluator.
    let evaluator = unsafe { Evaluator::new(TRIGGER_NAME.to_owned(), PgMemoryContexts::CurrentMemoryContext.value()) };
    evaluator.try_stored_rows(&searched)
}
