//! The definition of a guard as a document, for `simhash_guards`, which lists the guards of a database.

use pgrx::AnyElement;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::error::user_error;
use postgres::json::{array, is_jsonb, object, string, to_jsonb};
use postgres::text::{from_unchecked, to_server};

use super::definition::arguments::Arguments;
use super::definition::criterion::GuardCriterion;
use crate::sql::fingerprint::options::{OptionsDocument, read_options};

/// The arguments of a guard's trigger, as `pg_trigger` stores them: each ends with a NUL. The result has the key
/// `error` alone if they cannot be read. Who may create triggers can write anything there, and must not be able to make
/// a listing of all guards fail.
#[pg_extern(sql = false)]
fn simhash_guard_definition(arguments: &[u8]) -> Result<Option<AnyElement>, ErrorReport> {
    let document = definition(arguments).unwrap_or_else(|error| object([("error", string(error.message()))]));
    to_jsonb(&document)
}

fn definition(arguments: &[u8]) -> Result<String, ErrorReport> {
    let texts = arguments
        .split_inclusive(|&byte| byte == 0)
        .map(|text| from_unchecked(text.strip_suffix(b"\0").unwrap_or(text)));
    let guard = Arguments::parse(&texts.collect::<Result<Vec<_>, _>>()?)?;
    let members = [
        ("action", Some(string(guard.action.name()))),
        ("criterion", Some(criterion(&guard.criterion)?)),
        ("fingerprint", Some(string(&guard.fingerprint))),
        ("scope", Some(array(guard.scope.iter().map(|column| string(column))))),
        ("mark_column", guard.mark_column.as_deref().map(string)),
        ("among", guard.among.as_deref().map(string)),
    ];
    Ok(object(members.into_iter().filter_map(|(name, value)| Some((name, value?)))))
}

/// The criterion, without the keys that do not apply.
fn criterion(criterion: &GuardCriterion) -> Result<String, ErrorReport> {
    let near = criterion.near;
    if let Some(options) = &criterion.options {
        read_options(OptionsDocument::Text(to_server(options)?.to_bytes()))?;
        if !is_jsonb(options) {
            let message = "the options are no jsonb: they have the character \\u0000";
            return Err(user_error(PgSqlErrorCode::ERRCODE_UNTRANSLATABLE_CHARACTER, message));
        }
    }
    let members = [
        ("max_distance", Some(near.max_distance().to_string())),
        ("radii", near.blocks().map(|_| array(near.radii().map(|radius| radius.to_string())))),
        ("resemblance", criterion.resemblance.map(|least| least.to_string())),
        ("options", criterion.options.clone()),
    ];
    Ok(object(members.into_iter().filter_map(|(name, value)| Some((name, value?)))))
}
