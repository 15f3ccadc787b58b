//! PostgreSQL's expression trees: the nodes that the extension reads and builds.
//!
//! An [`Expression`] is always valid, so its methods need no `unsafe`. Making one from a pointer or a list needs it.

use std::ffi::CStr;
use std::ptr::NonNull;

use pgrx::pg_sys::{self, NodeTag, Oid};
use pgrx::{AnyArray, FromDatum, IntoDatum};

use super::catalog::relation::Relation;
use super::error::Result;
use super::json::RawJsonb;
use super::list::nodes;
use super::text::{RawText, from_server};

/// A valid expression node (PostgreSQL's `nodes/primnodes.h`).
///
/// Its methods never change a node, except one that they have built or copied themselves.
#[derive(Clone, Copy, Debug)]
pub struct Expression(NonNull<pg_sys::Node>);

/// A column reference: the column `attnum` of the relation with index `varno` in the range table of the query
/// `levels_up` levels out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    pub varno: i32,
    pub attnum: i16,
    pub levels_up: u32,
}

impl Expression {
    /// The expression at `node`; None for a null pointer.
    ///
    /// # Safety
    /// `node` is null or points to a valid expression. It lives in a memory context that outlives all uses of the
    /// result, such as the running planner's.
    pub unsafe fn new<T>(node: *mut T) -> Option<Self> {
        NonNull::new(node.cast()).map(Self)
    }

    pub fn as_ptr(self) -> *mut pg_sys::Node {
        self.0.as_ptr()
    }

    /// The node as a `T`, whose tag is `tag`; None if the node has another tag.
    pub(super) fn as_node<T>(self, tag: NodeTag) -> Option<NonNull<T>> {
        // SAFETY: every node starts with the tag of its type.
        (unsafe { self.0.as_ref() }.type_ == tag).then_some(self.0.cast())
    }

    /// The function and the arguments of a function call, in declared order even if they are named. Omitted arguments
    /// at the end are missing until the planner has simplified the expression.
    pub fn call(self) -> Option<(Oid, Vec<Expression>)> {
        let call = self.as_node::<pg_sys::FuncExpr>(NodeTag::T_FuncExpr)?;
        // SAFETY: the node is a valid FuncExpr, whose arguments are a list of expressions; a NamedArgExpr has an
        // argument.
        unsafe {
            let given = expressions(call.as_ref().args);
            let mut arguments = given.clone();
            for argument in given {
                if let Some(named) = argument.as_node::<pg_sys::NamedArgExpr>(NodeTag::T_NamedArgExpr) {
                    let slot = arguments.get_mut(named.as_ref().argnumber as usize)?;
                    *slot = Self::new(named.as_ref().arg)?;
                }
            }
            Some((call.as_ref().funcid, arguments))
        }
    }

    /// The expressions one of whose values is the value of this one: the arguments of COALESCE, the results of CASE,
    /// and the expression itself if it is neither.
    pub fn outcomes(self) -> Vec<Expression> {
        let inner = self.without_relabelling();
        // SAFETY: the nodes are valid: COALESCE has a list of expressions, and CASE has a list of CaseWhen nodes and an
        // expression, which each have a result.
        let several = unsafe {
            if let Some(coalesce) = inner.as_node::<pg_sys::CoalesceExpr>(NodeTag::T_CoalesceExpr) {
                expressions(coalesce.as_ref().args)
            } else if let Some(case) = inner.as_node::<pg_sys::CaseExpr>(NodeTag::T_CaseExpr) {
                let cases = nodes::<pg_sys::CaseWhen>(case.as_ref().args).into_iter().map(|when| (*when).result);
                cases.chain([case.as_ref().defresult]).filter_map(|result| Self::new(result)).collect()
            } else {
                return vec![inner];
            }
        };
        several.into_iter().flat_map(Self::outcomes).collect()
    }

