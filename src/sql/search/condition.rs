//! Recognises conditions that two fingerprints are near: `simhash_near(a, b, k)`, and comparisons of a Hamming distance
//! with an integer, such as `hamming(a, b) <= k`. A table can be searched by a [`DistanceCondition`].
//!
//! `hamming(a, b)` and `a <~> b` are the extension's own. Applications that do not use the extension count the bits in
//! which two fingerprints differ with `bit_count`.

use pgrx::pg_sys;
use postgres::catalog::column::replace_generated_columns;
use postgres::catalog::relation::Relation;
use postgres::catalog::types::btree_strategy;
use postgres::expression::{Expression, Operation};
use postgres::planner::base_relation::{BaseRelation, Condition, Outer};
use simhash::search::growth::MAX_DISTANCE;

use super::USUAL_DISTANCE;
use super::estimate::Estimate;
use super::near_texts::NearTexts;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::bits::{Bits, FINGERPRINT_BITS};
use crate::sql::indexed::fingerprint_column::column_storing;

/// A condition on the distance of a table's fingerprint from a query, by which the table can be searched.
#[derive(Clone, Copy)]
pub struct DistanceCondition {
    pub condition: Condition,
    /// The table's fingerprint, of type `bigint`.
    pub fingerprint: Expression,
    /// The query, of type `bigint`.
    pub query: Expression,
    /// The largest distance, an integer of any type.
    pub max_distance: Expression,
    /// The other relations that the query and the largest distance refer to.
    pub outer: Outer,
    pub estimate: Estimate,
}

impl DistanceCondition {
    /// The conditions by which a relation can be searched.
    pub fn all_of(relation: BaseRelation) -> Vec<Self> {
        let mut all = Vec::new();
        for condition in relation.conditions() {
            let Some((fingerprints, max_distance)) = read_near_fingerprints(condition.expression) else { continue };
            for (fingerprint, query) in fingerprint_sides(relation, fingerprints) {
                let Some(outer) = relation.outer([query, max_distance]) else { continue };
                let estimate = Estimate::new(relation.planner(), [fingerprint, query], expected_distance(max_distance));
                all.push(Self { condition, fingerprint, query, max_distance, outer, estimate });
            }
        }
        all
    }
}

/// Whether a condition is that two fingerprints, or two texts, are near.
pub fn is_near_condition(condition: Expression) -> bool {
    read_near_fingerprints(condition).is_some() || NearTexts::read(condition).is_some()
}

/// Reads a condition that a distance exceeds a bound, such as the first half of `BETWEEN 0 AND k`. Returns the
/// distance, and the largest distance that the condition excludes: -1 if the bound is not known when the query is
/// planned.
pub fn exceeded_distance(condition: Expression) -> Option<(Expression, i32)> {
    let DistanceComparison { distance, strategy, bound, .. } = DistanceComparison::read(condition)?;
    let largest_excluded = match strategy {
        pg_sys::BTGreaterEqualStrategyNumber => bound.any_integer().map(|bound| bound.saturating_sub(1)),
        pg_sys::BTGreaterStrategyNumber => bound.any_integer(),
        _ => return None,
    };
    Some((distance, largest_excluded.map_or(-1, largest_distance)))
}

/// Reads a condition that two fingerprints are near: the fingerprints and the largest distance.
fn read_near_fingerprints(condition: Expression) -> Option<([Bits; 2], Expression)> {
    if let Some((function, arguments)) = condition.call() {
        let &[a, b, max_distance] = &arguments[..] else { return None };
        let types = [pg_sys::INT8OID, pg_sys::INT8OID, pg_sys::INT4OID];
        ExtensionSchema::of_own_function(function, c"simhash_near", &types, c"simhash_near_support")?;
        return Some(([a, b].map(Bits::of_bigint), max_distance));
    }
    let DistanceComparison { fingerprints, strategy, bound, .. } = DistanceComparison::read(condition)?;
    // For `=`, and for `<` unless the bound is constant, the search finds too many rows, which the node filters out.
    let max_distance = match strategy {
        pg_sys::BTLessStrategyNumber => match bound.any_integer() {
            Some(bound) => Expression::constant_from(largest_distance(bound.saturating_sub(1)))?,
            None => bound,
        },
        pg_sys::BTLessEqualStrategyNumber | pg_sys::BTEqualStrategyNumber => bound,
        _ => return None,
    };
    Some((fingerprints, max_distance))
}

/// A comparison of a distance with a bound. Its operands may be exchanged.
struct DistanceComparison {
    distance: Expression,
    fingerprints: [Bits; 2],
    /// The btree strategy of the operator that has the distance on its left.
    strategy: u32,
    bound: Expression,
}

