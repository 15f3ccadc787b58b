//! `simhash_layouts`: the cost of searches of a table with each layout, and the share of the copies that they find.
//!
//! The sample of the table is read with the calling user's rights and row-level security.

use std::ffi::CStr;

use pgrx::AnyArray;
use pgrx::prelude::*;
use postgres::error::{ErrorReport, Result, algorithm_error, tick};
use postgres::text::from_server;
use simhash::search::blocks::BLOCK_COUNTS;
use simhash::search::layout_costs::layout_costs;
use simhash::search::nearness::Nearness;
use simhash::search::recall::{recall, searches};

use super::fingerprint_sample::SampledTable;
use super::scope::Scope;
use crate::sql::arguments::check_distance;

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
            name!(within, i32),
            name!(radii, Vec<i32>),
            name!(flips, Vec<i32>),
            name!(found, Option<f64>),
        ),
    >,
    ErrorReport,
> {
    let (Some(target), Some(fingerprint), true) = (target, fingerprint, scope.is_some()) else {
        return Ok(TableIterator::empty());
    };
    let searches = max_distance.map_or_else(|| Ok(searches().collect()), within)?;
    let rows = layout_rows(target, fingerprint, searches, &Scope::read(scope)?)?;
    Ok(TableIterator::new(rows.map(|row| {
        let (within, radii, found) = (row.near.max_distance(), row.near.radii().collect(), recall(row.near));
        let flips = row.near.flips().map(u32::cast_signed).collect();
        let LayoutRow { near: _, blocks, indexed, probes, commonest, candidates, worst, cost, best } = row;
        (blocks, indexed, probes, commonest, candidates, worst, cost, best, within, radii, flips, found)
    })))
}

/// The number of blocks of a search, and which fingerprints it finds.
type LayoutSearch = (i32, Nearness);

/// A row of the result.
struct LayoutRow {
    near: Nearness,
    blocks: i32,
    indexed: bool,
    probes: i64,
    commonest: Vec<f64>,
    candidates: f64,
    worst: f64,
    cost: f64,
    best: bool,
}

/// The searches within a distance, with all layouts.
fn within(max_distance: i32) -> Result<Vec<LayoutSearch>> {
    let near = Nearness::within(check_distance(max_distance)?);
    Ok(BLOCK_COUNTS.map(|blocks| (blocks, near)).collect())
}

fn layout_rows(
    target: pg_sys::Oid,
    fingerprint: &CStr,
    searches: Vec<LayoutSearch>,
    scope: &Scope,
) -> Result<impl Iterator<Item = LayoutRow> + 'static> {
    // SAFETY: a `name` argument is NUL-terminated.
    let table = SampledTable::lock(target, &unsafe { from_server(fingerprint.as_ptr()) }?, scope)?;
    let (sample, rows) = table.sample()?;
    let indexed = table.indexed();
    let layouts = layout_costs(sample, rows, searches, &tick).map_err(algorithm_error)?;
    Ok(layouts.into_iter().map(move |layout| LayoutRow {
        near: layout.near,
        blocks: layout.blocks,
        indexed: indexed.as_ref().is_some_and(|indexed| indexed.serves(layout.blocks, layout.near)),
        probes: i64::try_from(layout.probes).unwrap_or(i64::MAX),
        commonest: layout.commonest.into_iter().map(round_share).collect(),
        candidates: round_estimate(layout.candidates),
        worst: round_estimate(layout.worst),
        cost: round_estimate(layout.cost),
        best: layout.best,
    }))
}

/// Rounds a share of the rows to a hundredth of a percent. Below that, the share of the commonest value in a sample is
/// chance.
fn round_share(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

/// Rounds to three digits, which is more than the accuracy of a sample.
fn round_estimate(value: f64) -> f64 {
    // `format!` rounds a tie to the even digit: 122.5 becomes 122. Raise the value a little to round ties up.
    format!("{:.2e}", value * (1.0 + f64::EPSILON)).parse().unwrap_or(value)
}
