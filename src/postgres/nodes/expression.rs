//! Expression trees of PostgreSQL, as far as they are read and built here.
//!
//! The only place that follows a node's pointers: an [`Expression`] is known to be valid, so the rest of the code reads
//! and builds expressions without `unsafe`.

use std::ptr::NonNull;

use pgrx::pg_sys::{self, NodeTag, Oid};

/// A valid expression node (PostgreSQL's `nodes/primnodes.h`), in the planner's memory.
///
/// Nodes are never changed through it, apart from those that it has built or copied itself.
#[derive(Clone, Copy, Debug)]
pub struct Expression(NonNull<pg_sys::Node>);

/// A column reference: column `number` of the relation `relation` of the query's range table, `levels_up` queries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    pub relation: i32,
    pub number: i16,
    pub levels_up: u32,
}

impl Variable {
    /// Whether it is one of the columns, or a part of one that is a whole row.
    pub fn is_among(self, columns: &[Self]) -> bool {
        const WHOLE_ROW: i16 = 0;
        columns.iter().any(|other| {
            self.relation == other.relation
                && (self.number == other.number || self.number == WHOLE_ROW || other.number == WHOLE_ROW)
        })
    }
}

impl Expression {
    /// None for a null pointer.
    ///
    /// # Safety
    /// `node` points to a valid expression, or is null. It lives in a memory context that outlives all uses of the
    /// result, as that of the running planner does for what is made while it plans.
    pub unsafe fn new<T>(node: *mut T) -> Option<Self> {
        NonNull::new(node.cast()).map(Self)
    }

    /// A node that has just been made.
    ///
    /// # Safety
    /// `node` points to a valid expression, and is not null. It lives as [`Expression::new`] says.
    pub unsafe fn from_new<T>(node: *mut T) -> Self {
        // SAFETY: by the contract.
        Self(unsafe { NonNull::new_unchecked(node.cast()) })
    }

    pub fn as_ptr(self) -> *mut pg_sys::Node {
        self.0.as_ptr()
    }

    /// The node as its type; None if it is of another.
    fn of<T>(self, tag: NodeTag) -> Option<NonNull<T>> {
        // SAFETY: every node starts with its tag, which tells its type.
        (unsafe { self.0.as_ref() }.type_ == tag).then_some(self.0.cast())
    }

    /// A function call: the function and its arguments, in their order also where they are named. Those at the end that
    /// were left out are missing in expressions that the planner has not simplified.
    pub fn call(self) -> Option<(Oid, Vec<Expression>)> {
        let call = self.of::<pg_sys::FuncExpr>(NodeTag::T_FuncExpr)?;
        // SAFETY: a valid FuncExpr, whose arguments are a list of expressions; a NamedArgExpr has one.
        unsafe {
            let given = list(call.as_ref().args);
            let mut arguments = given.clone();
            for argument in given {
                if let Some(named) = argument.of::<pg_sys::NamedArgExpr>(NodeTag::T_NamedArgExpr) {
                    let place = arguments.get_mut(named.as_ref().argnumber as usize)?;
                    *place = Self::new(named.as_ref().arg)?;
                }
            }
            Some((call.as_ref().funcid, arguments))
        }
    }

    /// A column of the row that is read, not of its version before or after an update.
    pub fn column(self) -> Option<Variable> {
        #[cfg(feature = "pg18")]
        {
            let var = self.of::<pg_sys::Var>(NodeTag::T_Var)?;
            // SAFETY: a valid Var.
            if unsafe { var.as_ref() }.varreturningtype != pg_sys::VarReturningType::VAR_RETURNING_DEFAULT {
                return None;
            }
        }
        self.variable()
    }

    /// A column of any version of a row.
    fn variable(self) -> Option<Variable> {
        let var = self.of::<pg_sys::Var>(NodeTag::T_Var)?;
        // SAFETY: a valid Var.
        let var = unsafe { var.as_ref() };
        #[allow(clippy::unnecessary_cast)] // unsigned in PostgreSQL 14
        Some(Variable { relation: var.varno as i32, number: var.varattno, levels_up: var.varlevelsup })
    }

