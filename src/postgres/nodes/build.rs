//! Builds expression trees.

use std::ffi::c_void;

use pgrx::pg_sys::{self, NodeTag, Oid};

use super::expression::Expression;

/// A reference to an integer column of a relation in the range table.
pub fn column(relation: i32, number: i16) -> Expression {
    // SAFETY: makeVar makes a new node. The type of `varno` differs between versions of PostgreSQL.
    made(unsafe { pg_sys::makeVar(relation as _, number, pg_sys::INT4OID, -1, Oid::INVALID, 0) })
}

pub fn integer(value: i32) -> Expression {
    // SAFETY: makeConst makes a new node.
    made(unsafe { pg_sys::makeConst(pg_sys::INT4OID, -1, Oid::INVALID, 4, pg_sys::Datum::from(value), false, true) })
}

/// A call of a function. The arguments have exactly the types that it declares, and none of them has a collation.
pub fn call(function: Oid, result: Oid, arguments: &[Expression]) -> Expression {
    // SAFETY: makeFuncExpr makes a new node.
    made(unsafe {
        pg_sys::makeFuncExpr(
            function,
            result,
            list_of(arguments),
            Oid::INVALID,
            Oid::INVALID,
            pg_sys::CoercionForm::COERCE_EXPLICIT_CALL,
        )
    })
}

/// A comparison of two integers by one of PostgreSQL's own operators.
pub fn comparison(operator: IntegerOperator, left: Expression, right: Expression) -> Expression {
    // SAFETY: make_opclause makes a new node, an OpExpr.
    made(unsafe {
        let comparison = pg_sys::make_opclause(
            operator.operator(),
            pg_sys::BOOLOID,
            false,
            left.as_ptr().cast(),
            right.as_ptr().cast(),
            Oid::INVALID,
            Oid::INVALID,
        );
        (*comparison.cast::<pg_sys::OpExpr>()).opfuncid = operator.function();
        comparison
    })
}

/// `left = ANY (array)` for integers.
pub fn equality_with_any(left: Expression, array: Expression) -> Expression {
    // SAFETY: the new node is all zeros, which is valid in each of its fields, with the tag of its type.
    unsafe {
        let size = size_of::<pg_sys::ScalarArrayOpExpr>();
        let node = pg_sys::palloc0(size).cast::<pg_sys::ScalarArrayOpExpr>();
        (*node).xpr.type_ = NodeTag::T_ScalarArrayOpExpr;
        (*node).opno = IntegerOperator::Equal.operator();
        (*node).opfuncid = IntegerOperator::Equal.function();
        (*node).useOr = true;
        (*node).args = list_of(&[left, array]);
        (*node).location = -1;
        made(node)
    }
}

/// `CASE WHEN condition THEN value END` for integers.
pub fn integer_where(condition: Expression, value: Expression) -> Expression {
    // SAFETY: the new nodes are all zeros, which is valid in each of their fields, with the tags of their types.
    unsafe {
        let when = pg_sys::palloc0(size_of::<pg_sys::CaseWhen>()).cast::<pg_sys::CaseWhen>();
        (*when).xpr.type_ = NodeTag::T_CaseWhen;
        (*when).expr = condition.as_ptr().cast();
        (*when).result = value.as_ptr().cast();
        (*when).location = -1;
        let case = pg_sys::palloc0(size_of::<pg_sys::CaseExpr>()).cast::<pg_sys::CaseExpr>();
        (*case).xpr.type_ = NodeTag::T_CaseExpr;
        (*case).casetype = pg_sys::INT4OID;
        (*case).args = list_of(&[made(when)]);
        (*case).defresult = pg_sys::makeNullConst(pg_sys::INT4OID, -1, Oid::INVALID).cast();
        (*case).location = -1;
        made(case)
    }
}

pub fn any(conditions: &[Expression]) -> Expression {
    conditions_joined(pg_sys::BoolExprType::OR_EXPR, conditions)
}

pub fn all(conditions: &[Expression]) -> Expression {
    conditions_joined(pg_sys::BoolExprType::AND_EXPR, conditions)
}

fn conditions_joined(operation: pg_sys::BoolExprType::Type, conditions: &[Expression]) -> Expression {
    match conditions {
        [condition] => *condition,
        // SAFETY: makeBoolExpr makes a new node.
        _ => made(unsafe { pg_sys::makeBoolExpr(operation, list_of(conditions), -1) }),
    }
}

fn made<T>(node: *mut T) -> Expression {
    // SAFETY: PostgreSQL's functions that make a node raise an error rather than return null.
    unsafe { Expression::from_new(node) }
}

/// PostgreSQL's own comparisons of two integers.
#[derive(Clone, Copy)]
pub enum IntegerOperator {
    Equal,
    Greater,
    GreaterOrEqual,
    LessOrEqual,
}

impl IntegerOperator {
    /// OIDs from PostgreSQL's `catalog/pg_operator.dat` of `=`, `>`, `>=` and `<=` for `int4`. They never change.
    fn operator(self) -> Oid {
        Oid::from(match self {
            Self::Equal => 96,
            Self::Greater => 521,
            Self::GreaterOrEqual => 525,
            Self::LessOrEqual => 523,
        })
    }

    fn function(self) -> Oid {
        Oid::from(match self {
            Self::Equal => pg_sys::F_INT4EQ,
            Self::Greater => pg_sys::F_INT4GT,
            Self::GreaterOrEqual => pg_sys::F_INT4GE,
            Self::LessOrEqual => pg_sys::F_INT4LE,
        })
    }
}

fn list_of(expressions: &[Expression]) -> *mut pg_sys::List {
    expressions.iter().fold(std::ptr::null_mut(), |list, expression| {
        // SAFETY: the list was made here, and the node is valid.
        unsafe { pg_sys::lappend(list, expression.as_ptr().cast::<c_void>()) }
    })
}
