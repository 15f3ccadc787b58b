//! Conversion of the options document, `jsonb` or JSON as text, to [`Options`].

use std::cell::RefCell;
use std::ffi::CStr;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::{AnyElement, FromDatum, direct_function_call_as_datum};
use simhash::fingerprint::options::{InvalidOptions, Options};
use simhash::memory::check_available;

use crate::postgres::error::{algorithm_error, out_of_memory, user_error};
use crate::postgres::text::{RawText, decode, decode_copy, to_server};

/// The content of a `jsonb` datum, without its length word.
pub type RawJsonb<'a> = &'a [u8];

/// An options document as SQL passes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OptionsDocument<'a> {
    Jsonb(RawJsonb<'a>),
    Text(RawText<'a>),
}

thread_local! {
    /// The last documents and their options, the latest first. A query has few documents for all its rows: parsing one
    /// again for each row costs more than fingerprinting a kilobyte of text, and comparing 20 kB costs less than 1 us.
    static CACHED: RefCell<Vec<CachedOptions>> = const { RefCell::new(Vec::new()) };
}

struct CachedOptions {
    is_jsonb: bool,
    document: Box<[u8]>,
    options: Options,
}

/// The longest document, in bytes: a thousand weights of long features.
pub const MAX_OPTIONS_BYTES: usize = 128 << 10;
/// The memory that the JSON parser and the map of weights take for each byte of a document, in bytes: 5 MB at most.
const MEMORY_OF_BYTE: usize = 40;
/// How many documents are cached: a row may have several fingerprints. With their options, they take 100 kB for a
/// thousand weights, and 12 MB at most.
const MAX_CACHED_DOCUMENTS: usize = 4;

/// The options in a document; an error if they are invalid or the document is too long.
pub fn read_options(document: OptionsDocument<'_>) -> Result<Options, ErrorReport> {
    let (OptionsDocument::Text(bytes) | OptionsDocument::Jsonb(bytes)) = document;
    if bytes.len() > MAX_OPTIONS_BYTES {
        let message = format!("simhash options are {} bytes long", bytes.len());
        return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
            .set_detail(format!("At most {MAX_OPTIONS_BYTES} are read."))
            .set_hint(format!("The options are {}.", InvalidOptions::KEYS)));
    }
    let is_jsonb = matches!(document, OptionsDocument::Jsonb(_));
    let known = CACHED.with_borrow_mut(|last| {
        let same = |known: &CachedOptions| known.is_jsonb == is_jsonb && *known.document == *bytes;
        let position = last.iter().position(same)?;
        last[..=position].rotate_right(1);
        Some(last[0].options.clone())
    });
    if let Some(options) = known {
        return Ok(options);
    }
    reserve_for_document(bytes.len());
    let options = match document {
        OptionsDocument::Text(text) => parse(text, PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION)?,
        OptionsDocument::Jsonb(jsonb) => parse(&to_json(jsonb), PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE)?,
    };
    let cached = CachedOptions { is_jsonb, document: bytes.into(), options: options.clone() };
    CACHED.with_borrow_mut(|last| {
        last.truncate(MAX_CACHED_DOCUMENTS - 1);
        last.insert(0, cached);
    });
    Ok(options)
}

/// Raises an error if there is not enough memory to read a document of so many bytes and to report what is wrong with
/// it.
///
/// If the memory were refused to the JSON parser, the process would end, and with it the server. The same happens if
/// PostgreSQL has no memory to write an error with a long key.
fn reserve_for_document(bytes: usize) {
    check_available(bytes * MEMORY_OF_BYTE).unwrap_or_else(|_| out_of_memory());
}

/// Parses JSON in the server's encoding; `unreadable` is the error's SQLSTATE if the JSON is malformed.
fn parse(json: RawText<'_>, unreadable: PgSqlErrorCode) -> Result<Options, ErrorReport> {
    let json = decode(json)?;
    Options::from_json(&json).map_err(|invalid| {
        let is_unreadable = matches!(invalid, InvalidOptions::Unreadable(_));
        let error = invalid_options(invalid, unreadable);
        if is_unreadable && is_array_of_numbers(&json) {
            return error.set_hint(
                "For features and their weights, cast both arguments: simhash($1::text[], $2::double precision[]).",
            );
        }
        error
    })
}

/// Whether a text is an array of numbers as PostgreSQL writes it, such as `{1,2.5}`: weights, in an argument of no
/// declared type, which PostgreSQL takes for a text.
fn is_array_of_numbers(text: &str) -> bool {
    let elements = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let is_number = |element: &str| element.trim().parse::<f64>().is_ok();
    elements.is_some_and(|elements| elements.split(',').all(is_number))
}

/// The document as JSON, in the server's encoding.
fn to_json(document: RawJsonb<'_>) -> Vec<u8> {
    // A short datum is not aligned, but a container must be.
    let mut aligned = vec![0u32; document.len().div_ceil(4)];
    for (word, bytes) in aligned.iter_mut().zip(document.chunks(4)) {
        let mut four = [0; 4];
        four[..bytes.len()].copy_from_slice(bytes);
        *word = u32::from_ne_bytes(four);
    }
    // SAFETY: `aligned` holds the container of a valid jsonb datum, whole and aligned to 4 bytes. A null buffer makes
    // JsonbToCString palloc one; it returns a NUL-terminated string.
    unsafe {
        let json = pg_sys::JsonbToCString(std::ptr::null_mut(), aligned.as_mut_ptr().cast(), document.len() as i32);
        CStr::from_ptr(json).to_bytes().to_vec()
    }
}

/// JSON in UTF-8 as a `jsonb` value; never None. PostgreSQL raises an error if it is too large, or if the server's
/// encoding lacks a character.
pub fn to_jsonb(json: &str) -> Result<Option<AnyElement>, ErrorReport> {
    let json = to_server(json)?;
    // SAFETY: jsonb_in reads a NUL-terminated text, and returns a `jsonb`.
    Ok(unsafe {
        let datum = direct_function_call_as_datum(pg_sys::jsonb_in, &[Some(pg_sys::Datum::from(json.as_ptr()))]);
        datum.and_then(|datum| AnyElement::from_polymorphic_datum(datum, false, pg_sys::JSONBOID))
    })
}

/// The document as JSON, in UTF-8.
pub fn to_json_text(document: RawJsonb<'_>) -> Result<String, ErrorReport> {
    decode_copy(&to_json(document))
}

/// The error for invalid options; `unreadable` is its SQLSTATE if the JSON is malformed.
fn invalid_options(invalid: InvalidOptions, unreadable: PgSqlErrorCode) -> ErrorReport {
    let code = match invalid {
        InvalidOptions::Failed(reason) => return algorithm_error(reason),
        InvalidOptions::Unreadable(_) => unreadable,
        _ => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
    };
    let mut error = user_error(code, invalid.to_string());
    if let Some(detail) = invalid.detail() {
        error = error.set_detail(detail);
    }
    if let Some(hint) = invalid.hint() {
        error = error.set_hint(hint);
    }
    error
}
