//! Offers scans to the planner, as paths, and corrects its estimates.
//!
//! The planner has assigned each condition to a relation before it asks for the paths of that relation. So a column of
//! another relation or query cannot be mistaken for a column of the table.

use std::cell::Cell;

use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use pgrx::prelude::*;
use postgres::interrupts::tick;
use postgres::planner::base_relation::BaseRelation;
use postgres::planner::row_estimate::ConditionEstimate;
use postgres::planner::semi_join::set_semi_join_hook;
use simhash::distance::share_within;

use super::condition::{DistanceCondition, exceeded_distance, is_near_condition};
use super::custom_scan;
use super::distance_path::offer_by_distance;
use super::other_options::warn_of_other_passages;
use super::text_path::TextPaths;

static IS_ENABLED: GucSetting<bool> = GucSetting::<bool>::new(true);

thread_local! {
    static PREVIOUS_HOOK: Cell<pg_sys::set_rel_pathlist_hook_type> = const { Cell::new(None) };
}

/// Defines the setting, registers the scan, and sets the hooks. Must be called once, when the library is loaded.
pub fn initialise() {
    GucRegistry::define_bool_guc(
        c"pg_simhash.enable_scan",
        c"Enables the planner's use of scans of the indexes of blocks and of bands.",
        c"Without them, conditions on the distance of fingerprints, and on near texts, are filters.",
        &IS_ENABLED,
        GucContext::Userset,
        GucFlags::EXPLAIN,
    );
    custom_scan::register();
    // SAFETY: the library is loaded by one thread, and is never unloaded.
    unsafe {
        pg_sys::MarkGUCPrefixReserved(c"pg_simhash".as_ptr());
        PREVIOUS_HOOK.set(pg_sys::set_rel_pathlist_hook);
        pg_sys::set_rel_pathlist_hook = Some(offer_scans);
    }
    // For EXISTS and NOT EXISTS, PostgreSQL expects a hash join to find a match at once. So, instead of a search for
    // each row, it would choose a hash join that compares all rows of a tenant with each other.
    set_semi_join_hook(is_near_condition);
}

#[pg_guard]
unsafe extern "C-unwind" fn offer_scans(
    root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    number: pg_sys::Index,
    entry: *mut pg_sys::RangeTblEntry,
) {
    // SAFETY: the planner passes what the hook is documented to get.
    unsafe {
        if let Some(previous) = PREVIOUS_HOOK.get() {
            pg_sys::ffi::pg_guard_ffi_boundary(|| previous(root, relation, number, entry));
        }
        if let Some(relation) = BaseRelation::new(root, relation, entry) {
            tick();
            let conditions = DistanceCondition::all_of(relation);
            let texts = TextPaths::of(relation);
            warn_of_other_passages(relation);
            let is_offered = IS_ENABLED.get() && relation.is_table();
            #[cfg(feature = "pg19")]
            let is_offered = is_offered && !relation.has_chosen_scan();
            if is_offered {
                offer_by_distance(relation, &conditions);
                texts.offer();
            }
            correct_estimates(relation, &conditions, &texts);
        }
    }
}

/// Corrects the planner's estimates of rows. For a condition with `<=`, its default is a third of the rows.
fn correct_estimates(relation: BaseRelation, conditions: &[DistanceCondition], texts: &TextPaths) {
    let mut estimates = texts.estimates();
    // The support function of `simhash_near` estimates its calls.
    for near in conditions.iter().filter(|near| near.condition.expression.call().is_none()) {
        let rows = relation.planner().rows_of_largest([near.fingerprint, near.query]);
        let (share, share_of_outer) = (near.estimate.share(rows), near.estimate.share_with_near_row(rows));
        estimates.push(ConditionEstimate { condition: near.condition, share, share_of_outer });
    }
    if estimates.is_empty() && texts.is_empty() {
        return;
    }
    for condition in relation.conditions() {
        if let Some((distance, exceeded)) = exceeded_distance(condition.expression) {
            let share = relation.planner().share_not_null(distance) * (1.0 - share_within(exceeded));
            estimates.push(ConditionEstimate { condition, share, share_of_outer: share });
        }
    }
    relation.apply_estimates(&estimates);
}
