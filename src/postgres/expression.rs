//! Reads and builds PostgreSQL's expression trees.
//!
//! An [`Expression`] is always valid, so its methods need no `unsafe`. Making one from a pointer or a list needs it.

use std::ffi::{CStr, CString, c_void};
use std::ptr::NonNull;

use pgrx::pg_sys::{self, NodeTag, Oid};
use pgrx::{FromDatum, IntoDatum, pg_guard};

use super::catalog::relation::Relation;
use super::catalog::types::integer_value;
use super::error::Result;
use super::ffi::guarded;
use super::json::RawJsonb;
use super::list::{members, nodes};
use super::memory::push;
use super::server_string::server_string_from_c;
use super::text::{RawText, TextArgument};

/// A valid expression node (PostgreSQL's `nodes/primnodes.h`), which lives as long as anything that is read from it.
/// Its methods never change a node, except one that they have built or copied themselves.
#[derive(Clone, Copy, Debug)]
pub struct Expression(NonNull<pg_sys::Node>);

/// The use of a binary operator: with the function that implements it, and its operands.
pub struct Operation {
    pub operator: Oid,
    pub function: Oid,
    pub operands: [Expression; 2],
}

/// The varno of a table's columns in its stored expressions, such as index keys and generation expressions.
pub const OWN_VARNO: i32 = 1;

/// A type of expression node, with the tag by which PostgreSQL recognises it.
pub(crate) trait ExpressionNode {
    const TAG: NodeTag;
}

macro_rules! expression_nodes {
    ($($node:ident: $tag:ident,)*) => {
        $(impl ExpressionNode for pg_sys::$node {
            const TAG: NodeTag = NodeTag::$tag;
        })*
    };
}

