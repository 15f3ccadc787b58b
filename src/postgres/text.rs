//! Conversion of texts and names between the server's encoding and UTF-8.

use std::ffi::{CStr, CString, c_char};
use std::slice;
use std::str;

use pgrx::callconv::{Arg, ArgAbi};
use pgrx::prelude::*;
use pgrx::varlena::{varatt_is_1b, varatt_is_1b_e, varatt_is_4b_u, varlena_to_byte_slice, varsize_any, vartag_1b_e};
use pgrx::{AnyElement, FromDatum};
use simhash::error::Error;

use super::error::{Result, algorithm_error, user_error};
use super::server_text::{encoding, from_raw, parts};

/// The bytes of a text, in the server's encoding, detoasted.
///
/// pgrx reads `&[u8]` as a `bytea`, which is stored like `text`. Its `&str` would assume that the bytes are UTF-8.
pub type RawText<'a> = &'a [u8];

/// A `text` argument as PostgreSQL passes it: a varlena, perhaps compressed, or a reference to out-of-line storage.
#[derive(Clone, Copy)]
pub struct TextArgument<'a>(&'a [u8]);

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

    /// The text's identity, found without detoasting it; None if it has none.
    pub fn identity(self) -> Option<TextIdentity<'a>> {
        let varlena: *const pg_sys::varlena = self.0.as_ptr().cast();
        // SAFETY: the argument is stored as a `text` is, a varlena; an external one has a tag.
        let tag = unsafe { varatt_is_1b_e(varlena).then(|| vartag_1b_e(varlena)) };
        let command = match tag.map(u32::from) {
            None => None,
            Some(pg_sys::vartag_external::VARTAG_ONDISK) => Some(current_command()),
            Some(_) => return None,
        };
        Some(TextIdentity { varlena: self.0, command })
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
        (!is_null).then(|| unsafe { Self::new(datum) })
    }
}

/// The identity of a text. Identities are equal only for equal texts, but equal texts may have different identities.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TextIdentity<'a> {
    /// The text, perhaps compressed, or a reference to its out-of-line storage.
    varlena: &'a [u8],
    /// For a reference, the command during which it identifies its text. Later, the table may be changed and vacuumed.
    command: Option<Command>,
}

/// A copy of the identity of a text, to recognise the text if it comes again.
#[derive(Debug, Default)]
pub struct CachedText {
    /// Empty if no text is remembered: every varlena has a header.
    varlena: Vec<u8>,
    command: Option<Command>,
}

/// The limit on the bytes that stay allocated when a shorter text follows.
const RETAINED_BYTES: usize = 64 << 10;

impl CachedText {
    pub fn is(&self, text: Option<TextIdentity<'_>>) -> bool {
        text.is_some_and(|text| self.command == text.command && self.varlena == text.varlena)
    }

    /// Replaces the remembered text; false without an identity, for one of more than `most` bytes, or if out of memory.
    pub fn remember(&mut self, text: Option<TextIdentity<'_>>, most: usize) -> bool {
        self.varlena.clear();
        let Some(TextIdentity { varlena, command }) = text.filter(|text| text.varlena.len() <= most) else {
            return false;
        };
        self.varlena.shrink_to(RETAINED_BYTES.max(varlena.len()));
        if self.varlena.try_reserve_exact(varlena.len()).is_err() {
            return false;
        }
        self.varlena.extend_from_slice(varlena);
        self.command = command;
        true
    }
}

/// A command of this backend: when its transaction and its statement began, and its number. Transactions in one query
/// string may share all three, which matters only if a stored text is vacuumed meanwhile, and another one gets its OID.
type Command = (pg_sys::TimestampTz, pg_sys::TimestampTz, pg_sys::CommandId);

fn current_command() -> Command {
    // SAFETY: a transaction is running, as in every function call, and the functions only read its state.
    unsafe {
        let began = pg_sys::GetCurrentTransactionStartTimestamp();
        (began, pg_sys::GetCurrentStatementStartTimestamp(), pg_sys::GetCurrentCommandId(false))
    }
}

