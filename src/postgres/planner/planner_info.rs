//! The query that the planner is planning, and its estimates for expressions in it.

use pgrx::pg_sys::{self, Oid, VariableStatData};

use crate::expression::Expression;
use crate::list::members;

/// The state of the running planner for a query, or for a subquery that it plans separately.
#[derive(Clone, Copy)]
pub struct Planner(pub(super) *mut pg_sys::PlannerInfo);

/// Statistics of ANALYZE on an integer column, or on an indexed expression.
#[derive(Default)]
pub struct CommonValues {
    /// The most common values, each with its share of the rows.
    pub values: Vec<(i64, f64)>,
    /// The share of the rows that are NULL.
    pub null_share: f64,
}

/// What an expression is compared with.
#[derive(Clone, Copy)]
pub enum Compared {
    Constant(i32),
    /// A value that is not known when the query is planned.
    Unknown,
    /// The same expression in another row.
    InOtherRow,
}

impl Planner {
    /// The running planner; None for a null pointer, or without a query: PostgreSQL simplifies other expressions too.
    ///
    /// # Safety
    /// `root` is null or points to the running planner's state.
    pub unsafe fn new(root: *mut pg_sys::PlannerInfo) -> Option<Self> {
        unsafe { !root.is_null() && !(*root).parse.is_null() }.then_some(Self(root))
    }

    /// The only table whose columns an expression refers to: its index in the range table, and its OID. None if the
    /// expression refers to several relations, to none, or to a relation that is not a table.
    pub fn table_of(self, expression: Expression) -> Option<(i32, Oid)> {
        // SAFETY: the planner and the expression are valid. The range table has an entry for each relation of the set.
        unsafe {
            let mut relids = members(pg_sys::pull_varnos(self.0, expression.as_ptr()));
            let (relid, None) = (relids.next()?, relids.next()) else { return None };
            let entry = &*pg_sys::list_nth((*(*self.0).parse).rtable, relid - 1).cast::<pg_sys::RangeTblEntry>();
            (entry.rtekind == pg_sys::RTEKind::RTE_RELATION).then_some((relid, entry.relid))
        }
    }

    /// The number of rows of the largest relation whose columns the expressions refer to; at least 1.
    pub fn rows_of_largest(self, expressions: [Expression; 2]) -> f64 {
        let relids = expressions.into_iter().flat_map(|expression| {
            // SAFETY: the planner and the expression are valid, and pull_varnos returns a valid set.
            unsafe { members(pg_sys::pull_varnos(self.0, expression.as_ptr())) }
        });
        let relations = relids.filter_map(|relid| self.relation(relid));
        relations.map(|relation| relation.tuples).fold(1.0, f64::max)
    }

    /// The share of rows for which an expression is not NULL, as the planner estimates it.
    pub fn share_not_null(self, expression: Expression) -> f64 {
        let (inner, no_join) = (pg_sys::JoinType::JOIN_INNER, std::ptr::null_mut());
        let is_null = pg_sys::NullTestType::IS_NULL;
        // SAFETY: the planner and the expression are valid.
        1.0 - unsafe { pg_sys::nulltestsel(self.0, is_null, expression.as_ptr(), 0, inner, no_join) }
    }

    /// The relation at this index in the range table; None if the planner has not described it yet, or if it is a join.
    pub(super) fn relation<'a>(self, relid: i32) -> Option<&'a pg_sys::RelOptInfo> {
        // SAFETY: the array has this size. Its relations live as long as the planner is at work on the query.
        unsafe {
            let root = &*self.0;
            if root.simple_rel_array.is_null() || !(0..root.simple_rel_array_size).contains(&relid) {
                return None;
            }
            (*root.simple_rel_array.add(relid as usize)).as_ref()
        }
    }

    /// The value of an expression as a constant. Uses the values of parameters that the planner knows. None if the
    /// value depends on a row, or is otherwise unknown.
    pub fn known_value(self, expression: Expression) -> Option<Expression> {
        // SAFETY: the planner and the expression are valid; the result is a new expression.
        let value = unsafe {
            if pg_sys::contain_var_clause(expression.as_ptr()) {
                return None;
            }
            Expression::new(pg_sys::estimate_expression_value(self.0, expression.as_ptr()))?.without_relabelling()
        };
        value.constant().map(|_| value)
    }

