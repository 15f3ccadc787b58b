//! Conversion of texts and names between the server's encoding and UTF-8.

use std::ffi::{CStr, CString, c_char};
use std::slice;
use std::str;

use pgrx::callconv::{Arg, ArgAbi};
use pgrx::prelude::*;
use pgrx::varlena::{varatt_is_1b, varatt_is_1b_e, varatt_is_4b_u, varlena_to_byte_slice, varsize_any};
use pgrx::{AnyElement, FromDatum};
use simhash::error::Error;

use super::error::{ErrorReport, Explain, Result, algorithm_error, user_error};
use super::server_text::{encoding, from_server_bytes, split_raw};

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
            // For a short text, a guarded call of a PostgreSQL function takes as long as fingerprinting some words.
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

/// A text in UTF-8, for the algorithm. This is not a `str`, so that it is not put into a command by mistake: in a
/// SQL_ASCII database, it may have the characters that stand for bytes of the server ([`super::server_text`]).
#[derive(Clone, Copy)]
pub struct Decoded<'a>(&'a str);

impl<'a> Decoded<'a> {
    pub fn as_str(self) -> &'a str {
        self.0
    }
}

/// Decodes a text to UTF-8, whatever the server's encoding; an error if it is invalid.
///
/// A UTF-8 server's text is checked too, in little time, because invalid bytes that other code has stored would cause
/// undefined behaviour. A SQL_ASCII server's text has no known encoding, and is read as UTF-8.
#[inline]
pub fn decode(text: RawText<'_>) -> Result<Decoded<'_>> {
    let is_utf8 = matches!(encoding(), pg_sys::pg_enc::PG_UTF8 | pg_sys::pg_enc::PG_SQL_ASCII) || text.is_ascii();
    as_utf8(if is_utf8 { text } else { recode(text, pg_sys::pg_server_to_any) }).map(Decoded)
}

/// For a shorter text, which is probably ASCII, simdutf8 takes longer than `is_ascii`.
const MAX_ASCII_TEST_BYTES: usize = 256;

#[inline]
fn as_utf8(text: &[u8]) -> Result<&str> {
    if text.len() < MAX_ASCII_TEST_BYTES && text.is_ascii() {
        // SAFETY: ASCII is UTF-8.
        return Ok(unsafe { str::from_utf8_unchecked(text) });
    }
    simdutf8::basic::from_utf8(text).map_err(|_| utf8_error(text))
}

/// The error for a text that is not UTF-8. The standard library finds where it is invalid, which takes longer.
#[cold]
fn utf8_error(text: &[u8]) -> ErrorReport {
    let valid = str::from_utf8(text).map_or_else(|error| error.valid_up_to(), str::len);
    let invalid_bytes: Vec<String> = text[valid..].iter().take(4).map(|byte| format!("0x{byte:02x}")).collect();
    user_error(PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE, "text is not valid UTF-8")
        .with_detail(format!("Invalid byte sequence at byte {}: {}.", valid + 1, invalid_bytes.join(" ")))
        .with_hint("In a SQL_ASCII database, store text as UTF-8, or convert it with convert_from().")
}

/// A text shorter than 1 GB as a `text` value. PostgreSQL raises an error if it cannot encode or store it.
pub fn text_from_utf8(text: &str) -> AnyElement {
    text_from_bytes(recode(text.as_bytes(), pg_sys::pg_any_to_server))
}

/// A name or a text in the server's encoding as a `String` ([`super::server_text`]); an error if it is invalid.
///
/// # Safety
/// `text` is NUL-terminated.
pub unsafe fn from_server(text: *const c_char) -> Result<String> {
    from_bytes(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// The text in a `bytea` that a user passes; an error if its bytes are not valid in the server's encoding.
pub fn from_unverified(text: &[u8]) -> Result<String> {
    // SAFETY: the pointer is to as many readable bytes. A `bytea` is shorter than 1 GB.
    if !unsafe { pg_sys::pg_verifymbstr(text.as_ptr().cast(), text.len() as i32, true) } {
        let message = "bytes are not valid in the server's encoding";
        return Err(user_error(PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE, message));
    }
    from_bytes(text)
}

/// The limit on the length of expressions and parameters that a user writes, in bytes: code that handles them may
/// allocate their length without asking.
const MAX_ARGUMENT_BYTES: usize = 1 << 16;

/// An error if an expression or parameters, in the argument of this name, are too long.
pub fn check_length(text: RawText<'_>, name: &str) -> Result<()> {
    if text.len() <= MAX_ARGUMENT_BYTES {
        return Ok(());
    }
    let message = format!("{name} is {} bytes long", text.len());
    Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
        .with_detail(format!("At most {MAX_ARGUMENT_BYTES} are read.")))
}

/// A text in the server's encoding as a `String` ([`super::server_text`]); an error if it is invalid.
pub fn from_bytes(text: RawText<'_>) -> Result<String> {
    if encoding() != pg_sys::pg_enc::PG_UTF8 {
        return Ok(from_server_bytes(text));
    }
    let decoded = decode(text)?.as_str();
    // The text may be large, so running out of memory is an error.
    let mut copy = String::new();
    copy.try_reserve_exact(decoded.len()).map_err(Error::from).map_err(algorithm_error)?;
    copy.push_str(decoded);
    Ok(copy)
}

/// A text in the server's encoding: private-use characters become the server's bytes again, and all other characters
/// are converted. An error if the text contains a NUL or is too long.
pub fn to_server(text: &str) -> Result<CString> {
    if i32::try_from(text.len()).is_err() {
        return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, "text is too long"));
    }
    if text.contains('\0') {
        return Err(user_error(PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE, "text contains a NUL"));
    }
    let mut bytes = Vec::new();
    for (plain, raw) in split_raw(text) {
        let plain = recode(plain.as_bytes(), pg_sys::pg_any_to_server);
        // One byte more, for the NUL.
        bytes.try_reserve(plain.len() + raw.len() + 1).map_err(Error::from).map_err(algorithm_error)?;
        bytes.extend(plain);
        bytes.extend(raw);
    }
    Ok(CString::new(bytes).expect("only U+0000 is encoded with a NUL"))
}

/// A `String` of the server ([`super::server_text`]) as a `text` value; an error if it contains a NUL or is too long.
pub fn text_from_server_string(text: &str) -> Result<AnyElement> {
    Ok(text_from_bytes(to_server(text)?.to_bytes()))
}

fn text_from_bytes(text: RawText<'_>) -> AnyElement {
    // SAFETY: the pointer is to as many readable bytes, and their copy is a `text`.
    unsafe {
        let copy = pg_sys::cstring_to_text_with_len(text.as_ptr().cast(), text.len() as i32);
        AnyElement::from_polymorphic_datum(pg_sys::Datum::from(copy), false, pg_sys::TEXTOID)
    }
    .expect("a copy is not NULL")
}

/// Converts a text shorter than 2 GB, without NULs, by a function of PostgreSQL, which raises an error if it cannot.
fn recode(text: &[u8], conversion: unsafe fn(*const c_char, i32, i32) -> *mut c_char) -> &[u8] {
    let start = text.as_ptr().cast();
    // SAFETY: `start` points to `text.len()` bytes. The conversion returns it, or a palloc'd, NUL-terminated string.
    unsafe {
        let converted = conversion(start, text.len() as i32, pg_sys::pg_enc::PG_UTF8 as i32);
        if converted.cast_const() == start { text } else { CStr::from_ptr(converted).to_bytes() }
    }
}
