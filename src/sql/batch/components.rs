//! `simhash_components`: the connected components of pairs that come from several searches.

use pgrx::prelude::*;
use pgrx::{AnyArray, AnyElement};
use postgres::error::{Result, algorithm_error, user_error};
use postgres::interrupts::tick;
use postgres::ordering::TypeOrder;
use simhash::pairs::{Compare, Rows, components};
use simhash::ticking::ticking;

use super::ids::Ids;

#[pg_extern(sql = false)]
fn simhash_components(
    a: AnyArray,
    b: AnyArray,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<TableIterator<'static, (name!(id, Option<AnyElement>), name!(component, Option<AnyElement>))>> {
    // As in simhash_pairs, PostgreSQL has made the arrays without a check for interrupts, and they live as long as the
    // iterator.
    tick();
    let Ids { element_type, elements: a } = Ids::read(&a, "a")?;
    let Ids { elements: b, .. } = Ids::read(&b, "b")?;
    if a.len() != b.len() {
        let message = format!("numbers of ids in a ({}) and in b ({}) differ", a.len(), b.len());
        return Err(user_error(PgSqlErrorCode::ERRCODE_ARRAY_ELEMENT_ERROR, message)
            .set_hint("Give both arrays the same length: two array_agg() of the same rows."));
    }
    // SAFETY: `fcinfo` belongs to the running call.
    let collation = unsafe { (*fcinfo).fncollation };
    let order = TypeOrder::new(element_type, collation, "the ids")?;
    let mut keys = Rows::with_capacity(2 * a.len()).map_err(algorithm_error)?;
    for &id in ticking(a.iter().chain(b), tick) {
        // SAFETY: the id is of the type, and not NULL.
        keys.push(Some(unsafe { order.key(id) })).map_err(algorithm_error)?;
    }
    let at = move |position: u32| {
        let position = position as usize;
        if position < a.len() { a[position] } else { b[position - a.len()] }
    };
    let compare = |x, y| {
        // Ids may be long texts.
        tick();
        // SAFETY: the ids are of the type, and not NULL.
        unsafe { order.compare(at(x), at(y)) }
    };
    let compare: Option<Compare> = if order.has_whole_keys() { None } else { Some(&compare) };
    let components = components(keys, compare, &tick).map_err(algorithm_error)?;
    // SAFETY: the id is of the type.
    let get = move |id| unsafe { AnyElement::from_polymorphic_datum(at(id), false, element_type) };
    Ok(TableIterator::new(components.map(move |(id, component)| (get(id), get(component)))))
}
