//! Values of the type `text`, and the same texts in UTF-8.
//!
//! A text has three forms: [`RawText`], the server's bytes; [`Utf8Text`], for the algorithm; and a server string
//! ([`super::encoding`]), for names and commands.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::slice;
use std::str;

use pgrx::callconv::{Arg, ArgAbi};
use pgrx::prelude::*;
use pgrx::varlena::{varatt_is_1b, varatt_is_1b_e, varatt_is_4b_u, varlena_to_byte_slice, varsize_any};
use pgrx::{AnyElement, FromDatum};

use super::encoding::{convert, database_encoding};
use super::error::{ErrorReport, Explain, Result, out_of_memory, user_error};
use super::interrupts::tick;

/// The bytes of a text, in the server's encoding, detoasted.
///
/// pgrx reads `&[u8]` as a `bytea`, which is stored like `text`. Its `&str` would assume that the bytes are UTF-8.
pub type RawText<'a> = &'a [u8];

/// A `text` argument as PostgreSQL passes it: a varlena, perhaps compressed, or a reference to out-of-line storage.
#[derive(Clone, Copy)]
pub struct TextArgument<'a>(pub(super) &'a [u8]);

impl<'a> TextArgument<'a> {
    /// # Safety
    /// The value is a `text`, or of a type that is stored in the same way, is not NULL, and lives for `'a`.
    #[inline]
    pub unsafe fn new(datum: pg_sys::Datum) -> Self {
        let varlena: *const pg_sys::varlena = datum.cast_mut_ptr();
        // SAFETY: a `text` is a varlena, and a varlena has as many bytes as its header says.
        Self(unsafe { slice::from_raw_parts(varlena.cast(), varsize_any(varlena)) })
    }

    /// The text's bytes. If it is stored out of line or compressed, this fetches or decompresses it.
    pub fn detoast(self) -> RawText<'a> {
        let varlena: *const pg_sys::varlena = self.0.as_ptr().cast();
        // SAFETY: the argument is a varlena, read in place only if it is neither stored out of line nor compressed.
        unsafe {
            // A plain text needs no call of PostgreSQL. pgrx guards each by sigsetjmp, which takes as long as
            // fingerprinting some words.
            if varatt_is_4b_u(varlena) || varatt_is_1b(varlena) && !varatt_is_1b_e(varlena) {
                return varlena_to_byte_slice(varlena);
            }
            RawText::from_datum(varlena.into(), false).unwrap_or_default()
        }
    }

    pub fn datum(self) -> pg_sys::Datum {
        self.0.as_ptr().into()
    }
}

// SAFETY: the datum is passed on as it is.
unsafe impl<'a> ArgAbi<'a> for TextArgument<'a> {
    unsafe fn unbox_arg_unchecked(argument: Arg<'_, 'a>) -> Self {
        // SAFETY: the functions with such an argument declare a `text`, and are STRICT. It lives as long as the call.
        unsafe { argument.unbox_arg_using_from_datum() }.expect("the argument of a STRICT function is not NULL")
    }
}

impl_sql_translatable!(TextArgument<'_>, "text");

impl FromDatum for TextArgument<'_> {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Self> {
        // SAFETY: the datum is of type `text`, as this trait requires.
        (!is_null).then(|| unsafe { Self::new(datum) })
    }
}

/// A text in UTF-8, for the algorithm. This is not a `str`, so that nobody puts it into a command by mistake: in
/// a SQL_ASCII database, it may have characters that would become other bytes there ([`super::encoding`]).
#[derive(Clone, Copy)]
pub struct Utf8Text<'a>(&'a str);

impl<'a> Utf8Text<'a> {
    pub fn as_str(self) -> &'a str {
        self.0
    }
}

