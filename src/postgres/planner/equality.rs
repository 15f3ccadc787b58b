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
        if let Some((operator, collation, left, value)) = any_of_one(condition) {
            return is_column(left).then_some(Self { operator, value, collation });
        }
        let (tested, value) = tested_boolean(condition);
        let is_boolean = tested.value_type() == pg_sys::BOOLOID && is_column(tested);
        let value = is_boolean.then(|| boolean(value))??;
        Some(Self { operator: BOOLEAN_EQUAL, value, collation: Oid::INVALID })
    }
}

/// The OID of `=` for `bool`, from PostgreSQL's `catalog/pg_operator.dat`. It never changes.
const BOOLEAN_EQUAL: Oid = Oid::from_u32(91);

/// Reads `left = ANY (array)` if the array has exactly one element, which is not NULL: the operator, its collation and
/// both operands.
fn any_of_one(condition: Expression) -> Option<(Oid, Oid, Expression, Expression)> {
    let any = condition.as_node::<pg_sys::ScalarArrayOpExpr>(NodeTag::T_ScalarArrayOpExpr)?;
    // SAFETY: the node is a valid ScalarArrayOpExpr, which has two operands.
    unsafe {
        let any = any.as_ref();
        let [left, array] = <[Expression; 2]>::try_from(expressions(any.args)).ok()?;
        let element = match array.as_node::<pg_sys::ArrayExpr>(NodeTag::T_ArrayExpr) {
            Some(array) if !array.as_ref().multidims => match expressions(array.as_ref().elements)[..] {
                [element] => element,
                _ => return None,
            },
            Some(_) => return None,
            None => element_of_constant(array)?,
        };
        any.useOr.then_some((any.opno, any.inputcollid, left, element))
    }
}

/// The only element of a constant array, as a constant; None if the array is not a constant, has not exactly one
/// element, or has a NULL.
fn element_of_constant(array: Expression) -> Option<Expression> {
    let (of_type, value) = array.constant()?;
    let (mut length, mut by_value, mut alignment) = (0, false, 0);
    let (mut elements, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
    // SAFETY: a type that has an element type is an array. deconstruct_array makes as many elements and flags as it
    // counts, in the planner's memory.
    unsafe {
        let element_type = pg_sys::get_base_element_type(of_type);
        if element_type == Oid::INVALID {
            return None;
        }
        pg_sys::get_typlenbyvalalign(element_type, &mut length, &mut by_value, &mut alignment);
        let array = pg_sys::pg_detoast_datum(value.cast_mut_ptr()).cast();
        let (out_elements, out_nulls) = (&mut elements, &mut nulls);
        let length = length.into();
        pg_sys::deconstruct_array(
            array,
            element_type,
            length,
            by_value,
            alignment,
            out_elements,
            out_nulls,
            &mut count,
        );
        if count != 1 || *nulls {
            return None;
        }
        let collation = pg_sys::get_typcollation(element_type);
        Expression::new(pg_sys::makeConst(element_type, -1, collation, length, *elements, false, by_value))
    }
}

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
