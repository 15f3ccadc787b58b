//! Converts names, commands and comments between the server's bytes and server strings ([`super::encoding`]).

use std::ffi::{CStr, CString, c_char};

use pgrx::AnyElement;
use pgrx::prelude::*;
use simhash::error::Error;

use super::encoding::{database_encoding, escape_bytes, split_escaped};
use super::error::{Result, algorithm_error, user_error};
use super::text::{RawText, decode, recode, text_from_bytes};

/// The server string of a text in the server's encoding. In a UTF-8 database, an error if the text is not valid UTF-8;
/// in others, its bytes are kept unchecked.
pub fn server_string(text: RawText<'_>) -> Result<String> {
    if database_encoding() != pg_sys::pg_enc::PG_UTF8 {
        return Ok(escape_bytes(text));
    }
    let decoded = decode(text)?.as_str();
    // A JSON document may be large: a lack of memory must be an error, and not abort the process.
    let mut copy = String::new();
    copy.try_reserve_exact(decoded.len()).map_err(Error::from).map_err(algorithm_error)?;
    copy.push_str(decoded);
    Ok(copy)
}

/// As [`server_string`], of a C string.
///
/// # Safety
/// `text` is NUL-terminated.
pub unsafe fn server_string_from_c(text: *const c_char) -> Result<String> {
    server_string(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// The server string of a text in a `bytea`. An error if its bytes are not valid in the server's encoding.
pub fn server_string_from_bytea(text: &[u8]) -> Result<String> {
    // SAFETY: the pointer is to as many readable bytes. A `bytea` is shorter than 1 GB.
    if !unsafe { pg_sys::pg_verifymbstr(text.as_ptr().cast(), text.len() as i32, true) } {
        let message = "bytes are not valid in the server's encoding";
        return Err(user_error(PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE, message));
    }
    server_string(text)
}

/// Converts a server string to the server's encoding: private-use characters become the server's bytes again, and all
/// other characters are converted. An error if the string contains a NUL, or is longer than 2 GB. PostgreSQL
/// raises an error if its encoding lacks a character.
pub fn to_server_cstring(text: &str) -> Result<CString> {
    if i32::try_from(text.len()).is_err() {
        return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, "text is too long"));
    }
    if text.contains('\0') {
        return Err(user_error(PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE, "text contains a NUL"));
    }
    let mut bytes = Vec::new();
    for (plain, server_bytes) in split_escaped(text) {
        let recoded = recode(plain.as_bytes(), pg_sys::pg_any_to_server);
        // One byte more, for the NUL.
        bytes.try_reserve(recoded.len() + server_bytes.len() + 1).map_err(Error::from).map_err(algorithm_error)?;
        bytes.extend(recoded);
        bytes.extend(server_bytes);
    }
    Ok(CString::new(bytes).expect("only U+0000 is encoded with a NUL"))
}

/// A server string as a `text` value; an error as in [`to_server_cstring`].
pub fn text_from_server_string(text: &str) -> Result<AnyElement> {
    Ok(text_from_bytes(to_server_cstring(text)?.to_bytes()))
}