/// A text in UTF-8, for the algorithm. This is no string, so that it does not become part of a command by mistake: in a
/// SQL_ASCII database it may have the characters that stand for bytes of the server ([`super::server_text`]).
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
    if matches!(encoding(), pg_sys::pg_enc::PG_UTF8 | pg_sys::pg_enc::PG_SQL_ASCII) || text.is_ascii() {
        return check(text).map(Decoded);
    }
    check(recode(text, pg_sys::pg_server_to_any)).map(Decoded)
}

/// For a shorter text, which is probably ASCII, simdutf8 takes longer than `is_ascii`.
const MAX_ASCII_TEST_BYTES: usize = 256;

#[inline]
fn check(text: &[u8]) -> Result<&str> {
    if text.len() < MAX_ASCII_TEST_BYTES && text.is_ascii() {
        // SAFETY: ASCII is UTF-8.
        return Ok(unsafe { str::from_utf8_unchecked(text) });
    }
    if let Ok(text) = simdutf8::basic::from_utf8(text) {
        return Ok(text);
    }
    check_slowly(text)
}

/// The standard library takes longer, but reports where a text is invalid.
#[cold]
fn check_slowly(text: &[u8]) -> Result<&str> {
    str::from_utf8(text).map_err(|error| {
        let wrong = &text[error.valid_up_to()..];
        let wrong: Vec<String> = wrong.iter().take(4).map(|byte| format!("0x{byte:02x}")).collect();
        user_error(PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE, "text is not valid UTF-8")
            .set_detail(format!("Invalid byte sequence at byte {}: {}.", error.valid_up_to() + 1, wrong.join(" ")))
            .set_hint("In a SQL_ASCII database, store text as UTF-8, or convert it with convert_from().")
    })
}

/// A text shorter than 1 GB as a `text` value; never None. PostgreSQL raises an error if it cannot encode or store it.
pub fn to_datum(text: &str) -> Option<AnyElement> {
    text_value(recode(text.as_bytes(), pg_sys::pg_any_to_server))
}

/// A name or a text of the server, as [`super::server_text`].
///
/// # Safety
/// `text` is NUL-terminated.
pub unsafe fn from_server(text: *const c_char) -> Result<String> {
    from_bytes(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// As [`from_bytes`], for bytes that a user passes as a `bytea`; an error if they are no text in the server's encoding.
pub fn from_unchecked(text: &[u8]) -> Result<String> {
    // SAFETY: the pointer is to as many readable bytes. A `bytea` is shorter than 1 GB.
    if !unsafe { pg_sys::pg_verifymbstr(text.as_ptr().cast(), text.len() as i32, true) } {
        let message = "bytes are not valid in the server's encoding";
        return Err(user_error(PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE, message));
    }
    from_bytes(text)
}

/// As [`from_server`], for bytes that are not NUL-terminated.
pub fn from_bytes(text: RawText<'_>) -> Result<String> {
    if encoding() != pg_sys::pg_enc::PG_UTF8 {
        return Ok(from_raw(text));
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
    let mut bytes = Vec::with_capacity(text.len());
    for (plain, raw) in parts(text) {
        bytes.extend(recode(plain.as_bytes(), pg_sys::pg_any_to_server));
        bytes.extend(raw);
    }
    Ok(CString::new(bytes).expect("only U+0000 is encoded with a NUL"))
}

/// As [`to_server`], as a `text` value; never None.
pub fn to_text(text: &str) -> Result<Option<AnyElement>> {
    Ok(text_value(to_server(text)?.to_bytes()))
}

fn text_value(text: RawText<'_>) -> Option<AnyElement> {
    // SAFETY: the pointer is to as many readable bytes, and their copy is a `text`.
    unsafe {
        let copy = pg_sys::cstring_to_text_with_len(text.as_ptr().cast(), text.len() as i32);
        AnyElement::from_polymorphic_datum(pg_sys::Datum::from(copy), false, pg_sys::TEXTOID)
    }
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
