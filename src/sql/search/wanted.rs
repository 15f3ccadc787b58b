//! The conditions on the distance that can be searched for in one table.

use super::condition::{Limit, Near};
use super::estimate::Estimate;
use crate::postgres::expression::Expression;
use crate::postgres::planner::base_relation::{BaseRelation, Condition, Outer};
use crate::sql::functions::ExtensionSchema;

/// A condition on the distance between the table's fingerprint and a query.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub condition: Condition,
    pub fingerprint: Expression,
    pub query: Expression,
    pub limit: Limit,
    pub schema: ExtensionSchema,
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
            let Near { fingerprints: [a, b], limit, schema, is_estimated } = near;
            [(a, b), (b, a)].into_iter().filter_map(move |(fingerprint, query)| {
                if !relation.owns(fingerprint) || fingerprint.is_volatile() {
                    return None;
                }
                let outer = relation.outer([query].into_iter().chain(limit.expressions()))?;
                let estimate = Estimate::new(relation.planner(), [fingerprint, query], limit.expected());
                Some(Self { condition, fingerprint, query, limit, schema, outer, estimate, is_estimated })
            })
        });
        sides.collect()
    }
}

/// The condition that is cheapest to search for.
pub fn cheapest(wanted: impl IntoIterator<Item = Wanted>) -> Option<Wanted> {
    wanted.into_iter().min_by_key(|wanted| wanted.limit.expected().max_distance())
}