impl DistanceComparison {
    fn read(condition: Expression) -> Option<Self> {
        let Operation { operator, operands: [left, right], .. } = condition.operation()?;
        let strategy = btree_strategy(operator, pg_sys::INTEGER_BTREE_FAM_OID)?;
        if let Some(fingerprints) = fingerprints_of_distance(left) {
            return Some(Self { distance: left, fingerprints, strategy, bound: right });
        }
        let fingerprints = fingerprints_of_distance(right)?;
        let strategy = pg_sys::BTLessStrategyNumber + pg_sys::BTGreaterStrategyNumber - strategy;
        Some(Self { distance: right, fingerprints, strategy, bound: left })
    }
}

/// Pairs of a fingerprint and a query, both of type `bigint`. An operand that refers only to the relation's columns is
/// a fingerprint, and the other operand is its query. A generated column that stores a fingerprint replaces it.
pub fn fingerprint_sides(relation: BaseRelation, [a, b]: [Bits; 2]) -> impl Iterator<Item = (Expression, Expression)> {
    [(a, b), (b, a)].into_iter().filter_map(move |(own, query)| {
        let fingerprint = own.bigint().filter(|own| relation.owns(*own) && !own.is_volatile())?;
        Some((stored_column(relation, fingerprint).unwrap_or(fingerprint), query.bigint()?))
    })
}

/// The generated column that stores a fingerprint; None if the fingerprint is itself a column, or if no column stores
/// it.
fn stored_column(relation: BaseRelation, fingerprint: Expression) -> Option<Expression> {
    if fingerprint.as_own_column().is_some() || !relation.is_table() {
        return None;
    }
    let table = Relation::open_locked(relation.table());
    let own = fingerprint.as_stored(relation.relid());
    // A generated column cannot refer to another generated column: it repeats the expression of that column.
    let repeated = || replace_generated_columns(&table, own, |column| column.is_generated);
    let column = column_storing(&table, Bits::of_bigint(own));
    let column = column.or_else(|| column_storing(&table, Bits::of_bigint(repeated())))?;
    Some(column.as_variable()?.in_query(relation.relid()))
}

/// The largest distance for the planner's estimates: [`USUAL_DISTANCE`] if it is not constant.
pub fn expected_distance(max_distance: Expression) -> i32 {
    max_distance.any_integer().map_or(USUAL_DISTANCE, largest_distance)
}

/// The largest distance that is at most `bound`; -1 if `bound` is below 0.
pub fn largest_distance(bound: i64) -> i32 {
    bound.clamp(-1, MAX_DISTANCE.into()) as i32
}

/// The two fingerprints of a distance, with or without casts between integer types; None if the expression is not a
/// distance.
pub fn fingerprints_of_distance(expression: Expression) -> Option<[Bits; 2]> {
    let (function, arguments) = expression.applied()?;
    match (function.to_u32(), &arguments[..]) {
        (pg_sys::F_INT2_INT8 | pg_sys::F_INT4_INT8 | pg_sys::F_INT8_INT4, &[count]) => fingerprints_of_distance(count),
        (pg_sys::F_BIT_COUNT_BIT, &[difference]) => fingerprints_of_difference(difference),
        (_, &[a, b]) => {
            let arguments = &[pg_sys::INT8OID, pg_sys::INT8OID];
            ExtensionSchema::of_own_function(function, c"hamming", arguments, c"simhash_near_support")?;
            Some([a, b].map(Bits::of_bigint))
        }
        _ => None,
    }
}

/// The two fingerprints of the bits in which they differ: `(a # b)::bit(64)`, or `a # b` for bit strings.
fn fingerprints_of_difference(difference: Expression) -> Option<[Bits; 2]> {
    let (function, arguments) = difference.applied()?;
    match (function.to_u32(), &arguments[..]) {
        (pg_sys::F_BIT_INT8_INT4, &[number, length]) if length.value() == Some(FINGERPRINT_BITS) => {
            let (function, operands) = number.applied()?;
            let &[a, b] = &operands[..] else { return None };
            (function == pg_sys::F_INT8XOR.into()).then(|| [a, b].map(Bits::of_bigint))
        }
        (pg_sys::F_BIT_BIT_INT4_BOOL, &[bits, length, _]) if length.value() == Some(FINGERPRINT_BITS) => {
            fingerprints_of_difference(bits)
        }
        // The operator raises an error for operands of different lengths: if one has 64 bits, so must the other one.
        (pg_sys::F_BITXOR, &[a, b]) => match (Bits::of_bit_string(a), Bits::of_bit_string(b)) {
            (Some(a), Some(b)) => Some([a, b]),
            (Some(a), None) => Some([a, Bits::of_checked_bit_string(b)?]),
            (None, Some(b)) => Some([Bits::of_checked_bit_string(a)?, b]),
            (None, None) => None,
        },
        _ => None,
    }
}
