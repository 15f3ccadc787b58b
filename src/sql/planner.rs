//! What the planner knows while it plans a query.

use pgrx::pg_sys::{self, Oid};

use super::expression::{Column, Expression};

/// The planner at work on one query.
#[derive(Clone, Copy)]
pub struct Planner(*mut pg_sys::PlannerInfo);

/// A table in a query's FROM.
pub struct Table {
    pub oid: Oid,
    /// Whether partitions, or tables that inherit from it, are searched with it.
    pub with_inheritors: bool,
}

impl Planner {
    /// None for a null pointer, which the planner passes where it simplifies an expression outside of a query.
    ///
    /// # Safety
    /// `root` is null, or that of the running planner.
    pub unsafe fn new(root: *mut pg_sys::PlannerInfo) -> Option<Self> {
        // SAFETY: by the contract.
        unsafe { !root.is_null() && !(*root).parse.is_null() }.then_some(Self(root))
    }

    pub fn as_ptr(self) -> *mut pg_sys::PlannerInfo {
        self.0
    }

    /// The relations of this query, as indexes into its range table, whose columns an expression has.
    pub fn relations(self, expression: Expression) -> Vec<i32> {
        // SAFETY: a valid planner and expression, and a set that is made of them.
        unsafe {
            let set = pg_sys::pull_varnos(self.0, expression.as_ptr());
            let next = |last: i32| Some(pg_sys::bms_next_member(set, last)).filter(|&member| member >= 0);
            std::iter::successors(next(-1), |&last| next(last)).collect()
        }
    }

    /// The table with that index into the range table; None if this is no table.
    pub fn table(self, relation: i32) -> Option<Table> {
        // SAFETY: a query has a range table, and an index into it that a column has is valid.
        let entry = unsafe {
            let entries = (*(*self.0).parse).rtable;
            if entries.is_null() || !(1..=(*entries).length).contains(&relation) {
                return None;
            }
            &*pg_sys::list_nth(entries, relation - 1).cast::<pg_sys::RangeTblEntry>()
        };
        let is_table = entry.rtekind == pg_sys::RTEKind::RTE_RELATION
            && [pg_sys::RELKIND_RELATION, pg_sys::RELKIND_PARTITIONED_TABLE, pg_sys::RELKIND_MATVIEW]
                .contains(&(entry.relkind as u8));
        is_table.then_some(Table { oid: entry.relid, with_inheritors: entry.inh })
    }

    /// The number of rows of a relation, where the planner has come to know it.
    pub fn rows(self, relation: i32) -> f64 {
        // SAFETY: the array has as many elements as it says, each a valid relation or null.
        unsafe {
            let root = &*self.0;
            if root.simple_rel_array.is_null() || !(0..root.simple_rel_array_size).contains(&relation) {
                return 0.0;
            }
            (*root.simple_rel_array.add(relation as usize)).as_ref().map_or(0.0, |relation| relation.tuples)
        }
    }

    /// Whether a column may be NULL in some place of the query where others of its row are not: one that grouping sets
    /// leave out, above the grouping.
    pub fn may_be_grouped_away(self, column: Column) -> bool {
        // SAFETY: a query's lists of what it returns and its HAVING are valid expressions, or null.
        unsafe {
            let query = &*(*self.0).parse;
            if query.groupingSets.is_null() {
                return false;
            }
            let mut columns = std::ptr::null_mut();
            for above in [query.targetList.cast(), query.havingQual] {
                pg_sys::pull_varattnos(above, column.relation as pg_sys::Index, &mut columns);
            }
            let offset = i32::from(column.number) - pg_sys::FirstLowInvalidHeapAttributeNumber;
            pg_sys::bms_is_member(offset, columns)
        }
    }
}
