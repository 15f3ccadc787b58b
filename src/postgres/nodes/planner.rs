//! What the planner knows while it plans a query.

use pgrx::pg_sys;

use super::expression::Expression;

/// The planner at work on one query.
#[derive(Clone, Copy)]
pub struct Planner(*mut pg_sys::PlannerInfo);

impl Planner {
    /// None for a null pointer, which the planner passes when it simplifies an expression outside a query.
    ///
    /// # Safety
    /// `root` is null or points to the running planner's state.
    pub unsafe fn new(root: *mut pg_sys::PlannerInfo) -> Option<Self> {
        // SAFETY: `root` is null or points to the running planner's state.
        unsafe { !root.is_null() && !(*root).parse.is_null() }.then_some(Self(root))
    }

    /// The relations whose columns an expression refers to, as indexes into this query's range table.
    pub fn relations(self, expression: Expression) -> Vec<i32> {
        // SAFETY: the planner and the expression are valid, and pull_varnos returns a valid set.
        unsafe {
            let set = pg_sys::pull_varnos(self.0, expression.as_ptr());
            let next = |last: i32| Some(pg_sys::bms_next_member(set, last)).filter(|&member| member >= 0);
            // From PostgreSQL 16 on, the set also has the outer joins that may make a column NULL.
            let is_join = |relation: &i32| {
                entry(&*(*self.0).parse, *relation).is_some_and(|entry| entry.rtekind == pg_sys::RTEKind::RTE_JOIN)
            };
            std::iter::successors(next(-1), |&last| next(last)).filter(|relation| !is_join(relation)).collect()
        }
    }

    /// The number of rows of a relation; 0 if the planner does not know it yet.
    pub fn rows(self, relation: i32) -> f64 {
        // SAFETY: the array has `simple_rel_array_size` elements, each a valid relation or null.
        unsafe {
            let root = &*self.0;
            if root.simple_rel_array.is_null() || !(0..root.simple_rel_array_size).contains(&relation) {
                return 0.0;
            }
            (*root.simple_rel_array.add(relation as usize)).as_ref().map_or(0.0, |relation| relation.tuples)
        }
    }
}

/// An entry of a query's range table.
///
/// # Safety
/// The query is valid, and is not changed while the result is used.
unsafe fn entry(query: &pg_sys::Query, relation: i32) -> Option<&pg_sys::RangeTblEntry> {
    // SAFETY: the caller passes a valid query, whose range table is a list of such entries.
    unsafe {
        let in_range = !query.rtable.is_null() && (1..=(*query.rtable).length).contains(&relation);
        in_range.then(|| &*pg_sys::list_nth(query.rtable, relation - 1).cast::<pg_sys::RangeTblEntry>())
    }
}
