//! Reads conditions that compare a column with a value, by any operator.

use pgrx::pg_sys::{self, Oid};

use crate::expression::{Expression, Operation, expressions};

/// A comparison of a column with a value.
#[derive(Clone, Copy)]
pub struct Comparison {
    /// The operator, with the column on its left.
    pub operator: Oid,
    pub value: Expression,
    pub collation: Oid,
}

impl Comparison {
    /// Reads a condition as a comparison of the column that `is_column` recognises; None for any other condition.
    ///
    /// PostgreSQL has simplified conditions on booleans: `b = true` is `b`, and `b = false` is `NOT b`.
    pub fn read(condition: Expression, is_column: impl Fn(Expression) -> bool) -> Option<Self> {
        if let Some(Operation { operator, operands: [left, right], .. }) = condition.operation() {
            let collation = condition.input_collation();
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
        let (tested, truth) = tested_boolean(condition);
        if tested.value_type() != pg_sys::BOOLOID || !is_column(tested) {
            return None;
        }
        let value = Expression::constant_from(truth)?;
        Some(Self { operator: Oid::from_u32(pg_sys::BooleanEqualOperator), value, collation: Oid::INVALID })
    }
}

/// The boolean expression that a condition tests, and the value that fulfils the condition.
fn tested_boolean(condition: Expression) -> (Expression, bool) {
    // SAFETY: a BoolExpr has a list of expressions, and a BooleanTest has an argument.
    unsafe {
        if let Some(not) = condition.node::<pg_sys::BoolExpr>()
            && let (pg_sys::BoolExprType::NOT_EXPR, &[argument]) = (not.boolop, &expressions(not.args)[..])
        {
            return (argument, false);
        }
        if let Some(test) = condition.node::<pg_sys::BooleanTest>()
            && let Some(argument) = Expression::new(test.arg)
        {
            match test.booltesttype {
                pg_sys::BoolTestType::IS_TRUE => return (argument, true),
                pg_sys::BoolTestType::IS_FALSE => return (argument, false),
                _ => {}
            }
        }
    }
    (condition, true)
}
