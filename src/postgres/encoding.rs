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
use simhash::error::Result;

/// The character that stands for byte 0. No server encoding but UTF-8 has such characters.
const CHARACTER_OF_BYTE_0: u32 = 0xF_0000;

/// The most bytes that are converted at a time.
const MAX_PART_BYTES: usize = 1 << 16;

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
fn to_utf8(text: &[u8]) -> String {
    let converted = convert(text, database_encoding(), pg_enc::PG_UTF8, |_| "\u{fffd}".to_owned());
    String::from_utf8_lossy(&converted.unwrap_or(text.into())).into_owned()
}

/// Converts a text to another encoding, with `replace` of each character that this encoding lacks. If there is no
/// conversion, returns the text itself.
pub(super) fn convert(
    text: &[u8],
    from: pg_enc::Type,
    to: pg_enc::Type,
    replace: impl Fn(&[u8]) -> String,
) -> Result<Cow<'_, [u8]>> {
    let (from, to) = (from as i32, to as i32);
    // SAFETY: a transaction is running, as in every function call.
    let conversion = unsafe { pg_sys::FindDefaultConversionProc(from, to) };
    if conversion == pg_sys::InvalidOid {
        return Ok(text.into());
    }
    let mut buffer = vec![0; text.len().min(MAX_PART_BYTES) * pg_sys::MAX_CONVERSION_GROWTH as usize + 1];
    let (mut converted, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        // SAFETY: both lengths are those of the slices. Only as much is read as surely fits, with a NUL, into `buffer`.
        let mut consumed_bytes = unsafe {
            let (start, length) = (rest.as_ptr().cast_mut(), rest.len() as i32);
            let (result, capacity, no_error) = (buffer.as_mut_ptr(), buffer.len() as i32, true);
            pg_sys::pg_do_encoding_conversion_buf(conversion, from, to, start, length, result, capacity, no_error)
        } as usize;
        let mut part = CStr::from_bytes_until_nul(&buffer).map_or(&[][..], CStr::to_bytes);
        let replacement;
        if consumed_bytes == 0 {
            // SAFETY: `rest` has a byte, the first of a character.
            let length = unsafe { pg_sys::pg_encoding_mblen(from, rest.as_ptr().cast()) } as usize;
            consumed_bytes = length.min(rest.len());
            replacement = replace(&rest[..consumed_bytes]);
            part = replacement.as_bytes();
        }
        converted.try_reserve(part.len())?;
        converted.extend_from_slice(part);
        rest = &rest[consumed_bytes..];
    }
    Ok(converted.into())
}
