//! `hamming`, which is also the operator `<~>`, of fingerprints and of arrays of fingerprints.

use pgrx::prelude::*;
use pgrx::{AnyArray, AnyNumeric};
use postgres::arrays::{bigints, null_element};
use postgres::error::{Result, user_error};
use simhash::distance;

#[pg_extern(sql = false)]
fn hamming(a: i64, b: i64) -> i32 {
    distance::hamming(a.cast_unsigned(), b.cast_unsigned()).cast_signed()
}

#[pg_extern(sql = false)]
fn hamming_unsigned(a: AnyNumeric, b: AnyNumeric) -> Result<i32> {
    Ok(distance::hamming(fingerprint(&a)?, fingerprint(&b)?).cast_signed())
}

/// The 64 bits of a whole number: of an unsigned one, or of a signed one.
fn fingerprint(number: &AnyNumeric) -> Result<u64> {
    let whole = i128::try_from(number.clone()).ok();
    let bits =
        whole.and_then(|whole| u64::try_from(whole).ok().or_else(|| Some(i64::try_from(whole).ok()?.cast_unsigned())));
    bits.ok_or_else(|| {
        let message = format!("{number} is not a fingerprint of 64 bits");
        user_error(PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, message)
            .set_hint("A fingerprint is a number from -2^63 to 2^64 - 1.")
    })
}

/// The sum of the elements' distances; None for arrays without elements.
#[pg_extern(sql = false)]
fn hamming_arrays(a: AnyArray, b: AnyArray) -> Result<Option<i32>> {
    const WHAT: &str = "fingerprints";
    let (a, b) = (bigints(&a, WHAT)?, bigints(&b, WHAT)?);
    if a.len() != b.len() {
        let message = format!("fingerprints have different numbers of words: {} and {}", a.len(), b.len());
        return Err(user_error(PgSqlErrorCode::ERRCODE_ARRAY_ELEMENT_ERROR, message)
            .set_hint("Compare arrays of the same length."));
    }
    let mut sum = 0i32;
    for (index, (a, b)) in a.iter().zip(b.iter()).enumerate() {
        let (Some(a), Some(b)) = (a, b) else { return Err(null_element(WHAT, index)) };
        sum = sum.checked_add(hamming(a, b)).ok_or_else(|| {
            user_error(PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "distance is out of range")
        })?;
    }
    Ok((!a.is_empty()).then_some(sum))
}
