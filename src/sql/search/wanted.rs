//! The conditions on the distance that can be searched for in one table.

use super::condition::{Limit, Near};
use super::estimate::Estimate;
use crate::postgres::catalog::relation::Relation;
use crate::postgres::expression::Expression;
use crate::postgres::planner::base_relation::{BaseRelation, Condition, Outer};
use crate::sql::indexed::bits::Bits;
use crate::sql::indexed::fingerprint_column::column_of;

/// A condition on the distance between the table's fingerprint and a query.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub condition: Condition,
    pub fingerprint: Expression,
    pub query: Expression,
    pub limit: Limit,
    /// The other relations that the query and the limit need.
    pub outer: Outer,
    pub estimate: Estimate,
    /// Whether PostgreSQL knows the estimate.
    pub is_estimated: bool,
}

impl Wanted {
    /// The conditions on the distance, for either of the two fingerprints that belongs to the table.
    pub fn of(relation: BaseRelation) -> Vec<Self> {
        let near = relation.conditions().into_iter().filter_map(|found| Some((found, Near::read(found.expression)?)));
        let sides = near.flat_map(|(condition, near)| {
            let Near { fingerprints, limit, is_estimated } = near;
            sides(relation, fingerprints).filter_map(move |(fingerprint, query)| {
                let outer = relation.outer([query].into_iter().chain(limit.expressions()))?;
                let estimate = Estimate::new(relation.planner(), [fingerprint, query], limit.expected());
                Some(Self { condition, fingerprint, query, limit, outer, estimate, is_estimated })
            })
        });
        sides.collect()
    }
}

/// The fingerprint of the table and the query, both of type `bigint`, for either of two fingerprints that belongs to
/// the table.
pub fn sides(relation: BaseRelation, [a, b]: [Bits; 2]) -> impl Iterator<Item = (Expression, Expression)> {
    [(a, b), (b, a)].into_iter().filter_map(move |(own, query)| {
        let fingerprint = own.bigint().filter(|own| relation.owns(*own) && !own.is_volatile())?;
        Some((stored(relation, fingerprint).unwrap_or(fingerprint), query.bigint()?))
    })
}

/// The generated column of the table that has these bits; None if they are a column, or no column has them.
fn stored(relation: BaseRelation, fingerprint: Expression) -> Option<Expression> {
    if fingerprint.as_own_column().is_some() || !relation.is_table() {
        return None;
    }
    let own = fingerprint.moved(relation.number(), 1);
    let column = column_of(&Relation::open_locked(relation.table()), Bits::of_bigint(own))?;
    Some(column.as_variable()?.moved(1, relation.number()))
}

/// The condition that is cheapest to search for.
pub fn cheapest(wanted: impl IntoIterator<Item = Wanted>) -> Option<Wanted> {
    wanted.into_iter().min_by_key(|wanted| wanted.limit.expected().max_distance())
}
