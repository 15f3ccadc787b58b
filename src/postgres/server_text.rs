//! Names, commands and comments in the server's encoding as a `String`.
//!
//! Outside UTF-8, such a `String` is not UTF-8 text: each non-ASCII byte is a private-use character, and other
//! non-ASCII characters do not come from the server. Conversion to UTF-8 cannot always be reversed: two codes of EUC_JP
//! are U+2252. A name that a conversion has changed names another object.
//!
//! A text that is decoded to UTF-8 is of another type, [`super::text::Decoded`]. In SQL_ASCII it may have these
//! characters too, so it never becomes part of a command: what a command quotes is read by [`super::text::from_bytes`].

use std::borrow::Cow;
use std::ffi::CStr;
use std::sync::OnceLock;

use pgrx::pg_sys;
use pgrx::pg_sys::pg_enc;

/// The character that stands for byte 0. No server encoding but UTF-8 has such characters.
const CHARACTER_OF_BYTE_0: u32 = 0xF_0000;

/// The encoding of the database. A backend stays in one database, whose encoding does not change.
pub fn encoding() -> pg_enc::Type {
    static ENCODING: OnceLock<pg_enc::Type> = OnceLock::new();
    // SAFETY: no arguments, no conditions.
    *ENCODING.get_or_init(|| unsafe { pg_sys::GetDatabaseEncoding() } as pg_enc::Type)
}

/// The bytes of a text in a server encoding that is not UTF-8, as a `String` that [`split_raw`] can split again.
pub fn from_server_bytes(text: &[u8]) -> String {
    let private_character =
        |byte: u8| char::from_u32(CHARACTER_OF_BYTE_0 + u32::from(byte)).filter(|_| !byte.is_ascii());
    text.iter().map(|&byte| private_character(byte).unwrap_or(char::from(byte))).collect()
}

/// The parts of a text: UTF-8, and the bytes in the server's encoding that follow it.
pub fn split_raw(text: &str) -> impl Iterator<Item = (&str, Vec<u8>)> {
    // ASCII characters stand for themselves alone, so no other character can become a quote.
    let raw_byte = |c: char| {
        let code = u32::from(c).checked_sub(CHARACTER_OF_BYTE_0)?;
        u8::try_from(code).ok().filter(|byte| !byte.is_ascii())
    };
    let is_raw = move |c: char| encoding() != pg_enc::PG_UTF8 && raw_byte(c).is_some();
    let mut rest = text;
    std::iter::from_fn(move || {
        let (plain, following) = rest.split_at(rest.find(is_raw).unwrap_or(rest.len()));
        let end = following.find(|c| !is_raw(c)).unwrap_or(following.len());
        let raw = following[..end].chars().filter_map(raw_byte).collect();
        let is_end = rest.is_empty();
        rest = &following[end..];
        (!is_end).then_some((plain, raw))
    })
}

/// The text in UTF-8, for people and programs. It may differ from the server's text, so it must not name an object.
pub fn readable(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || encoding() == pg_enc::PG_UTF8 {
        return Cow::Borrowed(text);
    }
    split_raw(text).map(|(plain, raw)| format!("{plain}{}", convert(&raw))).collect()
}

/// Converts a text of the server to UTF-8. A code that has no Unicode character becomes U+FFFD, so that a message about
/// the text does not itself fail. SQL_ASCII is read as UTF-8.
fn convert(text: &[u8]) -> Cow<'_, str> {
    let (from, to) = (encoding() as i32, pg_enc::PG_UTF8 as i32);
    // SAFETY: a transaction is running, as in every function call.
    let conversion = unsafe { pg_sys::FindDefaultConversionProc(from, to) };
    if conversion == pg_sys::InvalidOid {
        return String::from_utf8_lossy(text);
    }
    let mut source = text.to_vec();
    let mut target = vec![0; text.len() * pg_sys::MAX_CONVERSION_GROWTH as usize + 1];
    let mut converted = String::with_capacity(text.len());
    let mut rest = &mut source[..];
    while !rest.is_empty() {
        // SAFETY: both lengths are the buffers' own. `target` is long enough for the longest result and its NUL.
        let consumed_bytes = unsafe {
            let (source, length) = (rest.as_mut_ptr(), rest.len() as i32);
            let (target, capacity, no_error) = (target.as_mut_ptr(), target.len() as i32, true);
            pg_sys::pg_do_encoding_conversion_buf(conversion, from, to, source, length, target, capacity, no_error)
        };
        converted.extend(CStr::from_bytes_until_nul(&target).map(CStr::to_string_lossy));
        rest = &mut rest[consumed_bytes as usize..];
        if !rest.is_empty() {
            converted.push(char::REPLACEMENT_CHARACTER);
            // SAFETY: there is a byte, the first of a character.
            let length = unsafe { pg_sys::pg_encoding_mblen(from, rest.as_ptr().cast()) } as usize;
            let end = length.min(rest.len());
            rest = &mut rest[end..];
        }
    }
    Cow::Owned(converted)
}
