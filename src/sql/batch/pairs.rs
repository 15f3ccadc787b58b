//! `simhash_pairs`: every pair of near-duplicates, given an array of ids and an array of fingerprints.

use std::iter;

use pgrx::prelude::*;
use pgrx::{AnyArray, AnyElement};
use postgres::arrays::bigints;
use postgres::error::{Result, algorithm_error, raise, user_error};
use postgres::interrupts::tick;
use simhash::pairs::{Pairs, Rows};
use simhash::ticking::ticking;

use super::ids::Ids;
use crate::sql::arguments::check_distance;

#[pg_extern(sql = false)]
fn simhash_pairs(
    ids: AnyArray,
    fingerprints: AnyArray,
    max_distance: i32,
) -> Result<TableIterator<'static, (name!(a, Option<AnyElement>), name!(b, Option<AnyElement>), name!(distance, i32))>>
{
    let max_distance = check_distance(max_distance)?;
    // PostgreSQL does not check for interrupts while it makes arrays, which takes tens of milliseconds for ten million
    // elements.
    tick();
    // The arrays live as long as the iterator: PostgreSQL frees the arguments of a set-returning function only after
    // its last row, and pgrx runs the first call in the memory context of the iterator.
    let ids = Ids::read(&ids, "ids")?;
    let fingerprints = bigints(&fingerprints, "fingerprints")?;
    let count = ids.elements.len();
    if count != fingerprints.len() {
        let message = format!("numbers of ids ({count}) and of fingerprints ({}) differ", fingerprints.len());
        return Err(user_error(PgSqlErrorCode::ERRCODE_ARRAY_ELEMENT_ERROR, message)
            .set_hint("Give both arrays the same length: two array_agg() of the same rows."));
    }
    let mut rows = Rows::with_capacity(fingerprints.len()).map_err(algorithm_error)?;
    for fingerprint in ticking(fingerprints.iter(), tick) {
        rows.push(fingerprint.map(i64::cast_unsigned)).map_err(algorithm_error)?;
    }
    let mut pairs = Pairs::new(rows, max_distance, &tick).map_err(algorithm_error)?;
    Ok(TableIterator::new(iter::from_fn(move || {
        let pair = pairs.next(&tick).unwrap_or_else(|error| raise(algorithm_error(error)))?;
        Some((ids.get(pair.a), ids.get(pair.b), pair.distance.cast_signed()))
    })))
}
