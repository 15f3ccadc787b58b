//! The conditions on the distance that can be searched for in one table.

use super::condition::{Limit, Near};
use crate::postgres::nodes::base_relation::{BaseRelation, Outer};
use crate::postgres::nodes::expression::Expression;
use crate::sql::functions::ExtensionSchema;

/// A condition on the distance between the table's fingerprint and a query.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub fingerprint: Expression,
    pub query: Expression,
    pub limit: Limit,
    pub schema: ExtensionSchema,
    /// The other relations that the query and the limit need.
    pub outer: Outer,
}

impl Wanted {
    /// The conditions on the distance among these, for either of the two fingerprints that belongs to the table.
    pub fn among(relation: BaseRelation, conditions: &[Expression]) -> Vec<Self> {
        let near = conditions.iter().filter_map(|&condition| Near::read(condition));
        let sides = near.flat_map(|near| {
            let [a, b] = near.fingerprints;
            [(a, b), (b, a)].into_iter().filter_map(move |(fingerprint, query)| {
                let limit = near.limit;
                let outer = relation
                    .outer([query].into_iter().chain(limit.expressions()))
                    .filter(|_| relation.owns(fingerprint))?;
                Some(Self { fingerprint, query, limit, schema: near.schema, outer })
            })
        });
        sides.filter(|wanted| !wanted.fingerprint.is_volatile()).collect()
    }
}

/// The condition that is cheapest to search for.
pub fn cheapest(wanted: impl IntoIterator<Item = Wanted>) -> Option<Wanted> {
    wanted.into_iter().min_by_key(|wanted| wanted.limit.expected().max_distance())
}
