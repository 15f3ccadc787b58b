//! Near-duplicates as arrays: `simhash_pairs`, every pair of near fingerprints, and `simhash_components`, the connected
//! components of pairs that come from several searches.
//!
//! PostgreSQL does not check for interrupts while it makes an array, which takes tens of milliseconds for ten million
//! elements, so the functions begin with a check. It frees the arguments of a set-returning function only after its
//! last row, and pgrx runs the first call in the memory context of the iterator. So the arrays live as long as the
//! iterator.

use std::iter;

use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use pgrx::{AnyArray, AnyElement, FromDatum};
use postgres::arrays::{bigints, check_same_length, deconstruct, null_element};
use postgres::error::{Result, algorithm_error, raise};
use postgres::interrupts::tick;
use postgres::ordering::TypeOrder;
use simhash::pairs::{CompareIds, Pairs, RowFingerprints, components};
use simhash::ticking::ticking;

use crate::sql::arguments::check_max_distance;

const SAME_LENGTH_HINT: &str = "Give both arrays the same length: two array_agg() of the same rows.";

#[pg_extern(sql = false)]
fn simhash_pairs(
    ids: AnyArray,
    fingerprints: AnyArray,
    max_distance: i32,
) -> Result<TableIterator<'static, (name!(a, Option<AnyElement>), name!(b, Option<AnyElement>), name!(distance, i32))>>
{
    let max_distance = check_max_distance(max_distance)?;
    tick();
    let (id_type, ids) = ids_of(&ids, "ids")?;
    let fingerprints = bigints(&fingerprints, "fingerprints")?;
    check_same_length(("ids", ids.len()), ("of fingerprints", fingerprints.len()), SAME_LENGTH_HINT)?;
    let mut rows = RowFingerprints::with_capacity(fingerprints.len()).map_err(algorithm_error)?;
    for fingerprint in ticking(fingerprints.iter(), tick) {
        rows.push(fingerprint.map(i64::cast_unsigned)).map_err(algorithm_error)?;
    }
    let mut pairs = Pairs::new(rows, max_distance, &tick).map_err(algorithm_error)?;
    // SAFETY: the id is of the type.
    let id_of = move |row: u32| unsafe { AnyElement::from_polymorphic_datum(ids[row as usize], false, id_type) };
    Ok(TableIterator::new(iter::from_fn(move || {
        let pair = pairs.next(&tick).unwrap_or_else(|error| raise(algorithm_error(error)))?;
        Some((id_of(pair.a), id_of(pair.b), pair.distance.cast_signed()))
    })))
}

#[pg_extern(sql = false)]
fn simhash_components(
    a: AnyArray,
    b: AnyArray,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<TableIterator<'static, (name!(id, Option<AnyElement>), name!(component, Option<AnyElement>))>> {
    tick();
    let (id_type, a) = ids_of(&a, "a")?;
    let (_, b) = ids_of(&b, "b")?;
    check_same_length(("ids in a", a.len()), ("in b", b.len()), SAME_LENGTH_HINT)?;
    // SAFETY: `fcinfo` belongs to the running call.
    let collation = unsafe { (*fcinfo).fncollation };
    let order = TypeOrder::new(id_type, collation, "the ids")?;
    let mut keys = RowFingerprints::with_capacity(2 * a.len()).map_err(algorithm_error)?;
    for &id in ticking(a.iter().chain(b), tick) {
        // SAFETY: the id is of the type, and not NULL.
        keys.push(Some(unsafe { order.key(id) })).map_err(algorithm_error)?;
    }
    let datum_at = move |position: u32| {
        let position = position as usize;
        if position < a.len() { a[position] } else { b[position - a.len()] }
    };
    let compare = |one, other| {
        // Ids may be long texts.
        tick();
        // SAFETY: the ids are of the type, and not NULL.
        unsafe { order.compare(datum_at(one), datum_at(other)) }
    };
    let compare: Option<CompareIds> = if order.has_exact_keys() { None } else { Some(&compare) };
    let components = components(keys, compare, &tick).map_err(algorithm_error)?;
    // SAFETY: the id is of the type.
    let id_at = move |position| unsafe { AnyElement::from_polymorphic_datum(datum_at(position), false, id_type) };
    Ok(TableIterator::new(components.map(move |(id, component)| (id_at(id), id_at(component)))))
}

/// The type and the elements of an array, valid as long as the arguments of the call. An error if it has a NULL
/// or several dimensions.
fn ids_of(array: &AnyArray, argument: &str) -> Result<(Oid, &'static [Datum])> {
    // SAFETY: a function that returns rows runs in memory that lives until it has returned them all.
    let (id_type, ids, nulls) = unsafe { deconstruct(array, argument)? };
    match nulls.iter().position(|is_null| *is_null) {
        Some(position) => Err(null_element(argument, position)),
        None => Ok((id_type, ids)),
    }
}
