//! Conversion of the options document, `jsonb` or JSON as text, to [`Options`].

use std::cell::RefCell;
use std::ffi::CStr;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use simhash::fingerprint::options::{InvalidOptions, Options};

use crate::postgres::error::{shorten, user_error};
use crate::postgres::text::{RawText, decode, decode_copy};

/// The content of a `jsonb` datum, without its length word.
pub type RawJsonb<'a> = &'a [u8];

/// An options document as SQL passes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Document<'a> {
    Jsonb(RawJsonb<'a>),
    Text(RawText<'a>),
}

thread_local! {
    /// The last `jsonb` document and its options. A query has one document for all its rows: parsing it again for each
    /// row costs more than fingerprinting a kilobyte of text.
    static LAST: RefCell<Option<(Vec<u8>, Options)>> = const { RefCell::new(None) };
}

/// The longest document, in bytes. The JSON parser takes many times as much memory, and might leave none to report an
/// error.
const MAX_BYTES: usize = 8192;
/// The longest document to remember, in bytes. Only invalid documents are longer.
const MAX_REMEMBERED: usize = 1024;

/// The options in a document; an error if they are invalid or the document is too long.
pub fn read(document: Document<'_>) -> Result<Options, ErrorReport> {
    let (Document::Text(bytes) | Document::Jsonb(bytes)) = document;
    if bytes.len() > MAX_BYTES {
        let message = format!("simhash options are {} bytes long", bytes.len());
        return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
            .set_detail(format!("At most {MAX_BYTES} are read."))
            .set_hint(format!("The options are {}.", InvalidOptions::KEYS)));
    }
    let jsonb = match document {
        Document::Text(text) => return parse(text, PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION),
        Document::Jsonb(jsonb) => jsonb,
    };
    let known = LAST.with_borrow(|last| {
        let (last, options) = last.as_ref()?;
        (last == jsonb).then(|| options.clone())
    });
    if let Some(options) = known {
        return Ok(options);
    }
    let options = parse(&to_json(jsonb), PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE)?;
    if jsonb.len() <= MAX_REMEMBERED {
        LAST.set(Some((jsonb.to_vec(), options.clone())));
    }
    Ok(options)
}

/// Parses JSON in the server's encoding; `unreadable` is the error's SQLSTATE if the JSON is malformed.
fn parse(json: RawText<'_>, unreadable: PgSqlErrorCode) -> Result<Options, ErrorReport> {
    Options::from_json(&decode(json)?).map_err(|invalid| invalid_options(invalid, unreadable))
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

/// The document as JSON, in UTF-8.
pub fn to_json_text(document: RawJsonb<'_>) -> Result<String, ErrorReport> {
    decode_copy(&to_json(document))
}

/// The error for invalid options; `unreadable` is its SQLSTATE if the JSON is malformed.
fn invalid_options(invalid: InvalidOptions, unreadable: PgSqlErrorCode) -> ErrorReport {
    let error = |message| user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message);
    let keys = InvalidOptions::KEYS;
    match invalid {
        InvalidOptions::Unreadable(reason) => {
            user_error(unreadable, "simhash options cannot be read").set_detail(format!("{reason}."))
        }
        InvalidOptions::NotAnObject => {
            error("simhash options must be a JSON object".to_owned()).set_hint(format!("Its keys may be {keys}."))
        }
        InvalidOptions::UnknownKey(key) => {
            error(format!("unknown simhash option \"{}\"", shorten(&key))).set_hint(format!("The options are {keys}."))
        }
        InvalidOptions::Value { key, value, allowed } => {
            error(format!("invalid value for simhash option \"{key}\": {}", shorten(&value)))
                .set_hint(format!("It must be {allowed}."))
        }
    }
}
