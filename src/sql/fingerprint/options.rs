//! Reads options and criteria from documents: `jsonb`, or JSON as text.

use std::borrow::Cow;
use std::cell::RefCell;

use pgrx::prelude::*;
use postgres::error::{ErrorReport, Explain, Result, algorithm_error, invalid_parameter, user_error};
use postgres::json::{RawJsonb, to_json};
use postgres::text::{RawText, decode};
use simhash::criterion::{self, CriterionDocument, TextCriterion};
use simhash::fingerprint::invalid_options::{InvalidOptions, Reason};
use simhash::fingerprint::options::Options;
use simhash::memory::check_available;

/// Options or a criterion, as they are passed: a `jsonb`, or JSON in the server's encoding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum JsonDocument<'a> {
    Jsonb(RawJsonb<'a>),
    Text(RawText<'a>),
}

thread_local! {
    static OPTIONS: DocumentCache<Options> = const { DocumentCache(RefCell::new(Vec::new())) };
    static CRITERIA: DocumentCache<CriterionDocument> = const { DocumentCache(RefCell::new(Vec::new())) };
}

/// Parsed documents, the most recently used first. A query has few documents for all its rows: parsing one for each row
/// costs more than fingerprinting a kilobyte of text, comparing 20 kB less than 1 us. A parsed document is cheap to
/// clone.
struct DocumentCache<T>(RefCell<Vec<CachedDocument<T>>>);

struct CachedDocument<T> {
    is_jsonb: bool,
    document: Box<[u8]>,
    parsed: T,
}

/// The limit on the length of a document, in bytes: enough for a thousand weights of long features.
const MAX_DOCUMENT_BYTES: usize = 128 << 10;
/// The memory that the JSON parser and the map of weights take for each byte of a document, in bytes. For a jsonb whose
/// text is much longer than its binary form, that is 45 MB at most.
const MEMORY_PER_BYTE: usize = 40;
/// The number of documents that are cached: a row may have several fingerprints. With their options, documents of a
/// thousand weights take 100 kB, and the largest ones 12 MB; criteria take as much.
const MAX_CACHED_DOCUMENTS: usize = 4;

/// The options in a document; an error if they are invalid or the document is too long.
pub fn read_options(document: JsonDocument<'_>) -> Result<Options> {
    OPTIONS.with(|cache| cache.read(document, Options::from_json))
}

/// The criterion for texts in a document, and its options; an error if it is invalid, if the document is too long, if
/// it asks for the weights of a table, or if it is for fingerprints.
pub fn read_text_criterion(document: JsonDocument<'_>) -> Result<(TextCriterion, Options)> {
    let document = read_criterion(document).and_then(reject_weights_of_table)?;
    Ok((document.for_texts().map_err(unfit_criterion)?, document.options))
}

/// The criterion in a document, which may ask for the weights of a table.
pub fn read_criterion(document: JsonDocument<'_>) -> Result<CriterionDocument> {
    CRITERIA.with(|cache| cache.read(document, CriterionDocument::from_json))
}

/// The error for a criterion that does not fit the kind of source.
pub fn unfit_criterion(invalid: InvalidOptions) -> ErrorReport {
    invalid_options(invalid, PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE)
}

/// Returns the document; an error if it asks for the weights of a table.
pub fn reject_weights_of_table(document: CriterionDocument) -> Result<CriterionDocument> {
    if !document.weights_of_table {
        return Ok(document);
    }
    Err(invalid_parameter("invalid value for key \"weights\" of a criterion: \"table\"")
        .with_detail("There is no table here to learn the weights from.")
        .with_hint("Use it in simhash_cluster and simhash_duplicate_of."))
}

/// A criterion as JSON, with the members of `others` that it lacks; an error if one of the two cannot be read.
pub fn merged(document: &str, others: &str) -> Result<String> {
    criterion::merged(document, others)
        .map_err(|invalid| invalid_options(invalid, PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION))
}

impl<T: Clone> DocumentCache<T> {
    /// Nothing is borrowed while a document is parsed, because that may raise a PostgreSQL error.
    fn read(&self, document: JsonDocument<'_>, from_json: impl Fn(&str) -> Result<T, InvalidOptions>) -> Result<T> {
        let (JsonDocument::Text(bytes) | JsonDocument::Jsonb(bytes)) = document;
        if bytes.len() > MAX_DOCUMENT_BYTES {
            let message = format!("the JSON document is {} bytes long", bytes.len());
            return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
                .with_detail(format!("At most {MAX_DOCUMENT_BYTES} are read; of a jsonb, in its binary form.")));
        }
        let is_jsonb = matches!(document, JsonDocument::Jsonb(_));
        if let Some(parsed) = self.find(bytes, is_jsonb) {
            return Ok(parsed);
        }
        let parsed = parse(document, from_json)?;
        let mut cached = self.0.borrow_mut();
        cached.truncate(MAX_CACHED_DOCUMENTS - 1);
        cached.insert(0, CachedDocument { is_jsonb, document: bytes.into(), parsed: parsed.clone() });
        Ok(parsed)
    }

    fn find(&self, bytes: &[u8], is_jsonb: bool) -> Option<T> {
        let mut cached = self.0.borrow_mut();
        let is_same = |other: &CachedDocument<T>| other.is_jsonb == is_jsonb && *other.document == *bytes;
        let position = cached.iter().position(is_same)?;
        cached[..=position].rotate_right(1);
        Some(cached[0].parsed.clone())
    }
}

/// Checks that there is memory to parse a document, and to report an error in it, and parses it. If the JSON parser got
/// no memory, or PostgreSQL none for an error with a long key, the process would end, and with it all sessions.
fn parse<T>(document: JsonDocument<'_>, from_json: impl Fn(&str) -> Result<T, InvalidOptions>) -> Result<T> {
    let check_memory = |len| check_available(len * MEMORY_PER_BYTE).map_err(algorithm_error);
    // A text may not be JSON. A jsonb always is JSON, so an error means that its content is wrong.
    let (json, unreadable_code) = match document {
        JsonDocument::Text(text) => (Cow::Borrowed(text), PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION),
        JsonDocument::Jsonb(jsonb) => {
            check_memory(jsonb.len())?;
            // SAFETY: an argument or a constant of type jsonb.
            (Cow::Owned(unsafe { to_json(jsonb) }?), PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE)
        }
    };
    check_memory(json.len())?;
    from_json(decode(&json)?.as_str()).map_err(|invalid| invalid_options(invalid, unreadable_code))
}

/// The error for invalid options; `unreadable_code` is its SQLSTATE if they are not JSON.
fn invalid_options(invalid: InvalidOptions, unreadable_code: PgSqlErrorCode) -> ErrorReport {
    let code = match invalid.reason {
        Reason::Failed(error) => return algorithm_error(error),
        Reason::Unreadable(_) => unreadable_code,
        _ => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
    };
    let mut error = user_error(code, invalid.to_string());
    if let Some(detail) = invalid.detail() {
        error = error.with_detail(detail);
    }
    if let Some(hint) = invalid.hint() {
        error = error.with_hint(hint);
    }
    error
}