    /// The operator, its function and the operands of a binary operator.
    pub fn operation(self) -> Option<(Oid, Oid, [Expression; 2])> {
        let operation = self.as_node::<pg_sys::OpExpr>(NodeTag::T_OpExpr)?;
        // SAFETY: the node is a valid OpExpr, whose arguments are a list of expressions. get_opcode looks up a system
        // cache.
        unsafe {
            let operation = operation.as_ref();
            let operands = <[Expression; 2]>::try_from(expressions(operation.args)).ok()?;
            let function = if operation.opfuncid == Oid::INVALID {
                pg_sys::get_opcode(operation.opno)
            } else {
                operation.opfuncid
            };
            Some((operation.opno, function, operands))
        }
    }

    /// The function and the arguments of a function call, or of an operator.
    pub fn applied(self) -> Option<(Oid, Vec<Expression>)> {
        self.call().or_else(|| self.operation().map(|(_, function, operands)| (function, operands.to_vec())))
    }

    /// The argument of a cast by the input and output functions of two types.
    pub fn cast_by_text(self) -> Option<Self> {
        let cast = self.as_node::<pg_sys::CoerceViaIO>(NodeTag::T_CoerceViaIO)?;
        // SAFETY: the node is a valid CoerceViaIO, which has an argument.
        unsafe { Self::new(cast.as_ref().arg) }
    }

    /// The collation that an operator or a function call uses, which is the invalid OID if it has none; None for any
    /// other node.
    pub fn input_collation(self) -> Option<Oid> {
        if let Some(operation) = self.as_node::<pg_sys::OpExpr>(NodeTag::T_OpExpr) {
            // SAFETY: the node is a valid OpExpr.
            return Some(unsafe { operation.as_ref() }.inputcollid);
        }
        let call = self.as_node::<pg_sys::FuncExpr>(NodeTag::T_FuncExpr)?;
        // SAFETY: the node is a valid FuncExpr.
        Some(unsafe { call.as_ref() }.inputcollid)
    }

    /// The type of the expression's value.
    pub fn value_type(self) -> Oid {
        // SAFETY: the node is valid.
        unsafe { pg_sys::exprType(self.as_ptr()) }
    }

    /// The column that this refers to; None for any other node, and for OLD and NEW in RETURNING.
    pub fn column(self) -> Option<Variable> {
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        {
            let var = self.as_node::<pg_sys::Var>(NodeTag::T_Var)?;
            // SAFETY: the node is a valid Var.
            if unsafe { var.as_ref() }.varreturningtype != pg_sys::VarReturningType::VAR_RETURNING_DEFAULT {
                return None;
            }
        }
        self.variable()
    }

    /// The column that this refers to, in any version of the row.
    fn variable(self) -> Option<Variable> {
        let var = self.as_node::<pg_sys::Var>(NodeTag::T_Var)?;
        // SAFETY: the node is a valid Var.
        let var = unsafe { var.as_ref() };
        Some(Variable { varno: var.varno, attnum: var.varattno, levels_up: var.varlevelsup })
    }

    /// The attnum, if the expression is a column, with or without casts between binary-compatible types. The caller
    /// knows that the column belongs to its table.
    pub fn as_own_column(self) -> Option<i16> {
        self.without_relabelling().column().map(|column| column.attnum)
    }

    /// The attnums of the columns of its table that a stored expression refers to.
    pub fn own_columns(self) -> Vec<i16> {
        const OWN_VARNO: pg_sys::Index = 1;
        let (mut found, mut columns, mut member) = (std::ptr::null_mut(), Vec::new(), -1);
        // SAFETY: the expression is valid; the set is made here, and is null or valid.
        unsafe {
            pg_sys::pull_varattnos(self.as_ptr(), OWN_VARNO, &mut found);
            loop {
                member = pg_sys::bms_next_member(found, member);
                if member < 0 {
                    return columns;
                }
                // The set counts from the lowest system column, whose attnum is negative.
                columns.push((member + pg_sys::FirstLowInvalidHeapAttributeNumber) as i16);
            }
        }
    }

