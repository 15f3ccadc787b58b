//! What the planner knows while it plans a query.

use std::ffi::c_void;

use pgrx::pg_guard;
use pgrx::pg_sys::{self, NodeTag, Oid};

use super::expression::{Expression, Variable};
use crate::postgres::ffi::{expression_tree_walker, query_tree_walker};

/// The planner at work on one query.
#[derive(Clone, Copy)]
pub struct Planner(*mut pg_sys::PlannerInfo);

/// A table in a query's FROM.
pub struct Table {
    pub oid: Oid,
    /// Whether the query searches its partitions or inheritors too.
    pub with_inheritors: bool,
}

impl Planner {
    /// None for a null pointer, which the planner passes when it simplifies an expression outside a query.
    ///
    /// # Safety
    /// `root` is null or points to the running planner's state.
    pub unsafe fn new(root: *mut pg_sys::PlannerInfo) -> Option<Self> {
        // SAFETY: `root` is null or points to the running planner's state.
        unsafe { !root.is_null() && !(*root).parse.is_null() }.then_some(Self(root))
    }

    /// An expression with constant parts evaluated and omitted arguments filled in.
    pub fn simplify(self, expression: Expression) -> Expression {
        // SAFETY: the expression is valid, and a changed copy of it is made; the planner is the running one.
        unsafe { Expression::new(pg_sys::eval_const_expressions(self.0, expression.as_ptr())) }.unwrap_or(expression)
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

    /// The table at this index of the range table; None if the entry is not a table.
    pub fn table(self, relation: i32) -> Option<Table> {
        // SAFETY: the planner's query is valid, and does not change while the entry is read.
        let entry = unsafe { entry(&*(*self.0).parse, relation) }?;
        let is_table = entry.rtekind == pg_sys::RTEKind::RTE_RELATION
            && [pg_sys::RELKIND_RELATION, pg_sys::RELKIND_PARTITIONED_TABLE, pg_sys::RELKIND_MATVIEW]
                .contains(&(entry.relkind as u8));
        is_table.then_some(Table { oid: entry.relid, with_inheritors: entry.inh })
    }

    /// Whether a condition on a fingerprint, computed from one table of this query, is a condition on the rows that are
    /// read.
    ///
    /// The planner also simplifies expressions of other queries than the one it is planning. Their column references
    /// number the tables of their own query, and must not be taken for columns of this query.
    pub fn searches(self, relation: i32, table: &Table, fingerprint: Expression) -> bool {
        // SAFETY: the planner and its query are valid.
        unsafe {
            let (root, query) = (&*self.0, &*(*self.0).parse);
            if !root.simple_rel_array.is_null() {
                // The query's own conditions have already been simplified. EXISTS sub-selects in placeholders may still
                // come (`preprocess_phv_expression` in PostgreSQL's planner.c), but not once equivalences are known.
                // After that come conditions that are passed on to partitions and the like; but also CHECK constraints
                // (`get_relation_constraints` in plancat.c), which give their table number 1, a number that no
                // partition ever has.
                let in_range = !root.append_rel_array.is_null() && (0..root.simple_rel_array_size).contains(&relation);
                let is_part = in_range && !(*root.append_rel_array.add(relation as usize)).is_null();
                return is_part && root.ec_merging_done;
            }
            // An INSERT reads no rows of its target, and its ON CONFLICT must match an index as it is written.
            if query.commandType == pg_sys::CmdType::CMD_INSERT {
                let excluded = query.onConflict.as_ref().map(|clause| clause.exclRelIndex);
                if relation == query.resultRelation || Some(relation) == excluded {
                    return false;
                }
            }
            // The WHERE of an EXISTS sub-select is simplified as if it belonged to this query (`convert_EXISTS_to_ANY`
            // in PostgreSQL's subselect.c). The sub-select is then still in the query or, if an arm of UNION ALL
            // returns it, in the expressions that stand for the arm's columns.
            let mut sought = Sought { relation, table, columns: fingerprint.columns() };
            let sought = (&raw mut sought).cast();
            !(query_tree_walker(root.parse, has_exists_with, sought)
                || expression_tree_walker(root.append_rel_list.cast(), has_exists_with, sought))
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

    /// Whether the query has grouping sets that may leave out the expression or a column that it is computed from:
    /// above them, that is NULL while other columns of the same row are not.
    pub fn may_be_grouped_away(self, expression: Expression) -> bool {
        // SAFETY: the query's target list and HAVING are valid expressions, or null.
        unsafe {
            let query = &*(*self.0).parse;
            if query.groupingSets.is_null() {
                return false;
            }
            let columns = expression.columns();
            let above = [query.targetList.cast(), query.havingQual].map(|above| Expression::new(above));
            let above: Vec<_> = above.into_iter().flatten().flat_map(Expression::columns).collect();
            // A column of a join stands for a column of one of the joined tables, perhaps converted.
            let is_of_join = |column: &Variable| {
                entry(query, column.relation).is_some_and(|entry| entry.rtekind == pg_sys::RTEKind::RTE_JOIN)
            };
            above.iter().any(is_of_join) || columns.iter().any(|column| column.is_among(&above))
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

/// The columns of a table, which is number `relation` in the range table.
struct Sought<'a> {
    relation: i32,
    table: &'a Table,
    columns: Vec<Variable>,
}

/// Whether an expression has an EXISTS sub-select that reads, under the same numbers, columns of another table.
#[pg_guard]
unsafe extern "C-unwind" fn has_exists_with(node: *mut pg_sys::Node, sought: *mut c_void) -> bool {
    // SAFETY: PostgreSQL walks a valid tree, and passes on the context that it was given.
    unsafe {
        match node.as_ref().map(|node| node.type_) {
            None | Some(NodeTag::T_Query) => false,
            Some(NodeTag::T_SubLink)
                if (*node.cast::<pg_sys::SubLink>()).subLinkType == pg_sys::SubLinkType::EXISTS_SUBLINK =>
            {
                let query = (*node.cast::<pg_sys::SubLink>()).subselect;
                let sought = &*sought.cast::<Sought>();
                // If the number stands for the same table, its columns mean the same.
                let same = entry(&*query.cast(), sought.relation).is_some_and(|entry| {
                    entry.rtekind == pg_sys::RTEKind::RTE_RELATION
                        && (entry.relid, entry.inh) == (sought.table.oid, sought.table.with_inheritors)
                });
                let of_query = Expression::new(query).map_or_else(Vec::new, Expression::columns);
                !same && sought.columns.iter().any(|column| column.is_among(&of_query))
            }
            _ => expression_tree_walker(node, has_exists_with, sought),
        }
    }
}
