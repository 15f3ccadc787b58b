//! Recognises conditions on the distance of two fingerprints: `simhash_near(a, b, k)`, `simhash_near(a, b, k, radii)`,
//! `hamming(a, b) <= k` and `a <~> b <= k`.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};
use simhash::search::nearness::Nearness;

use super::USUAL_DISTANCE;
use crate::postgres::expression::Expression;
use crate::sql::functions::ExtensionSchema;
use crate::sql::radii::check_radii;

/// A condition that two fingerprints are near each other.
#[derive(Clone, Copy)]
pub struct Near {
    pub fingerprints: [Expression; 2],
    pub limit: Limit,
    pub schema: ExtensionSchema,
    /// Whether PostgreSQL asks this extension how many rows fulfil the condition.
    pub is_estimated: bool,
}

/// The largest distance that a condition allows, and the radii of blocks if it has some.
#[derive(Clone, Copy)]
pub struct Limit {
    pub expression: Expression,
    pub radii: Option<Expression>,
    /// Whether the distance must be less than the expression.
    pub is_strict: bool,
}

/// The distance of two fingerprints.
#[derive(Clone, Copy)]
pub struct Distance {
    pub fingerprints: [Expression; 2],
    pub schema: ExtensionSchema,
}

impl Near {
    /// Reads a condition; None if it is another one.
    pub fn read(condition: Expression) -> Option<Self> {
        if let Some((function, arguments)) = condition.call() {
            let (&[a, b, limit], radii) = arguments.split_first_chunk()?;
            let types = [pg_sys::INT8OID, pg_sys::INT8OID, pg_sys::INT4OID, pg_sys::INT4ARRAYOID];
            let schema = schema_of(function, c"simhash_near", types.get(..arguments.len())?)?;
            let limit = Limit { expression: limit, radii: radii.first().copied(), is_strict: false };
            return Some(Self { fingerprints: [a, b], limit, schema, is_estimated: true });
        }
        let (operator, _, [left, right]) = condition.operation()?;
        let (distance, expression, is_strict) = match operator.to_u32() {
            LESS_OR_EQUAL => (left, right, false),
            LESS => (left, right, true),
            GREATER_OR_EQUAL => (right, left, false),
            GREATER => (right, left, true),
            _ => return None,
        };
        let Distance { fingerprints, schema } = Distance::read(distance)?;
        let limit = Limit { expression, radii: None, is_strict };
        Some(Self { fingerprints, limit, schema, is_estimated: false })
    }
}

impl Limit {
    /// When two fingerprints are near, as far as it is known when the query is planned: with the usual distance if that
    /// is not a constant, and with any radii if these are not constants.
    pub fn expected(self) -> Nearness {
        let limit = self.expression.integer();
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

/// The largest distance that is at most this limit, or less than it.
pub fn largest_distance(limit: i32, is_strict: bool) -> i32 {
    limit.saturating_sub(i32::from(is_strict))
}

impl Distance {
    /// Reads `hamming(a, b)` or `a <~> b`; None if the expression is another one.
    pub fn read(expression: Expression) -> Option<Self> {
        let (function, fingerprints) = match expression.call() {
            Some((function, arguments)) => (function, <[Expression; 2]>::try_from(arguments).ok()?),
            None => expression.operation().map(|(_, function, operands)| (function, operands))?,
        };
        let schema = schema_of(function, c"hamming", &[pg_sys::INT8OID, pg_sys::INT8OID])?;
        Some(Self { fingerprints, schema })
    }
}

/// OIDs of `<=`, `<`, `>=` and `>` for `int4`, from PostgreSQL's `catalog/pg_operator.dat`. They never change.
const LESS_OR_EQUAL: u32 = 523;
const LESS: u32 = 97;
const GREATER_OR_EQUAL: u32 = 525;
const GREATER: u32 = 521;

/// The extension's schema, if this is its function of this name.
///
/// The extension's functions for searches have its support function, which tells them from functions of the same name
/// of other extensions.
fn schema_of(function: Oid, name: &CStr, arguments: &[Oid]) -> Option<ExtensionSchema> {
    // SAFETY: get_func_support looks up a system cache.
    let support = unsafe { pg_sys::get_func_support(function) };
    if support == Oid::INVALID {
        return None;
    }
    let schema = ExtensionSchema::from_function(support)?;
    let is_ours = schema.function(c"simhash_near_support", &[pg_sys::INTERNALOID]) == Some(support)
        && schema.function(name, arguments) == Some(function);
    is_ours.then_some(schema)
}
