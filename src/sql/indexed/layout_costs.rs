//! `simhash_layouts`: the cost of searches of a table within a distance, with each layout.
//!
//! The sample of the table is read with the rights of its owner.

use std::ffi::CStr;

use pgrx::AnyArray;
use pgrx::prelude::*;
use postgres::catalog::relation::ACCESS_SHARE;
use postgres::catalog::target::Target;
use postgres::error::{Result, algorithm_error};
use postgres::interrupts::tick;
use simhash::search::blocks::BLOCK_COUNTS;
use simhash::search::layout_costs::layout_costs;

use super::fingerprint_sample::SampledTable;
use super::layouts::is_search_served;
use super::scope::Scope;
use crate::sql::arguments::{check_max_distance, required, required_name};

#[pg_extern(sql = false)]
fn simhash_layouts(
    target: Option<pg_sys::Oid>,
    fingerprint: Option<&CStr>,
    max_distance: Option<i32>,
    scope: Option<AnyArray>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(blocks, i32),
            name!(indexed, bool),
            name!(probes, i64),
            name!(commonest, Vec<f64>),
            name!(candidates, f64),
            name!(worst, f64),
            name!(cost, f64),
            name!(best, bool),
        ),
    >,
> {
    let (target, fingerprint) = (required(target, "target")?, required_name(fingerprint, "fingerprint")?);
    let max_distance = check_max_distance(required(max_distance, "max_distance")?)?;
    let searches = BLOCK_COUNTS.map(|blocks| (blocks, max_distance));
    let scope = Scope::read(scope)?;
    let ((sample, row_count), indexed) = Target::lock_indexable(target, ACCESS_SHARE, |table| {
        let table = SampledTable::new(table, &fingerprint, &scope)?;
        Ok((table.sample()?, table.indexed))
    })?;
    let layouts = layout_costs(sample, row_count, searches, &tick).map_err(algorithm_error)?;
    Ok(TableIterator::new(layouts.into_iter().map(move |layout| {
        (
            layout.blocks,
            indexed.as_ref().is_some_and(|indexed| is_search_served(indexed, layout.blocks, layout.max_distance)),
            i64::try_from(layout.probes).unwrap_or(i64::MAX),
            layout.commonest.into_iter().map(round_share).collect(),
            round_estimate(layout.candidates),
            round_estimate(layout.worst),
            round_estimate(layout.cost),
            layout.is_best,
        )
    })))
}

/// Rounds a share of the rows to a hundredth of a percent. Further digits of a share in a sample are chance.
fn round_share(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

/// Rounds to three digits, which is more than the accuracy of a sample.
fn round_estimate(value: f64) -> f64 {
    // `format!` rounds a tie to the even digit: 122.5 becomes 122. Raise the value a little to round ties up.
    format!("{:.2e}", value * (1.0 + f64::EPSILON)).parse().unwrap_or(value)
}