    /// The share of rows for which an `integer` expression of one relation's columns has a value, as the planner
    /// estimates it from the statistics of ANALYZE. None without statistics.
    pub fn share_equal(self, expression: Expression, value: Compared) -> Option<f64> {
        let (equality, no_collation) = (pg_sys::Int4EqualOperator.into(), pg_sys::InvalidOid);
        // PostgreSQL ignores which expression the unknown value is.
        let unknown = expression.as_ptr();
        // SAFETY: the variable has statistics, and the operator compares integers.
        self.with_statistics(expression, |variable| unsafe {
            match value {
                Compared::Constant(value) => {
                    pg_sys::var_eq_const(variable, equality, no_collation, value.into(), false, true, false)
                }
                Compared::Unknown => pg_sys::var_eq_non_const(variable, equality, no_collation, unknown, true, false),
                Compared::InOtherRow => share_equal_to_row(variable),
            }
        })
    }

    /// The most common values of a `bigint` expression of one relation's columns, if they are known. Only leakproof
    /// code may compare them, because the current role may lack the right to read them.
    pub fn common_values(self, expression: Expression) -> CommonValues {
        // SAFETY: the variable has statistics.
        let read_values = |variable: &mut VariableStatData| unsafe { read_common_values(variable) };
        let (data_type, common) = self.with_statistics(expression, read_values).unwrap_or_default();
        let values = if data_type == pg_sys::INT8OID { common.values } else { Vec::new() };
        CommonValues { values, ..common }
    }

    /// Calls `read` with the statistics of ANALYZE for an expression of one relation's columns; None if there are none.
    fn with_statistics<T>(self, expression: Expression, read: impl FnOnce(&mut VariableStatData) -> T) -> Option<T> {
        let mut variable = VariableStatData::default();
        // SAFETY: examine_variable fills in `variable`, whose row of pg_statistic is held until it is released.
        unsafe {
            pg_sys::examine_variable(self.0, expression.as_ptr(), 0, &mut variable);
            let result = (!variable.statsTuple.is_null()).then(|| read(&mut variable));
            if let (Some(_), Some(release)) = (&result, variable.freefunc) {
                release(variable.statsTuple);
            }
            result
        }
    }
}

/// The share of the pairs of rows that have the same value of a variable.
///
/// # Safety
/// examine_variable has filled in `variable`, which has statistics.
unsafe fn share_equal_to_row(variable: &mut VariableStatData) -> f64 {
    let mut is_default = false;
    let (mut distinct, (_, common)) =
        unsafe { (pg_sys::get_variable_numdistinct(variable, &mut is_default), read_common_values(variable)) };
    let (mut rest, mut equal) = (1.0 - common.null_share, 0.0);
    for (_, share) in common.values {
        (rest, equal, distinct) = (rest - share, equal + share * share, distinct - 1.0);
    }
    // All values that are not common count as equally frequent, as in PostgreSQL's eqjoinsel.
    equal + rest.max(0.0) * rest.max(0.0) / distinct.max(1.0)
}

/// The type and the most common values of a variable, or the invalid OID if none are known. The values are meaningless
/// unless the type is a `bigint`.
///
/// # Safety
/// examine_variable has filled in `variable`, which has statistics.
unsafe fn read_common_values(variable: &VariableStatData) -> (Oid, CommonValues) {
    const FLAGS: u32 = pg_sys::ATTSTATSSLOT_VALUES | pg_sys::ATTSTATSSLOT_NUMBERS;
    let (mut slot, kind) = (pg_sys::AttStatsSlot::default(), pg_sys::STATISTIC_KIND_MCV as i32);
    // SAFETY: get_attstatsslot fills in `slot` with arrays of these lengths, or with zeros.
    unsafe {
        let statistics = pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_statistic>(variable.statsTuple);
        pg_sys::get_attstatsslot(&mut slot, variable.statsTuple, kind, pg_sys::InvalidOid, FLAGS as i32);
        let value_and_share = |index| ((*slot.values.add(index)).value() as i64, f64::from(*slot.numbers.add(index)));
        let values = (0..slot.nvalues.min(slot.nnumbers) as usize).map(value_and_share).collect();
        pg_sys::free_attstatsslot(&mut slot);
        (slot.valuetype, CommonValues { values, null_share: f64::from((*statistics).stanullfrac) })
    }
}
