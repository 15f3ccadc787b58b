//! Recognises conditions that two fingerprints are near: `simhash_near(a, b, k)`, `simhash_near(a, b, k, radii)`, and
//! comparisons of a distance with an integer, such as `hamming(a, b) <= k`. A table can be searched by a
//! [`SearchCondition`].

use pgrx::pg_sys;
use postgres::catalog::relation::Relation;
use postgres::expression::{Expression, btree_strategy};
use postgres::planner::base_relation::{BaseRelation, Condition, Outer};
use simhash::search::blocks::DEFAULT_BLOCKS;
use simhash::search::flips::Flippable;
use simhash::search::growth::LARGEST_DISTANCE;
use simhash::search::nearness::Nearness;

use super::distance::fingerprints_of_distance;
use super::estimate::Estimate;
use super::near_texts::NearTexts;
use super::plan::Role;
use super::{USUAL_DISTANCE, USUAL_RADIUS};
use crate::sql::arguments::check_radii;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::bits::Bits;
use crate::sql::indexed::fingerprint_column::column_of;

/// The largest distance that a condition allows, the radii of blocks if it has some, and the sizes of the texts.
#[derive(Clone, Copy)]
pub struct Limit {
    /// An integer of any type.
    pub expression: Expression,
    pub radii: Option<Expression>,
    pub flips: Option<Flips>,
    /// The sizes of the texts, if the query compares them.
    pub sizes: Option<SizeLimit>,
}

/// The bits that a search for a text flips.
#[derive(Clone, Copy)]
pub struct Flips {
    /// A `bigint[]` of `simhash_flips`.
    pub masks: Expression,
    /// As many bits, for the planner's estimates.
    pub expected: Flippable,
}

/// What limits the sizes of the texts that a search is for: texts of very different sizes do not resemble each other.
///
/// The sizes follow from the other text and from the least resemblance alone, so they tell nothing about rows that the
/// user may not see. The query's conditions are checked for each row that is found, as without them.
#[derive(Clone, Copy)]
pub struct SizeLimit {
    /// The size of the text that they are compared with, an `integer`.
    pub size: Expression,
    /// The least resemblance, a `double precision`.
    pub resemblance: Expression,
    pub is_exact: bool,
}

/// A condition on the distance of a table's fingerprint from a query, by which the table can be searched.
#[derive(Clone, Copy)]
pub struct SearchCondition {
    pub condition: Condition,
    /// The table's fingerprint, of type `bigint`.
    pub fingerprint: Expression,
    /// The query, of type `bigint`.
    pub query: Expression,
    pub limit: Limit,
    /// The other relations that the query and the limit refer to.
    pub outer: Outer,
    pub estimate: Estimate,
    /// Whether the planner has the estimate already, from the support function.
    pub is_estimated: bool,
}

/// Reads a condition that two fingerprints are near: the fingerprints, the limit, and whether PostgreSQL asks this
/// extension's support function how many rows fulfil the condition.
fn read_near_condition(condition: Expression) -> Option<([Bits; 2], Limit, bool)> {
    if let Some((function, arguments)) = condition.call() {
        let (&[a, b, limit], radii) = arguments.split_first_chunk()?;
        let types = [pg_sys::INT8OID, pg_sys::INT8OID, pg_sys::INT4OID, pg_sys::INT4ARRAYOID];
        let types = types.get(..arguments.len())?;
        ExtensionSchema::of(function, c"simhash_near", types, c"simhash_near_support")?;
        return Some(([a, b].map(Bits::of_bigint), Limit::new(limit, radii.first().copied()), true));
    }
    let (_, fingerprints, strategy, limit) = read_comparison(condition)?;
    // For `=`, and for `<` unless the limit is constant, the search is within the limit. The condition itself then
    // selects the rows.
    let limit = match strategy {
        pg_sys::BTLessStrategyNumber => match limit.any_integer() {
            Some(limit) => Expression::of_value(largest_distance(limit.saturating_sub(1)))?,
            None => limit,
        },
        pg_sys::BTLessEqualStrategyNumber | pg_sys::BTEqualStrategyNumber => limit,
        _ => return None,
    };
    Some((fingerprints, Limit::new(limit, None), false))
}

/// Reads a comparison of a distance with a limit, which may be exchanged. Returns the distance, its fingerprints, the
/// btree strategy of the operator that has it on its left, and the limit.
fn read_comparison(condition: Expression) -> Option<(Expression, [Bits; 2], u32, Expression)> {
    let (operator, _, [left, right]) = condition.operation()?;
    let strategy = btree_strategy(operator, pg_sys::INTEGER_BTREE_FAM_OID)?;
    if let Some(fingerprints) = fingerprints_of_distance(left) {
        return Some((left, fingerprints, strategy, right));
    }
    let exchanged = pg_sys::BTLessStrategyNumber + pg_sys::BTGreaterStrategyNumber - strategy;
    Some((right, fingerprints_of_distance(right)?, exchanged, left))
}

