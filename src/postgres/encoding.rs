//! The database's encoding, and server strings: names, commands and comments of the server as a `String`.
//!
//! In a UTF-8 database, a server string is the text itself. In any other, each non-ASCII byte of the server is
//! a private-use character, U+F0080 to U+F00FF, so that the bytes can be restored exactly. A conversion to UTF-8 cannot
//! always be reversed (two codes of EUC_JP are U+2252), and a name that it has changed names another object.
//!
//! A text that is decoded to UTF-8 is of another type, [`super::text::Utf8Text`]. In SQL_ASCII it may have these
//! characters too, so it never becomes part of a command. What a command quotes is a server string.

use std::borrow::Cow;
use std::ffi::CStr;
use std::sync::OnceLock;

use pgrx::pg_sys;
use pgrx::pg_sys::pg_enc;

/// The character that stands for byte 0. No server encoding but UTF-8 has such characters.
const CHARACTER_OF_BYTE_0: u32 = 0xF_0000;

/// The encoding of the database. A backend stays in one database, whose encoding does not change.
pub fn database_encoding() -> pg_enc::Type {
    static ENCODING: OnceLock<pg_enc::Type> = OnceLock::new();
    // SAFETY: the function takes no arguments, and only reads a variable.
    *ENCODING.get_or_init(|| unsafe { pg_sys::GetDatabaseEncoding() } as pg_enc::Type)
}

/// The server string of a text, in a database that is not in UTF-8.
pub fn escape_bytes(text: &[u8]) -> String {
    let to_character = |&byte: &u8| {
        if byte.is_ascii() { Some(char::from(byte)) } else { char::from_u32(CHARACTER_OF_BYTE_0 + u32::from(byte)) }
    };
    text.iter().filter_map(to_character).collect()
}

/// Splits a server string into parts: each is text in UTF-8, and the bytes in the server's encoding that follow it.
pub fn split_escaped(text: &str) -> impl Iterator<Item = (&str, Vec<u8>)> {
    // No private-use character stands for an ASCII byte, so none can become a quote in a command.
    let escaped_byte = |c: char| {
        let code = u32::from(c).checked_sub(CHARACTER_OF_BYTE_0)?;
        u8::try_from(code).ok().filter(|byte| !byte.is_ascii())
    };
    let is_escaped = move |c: char| database_encoding() != pg_enc::PG_UTF8 && escaped_byte(c).is_some();
    let mut rest = text;
    std::iter::from_fn(move || {
        let was_empty = rest.is_empty();
        let (plain, following) = rest.split_at(rest.find(is_escaped).unwrap_or(rest.len()));
        let end = following.find(|c| !is_escaped(c)).unwrap_or(following.len());
        let bytes = following[..end].chars().filter_map(escaped_byte).collect();
        rest = &following[end..];
        (!was_empty).then_some((plain, bytes))
    })
}

/// A server string in UTF-8, for people and programs. A character may have changed, so it must not name an object.
pub fn readable(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || database_encoding() == pg_enc::PG_UTF8 {
        return Cow::Borrowed(text);
    }
    split_escaped(text).map(|(plain, bytes)| format!("{plain}{}", to_utf8(&bytes))).collect()
}

/// Converts a text in the server's encoding to UTF-8. A code that has no Unicode character becomes U+FFFD, so that
/// a message about the text does not itself fail. SQL_ASCII is read as UTF-8.
fn to_utf8(text: &[u8]) -> Cow<'_, str> {
    let (server, utf8) = (database_encoding() as i32, pg_enc::PG_UTF8 as i32);
    // SAFETY: a transaction is running, as in every function call.
    let conversion = unsafe { pg_sys::FindDefaultConversionProc(server, utf8) };
    if conversion == pg_sys::InvalidOid {
        return String::from_utf8_lossy(text);
    }
    let mut source = text.to_vec();
    let mut buffer = vec![0; text.len() * pg_sys::MAX_CONVERSION_GROWTH as usize + 1];
    let mut converted = String::with_capacity(text.len());
    let mut rest = &mut source[..];
    while !rest.is_empty() {
        // SAFETY: both lengths are those of the slices. `buffer` is long enough for the longest result and its NUL.
        let consumed_bytes = unsafe {
            let (start, length) = (rest.as_mut_ptr(), rest.len() as i32);
            let (result, capacity, no_error) = (buffer.as_mut_ptr(), buffer.len() as i32, true);
            pg_sys::pg_do_encoding_conversion_buf(conversion, server, utf8, start, length, result, capacity, no_error)
        };
        converted.extend(CStr::from_bytes_until_nul(&buffer).map(CStr::to_string_lossy));
        rest = &mut rest[consumed_bytes as usize..];
        if !rest.is_empty() {
            converted.push(char::REPLACEMENT_CHARACTER);
            // SAFETY: `rest` has a byte, the first of a character.
            let length = unsafe { pg_sys::pg_encoding_mblen(server, rest.as_ptr().cast()) } as usize;
            let end = length.min(rest.len());
            rest = &mut rest[end..];
        }
    }
    Cow::Owned(converted)
}