expression_nodes! {
    BoolExpr: T_BoolExpr, BooleanTest: T_BooleanTest, CaseExpr: T_CaseExpr, CoalesceExpr: T_CoalesceExpr,
    CoerceViaIO: T_CoerceViaIO, CollateExpr: T_CollateExpr, Const: T_Const, FieldSelect: T_FieldSelect,
    FuncExpr: T_FuncExpr, NamedArgExpr: T_NamedArgExpr, NullTest: T_NullTest, OpExpr: T_OpExpr,
    RelabelType: T_RelabelType, SQLValueFunction: T_SQLValueFunction, ScalarArrayOpExpr: T_ScalarArrayOpExpr,
    Var: T_Var, WindowFunc: T_WindowFunc,
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

    /// Makes a constant; None for NULL.
    pub fn constant_from<T: IntoDatum>(value: T) -> Option<Self> {
        let (data_type, mut length, mut is_by_value) = (T::type_oid(), 0, false);
        let datum = value.into_datum()?;
        // SAFETY: the datum is of this type.
        unsafe {
            pg_sys::get_typlenbyval(data_type, &mut length, &mut is_by_value);
            Self::new(pg_sys::makeConst(data_type, -1, Oid::INVALID, length.into(), datum, false, is_by_value))
        }
    }

    pub fn as_ptr(self) -> *mut pg_sys::Node {
        self.0.as_ptr()
    }

    pub(crate) fn tag(self) -> NodeTag {
        // SAFETY: every node begins with the tag of its type.
        unsafe { self.0.as_ref().type_ }
    }

    /// The node, if it is of this type.
    pub(crate) fn node<'a, T: ExpressionNode>(self) -> Option<&'a T> {
        // SAFETY: the node has the tag of this type, and an expression outlives all its uses.
        (self.tag() == T::TAG).then(|| unsafe { self.0.cast().as_ref() })
    }

    /// The function and the arguments of a function call, in declared order even if they are named. Omitted arguments
    /// at the end are missing until the planner has simplified the expression.
    pub fn call(self) -> Option<(Oid, Vec<Expression>)> {
        let call = self.node::<pg_sys::FuncExpr>()?;
        // SAFETY: a call has a list of expressions, or null.
        let as_written = unsafe { expressions(call.args) };
        let mut arguments = as_written.clone();
        for named in as_written.into_iter().filter_map(Self::node::<pg_sys::NamedArgExpr>) {
            // SAFETY: a named argument has an expression.
            *arguments.get_mut(named.argnumber as usize)? = unsafe { Self::new(named.arg)? };
        }
        Some((call.funcid, arguments))
    }

    /// The function and the arguments of a call of a window function, which the planner has simplified.
    pub fn window_call(self) -> Option<(Oid, Vec<Expression>)> {
        let call = self.node::<pg_sys::WindowFunc>()?;
        // SAFETY: a call has a list of expressions, or null.
        Some((call.winfnoid, unsafe { expressions(call.args) }))
    }

    /// A binary operator, with its function and operands; None for any other node.
    pub fn operation(self) -> Option<Operation> {
        let operation = self.node::<pg_sys::OpExpr>()?;
        // SAFETY: an operator has a list of expressions. get_opcode looks up a system cache.
        let (operands, function) = unsafe { (expressions(operation.args), pg_sys::get_opcode(operation.opno)) };
        Some(Operation { operator: operation.opno, function, operands: operands.try_into().ok()? })
    }

    /// The function and the arguments of a function call or of a binary operator.
    pub fn applied(self) -> Option<(Oid, Vec<Expression>)> {
        self.call().or_else(|| self.operation().map(|operation| (operation.function, operation.operands.to_vec())))
    }

    /// The expressions of which one is the value: arguments of COALESCE, results of CASE, or else this expression.
    pub fn outcomes(self) -> Vec<Expression> {
        let inner = self.without_relabelling();
        // SAFETY: COALESCE has a list of expressions; CASE has a list of CaseWhen nodes with results, and a default.
        let alternatives = unsafe {
            if let Some(coalesce) = inner.node::<pg_sys::CoalesceExpr>() {
                expressions(coalesce.args)
            } else if let Some(case) = inner.node::<pg_sys::CaseExpr>() {
                let results = nodes::<pg_sys::CaseWhen>(case.args).into_iter().map(|when| (*when).result);
                results.chain([case.defresult]).filter_map(|result| Self::new(result)).collect()
            } else {
                return vec![inner];
            }
        };
        alternatives.into_iter().flat_map(Self::outcomes).collect()
    }

    /// The expressions of the tree, each before those within it.
    pub fn parts(self) -> Vec<Expression> {
        let (mut parts, mut rest) = (Vec::new(), vec![self]);
        // A loop: recursion through PostgreSQL's walkers would take more stack than the rest of a query.
        while let Some(part) = rest.pop() {
            // Lists, and WHEN of CASE, have parts but are not expressions.
            if !matches!(part.tag(), NodeTag::T_List | NodeTag::T_CaseWhen) {
                push(&mut parts, part);
            }
            let first = rest.len();
            // SAFETY: the node is valid, and the argument is what `add_part` takes.
            unsafe {
                guarded(|| pg_sys::expression_tree_walker(part.as_ptr(), Some(add_part), (&raw mut rest).cast()))
            };
            rest[first..].reverse();
        }
        parts
    }

    /// The functions that this node itself calls, not those that its operands call.
    pub(crate) fn functions(self) -> Vec<Oid> {
        let mut functions: Vec<Oid> = Vec::new();
        // SAFETY: the node is valid, and the argument is what `add_function` takes.
        unsafe { pg_sys::check_functions_in_node(self.as_ptr(), Some(add_function), (&raw mut functions).cast()) };
        functions
    }

    /// The operator that this node applies to scalars; None for any other node.
    pub(crate) fn operator(self) -> Option<Oid> {
        match self.tag() {
            // SAFETY: nodes with these tags are of the type OpExpr.
            NodeTag::T_OpExpr | NodeTag::T_DistinctExpr | NodeTag::T_NullIfExpr => unsafe {
                Some((*self.as_ptr().cast::<pg_sys::OpExpr>()).opno)
            },
            _ => self.node::<pg_sys::ScalarArrayOpExpr>().map(|node| node.opno),
        }
    }

    pub fn value_type(self) -> Oid {
        // SAFETY: the node is valid.
        unsafe { pg_sys::exprType(self.as_ptr()) }
    }

    /// As [`Self::value_type`]; None for a node without a value, such as ERROR ON ERROR in JSON_VALUE.
    pub(crate) fn any_value_type(self) -> Option<Oid> {
        Some(self.value_type()).filter(|data_type| *data_type != Oid::INVALID)
    }

    /// The collation that an operator or a function call uses; the invalid OID if it has none.
    pub fn input_collation(self) -> Oid {
        // SAFETY: the node is valid.
        unsafe { pg_sys::exprInputCollation(self.as_ptr()) }
    }

    /// The relation of whose row type this node selects a field; None for any other node, and for ROW().
    pub fn composite(self) -> Option<Oid> {
        let selection = self.node::<pg_sys::FieldSelect>()?;
        // SAFETY: the node has an argument. typeOrDomainTypeRelid looks up a system cache.
        let relation = unsafe { pg_sys::typeOrDomainTypeRelid(pg_sys::exprType(selection.arg.cast())) };
        (relation != Oid::INVALID).then_some(relation)
    }

    pub fn is_parameter(self) -> bool {
        self.tag() == NodeTag::T_Param
    }

    /// The column that this refers to; None for any other node, and for OLD and NEW in RETURNING.
    pub fn column<'a>(self) -> Option<&'a pg_sys::Var> {
        let column = self.node::<pg_sys::Var>()?;
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        if column.varreturningtype != pg_sys::VarReturningType::VAR_RETURNING_DEFAULT {
            return None;
        }
        Some(column)
    }

    /// The attnum, if the expression is a column of its table, perhaps within binary-compatible casts.
    pub fn as_own_column(self) -> Option<i16> {
        self.without_relabelling().column().map(|column| column.varattno)
    }

    /// The attnums of the columns of its table that a stored expression refers to.
    pub fn own_columns(self) -> Vec<i16> {
        let mut set = std::ptr::null_mut();
        // SAFETY: the expression is valid; the set is made here, and is null or valid.
        let numbers = unsafe {
            pg_sys::pull_varattnos(self.as_ptr(), OWN_VARNO as pg_sys::Index, &mut set);
            members(set)
        };
        // The set counts from the lowest system column, whose attnum is negative.
        numbers.map(|number| (number + pg_sys::FirstLowInvalidHeapAttributeNumber) as i16).collect()
    }

    /// The type and the value of a constant that is not NULL.
    pub fn constant(self) -> Option<(Oid, pg_sys::Datum)> {
        let constant = self.node::<pg_sys::Const>()?;
        (!constant.constisnull).then_some((constant.consttype, constant.constvalue))
    }

    /// The value of a constant of this type that is not NULL.
    ///
    /// # Safety
    /// `T` reads values of the type.
    unsafe fn value_of<T: FromDatum>(self, data_type: Oid) -> Option<T> {
        let (_, value) = self.constant().filter(|(own_type, _)| *own_type == data_type)?;
        // SAFETY: the constant is of a type that `T` reads, and lives as long as the expression.
        unsafe { T::from_polymorphic_datum(value, false, data_type) }
    }

    /// The value of a constant of the type `T` that is not NULL.
    pub fn value<T: FromDatum + IntoDatum>(self) -> Option<T> {
        // SAFETY: `T` says that it is of this type.
        unsafe { self.value_of(T::type_oid()) }
    }

    /// The content of a constant of type `jsonb` that is not NULL.
    pub fn jsonb<'a>(self) -> Option<RawJsonb<'a>> {
        // SAFETY: `RawJsonb` reads `jsonb`.
        unsafe { self.value_of(pg_sys::JSONBOID) }
    }

    /// The bytes of a constant of type `text` that is not NULL.
    pub fn text<'a>(self) -> Option<RawText<'a>> {
        // SAFETY: `RawText` reads `text`.
        unsafe { self.value_of(pg_sys::TEXTOID) }
    }

    /// A constant of type `text` that is not NULL, as an argument of a function.
    pub fn text_argument<'a>(self) -> Option<TextArgument<'a>> {
        // SAFETY: `TextArgument` reads `text`.
        unsafe { self.value_of(pg_sys::TEXTOID) }
    }

    /// The value of a constant integer of any type that is not NULL.
    pub fn any_integer(self) -> Option<i64> {
        self.constant().and_then(|(data_type, value)| integer_value(data_type, value))
    }

    /// The length in bits of an expression of type `bit`, by its type or, for a constant, by its value; None if it is
    /// unknown, or if the type is another one.
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
            let base_type = pg_sys::getBaseTypeAndTypmod(pg_sys::exprType(inner.as_ptr()), &mut modifier);
            (base_type == pg_sys::BITOID && modifier >= 0).then_some(modifier)
        }
    }

    /// The expression as SQL. The columns of its table are qualified with an alias, if one is given. Other names are
    /// qualified by their schemas unless the current search path finds them.
    pub fn to_sql(self, table: &Relation, alias: Option<&CStr>) -> Result<String> {
        // SAFETY: the expression refers to columns of the open table, with varno 1. The result is NUL-terminated.
        unsafe {
            let context = pg_sys::deparse_context_for(alias.unwrap_or_default().as_ptr(), table.oid());
            server_string_from_c(pg_sys::deparse_expression(self.as_ptr(), context, alias.is_some(), false))
        }
    }

    /// The argument, if this is a cast by the output function of one type and the input function of another.
    pub fn argument_of_io_cast(self) -> Option<Self> {
        // SAFETY: a cast has an argument.
        unsafe { Self::new(self.node::<pg_sys::CoerceViaIO>()?.arg) }
    }

    /// The expression without outer casts between binary-compatible types, such as a cast from a domain.
    pub fn without_relabelling(self) -> Self {
        let mut inner = self;
        // SAFETY: a RelabelType has an argument.
        while let Some(argument) = inner.node::<pg_sys::RelabelType>().and_then(|cast| unsafe { Self::new(cast.arg) }) {
            inner = argument;
        }
        inner
    }

    /// The expression with the explicit cast that converts it to another type, as the parser adds it. The expression
    /// itself if it is of this type. None if this cast does not exist.
    pub fn coerced_to(self, target_type: Oid) -> Option<Self> {
        self.cast(target_type, -1, pg_sys::CoercionContext::COERCION_EXPLICIT)
    }

    /// The expression with the cast of an assignment to a column of this type and type modifier; None if there is none.
    pub fn assigned_to(self, target_type: Oid, modifier: i32) -> Option<Self> {
        self.cast(target_type, modifier, pg_sys::CoercionContext::COERCION_ASSIGNMENT)
    }

    /// The expression with the implicit cast for an argument of this type; None if there is none.
    pub fn implicitly_coerced_to(self, target_type: Oid) -> Option<Self> {
        self.cast(target_type, -1, pg_sys::CoercionContext::COERCION_IMPLICIT)
    }

    fn cast(self, target_type: Oid, modifier: i32, context: pg_sys::CoercionContext::Type) -> Option<Self> {
        // SAFETY: the node is valid; with a null parser state, only error positions are missing.
        unsafe {
            let coerced = pg_sys::coerce_to_target_type(
                std::ptr::null_mut(),
                self.as_ptr(),
                pg_sys::exprType(self.as_ptr()),
                target_type,
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

    /// Whether both are the same node, at one address.
    pub fn is_same_node(self, other: Self) -> bool {
        self.0 == other.0
    }

    /// Whether two expressions are equal in everything that affects their values.
    pub fn equals(self, other: Self) -> bool {
        // SAFETY: both nodes are valid, and are only read.
        unsafe { pg_sys::equal(self.0.as_ptr().cast(), other.0.as_ptr().cast()) }
    }

    pub fn is_volatile(self) -> bool {
        // SAFETY: the node is valid, and is only read.
        unsafe { pg_sys::contain_volatile_functions(self.as_ptr()) }
    }

    /// Whether the expression has an aggregate, a window function or a function that returns a set, so that no scan can
    /// evaluate it for a row.
    pub fn is_of_several_rows(self) -> bool {
        // SAFETY: the node is valid, and is only read.
        unsafe {
            pg_sys::contain_agg_clause(self.as_ptr())
                || pg_sys::contain_window_function(self.as_ptr())
                || pg_sys::expression_returns_set(self.as_ptr())
        }
    }

    /// Whether the expression calls a function that is not immutable, so that PostgreSQL refuses it as a key of an
    /// index. Folds constants first, which runs immutable functions.
    pub fn is_mutable(self) -> bool {
        // SAFETY: the node is valid, and is only read.
        unsafe { pg_sys::contain_mutable_functions(self.with_folded_constants().as_ptr()) }
    }

    /// The expression with its value in place of each part that is an immutable function of constants.
    pub fn with_folded_constants(self) -> Self {
        // SAFETY: the node is valid; the result is a new expression, or the same.
        unsafe { Self::new(pg_sys::eval_const_expressions(std::ptr::null_mut(), self.as_ptr())) }.unwrap_or(self)
    }

    /// The expression with other expressions in place of some columns of its table, which are given by attnum. An
    /// expression that has the whole row stays as it is.
    pub fn with_columns_replaced(self, replacements: impl Iterator<Item = (i16, Self)>) -> Self {
        // Column 0 is the whole row.
        if self.own_columns().contains(&0) {
            return self;
        }
        // A column without a replacement stays as it is: its varno changes to itself.
        let unmatched = pg_sys::ReplaceVarsNoMatchOption::REPLACEVARS_CHANGE_VARNO;
        // SAFETY: the list is made here, of valid expressions. Without the whole row, no range table entry is needed.
        unsafe {
            let mut targets = std::ptr::null_mut();
            for (attnum, replacement) in replacements {
                let target = pg_sys::makeTargetEntry(replacement.as_ptr().cast(), attnum, std::ptr::null_mut(), false);
                targets = pg_sys::lappend(targets, target.cast());
            }
            let (node, no_entry, no_link) = (self.as_ptr(), std::ptr::null_mut(), std::ptr::null_mut());
            #[cfg(not(any(feature = "pg18", feature = "pg19")))]
            let replaced =
                pg_sys::ReplaceVarsFromTargetList(node, OWN_VARNO, 0, no_entry, targets, unmatched, OWN_VARNO, no_link);
            #[cfg(any(feature = "pg18", feature = "pg19"))]
            let replaced = pg_sys::ReplaceVarsFromTargetList(
                node, OWN_VARNO, 0, no_entry, targets, 0, unmatched, OWN_VARNO, no_link,
            );
            Self::new(replaced).unwrap_or(self)
        }
    }

    /// A copy of a query's expression with the columns of the table at `relid` as a stored expression has them.
    pub fn as_stored(self, relid: i32) -> Self {
        self.with_varno(relid, OWN_VARNO)
    }

    /// A copy of a stored expression for a query, in whose range table its table is at `relid`.
    pub fn in_query(self, relid: i32) -> Self {
        self.with_varno(OWN_VARNO, relid)
    }

    /// A copy in which the columns with one varno have another one.
    fn with_varno(self, old: i32, new: i32) -> Self {
        // SAFETY: the node is valid. Its copy is valid too and not null, and nothing else refers to it.
        unsafe {
            let copy: *mut pg_sys::Node = pg_sys::copyObjectImpl(self.0.as_ptr().cast()).cast();
            pg_sys::ChangeVarNodes(copy, old, new, 0);
            Self(NonNull::new_unchecked(copy))
        }
    }
}

/// A walker of PostgreSQL: adds a node to the vector `parts`, and does not look into it.
#[pg_guard]
unsafe extern "C-unwind" fn add_part(node: *mut pg_sys::Node, parts: *mut c_void) -> bool {
    // SAFETY: PostgreSQL passes a valid node, or null, and the argument of `Expression::parts`.
    unsafe {
        if let Some(part) = Expression::new(node) {
            push(&mut *parts.cast::<Vec<Expression>>(), part);
        }
    }
    false
}

#[pg_guard]
unsafe extern "C-unwind" fn add_function(function: Oid, functions: *mut c_void) -> bool {
    // SAFETY: the argument of `Expression::functions`.
    push(unsafe { &mut *functions.cast::<Vec<Oid>>() }, function);
    false
}

/// An expression as the text in which PostgreSQL stores it, so that no memory context has to live as long.
pub struct StoredExpression(CString);

impl StoredExpression {
    pub fn new(expression: Expression) -> Self {
        // SAFETY: the node is valid. The result is NUL-terminated, and copied at once.
        Self(unsafe { CStr::from_ptr(pg_sys::nodeToString(expression.as_ptr().cast())) }.to_owned())
    }

    /// Makes the expression, in the current memory context.
    pub fn read(&self) -> Expression {
        // SAFETY: PostgreSQL has written the string, so it reads it as a valid expression, which is not null.
        unsafe { Expression(NonNull::new_unchecked(pg_sys::stringToNode(self.0.as_ptr()).cast())) }
    }
}

/// The elements of a list of expressions.
///
/// # Safety
/// `list` is a valid list of valid expressions, or null.
pub unsafe fn expressions(list: *mut pg_sys::List) -> Vec<Expression> {
    unsafe { nodes(list).into_iter().filter_map(|node: *mut pg_sys::Node| Expression::new(node)).collect() }
}