    /// The value of an integer constant that is not NULL.
    pub fn integer(self) -> Option<i32> {
        self.constant().filter(|(of_type, _)| *of_type == pg_sys::INT4OID).map(|(_, datum)| datum.value() as i32)
    }

    /// The value of a constant of type `double precision` that is not NULL.
    pub fn float(self) -> Option<f64> {
        let (_, datum) = self.constant().filter(|(of_type, _)| *of_type == pg_sys::FLOAT8OID)?;
        Some(f64::from_bits(datum.value() as u64))
    }

    /// The content of a constant of type `jsonb` that is not NULL.
    pub fn jsonb<'a>(self) -> Option<RawJsonb<'a>> {
        let (_, datum) = self.constant().filter(|(of_type, _)| *of_type == pg_sys::JSONBOID)?;
        // SAFETY: the constant is a jsonb, and lives as long as the expression.
        unsafe { RawJsonb::from_datum(datum, false) }
    }

    /// Whether this is the constant `true`.
    pub fn is_true(self) -> bool {
        self.constant() == Some((pg_sys::BOOLOID, pg_sys::Datum::from(true)))
    }

    /// Whether this is a constant of type `text` with these bytes.
    pub fn is_text(self, wanted: &str) -> bool {
        self.constant().filter(|(of_type, _)| *of_type == pg_sys::TEXTOID).is_some_and(|(_, datum)| {
            // SAFETY: the constant is a text, and is not NULL.
            let text = unsafe { RawText::from_datum(datum, false) };
            text == Some(wanted.as_bytes())
        })
    }

    /// The length of an expression of type `bit`, by its type or, for a constant, by its value; None if it is not
    /// known.
    pub fn bit_length(self) -> Option<i32> {
        let inner = self.without_relabelling();
        if let Some((pg_sys::BITOID, value)) = inner.constant() {
            // SAFETY: the constant is a bit string, and is not NULL.
            let length = unsafe { pg_sys::OidFunctionCall1Coll(pg_sys::F_LENGTH_BIT.into(), Oid::INVALID, value) };
            return Some(length.value() as i32);
        }
        // SAFETY: the node is valid; getBaseTypeAndTypmod looks up a system cache, and replaces a domain's modifier.
        unsafe {
            let mut modifier = pg_sys::exprTypmod(inner.as_ptr());
            let base = pg_sys::getBaseTypeAndTypmod(pg_sys::exprType(inner.as_ptr()), &mut modifier);
            (base == pg_sys::BITOID && modifier >= 0).then_some(modifier)
        }
    }

    /// The value of a constant `integer[]` that is not NULL.
    pub fn array(self) -> Option<AnyArray> {
        let (of_type, datum) = self.constant().filter(|(of_type, _)| *of_type == pg_sys::INT4ARRAYOID)?;
        // SAFETY: the constant is an array, and is not NULL.
        unsafe { AnyArray::from_polymorphic_datum(datum, false, of_type) }
    }

    /// The values of a constant `bigint[]` that is not NULL and has no NULL.
    pub fn bigints(self) -> Option<Vec<i64>> {
        let (_, datum) = self.constant().filter(|(of_type, _)| *of_type == pg_sys::INT8ARRAYOID)?;
        // SAFETY: the constant is such an array.
        unsafe { Vec::from_datum(datum, false) }
    }

    /// A constant of type `integer`.
    pub fn of_integer(value: i32) -> Option<Self> {
        // SAFETY: an integer has 4 bytes, and is passed by value.
        unsafe { Self::new(pg_sys::makeConst(pg_sys::INT4OID, -1, Oid::INVALID, 4, value.into(), false, true)) }
    }

    /// A constant of type `double precision`.
    pub fn of_float(value: f64) -> Option<Self> {
        let value = pg_sys::Datum::from(value.to_bits());
        // SAFETY: a double has 8 bytes, and is passed by value on the machines that the extension supports.
        unsafe { Self::new(pg_sys::makeConst(pg_sys::FLOAT8OID, -1, Oid::INVALID, 8, value, false, true)) }
    }

