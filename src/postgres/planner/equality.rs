//! Conditions by which a column equals one value.

use pgrx::pg_sys::{self, NodeTag, Oid};

use crate::expression::{Expression, expressions};

/// An operator between a column and a value.
#[derive(Clone, Copy)]
pub struct Comparison {
    /// The operator, with the column on its left.
    pub operator: Oid,
    pub value: Expression,
    pub collation: Oid,
}

impl Comparison {
    /// Reads a condition as a comparison of a column; None if it is not such a comparison. `is_column` recognises the
    /// column.
    ///
    /// PostgreSQL has simplified conditions on booleans: `b = true` is `b`, and `b = false` is `NOT b`.
    pub fn read(condition: Expression, is_column: impl Fn(Expression) -> bool) -> Option<Self> {
        if let Some((operator, _, [left, right])) = condition.operation() {
            let collation = condition.input_collation()?;
            return match (is_column(left), is_column(right)) {
                (true, false) => Some(Self { operator, value: right, collation }),
                (false, true) => {
                    // SAFETY: get_commutator looks up a system cache.
                    let operator = unsafe { pg_sys::get_commutator(operator) };
                    (operator != Oid::INVALID).then_some(Self { operator, value: left, collation })
                }
                _ => None,
            };
        }
        let (tested, value) = tested_boolean(condition);
        let is_boolean = tested.value_type() == pg_sys::BOOLOID && is_column(tested);
        let value = is_boolean.then(|| boolean(value))??;
        Some(Self { operator: BOOLEAN_EQUAL, value, collation: Oid::INVALID })
    }
}

/// The OID of `=` for `bool`, from PostgreSQL's `catalog/pg_operator.dat`. It never changes.
const BOOLEAN_EQUAL: Oid = Oid::from_u32(91);

/// The boolean expression that a condition tests, and the value that fulfils the condition.
fn tested_boolean(condition: Expression) -> (Expression, bool) {
    if let Some(not) = condition.as_node::<pg_sys::BoolExpr>(NodeTag::T_BoolExpr) {
        // SAFETY: the node is a valid BoolExpr, whose arguments are a list of expressions.
        let (kind, arguments) = unsafe { (not.as_ref().boolop, expressions(not.as_ref().args)) };
        if let (pg_sys::BoolExprType::NOT_EXPR, &[argument]) = (kind, &arguments[..]) {
            return (argument, false);
        }
    }
    if let Some(test) = condition.as_node::<pg_sys::BooleanTest>(NodeTag::T_BooleanTest) {
        // SAFETY: the node is a valid BooleanTest, which has an argument.
        let (kind, argument) = unsafe { (test.as_ref().booltesttype, Expression::new(test.as_ref().arg)) };
        match (kind, argument) {
            (pg_sys::BoolTestType::IS_TRUE, Some(argument)) => return (argument, true),
            (pg_sys::BoolTestType::IS_FALSE, Some(argument)) => return (argument, false),
            _ => {}
        }
    }
    (condition, true)
}

/// A boolean constant.
fn boolean(value: bool) -> Option<Expression> {
    // SAFETY: the new node is in the planner's memory.
    unsafe { Expression::new(pg_sys::makeBoolConst(value, false)) }
}
