//! Corrects the planner's estimates of the rows of a relation that fulfil the query's conditions.
//!
//! An extension cannot replace the estimator of an operator such as `<=`. But before the planner plans joins, the
//! extension can correct the numbers of rows that the planner has computed with this estimator.

use pgrx::pg_sys;

use super::base_relation::{BaseRelation, Condition};
use super::semi_join::is_semi_or_anti;
use crate::list::nodes;

/// A corrected estimate of a condition.
pub struct ConditionEstimate {
    pub condition: Condition,
    /// The share of the rows, or of the pairs of rows in a join, that fulfil the condition.
    pub share: f64,
    /// In a semi-join or anti-join, the share of the outer rows for which some row fulfils it.
    pub share_of_outer: f64,
}

impl BaseRelation {
    /// Gives the planner these estimates, and what follows from them: the rows of the relation, and of each path.
    pub fn apply_estimates(&self, estimates: &[ConditionEstimate]) {
        estimates.iter().for_each(|estimate| self.set_share(estimate));
        // It has members: the partitions or inheritors of a table, or the parts of a UNION ALL.
        if self.range_table_entry().inh {
            self.sum_rows();
        }
        if !self.is_table() {
            return;
        }
        // SAFETY: the planner is at work. A path without parameters returns the relation's rows, or a worker's part.
        unsafe {
            let before = (*self.relation).rows;
            pg_sys::set_baserel_size_estimates(self.root, self.relation);
            let rows_ratio = (*self.relation).rows / before;
            for parameters in nodes::<pg_sys::ParamPathInfo>((*self.relation).ppilist) {
                // PostgreSQL would estimate these join conditions by their operators, so it does not get them.
                let (mut others, mut share) = (pg_sys::list_copy((*parameters).ppi_clauses), 1.0);
                for estimate in estimates {
                    if pg_sys::list_member_ptr(others, estimate.condition.info.cast()) {
                        others = pg_sys::list_delete_ptr(others, estimate.condition.info.cast());
                        share *= estimate.share;
                    }
                }
                let rows = pg_sys::get_parameterized_baserel_size(self.root, self.relation, others);
                (*parameters).ppi_rows = pg_sys::clamp_row_est(rows * share);
            }
            let paths = nodes((*self.relation).pathlist).into_iter();
            for path in paths.chain(nodes((*self.relation).partial_pathlist)) {
                let path: &mut pg_sys::Path = &mut *path;
                path.rows = match path.param_info.as_ref() {
                    Some(parameters) => parameters.ppi_rows,
                    None => pg_sys::clamp_row_est(path.rows * rows_ratio),
                };
            }
        }
    }

    /// Sets the planner's estimate of a condition. If both tables of a join have an estimate, the smaller one counts.
    fn set_share(&self, estimate: &ConditionEstimate) {
        let &ConditionEstimate { condition, mut share, mut share_of_outer } = estimate;
        // SAFETY: the condition is valid. Its estimates are plain numbers: the planner computes each once, and then
        // uses it. The planner's list of joins has valid SpecialJoinInfo nodes.
        unsafe {
            let info = condition.info;
            let has_condition = |join: *mut pg_sys::SpecialJoinInfo| {
                is_semi_or_anti((*join).jointype) && pg_sys::bms_overlap((*join).syn_righthand, (*info).clause_relids)
            };
            let is_in_semi_join = nodes((*self.root).join_info_list).into_iter().any(has_condition);
            if (*info).norm_selec >= 0.0 && pg_sys::bms_num_members((*info).clause_relids) > 1 {
                (share, share_of_outer) = (share.min((*info).norm_selec), share_of_outer.min((*info).outer_selec));
            }
            if !is_in_semi_join {
                share_of_outer = share;
            }
            ((*info).norm_selec, (*info).outer_selec) = (share, share_of_outer);
            // For an outer join that may be moved past others, the planner has the condition several times.
            #[cfg(not(feature = "pg15"))]
            for clone in nodes::<pg_sys::RestrictInfo>((*self.relation).joininfo) {
                if (*clone).rinfo_serial == (*info).rinfo_serial {
                    ((*clone).norm_selec, (*clone).outer_selec) = (share, share_of_outer);
                }
            }
        }
    }

    /// Sets the rows of a relation to the sum of the rows of its members, which have been estimated again.
    fn sum_rows(&self) {
        let relid = self.relid();
        // SAFETY: the planner's list has valid AppendRelInfo nodes. The relation lives as long as the planner is at
        // work on the query.
        unsafe {
            let members = nodes::<pg_sys::AppendRelInfo>((*self.root).append_rel_list).into_iter();
            let members = members.filter(|member| (**member).parent_relid as i32 == relid);
            let relations = members.filter_map(|member| self.planner().relation((*member).child_relid as i32));
            (*self.relation).rows = relations.map(|relation| relation.rows).sum();
        }
    }
}
