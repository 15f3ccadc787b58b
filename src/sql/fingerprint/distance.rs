//! `hamming`, which is also the operator `<~>`, of fingerprints and of arrays of fingerprints.

use pgrx::AnyArray;
use pgrx::prelude::*;
use postgres::arrays::{bigints, null_element};
use postgres::error::{Explain, Result, user_error};
use simhash::distance;

#[pg_extern(sql = false)]
fn hamming(a: i64, b: i64) -> i32 {
    distance::hamming(a.cast_unsigned(), b.cast_unsigned()).cast_signed()
}

/// The sum of the elements' distances; None for arrays without elements.
#[pg_extern(sql = false)]
fn hamming_arrays(a: AnyArray, b: AnyArray) -> Result<Option<i32>> {
    const ARGUMENT: &str = "fingerprints";
    let (a, b) = (bigints(&a, ARGUMENT)?, bigints(&b, ARGUMENT)?);
    if a.len() != b.len() {
        let message = format!("fingerprints have different numbers of words: {} and {}", a.len(), b.len());
        return Err(user_error(PgSqlErrorCode::ERRCODE_ARRAY_ELEMENT_ERROR, message)
            .with_hint("Compare arrays of the same length."));
    }
    let mut sum = 0i32;
    for (position, pair) in a.iter().zip(b.iter()).enumerate() {
        let (Some(in_a), Some(in_b)) = pair else { return Err(null_element(ARGUMENT, position)) };
        sum = sum.checked_add(hamming(in_a, in_b)).ok_or_else(|| {
            user_error(PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "distance is out of range")
        })?;
    }
    Ok((!a.is_empty()).then_some(sum))
}