    /// A constant of type `integer[]`.
    pub fn integers(values: &[i32]) -> Option<Self> {
        let array = values.into_datum()?;
        // SAFETY: the array is a varlena in the current memory context, and is passed by reference.
        unsafe { Self::new(pg_sys::makeConst(pg_sys::INT4ARRAYOID, -1, Oid::INVALID, -1, array, false, false)) }
    }

    /// A call of a function that takes no notice of collations.
    pub fn of_call(function: Oid, result: Oid, arguments: &[Self]) -> Option<Self> {
        // SAFETY: the list is made here, of valid expressions.
        unsafe {
            let arguments = arguments
                .iter()
                .fold(std::ptr::null_mut(), |list, argument| pg_sys::lappend(list, argument.copy().as_ptr().cast()));
            let explicit = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
            Self::new(pg_sys::makeFuncExpr(function, result, arguments, Oid::INVALID, Oid::INVALID, explicit))
        }
    }

    /// A copy of a function call with another first argument of the same type.
    pub fn with_first_argument(self, argument: Self) -> Option<Self> {
        let copy = self.copy();
        let call = copy.as_node::<pg_sys::FuncExpr>(NodeTag::T_FuncExpr)?;
        // SAFETY: the copy is a valid FuncExpr, and nothing else refers to it.
        unsafe {
            let first = pg_sys::list_nth_cell((*call.as_ptr()).args, 0);
            (*first).ptr_value = argument.as_ptr().cast();
        }
        Some(copy)
    }

    /// The type and the value of a constant that is not NULL.
    pub fn constant(self) -> Option<(Oid, pg_sys::Datum)> {
        let constant = self.as_node::<pg_sys::Const>(NodeTag::T_Const)?;
        // SAFETY: the node is a valid Const.
        let constant = unsafe { constant.as_ref() };
        (!constant.constisnull).then_some((constant.consttype, constant.constvalue))
    }

    /// The expression without outer casts between binary-compatible types, such as a cast from a domain.
    pub fn without_relabelling(self) -> Self {
        let mut inner = self;
        while let Some(relabel) = inner.as_node::<pg_sys::RelabelType>(NodeTag::T_RelabelType) {
            // SAFETY: the node is a valid RelabelType, which has an argument.
            match unsafe { Self::new(relabel.as_ref().arg) } {
                Some(argument) => inner = argument,
                None => break,
            }
        }
        inner
    }

    /// The expression with the cast that the parser adds to convert it to the type `wanted`; the expression itself if
    /// it is of this type, and None if there is no such cast.
    pub fn coerced_to(self, wanted: Oid) -> Option<Self> {
        self.cast(wanted, -1, pg_sys::CoercionContext::COERCION_EXPLICIT)
    }

    /// The expression with the cast that the parser adds for an assignment to a column of this type and type modifier.
    pub fn assigned_to(self, wanted: Oid, modifier: i32) -> Option<Self> {
        self.cast(wanted, modifier, pg_sys::CoercionContext::COERCION_ASSIGNMENT)
    }

    fn cast(self, wanted: Oid, modifier: i32, context: pg_sys::CoercionContext::Type) -> Option<Self> {
        // SAFETY: the node is valid; with a null parser state, only error positions are missing.
        unsafe {
            let coerced = pg_sys::coerce_to_target_type(
                std::ptr::null_mut(),
                self.as_ptr(),
                pg_sys::exprType(self.as_ptr()),
                wanted,
                modifier,
                context,
                pg_sys::CoercionForm::COERCE_EXPLICIT_CAST,
                -1,
            );
            if !coerced.is_null() {
                pg_sys::assign_expr_collations(std::ptr::null_mut(), coerced);
            }
            Self::new(coerced)
        }
    }

    /// The value of a constant integer of any type that is not NULL.
    pub fn any_integer(self) -> Option<i64> {
        let (of_type, value) = self.constant()?;
        integer_value(of_type, value)
    }

