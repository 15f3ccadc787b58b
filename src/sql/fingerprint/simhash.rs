//! `simhash` of a text or `tsvector`, `simhash_of_features`, `simhash_size` and `simhash_band`, `simhash_from_hex`,
//! `simhash_from_unsigned` and `simhash_format`.

use formats::Lexemes;
use pgrx::prelude::*;
use pgrx::{AnyArray, AnyNumeric};
use postgres::arrays::{check_same_length, elements};
use postgres::error::{ErrorReport, Explain, Result, algorithm_error, invalid_parameter, user_error};
use postgres::interrupts::tick;
use postgres::json::RawJsonb;
use postgres::text::{RawText, TextArgument, decode};
use simhash::FINGERPRINT_FORMAT;
use simhash::fingerprint::bands::MAX_BANDS;
use simhash::fingerprint::hash::hash;
use simhash::fingerprint::tally::Tally;
use simhash::fingerprint::weights::{MAX_WEIGHT, billionths_from_float};
use simhash::ticking::ticking;

use super::fingerprint_cache;
use super::options::{JsonDocument, read_options};
use crate::trace;

#[pg_extern(sql = false)]
fn simhash_text(content: TextArgument<'_>, options: RawJsonb<'_>) -> Result<Option<i64>> {
    let options = read_options(JsonDocument::Jsonb(options))?;
    Ok(fingerprint_cache::fingerprint(content, &options)?.map(u64::cast_signed))
}

#[pg_extern(sql = false)]
fn simhash_size(content: TextArgument<'_>, options: RawJsonb<'_>) -> Result<Option<i32>> {
    let summary = fingerprint_cache::summary(content, &read_options(JsonDocument::Jsonb(options))?, 0)?;
    Ok(summary.map(|summary| summary.size))
}

#[pg_extern(sql = false)]
fn simhash_band(content: TextArgument<'_>, band: i32, options: RawJsonb<'_>) -> Result<Option<i32>> {
    trace::step("entry");
    let number = usize::try_from(band).ok().filter(|band| *band < MAX_BANDS);
    let number = number.ok_or_else(|| {
        invalid_parameter(format!("there is no band {band}")).with_hint(format!("Bands are 0 to {}.", MAX_BANDS - 1))
    })?;
    let summary = fingerprint_cache::summary(content, &read_options(JsonDocument::Jsonb(options))?, number + 1)?;
    Ok(summary.map(|summary| summary.bands[number]))
}

#[pg_extern(sql = false)]
fn simhash_of_features(feature_array: AnyArray) -> Result<Option<i64>> {
    let mut tally = Tally::default();
    for feature in ticking(elements::<RawText>(&feature_array, "features")?, tick) {
        tally.vote(hash_of(feature?)?, true);
    }
    Ok(tally.fingerprint().map(u64::cast_signed))
}

#[pg_extern(sql = false)]
fn simhash_weighted_array(feature_array: AnyArray, weight_array: AnyArray) -> Result<Option<i64>> {
    let features = elements::<RawText>(&feature_array, "features")?;
    let weights = elements::<f64>(&weight_array, "weights")?;
    let hint = "Give both arrays the same length.";
    check_same_length(("features", features.len()), ("of weights", weights.len()), hint)?;
    let mut tally = Tally::default();
    for (feature, weight) in ticking(features.zip(weights), tick) {
        tally.add(hash_of(feature?)?, weight_of(weight?)?).map_err(algorithm_error)?;
    }
    Ok(tally.fingerprint().map(u64::cast_signed))
}

#[pg_extern(sql = false)]
fn simhash_tsvector(document: &[u8]) -> Result<Option<i64>> {
    let mut tally = Tally::default();
    let lexemes = Lexemes::new(document).ok_or_else(corrupted_tsvector)?;
    for lexeme in ticking(lexemes, tick) {
        let (lexeme, weight) = lexeme.ok_or_else(corrupted_tsvector)?;
        tally.add(hash_of(lexeme)?, weight).map_err(algorithm_error)?;
    }
    Ok(tally.fingerprint().map(u64::cast_signed))
}

fn corrupted_tsvector() -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "tsvector is corrupted")
}

/// The bits of `('x' || digits)::bit(64)`, or NULL if it is an error. Missing digits are 0; only 16 digits count.
#[pg_extern(sql = false)]
fn simhash_from_hex(digits: RawText<'_>) -> Option<i64> {
    let mut bits = 0u64;
    for (number, &byte) in digits.iter().enumerate() {
        let digit = char::from(byte).to_digit(16)?;
        if number < 16 {
            bits |= u64::from(digit) << (60 - 4 * number);
        }
    }
    Some(bits.cast_signed())
}

/// The fingerprint that another system stores as an unsigned number. A number from 2^63 on becomes a negative bigint.
#[pg_extern(sql = false)]
fn simhash_from_unsigned(number: AnyNumeric) -> Result<i64> {
    // PostgreSQL converts only signed numbers, so shift the range. The conversion rounds, so compare the result.
    let shifted = i64::try_from(number.clone() - AnyNumeric::from(1u64 << 63)).ok();
    let bits =
        shifted.map(|shifted| shifted ^ i64::MIN).filter(|bits| AnyNumeric::from(bits.cast_unsigned()) == number);
    bits.ok_or_else(|| {
        let message = format!("{number:.40} is not an unsigned number of 64 bits");
        user_error(PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, message)
            .with_hint("It must be an integer from 0 to 18446744073709551615.")
    })
}

#[pg_extern(sql = false)]
fn simhash_format() -> i32 {
    FINGERPRINT_FORMAT
}

/// The hash of a feature that a user passes.
pub fn hash_of(feature: RawText<'_>) -> Result<u64> {
    Ok(hash(decode(feature)?.as_str().as_bytes()))
}

/// A weight that a user passes, in the units of a tally; an error if it is out of range.
pub fn weight_of(weight: f64) -> Result<u64> {
    billionths_from_float(weight).ok_or_else(|| {
        let shown = if weight.abs() < 1e15 { format!("{weight}") } else { format!("{weight:e}") };
        let message = format!("feature weight {} is out of range", shown.replace("inf", "Infinity"));
        user_error(PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, message)
            .with_hint(format!("A weight must be from 0 to {MAX_WEIGHT}."))
    })
}
