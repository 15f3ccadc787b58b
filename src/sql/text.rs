//! Text between the server's encoding and the algorithm's UTF-8.

use std::borrow::Cow;
use std::slice;
use std::str;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::error::user_error;

/// The bytes of a `text` argument or element, in the server's encoding, detoasted.
///
/// pgrx takes `&[u8]` for `bytea`, which is laid out as `text` is; its `&str` would trust the bytes to be UTF-8.
pub type RawText<'a> = &'a [u8];

/// The text as UTF-8, whatever the server's encoding.
///
/// Also a UTF-8 server's text is checked: it costs a thirtieth of a fingerprint, and lets no wrong byte that some other
/// code stored lead to undefined behaviour. A SQL_ASCII server's text has no known encoding: it is taken for UTF-8.
pub fn decode(text: RawText<'_>) -> Result<Cow<'_, str>, ErrorReport> {
    // SAFETY: no arguments, no conditions.
    let encoding = unsafe { pg_sys::GetDatabaseEncoding() } as u32;
    if matches!(encoding, pg_sys::pg_enc::PG_UTF8 | pg_sys::pg_enc::PG_SQL_ASCII) || text.is_ascii() {
        return check(text).map(Cow::Borrowed);
    }
    let Ok(length) = i32::try_from(text.len()) else {
        return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, "text is too long"));
    };
    // SAFETY: `text` is `length` readable bytes. The result is either `text` or a palloc'd, NUL-terminated string;
    // PostgreSQL reports by an error, which pgrx turns into unwinding, what it cannot convert.
    let converted = unsafe {
        let converted = pg_sys::pg_server_to_any(text.as_ptr().cast(), length, pg_sys::pg_enc::PG_UTF8 as i32);
        if converted.cast_const() == text.as_ptr().cast() {
            text
        } else {
            std::ffi::CStr::from_ptr(converted).to_bytes()
        }
    };
    check(converted).map(Cow::Borrowed)
}

fn check(text: &[u8]) -> Result<&str, ErrorReport> {
    str::from_utf8(text).map_err(|error| {
        let wrong = &text[error.valid_up_to()..];
        let wrong: Vec<String> = wrong.iter().take(4).map(|byte| format!("0x{byte:02x}")).collect();
        user_error(PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE, "text to fingerprint is not valid UTF-8")
            .set_detail(format!("Invalid byte sequence at byte {}: {}.", error.valid_up_to() + 1, wrong.join(" ")))
            .set_hint("In a SQL_ASCII database, store text as UTF-8, or convert it with convert_from().")
    })
}

/// The text in the server's encoding; an error of PostgreSQL's where that has no such character.
pub fn encode(text: &str) -> RawText<'_> {
    // SAFETY: the pointer is to `text.len()` readable bytes, of less than 1 GB since they are part of a text. The
    // result is either that pointer or a palloc'd, NUL-terminated string.
    unsafe {
        let pointer = text.as_ptr().cast();
        let encoded = pg_sys::pg_any_to_server(pointer, text.len() as i32, pg_sys::pg_enc::PG_UTF8 as i32);
        if encoded.cast_const() == pointer {
            text.as_bytes()
        } else {
            slice::from_raw_parts(encoded.cast(), std::ffi::CStr::from_ptr(encoded).count_bytes())
        }
    }
}
