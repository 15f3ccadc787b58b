//! `simhash_components`: the connected components of pairs that come from several searches.

use std::cmp::Ordering;

use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;
use pgrx::{AnyArray, AnyElement};
use postgres::error::{Result, algorithm_error, tick, user_error};
use postgres::ordering::TypeOrder;
use simhash::pairs::{Compare, Components, Rows};
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
    let ids = PairIds { a: Ids::read(&a, "a")?, b: Ids::read(&b, "b")? };
    if ids.a.len() != ids.b.len() {
        let message = format!("numbers of ids in a ({}) and in b ({}) differ", ids.a.len(), ids.b.len());
        return Err(user_error(PgSqlErrorCode::ERRCODE_ARRAY_ELEMENT_ERROR, message)
            .set_hint("Give both arrays the same length: two array_agg() of the same rows."));
    }
    // SAFETY: `fcinfo` belongs to the running call.
    let collation = unsafe { (*fcinfo).fncollation };
    let order = TypeOrder::new(ids.a.element_type(), collation, "the ids")?;
    let mut keys = Rows::with_capacity(2 * ids.a.len()).map_err(algorithm_error)?;
    for position in ticking(0..2 * ids.a.len() as u32, tick) {
        // SAFETY: the id is of the type.
        let key = ids.datum(position).map_or(0, |id| unsafe { order.key(id) });
        keys.push(Some(key)).map_err(algorithm_error)?;
    }
    let compare = |x, y| {
        // Ids may be long texts.
        tick();
        // SAFETY: the ids are of the type, and not NULL.
        ids.datum(x).zip(ids.datum(y)).map_or(Ordering::Equal, |(x, y)| unsafe { order.compare(x, y) })
    };
    let compare: Option<Compare> = if order.has_whole_keys() { None } else { Some(&compare) };
    let components = Components::new(keys, compare, &tick).map_err(algorithm_error)?;
    Ok(TableIterator::new(components.map(move |(id, component)| (ids.get(id), ids.get(component)))))
}

/// The ids of pairs, by position: first the ids of `a`, then those of `b`.
struct PairIds {
    a: Ids,
    b: Ids,
}

impl PairIds {
    fn datum(&self, position: u32) -> Option<Datum> {
        let (ids, index) = self.at(position);
        ids.datum(index)
    }

    fn get(&self, position: u32) -> Option<AnyElement> {
        let (ids, index) = self.at(position);
        ids.get(index)
    }

    fn at(&self, position: u32) -> (&Ids, u32) {
        let pairs = self.a.len() as u32;
        if position < pairs { (&self.a, position) } else { (&self.b, position - pairs) }
    }
}