    /// The column of a stored expression, if that is nothing but a column of its table.
    pub fn as_own_column(self) -> Option<i16> {
        self.without_relabelling().column().map(|column| column.number)
    }

    /// The columns of its own query level that an expression or a query refers to, those in sub-selects too.
    pub fn columns(self) -> Vec<Variable> {
        // SAFETY: a valid node, of which a list of column references and of placeholders is made.
        let found = unsafe { list(pg_sys::pull_vars_of_level(self.as_ptr(), 0)) };
        let columns =
            found.into_iter().flat_map(|found| match found.of::<pg_sys::PlaceHolderVar>(NodeTag::T_PlaceHolderVar) {
                // SAFETY: a valid placeholder, which has an expression.
                Some(placeholder) => {
                    unsafe { Self::new(placeholder.as_ref().phexpr) }.map_or_else(Vec::new, Self::columns)
                }
                None => found.variable().into_iter().collect(),
            });
        columns.collect()
    }

    /// The columns of its table that a stored expression depends on.
    pub fn own_columns(self) -> Vec<i16> {
        const OWN: pg_sys::Index = 1;
        let (mut found, mut columns, mut member) = (std::ptr::null_mut(), Vec::new(), -1);
        // SAFETY: a valid expression; the set is made here, and null or valid.
        unsafe {
            pg_sys::pull_varattnos(self.as_ptr(), OWN, &mut found);
            loop {
                member = pg_sys::bms_next_member(found, member);
                if member < 0 {
                    return columns;
                }
                // System columns have negative numbers, so that all are counted from the lowest of these.
                columns.push((member + pg_sys::FirstLowInvalidHeapAttributeNumber) as i16);
            }
        }
    }

    /// The value of an integer constant that is not NULL.
    pub fn integer(self) -> Option<i32> {
        self.constant().filter(|(of_type, _)| *of_type == pg_sys::INT4OID).map(|(_, datum)| datum.value() as i32)
    }

    /// The value of a bigint constant that is not NULL.
    pub fn bigint(self) -> Option<i64> {
        self.constant().filter(|(of_type, _)| *of_type == pg_sys::INT8OID).map(|(_, datum)| datum.value() as i64)
    }

    /// The type and the value of a constant that is not NULL.
    pub fn constant(self) -> Option<(Oid, pg_sys::Datum)> {
        let constant = self.of::<pg_sys::Const>(NodeTag::T_Const)?;
        // SAFETY: a valid Const.
        let constant = unsafe { constant.as_ref() };
        (!constant.constisnull).then_some((constant.consttype, constant.constvalue))
    }

    /// Without the casts that change nothing but the type's name, such as that from a domain.
    pub fn without_relabelling(self) -> Self {
        let mut inner = self;
        while let Some(relabel) = inner.of::<pg_sys::RelabelType>(NodeTag::T_RelabelType) {
            // SAFETY: a valid RelabelType, which has an argument.
            match unsafe { Self::new(relabel.as_ref().arg) } {
                Some(argument) => inner = argument,
                None => break,
            }
        }
        inner
    }

    /// What the parser makes of it where a value of another type is wanted: itself, or a cast around it.
    pub fn coerced_to(self, wanted: Oid) -> Option<Self> {
        // SAFETY: a valid node; without a parser's state there are no error positions.
        unsafe {
            let coerced = pg_sys::coerce_to_target_type(
                std::ptr::null_mut(),
                self.as_ptr(),
                pg_sys::exprType(self.as_ptr()),
                wanted,
                -1,
                pg_sys::CoercionContext::COERCION_EXPLICIT,
                pg_sys::CoercionForm::COERCE_EXPLICIT_CAST,
                -1,
            );
            if !coerced.is_null() {
                pg_sys::assign_expr_collations(std::ptr::null_mut(), coerced);
            }
            Self::new(coerced)
        }
    }

    /// Whether the two are the same expression: equal in all that matters for their values.
    pub fn equals(self, other: Self) -> bool {
        // SAFETY: two valid nodes, which are only read.
        unsafe { pg_sys::equal(self.0.as_ptr().cast(), other.0.as_ptr().cast()) }
    }

