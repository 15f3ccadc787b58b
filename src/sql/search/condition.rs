//! Recognises conditions that two fingerprints are near: `simhash_near(a, b, k)`, `simhash_near(a, b, k, radii)`, and
//! comparisons of a [`Distance`] with an integer, such as `hamming(a, b) <= k`.

use pgrx::pg_sys;
use simhash::search::growth::LARGEST_DISTANCE;
use simhash::search::nearness::Nearness;

use super::USUAL_DISTANCE;
use super::distance::Distance;
use crate::postgres::expression::{Expression, integer_strategy};
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::bits::Bits;
use crate::sql::radii::check_radii;

/// A condition that two fingerprints are near each other.
#[derive(Clone, Copy)]
pub struct Near {
    pub fingerprints: [Bits; 2],
    pub limit: Limit,
    /// Whether PostgreSQL asks this extension how many rows fulfil the condition.
    pub is_estimated: bool,
}

/// The largest distance that a condition allows, and the radii of blocks if it has some.
#[derive(Clone, Copy)]
pub struct Limit {
    /// An integer of any type.
    pub expression: Expression,
    pub radii: Option<Expression>,
    /// Whether the distance must be less than the expression.
    pub is_strict: bool,
}

impl Near {
    /// Reads a condition; None if it is another one.
    pub fn read(condition: Expression) -> Option<Self> {
        if let Some((function, arguments)) = condition.call() {
            let (&[a, b, limit], radii) = arguments.split_first_chunk()?;
            let types = [pg_sys::INT8OID, pg_sys::INT8OID, pg_sys::INT4OID, pg_sys::INT4ARRAYOID];
            let types = types.get(..arguments.len())?;
            ExtensionSchema::of(function, c"simhash_near", types, c"simhash_near_support")?;
            let limit = Limit { expression: limit, radii: radii.first().copied(), is_strict: false };
            return Some(Self { fingerprints: [a, b].map(Bits::of_bigint), limit, is_estimated: true });
        }
        let Compared { distance, strategy, with, .. } = Compared::read(condition)?;
        let is_strict = match strategy {
            pg_sys::BTLessStrategyNumber => true,
            // Of the rows within the distance, the condition itself selects those at the distance.
            pg_sys::BTLessEqualStrategyNumber | pg_sys::BTEqualStrategyNumber => false,
            _ => return None,
        };
        let limit = Limit { expression: with, radii: None, is_strict };
        Some(Self { fingerprints: distance.fingerprints, limit, is_estimated: false })
    }
}

/// The distance in a condition that it must exceed a limit, as `BETWEEN 0 AND k` has one, and the largest distance that
/// does not: -1 if that is not known when the query is planned.
pub fn exceeded_distance(condition: Expression) -> Option<(Expression, i32)> {
    let Compared { expression, strategy, with, .. } = Compared::read(condition)?;
    let is_strict = match strategy {
        pg_sys::BTGreaterEqualStrategyNumber => true,
        pg_sys::BTGreaterStrategyNumber => false,
        _ => return None,
    };
    Some((expression, with.any_integer().map_or(-1, |limit| largest_distance(limit, is_strict))))
}

/// A comparison of a distance with an integer.
struct Compared {
    distance: Distance,
    /// The distance as an expression.
    expression: Expression,
    /// The btree strategy of the operator that has the distance on its left.
    strategy: u32,
    with: Expression,
}

impl Compared {
    fn read(condition: Expression) -> Option<Self> {
        let (operator, _, [left, right]) = condition.operation()?;
        let strategy = integer_strategy(operator)?;
        if let Some(distance) = Distance::read(left) {
            return Some(Self { distance, expression: left, strategy, with: right });
        }
        let distance = Distance::read(right)?;
        let exchanged = pg_sys::BTLessStrategyNumber + pg_sys::BTGreaterStrategyNumber - strategy;
        Some(Self { distance, expression: right, strategy: exchanged, with: left })
    }
}

impl Limit {
    /// When two fingerprints are near, as far as it is known when the query is planned: with the usual distance if that
    /// is not a constant, and with any radii if these are not constants.
    pub fn expected(self) -> Nearness {
        let limit = self.expression.any_integer();
        let max_distance = limit.map_or(USUAL_DISTANCE, |limit| largest_distance(limit, self.is_strict));
        let radii = self.radii.and_then(Expression::array);
        let near = radii.and_then(|radii| check_radii(max_distance, &radii).ok());
        near.unwrap_or(Nearness::within(max_distance))
    }

    /// The expressions of the limit.
    pub fn expressions(self) -> impl Iterator<Item = Expression> {
        [self.expression].into_iter().chain(self.radii)
    }
}

/// The largest distance that is at most this limit, or less than it; -1 if there is none.
pub fn largest_distance(limit: i64, is_strict: bool) -> i32 {
    limit.saturating_sub(i64::from(is_strict)).clamp(-1, LARGEST_DISTANCE.into()) as i32
}
