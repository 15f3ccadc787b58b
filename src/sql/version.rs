//! Compares the versions of the library and of the extension's objects in a database. A package replaces the library
//! before ALTER EXTENSION .. UPDATE replaces the objects, and a session keeps the library that it has loaded.

use std::cmp::Ordering;

use pgrx::pg_sys::{self, Oid};
use postgres::error::{Explain, Result, raise, wrong_state};
use postgres::spi::query_strings;

const LIBRARY_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Raises an error if the library is being loaded by a script of the extension that is newer than the library. Scripts
/// of older versions are steps of an UPDATE, so they are accepted.
pub fn check_script() {
    // SAFETY: PostgreSQL sets these variables while it runs the script of an extension.
    let script = unsafe { pg_sys::creating_extension.then_some(pg_sys::CurrentExtensionObject) };
    if let Some(extension) = script {
        check_version(extension, Ordering::is_gt).unwrap_or_else(|error| raise(error));
    }
}

/// An error if the extension of `function`, a command, has another major or minor version than the library.
pub fn check_command(function: Oid) -> Result<()> {
    // SAFETY: a look-up in a catalog by an OID.
    check_version(unsafe { pg_sys::getExtensionOfObject(pg_sys::ProcedureRelationId, function) }, Ordering::is_ne)
}

fn check_version(extension: Oid, is_refused: fn(Ordering) -> bool) -> Result<()> {
    let query =
        format!("SELECT extversion FROM pg_catalog.pg_extension WHERE oid = {extension} AND extname = 'pg_simhash'");
    // The script may belong to another extension, and the function to none: then there is nothing to check.
    let [installed] = &query_strings(&query)?[..] else { return Ok(()) };
    let order = major_and_minor(installed).cmp(&major_and_minor(LIBRARY_VERSION));
    if !is_refused(order) {
        return Ok(());
    }
    let message = format!("the extension pg_simhash has version {installed}, and its library {LIBRARY_VERSION}");
    Err(wrong_state(message).with_hint(if order.is_lt() {
        "Run ALTER EXTENSION pg_simhash UPDATE in this database.".to_owned()
    } else {
        format!("Install the library of pg_simhash {installed}. If it is installed, begin a new session.")
    }))
}

fn major_and_minor(version: &str) -> Vec<u32> {
    version.split('.').take(2).map_while(|number| number.parse().ok()).collect()
}
