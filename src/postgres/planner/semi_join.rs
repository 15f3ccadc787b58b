//! Corrects the costs of semi-joins and anti-joins (EXISTS, NOT EXISTS), while the planner collects their paths.

use std::cell::Cell;

use pgrx::pg_sys::{self, NodeTag};
use pgrx::prelude::*;

use super::base_relation::conditions_in;
use crate::expression::Expression;
use crate::list::nodes;

thread_local! {
    static PREVIOUS_HOOK: Cell<pg_sys::set_join_pathlist_hook_type> = const { Cell::new(None) };
    static IS_COSTLY: Cell<fn(Expression) -> bool> = const { Cell::new(|_| false) };
}

/// Sets a hook that charges hash joins for all pairs of rows that they compare: in semi-joins and anti-joins with
/// a condition for which `is_costly` is true. Called once, when the library is loaded.
///
/// A hash join compares the pairs with equal keys. PostgreSQL charges it for one pair of each outer row that it returns
/// (final_cost_hashjoin in costsize.c), as if its other conditions were true for nearly all pairs.
pub fn set_semi_join_hook(is_costly: fn(Expression) -> bool) {
    IS_COSTLY.set(is_costly);
    // SAFETY: the library is loaded by one thread, and is never unloaded.
    unsafe {
        PREVIOUS_HOOK.set(pg_sys::set_join_pathlist_hook);
        pg_sys::set_join_pathlist_hook = Some(correct_join);
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn correct_join(
    root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    outer: *mut pg_sys::RelOptInfo,
    inner: *mut pg_sys::RelOptInfo,
    join_type: pg_sys::JoinType::Type,
    extra: *mut pg_sys::JoinPathExtraData,
) {
    // SAFETY: the planner passes what the hook is documented to get.
    unsafe {
        if let Some(previous) = PREVIOUS_HOOK.get() {
            pg_sys::ffi::pg_guard_ffi_boundary(|| previous(root, relation, outer, inner, join_type, extra));
        }
        if is_semi_or_anti(join_type)
            && conditions_in((*extra).restrictlist).iter().any(|condition| IS_COSTLY.get()(condition.expression))
        {
            SemiJoin { root, relation, outer, inner, join_type, extra }.charge_hash_joins();
        }
    }
}

pub(super) fn is_semi_or_anti(join_type: pg_sys::JoinType::Type) -> bool {
    [pg_sys::JoinType::JOIN_SEMI, pg_sys::JoinType::JOIN_ANTI].contains(&join_type)
}

/// A semi-join or anti-join of two relations, each of which may be a join itself.
struct SemiJoin {
    root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    outer: *mut pg_sys::RelOptInfo,
    inner: *mut pg_sys::RelOptInfo,
    join_type: pg_sys::JoinType::Type,
    extra: *mut pg_sys::JoinPathExtraData,
}

impl SemiJoin {
    /// Adds the cost of uncharged pairs to each hash join, and has PostgreSQL collect all other paths again.
    fn charge_hash_joins(&self) {
        // SAFETY: the planner is at work on this join. Its lists have valid paths, and nothing else refers to these
        // yet. The conditions are as they were before any other path of this query is planned.
        unsafe {
            let Self { root, relation, outer, inner, join_type, extra } = *self;
            let complete = self.take_hash_paths(&mut (*relation).pathlist);
            let partial = self.take_hash_paths(&mut (*relation).partial_pathlist);
            let Some(&path) = complete.iter().chain(&partial).next() else { return };
            // PostgreSQL has dropped the paths that cost more than the hash joins seemed to. So it collects the paths
            // again, but no hash joins, because the keys have no operators meanwhile.
            let keys = nodes::<pg_sys::RestrictInfo>((*path).path_hashclauses);
            let operators: Vec<_> = keys.iter().map(|key| (**key).hashjoinoperator).collect();
            keys.iter().for_each(|key| (**key).hashjoinoperator = pg_sys::InvalidOid);
            let pg_sys::JoinPathExtraData { sjinfo, restrictlist, .. } = *extra;
            pg_sys::add_paths_to_joinrel(root, relation, outer, inner, join_type, sjinfo, restrictlist);
            keys.iter().zip(operators).for_each(|(key, operator)| (**key).hashjoinoperator = operator);
            for &path in complete.iter().chain(&partial) {
                (*path).jpath.path.total_cost += self.cost_of_pairs(&*path);
            }
            complete.into_iter().for_each(|path| pg_sys::add_path(relation, path.cast()));
            partial.into_iter().for_each(|path| pg_sys::add_partial_path(relation, path.cast()));
        }
    }

    /// Removes the hash joins of the two relations from a list of paths, and returns them.
    ///
    /// # Safety
    /// The list has valid paths of the joined relation.
    unsafe fn take_hash_paths(&self, paths: &mut *mut pg_sys::List) -> Vec<*mut pg_sys::HashPath> {
        // SAFETY: the caller passes valid paths. A path with this tag is a HashPath.
        unsafe {
            let is_own = |path: &*mut pg_sys::HashPath| {
                let join = &(**path).jpath;
                join.path.type_ == NodeTag::T_HashPath
                    && join.jointype == self.join_type
                    && ((*join.outerjoinpath).parent, (*join.innerjoinpath).parent) == (self.outer, self.inner)
            };
            let own: Vec<_> = nodes(*paths).into_iter().filter(is_own).collect();
            own.iter().for_each(|path| *paths = pg_sys::list_delete_ptr(*paths, path.cast()));
            own
        }
    }

    /// The cost of comparing the pairs of rows with equal keys for which PostgreSQL has not charged the join.
    fn cost_of_pairs(&self, path: &pg_sys::HashPath) -> f64 {
        let join = &path.jpath;
        // SAFETY: the planner is at work on this join. The costs are written to the two structs.
        unsafe {
            let (left, right) = ((*self.outer).relids, (*self.inner).relids);
            let mut as_inner_join = pg_sys::SpecialJoinInfo {
                type_: NodeTag::T_SpecialJoinInfo,
                jointype: pg_sys::JoinType::JOIN_INNER,
                min_lefthand: left,
                min_righthand: right,
                syn_lefthand: left,
                syn_righthand: right,
                ..Default::default()
            };
            let join_type = as_inner_join.jointype;
            let estimate_share = |key| pg_sys::clause_selectivity(self.root, key, 0, join_type, &mut as_inner_join);
            let shares = nodes(path.path_hashclauses).into_iter().map(estimate_share);
            let rows = (*join.outerjoinpath).rows;
            let pairs = rows * path.inner_rows_total * shares.product::<f64>();
            // An outer row is compared until it matches. Like PostgreSQL, assume that its matches are spread evenly.
            let factors = (*self.extra).semifactors;
            let matched = factors.outer_match_frac.clamp(0.0, 1.0);
            let compared = pairs * (1.0 - matched + matched * (2.0 / (factors.match_count + 1.0)).min(1.0));
            let returned = if self.join_type == pg_sys::JoinType::JOIN_ANTI { 1.0 - matched } else { matched };
            let (mut all_costs, mut key_costs) = (pg_sys::QualCost::default(), pg_sys::QualCost::default());
            pg_sys::cost_qual_eval(&mut all_costs, join.joinrestrictinfo, self.root);
            pg_sys::cost_qual_eval(&mut key_costs, path.path_hashclauses, self.root);
            let cost_of_pair = pg_sys::cpu_tuple_cost + all_costs.per_tuple - key_costs.per_tuple;
            (compared - rows * returned).max(0.0) * cost_of_pair
        }
    }
}
