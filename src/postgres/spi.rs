//! Runs SQL statements. Tables are attached by SQL commands, so that PostgreSQL checks, locks, logs and replicates
//! these as if the owner had typed them.
//!
//! Every name and literal in a statement must be quoted. Names are [`super::server_text`].

use std::ffi::{CStr, CString, NulError, c_char};

use pgrx::pg_sys::panic::{CaughtError, ErrorReport};
use pgrx::prelude::*;
use pgrx::{AnyElement, FromDatum};

use super::error::user_error;
use super::raised::raise_with_hint;
use super::server_text::{TextPart, each_part, encoding, from_raw};
use super::text::{RawText, decode_copy};

/// Runs a statement, and returns the number of rows it processed.
///
/// If the current user lacks a privilege and is not the caller, the error's hint names the current user.
pub fn execute(statement: &str) -> Result<u64, ErrorReport> {
    // SAFETY: no arguments, no conditions.
    let user = unsafe { pg_sys::GetUserId() };
    PgTryBuilder::new(|| connected(0, || run(statement, false)))
        .catch_when(PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, |error| {
            // SAFETY: no arguments, no conditions; the name is NUL-terminated, or null.
            let user = unsafe {
                // If a SECURITY DEFINER function has failed, the current user is now another one: give no hint.
                let is_lent = user == pg_sys::GetUserId() && user != pg_sys::GetOuterUserId();
                let name = if is_lent { pg_sys::GetUserNameFromId(user, true) } else { std::ptr::null_mut() };
                (!name.is_null()).then(|| from_server(name)).transpose()?
            };
            match (error, user) {
                (CaughtError::PostgresError(error), Some(user)) if error.hint().is_none() => raise_with_hint(
                    &error,
                    format!(
                        "The command runs as the table's owner, \"{user}\", in a security-restricted operation. Event \
                         triggers that it fires run as that user too."
                    ),
                ),
                (error, _) => error.rethrow(),
            }
        })
        .execute()
}

/// Runs `statement`, then commits the transaction. Allowed only where [`pg_sys::SPI_inside_nonatomic_context`] is true.
pub fn execute_and_commit<T>(statement: impl FnOnce() -> Result<T, ErrorReport>) -> Result<T, ErrorReport> {
    connected(pg_sys::SPI_OPT_NONATOMIC, || {
        let result = statement()?;
        // SAFETY: SPI is connected. In an atomic context, PostgreSQL raises an error.
        unsafe { pg_sys::SPI_commit() };
        Ok(result)
    })
}

/// The first column of a query's result, without NULLs. The query sees everything that is committed now, including
/// commits while this statement waited for a lock.
pub fn strings(query: &str) -> Result<Vec<String>, ErrorReport> {
    connected(0, || {
        // SAFETY: a transaction is running. After a successful query, its table has `numvals` rows, and lives until
        // SPI_finish.
        unsafe {
            pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot());
            run(query, true)?;
            pg_sys::PopActiveSnapshot();
            let Some(table) = pg_sys::SPI_tuptable.as_ref() else {
                return Ok(Vec::new());
            };
            let row = |row: u64| pg_sys::SPI_getvalue(*table.vals.add(row as usize), table.tupdesc, 1);
            (0..table.numvals).map(row).filter(|value| !value.is_null()).map(|value| from_server(value)).collect()
        }
    })
}

fn connected<T>(options: u32, f: impl FnOnce() -> Result<T, ErrorReport>) -> Result<T, ErrorReport> {
    // SAFETY: each connection is finished here or, if `f` fails, by PostgreSQL at the end of the transaction.
    unsafe {
        check(pg_sys::SPI_connect_ext(options as i32))?;
        let result = f()?;
        check(pg_sys::SPI_finish())?;
        Ok(result)
    }
}

fn run(statement: &str, read_only: bool) -> Result<u64, ErrorReport> {
    let statement = to_server(statement)?;
    // SAFETY: SPI is connected, and the statement is NUL-terminated.
    unsafe {
        check(pg_sys::SPI_execute(statement.as_ptr(), read_only, 0))?;
        Ok(pg_sys::SPI_processed)
    }
}

fn check(code: i32) -> Result<(), ErrorReport> {
    if code < 0 {
        let message = format!("statement failed in the server programming interface ({code})");
        return Err(user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, message));
    }
    Ok(())
}

/// A name or a text of the server, as [`super::server_text`].
///
/// # Safety
///
/// `text` is NUL-terminated.
pub unsafe fn from_server(text: *const c_char) -> Result<String, ErrorReport> {
    // SAFETY: the caller passes a NUL-terminated text.
    from_bytes(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// As [`from_server`], for bytes that are not NUL-terminated.
pub fn from_bytes(text: RawText<'_>) -> Result<String, ErrorReport> {
    if encoding() == pg_sys::pg_enc::PG_UTF8 { decode_copy(text) } else { Ok(from_raw(text)) }
}

/// A text in the server's encoding: private-use characters become the server's bytes again, and all other characters
/// are converted. An error if the text contains a NUL or is too long.
pub fn to_server(text: &str) -> Result<CString, ErrorReport> {
    let mut bytes = Vec::with_capacity(text.len());
    each_part(text, |part| {
        match part {
            TextPart::Plain(text) => bytes.extend(encode(text)?.to_bytes()),
            TextPart::Raw(raw) => bytes.extend(raw),
        }
        Ok(())
    })?;
    CString::new(bytes).map_err(contains_nul)
}

/// The text as a `text` value; never None.
pub fn to_text(text: &str) -> Result<Option<AnyElement>, ErrorReport> {
    let text = to_server(text)?;
    // SAFETY: the string is NUL-terminated, and its copy is a `text`.
    Ok(unsafe {
        let datum = pg_sys::Datum::from(pg_sys::cstring_to_text(text.as_ptr()));
        AnyElement::from_polymorphic_datum(datum, false, pg_sys::TEXTOID)
    })
}

fn contains_nul(_: NulError) -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE, "text contains a NUL")
}

/// Encodes UTF-8 in the server's encoding; an error if it contains a NUL or is too long.
fn encode(text: &str) -> Result<CString, ErrorReport> {
    let utf8 = CString::new(text).map_err(contains_nul)?;
    let Ok(length) = i32::try_from(text.len()) else {
        return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, "text is too long"));
    };
    // SAFETY: `utf8` is `length` readable bytes. The result is either that pointer, or a palloc'd, NUL-terminated
    // string.
    unsafe {
        let encoded = pg_sys::pg_any_to_server(utf8.as_ptr(), length, pg_sys::pg_enc::PG_UTF8 as i32);
        if encoded.cast_const() == utf8.as_ptr() { Ok(utf8) } else { Ok(CStr::from_ptr(encoded).to_owned()) }
    }
}