    /// The expression's value as a constant, if it is an immutable function of constants.
    pub fn with_folded_constants(self) -> Self {
        // SAFETY: the node is valid; the result is a new expression, or the same.
        unsafe { Self::new(pg_sys::eval_const_expressions(std::ptr::null_mut(), self.as_ptr())) }.unwrap_or(self)
    }

    /// Whether the two expressions are equal in everything that affects their values.
    pub fn equals(self, other: Self) -> bool {
        // SAFETY: both nodes are valid, and are only read.
        unsafe { pg_sys::equal(self.0.as_ptr().cast(), other.0.as_ptr().cast()) }
    }

    /// The expression as SQL, in which the columns of its table are qualified with an alias.
    pub fn to_sql(self, table: &Relation, alias: &CStr) -> Result<String> {
        // SAFETY: the expression refers to columns of the open table, with varno 1. The result is NUL-terminated.
        unsafe {
            let context = pg_sys::deparse_context_for(alias.as_ptr(), table.oid());
            from_server(pg_sys::deparse_expression(self.as_ptr(), context, true, false))
        }
    }

    pub fn is_volatile(self) -> bool {
        // SAFETY: the node is valid, and is only read.
        unsafe { pg_sys::contain_volatile_functions(self.as_ptr()) }
    }

    pub fn copy(self) -> Self {
        // SAFETY: the node is valid; its copy is valid too, and not null.
        unsafe { Self(NonNull::new_unchecked(pg_sys::copyObjectImpl(self.0.as_ptr().cast()).cast())) }
    }

    /// A copy in which references to columns of the relation `from` of the range table refer to the relation `to`.
    pub fn with_varno(self, from: i32, to: i32) -> Self {
        let copy = self.copy();
        // SAFETY: the copy is a valid node, and nothing else refers to it.
        unsafe { pg_sys::ChangeVarNodes(copy.as_ptr(), from, to, 0) };
        copy
    }
}

/// The btree strategy of an operator that compares integers, from `BTLessStrategyNumber` to `BTGreaterStrategyNumber`;
/// None for any other operator.
pub fn integer_strategy(operator: Oid) -> Option<u32> {
    // SAFETY: a look-up in a system cache.
    let strategy = unsafe { pg_sys::get_op_opfamily_strategy(operator, pg_sys::INTEGER_BTREE_FAM_OID) };
    (strategy > 0).then_some(strategy as u32)
}

/// The operator family `float_ops` of btrees, from PostgreSQL's `catalog/pg_opfamily.dat`, which pgrx leaves out.
const FLOAT_BTREE_FAMILY: Oid = Oid::from_u32(1970);

/// The btree strategy of an operator that compares two `double precision` values, as in [`integer_strategy`].
pub fn float_strategy(operator: Oid) -> Option<u32> {
    // SAFETY: a look-up in a system cache.
    let strategy = unsafe { pg_sys::get_op_opfamily_strategy(operator, FLOAT_BTREE_FAMILY) };
    (strategy > 0).then_some(strategy as u32)
}

/// The value of an integer; None if the type is not one of PostgreSQL's integer types.
pub fn integer_value(of_type: Oid, value: pg_sys::Datum) -> Option<i64> {
    match of_type {
        pg_sys::INT2OID => Some(i64::from(value.value() as i16)),
        pg_sys::INT4OID => Some(i64::from(value.value() as i32)),
        pg_sys::INT8OID => Some(value.value() as i64),
        _ => None,
    }
}

/// The elements of a list of expressions.
///
/// # Safety
/// `list` is a valid list of valid expressions, or null.
pub unsafe fn expressions(list: *mut pg_sys::List) -> Vec<Expression> {
    // SAFETY: the caller passes a valid list of valid expressions, or null.
    unsafe { nodes(list).into_iter().filter_map(|node: *mut pg_sys::Node| Expression::new(node)).collect() }
}
