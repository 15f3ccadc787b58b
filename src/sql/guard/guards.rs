//! The definition of a guard as a document, for `simhash_guards`, which lists the guards of a database.

use std::panic::AssertUnwindSafe;

use pgrx::AnyElement;
use pgrx::prelude::*;
use postgres::error::{Result, user_error};
use postgres::json::{object, string, to_jsonb};
use serde_json::{Error, Value};

use super::definition::arguments::Arguments;

/// The length of arguments that are shown, in bytes. It is far below that of a string in a `jsonb`.
const MAX_SHOWN_BYTES: usize = 1 << 24;

/// The arguments of a guard's trigger, as `pg_trigger` stores them: each ends with a NUL. The result has the key
/// `error` alone if they cannot be read or shown. Who may create triggers can write anything there, and must not be
/// able to make a listing of all guards fail.
#[pg_extern(sql = false)]
fn simhash_guard_definition(arguments: &[u8]) -> Result<Option<AnyElement>> {
    let with_error = |message: &str| object([("error", string(message))]);
    let document = definition(arguments).unwrap_or_else(|error| with_error(error.message()));
    // The functions that raise this error hold nothing that an aborted transaction would release.
    PgTryBuilder::new(AssertUnwindSafe(|| to_jsonb(&document)))
        .catch_when(PgSqlErrorCode::ERRCODE_UNTRANSLATABLE_CHARACTER, |_| {
            to_jsonb(&with_error("the arguments have a character that this database cannot represent"))
        })
        .execute()
}

/// JSON with each number as the shortest one of the same `f64`, which is what it means here: `jsonb` refuses numbers of
/// very many digits, such as 1e-99999.
fn with_short_numbers(json: &str) -> Result<String> {
    let unreadable = |error: Error| user_error(PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION, error.to_string());
    serde_json::from_str::<Value>(json).map(|value| value.to_string()).map_err(unreadable)
}

fn definition(arguments: &[u8]) -> Result<String> {
    if arguments.len() > MAX_SHOWN_BYTES {
        let message = format!("{} bytes of arguments are too many to be shown", arguments.len());
        return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message));
    }
    with_short_numbers(&object(Arguments::parse_stored(arguments)?.members()?))
}
