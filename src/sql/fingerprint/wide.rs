//! `simhash_wide`: a fingerprint of several words of 64 bits; and `hamming` of such fingerprints.

use std::cell::RefCell;

use pgrx::AnyArray;
use pgrx::prelude::*;
use postgres::arrays::{bigints, null_element};
use postgres::error::{Result, algorithm_error, tick, user_error};
use postgres::json::RawJsonb;
use postgres::text::{RawText, decode};
use simhash::distance;
use simhash::fingerprint::options::{Options, WORD_COUNTS};

use super::fingerprint_cache::with_fingerprinter;
use super::options::{OptionsDocument, read_options};
use super::simhash::to_bigint;

thread_local! {
    /// The options of each word of the last call. The options of the first word are the argument of the call. Seeding a
    /// thousand weights takes as long as fingerprinting a long text.
    static LAST_OPTIONS: RefCell<Vec<Options>> = const { RefCell::new(Vec::new()) };
}

#[pg_extern(sql = false)]
fn simhash_wide(content: RawText<'_>, words: i32, options: RawJsonb<'_>) -> Result<Option<Vec<i64>>> {
    if !WORD_COUNTS.contains(&words) {
        let message = format!("number of words {words} is out of range");
        return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
            .set_detail(format!("A wide fingerprint has 1 to {} words of 64 bits.", WORD_COUNTS.end())));
    }
    let options = read_options(OptionsDocument::Jsonb(options))?;
    let content = decode(content)?.as_str();
    LAST_OPTIONS.with_borrow_mut(|last| {
        if last.len() != words as usize || last[0] != options {
            *last = options.of_words(words as u64).map_err(algorithm_error)?;
        }
        let fingerprints = with_fingerprinter(|fingerprinter| fingerprinter.wide_fingerprint(content, last, &tick))
            .map_err(algorithm_error)?;
        Ok((!fingerprints.is_empty()).then(|| fingerprints.into_iter().map(to_bigint).collect()))
    })
}

/// The sum of the words' distances; None for fingerprints without words, since an empty array is no fingerprint.
#[pg_extern(sql = false)]
fn hamming_arrays(a: AnyArray, b: AnyArray) -> Result<Option<i32>> {
    const WHAT: &str = "fingerprints";
    let (a, b) = (bigints(&a, WHAT)?, bigints(&b, WHAT)?);
    if a.len() != b.len() {
        let message = format!("fingerprints have different numbers of words: {} and {}", a.len(), b.len());
        return Err(user_error(PgSqlErrorCode::ERRCODE_ARRAY_ELEMENT_ERROR, message)
            .set_hint("Compare fingerprints that simhash_wide made with the same number of words."));
    }
    let mut sum = 0i32;
    for (index, (a, b)) in a.iter().zip(b.iter()).enumerate() {
        let (Some(a), Some(b)) = (a, b) else { return Err(null_element(WHAT, index)) };
        let distance = distance::hamming(a.cast_unsigned(), b.cast_unsigned());
        sum = sum.checked_add(distance.cast_signed()).ok_or_else(|| {
            user_error(PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "distance is out of range")
        })?;
    }
    Ok((!a.is_empty()).then_some(sum))
}