/// Whether a condition is that two fingerprints, or two texts, are near.
pub fn is_near_condition(condition: Expression) -> bool {
    read_near_condition(condition).is_some() || NearTexts::read(condition).is_some()
}

/// Reads a condition that a distance must exceed a limit, such as the first half of `BETWEEN 0 AND k`. Returns the
/// distance, and the largest one that the condition excludes: -1 if that is not known when the query is planned.
pub fn exceeded_distance(condition: Expression) -> Option<(Expression, i32)> {
    let (distance, _, strategy, limit) = read_comparison(condition)?;
    let included = match strategy {
        pg_sys::BTGreaterEqualStrategyNumber => 1,
        pg_sys::BTGreaterStrategyNumber => 0,
        _ => return None,
    };
    Some((distance, limit.any_integer().map_or(-1, |limit| largest_distance(limit.saturating_sub(included)))))
}

impl SearchCondition {
    /// The conditions by which a relation can be searched.
    pub fn all_of(relation: BaseRelation) -> Vec<Self> {
        let conditions = relation.conditions().into_iter();
        let near = conditions.filter_map(|found| Some((found, read_near_condition(found.expression)?)));
        let sides = near.flat_map(|(condition, (fingerprints, limit, is_estimated))| {
            fingerprint_sides(relation, fingerprints).filter_map(move |(fingerprint, query)| {
                Self::new(relation, condition, [fingerprint, query], limit, is_estimated)
            })
        });
        sides.chain(Self::of_texts(relation)).collect()
    }

    fn new(
        relation: BaseRelation,
        condition: Condition,
        [fingerprint, query]: [Expression; 2],
        limit: Limit,
        is_estimated: bool,
    ) -> Option<Self> {
        let limits = limit.expressions().map(|(_, expression)| expression);
        let outer = relation.outer([query].into_iter().chain(limits))?;
        let estimate = Estimate::new(relation.planner(), [fingerprint, query], limit.expected(DEFAULT_BLOCKS));
        Some(Self { condition, fingerprint, query, limit, outer, estimate, is_estimated })
    }

    /// The conditions on fingerprints that follow from conditions on texts.
    ///
    /// They may use the indexes although others that protect rows must be evaluated before the texts are compared:
    /// comparing the fingerprints in the indexes is leakproof, and what is computed does not depend on the relation's
    /// rows.
    fn of_texts(relation: BaseRelation) -> impl Iterator<Item = Self> {
        let conditions = if relation.is_table() { relation.all_conditions() } else { Vec::new() };
        let texts = conditions.into_iter().filter_map(|found| Some((found, NearTexts::read(found.expression)?)));
        texts.flat_map(move |(condition, near)| {
            near.of_fingerprints(relation).into_iter().filter_map(move |(fingerprint, query, limit)| {
                Self::new(relation, condition, [fingerprint, query], limit, false)
            })
        })
    }
}

/// For each of two fingerprints that refers to the relation's columns only: this fingerprint, and the other one as the
/// query, both of type `bigint`.
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
    let own = fingerprint.with_varno(relation.relid(), 1);
    let column = column_of(&Relation::open_locked(relation.table()), Bits::of_bigint(own))?;
    Some(column.as_variable()?.with_varno(1, relation.relid()))
}

impl Limit {
    pub fn new(expression: Expression, radii: Option<Expression>) -> Self {
        Self { expression, radii, flips: None, sizes: None }
    }

    /// The nearness for the planner's estimates. A limit that is not constant counts as [`USUAL_DISTANCE`], and radii
    /// that are not constant count as [`USUAL_RADIUS`] for each of `blocks` blocks.
    pub fn expected(self, blocks: i32) -> Nearness {
        let limit = self.expression.any_integer();
        let max_distance = limit.map_or(USUAL_DISTANCE, largest_distance);
        let near = self.radii.and_then(|radii| match radii.array() {
            Some(radii) => check_radii(max_distance, &radii).ok(),
            None => Nearness::by_radii(max_distance, &vec![USUAL_RADIUS; blocks as usize]),
        });
        let near = near.unwrap_or(Nearness::within(max_distance));
        self.flips.map_or(near, |flips| near.flipping(flips.expected))
    }

    pub fn expressions(self) -> impl Iterator<Item = (Role, Expression)> {
        let (flips, sizes) = (self.flips.map(|flips| flips.masks), self.sizes);
        let all = [
            (Role::Limit, Some(self.expression)),
            (Role::Radii, self.radii),
            (Role::Flips, flips),
            (Role::Size, sizes.map(|sizes| sizes.size)),
            (Role::Resemblance, sizes.map(|sizes| sizes.resemblance)),
        ];
        all.into_iter().filter_map(|(role, expression)| Some((role, expression?)))
    }
}

/// The largest distance that is at most `limit`; -1 if there is none.
pub fn largest_distance(limit: i64) -> i32 {
    limit.clamp(-1, LARGEST_DISTANCE.into()) as i32
}