/// Decodes a text to UTF-8. In a UTF-8 or SQL_ASCII database, an error if it is not valid UTF-8; in others, PostgreSQL
/// raises an error if it cannot convert the text.
///
/// A UTF-8 database's text is checked too, in little time, because invalid bytes that other code has stored would cause
/// undefined behaviour. A SQL_ASCII database's text has no known encoding, and is read as UTF-8.
#[inline]
pub fn decode(text: RawText<'_>) -> Result<Utf8Text<'_>> {
    let is_utf8 =
        matches!(database_encoding(), pg_sys::pg_enc::PG_UTF8 | pg_sys::pg_enc::PG_SQL_ASCII) || text.is_ascii();
    checked_utf8(if is_utf8 { text } else { recode(text, pg_sys::pg_server_to_any) }).map(Utf8Text)
}

/// A text shorter than this is first tested for ASCII: it probably is, and simdutf8 takes longer.
const MAX_ASCII_TEST_BYTES: usize = 256;

#[inline]
fn checked_utf8(text: &[u8]) -> Result<&str> {
    if text.len() < MAX_ASCII_TEST_BYTES && text.is_ascii() {
        // SAFETY: ASCII is UTF-8.
        return Ok(unsafe { str::from_utf8_unchecked(text) });
    }
    simdutf8::basic::from_utf8(text).map_err(|_| utf8_error(text))
}

/// The error for a text that is not UTF-8. Reads it again: simdutf8's `basic` does not say where it is invalid.
#[cold]
fn utf8_error(text: &[u8]) -> ErrorReport {
    let valid_bytes = str::from_utf8(text).map_or_else(|error| error.valid_up_to(), str::len);
    let invalid_bytes: Vec<String> = text[valid_bytes..].iter().take(4).map(|byte| format!("0x{byte:02x}")).collect();
    user_error(PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE, "text is not valid UTF-8")
        .with_detail(format!("Invalid byte sequence at byte {}: {}.", valid_bytes + 1, invalid_bytes.join(" ")))
        .with_hint("In a SQL_ASCII database, store text as UTF-8, or convert it with convert_from().")
}

/// Encodes a text for the database. A character that its encoding lacks becomes `\u{3bc}`, as in messages.
fn encode(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() || database_encoding() == pg_sys::pg_enc::PG_UTF8 {
        return text.as_bytes().into();
    }
    let escape = |character: &[u8]| {
        tick();
        String::from_utf8_lossy(character).escape_unicode().to_string()
    };
    convert(text.as_bytes(), pg_sys::pg_enc::PG_UTF8, database_encoding(), escape).unwrap_or_else(|_| out_of_memory())
}

/// Whether the database's encoding has all characters of a text.
pub fn is_encodable(text: &str) -> bool {
    decode(&encode(text)).is_ok_and(|decoded| decoded.as_str() == text)
}

/// A `text` value, with escapes as in [`encode`]. `text` is shorter than 1 GB. PostgreSQL raises an error if it cannot
/// store it.
pub fn text_from_utf8(text: &str) -> AnyElement {
    text_from_bytes(&encode(text))
}

/// A `text` value from its bytes, in the server's encoding.
pub(super) fn text_from_bytes(text: RawText<'_>) -> AnyElement {
    // SAFETY: the pointer is to as many readable bytes, and their copy is a `text`.
    unsafe {
        let copy = pg_sys::cstring_to_text_with_len(text.as_ptr().cast(), text.len() as i32);
        AnyElement::from_polymorphic_datum(pg_sys::Datum::from(copy), false, pg_sys::TEXTOID)
    }
    .expect("a copy is not NULL")
}

/// Converts a text, shorter than 2 GB and without NULs, by a function of PostgreSQL, which raises an error if it fails.
pub(super) fn recode(text: &[u8], conversion: unsafe fn(*const c_char, i32, i32) -> *mut c_char) -> &[u8] {
    let start = text.as_ptr().cast();
    // SAFETY: `start` points to `text.len()` bytes. The conversion returns it, or a palloc'd, NUL-terminated string.
    unsafe {
        let converted = conversion(start, text.len() as i32, pg_sys::pg_enc::PG_UTF8 as i32);
        if converted.cast_const() == start { text } else { CStr::from_ptr(converted).to_bytes() }
    }
}