    /// Whether it may give another result each time.
    pub fn is_volatile(self) -> bool {
        // SAFETY: a valid node, which is only read.
        unsafe { pg_sys::contain_volatile_functions(self.as_ptr()) }
    }

    /// Whether it is computed from more than one row, or to more than one.
    pub fn is_computed_from_groups(self) -> bool {
        // SAFETY: a valid node, which is only read.
        unsafe {
            // Not `contain_agg_clause`, which is for expressions whose sub-selects are planned.
            pg_sys::contain_aggs_of_level(self.as_ptr(), 0)
                || pg_sys::contain_window_function(self.as_ptr())
                || pg_sys::expression_returns_set(self.as_ptr())
        }
    }

    /// Whether it is NULL where a column that it is computed from is NULL.
    pub fn is_strict(self) -> bool {
        // SAFETY: a valid node, which is only read.
        unsafe { pg_sys::contain_var_clause(self.as_ptr()) && !pg_sys::contain_nonstrict_functions(self.as_ptr()) }
    }

    /// Whether it is a column that is marked, from PostgreSQL 16 on, as one that an outer join below may make NULL.
    pub fn is_marked_nullable(self) -> bool {
        #[cfg(any(feature = "pg16", feature = "pg17", feature = "pg18"))]
        if let Some(var) = self.without_relabelling().of::<pg_sys::Var>(NodeTag::T_Var) {
            // SAFETY: a valid Var.
            return unsafe { !var.as_ref().varnullingrels.is_null() };
        }
        false
    }

    /// With constant parts computed, and arguments that were left out put in.
    pub fn simplified(self, root: *mut pg_sys::PlannerInfo) -> Self {
        // SAFETY: a valid node, of which a changed copy is made; the planner accepts no root as well as one.
        unsafe { Self::new(pg_sys::eval_const_expressions(root, self.as_ptr())) }.unwrap_or(self)
    }

    pub fn copy(self) -> Self {
        // SAFETY: a valid node; its copy is one, and not null.
        unsafe { Self(NonNull::new_unchecked(pg_sys::copyObjectImpl(self.0.as_ptr().cast()).cast())) }
    }

    /// A copy in which the columns of one relation of the range table are those of another.
    pub fn moved(self, from: i32, to: i32) -> Self {
        let copy = self.copy();
        // SAFETY: a valid node, of which nobody else knows.
        unsafe { pg_sys::ChangeVarNodes(copy.as_ptr(), from, to, 0) };
        copy
    }

    /// A reference to an integer column: like this one, but for the column's number.
    pub fn sibling(self, number: i16) -> Option<Self> {
        let copy = self.copy();
        let mut var = copy.of::<pg_sys::Var>(NodeTag::T_Var)?;
        // SAFETY: a valid Var, of which nobody else knows. What remains is that of the row it stands for, for example
        // the outer joins that make it NULL.
        let var = unsafe { var.as_mut() };
        var.varattno = number;
        var.vartype = pg_sys::INT4OID;
        var.vartypmod = -1;
        var.varcollid = Oid::INVALID;
        var.varnosyn = var.varno as pg_sys::Index;
        var.varattnosyn = number;
        var.location = -1;
        Some(copy)
    }
}

/// The elements of a list of expressions.
///
/// # Safety
/// `list` is a valid list of valid expressions, or null.
pub unsafe fn list(list: *mut pg_sys::List) -> Vec<Expression> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: by the contract; `list_nth` is asked for elements that there are.
    unsafe { (0..(*list).length).filter_map(|i| Expression::new(pg_sys::list_nth(list, i))).collect() }
}

/// The elements of a list of OIDs.
///
/// # Safety
/// `list` is a valid list of OIDs, or null.
pub unsafe fn oids(list: *mut pg_sys::List) -> Vec<Oid> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: as above.
    unsafe { (0..(*list).length).map(|i| pg_sys::list_nth_oid(list, i)).collect() }
}
