//! `simhash_skew`: what searches of a table cost in each layout, and what share of the copies they find.
//!
//! The sample of the table is read with the calling user's rights and row-level security.

use std::ffi::CStr;

use pgrx::AnyArray;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use simhash::search::blocks::LAYOUTS;
use simhash::search::nearness::Nearness;
use simhash::search::recall::{recall, searches};
use simhash::search::skew::skew;

use super::fingerprint_sample::SampledTable;
use super::scope::Scope;
use crate::postgres::error::{algorithm_error, tick};
use crate::postgres::raised::unchanged;
use crate::postgres::spi::from_server;
use crate::sql::arguments::check_distance;

#[allow(clippy::type_complexity)] // pgrx must see the columns here, not behind an alias.
#[pg_extern(sql = false)]
fn simhash_skew_radii(
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
            name!(found, Option<f64>),
        ),
    >,
    ErrorReport,
> {
    let (Some(target), Some(fingerprint), true) = (target, fingerprint, scope.is_some()) else {
        return Ok(TableIterator::empty());
    };
    let searches = max_distance.map_or_else(|| Ok(searches().collect()), within)?;
    let layouts = layouts(target, fingerprint, searches, &Scope::read(scope)?)?;
    Ok(TableIterator::new(layouts.map(
        |(near, (blocks, indexed, probes, commonest, candidates, worst, cost, best))| {
            let (within, radii) = (near.max_distance(), near.radii().collect());
            (blocks, indexed, probes, commonest, candidates, worst, cost, best, within, radii, recall(near))
        },
    )))
}

/// The function as version 0.3.0 declares it, for databases that have not been updated: without radii.
#[allow(clippy::type_complexity)] // pgrx must see the columns here, not behind an alias.
#[pg_extern(sql = false)]
fn simhash_skew_scoped(
    target: pg_sys::Oid,
    fingerprint: &CStr,
    max_distance: i32,
    scope: AnyArray,
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
    ErrorReport,
> {
    let layouts = layouts(target, fingerprint, within(max_distance)?, &Scope::read(Some(scope))?)?;
    Ok(TableIterator::new(layouts.map(|(_, row)| row)))
}

/// A search, and the number of blocks with which it is done.
type Search = (i32, Nearness);

/// A row of the result without what the search finds.
type Row = (i32, bool, i64, Vec<f64>, f64, f64, f64, bool);

/// The searches within a distance, with all layouts.
fn within(max_distance: i32) -> Result<Vec<Search>, ErrorReport> {
    let near = Nearness::within(check_distance(max_distance)?);
    Ok(LAYOUTS.map(|blocks| (blocks, near)).collect())
}

fn layouts(
    target: pg_sys::Oid,
    fingerprint: &CStr,
    searches: Vec<Search>,
    scope: &Scope,
) -> Result<impl Iterator<Item = (Nearness, Row)> + 'static, ErrorReport> {
    let (sample, rows, indexed) = unchanged(|| {
        // SAFETY: a `name` argument is NUL-terminated.
        let table = SampledTable::lock(target, &unsafe { from_server(fingerprint.as_ptr()) }?, scope)?;
        let (sample, rows) = table.sample()?;
        Ok::<_, ErrorReport>((sample, rows, table.indexed()))
    })?;
    let layouts = skew(sample, rows, searches, &tick).map_err(algorithm_error)?;
    Ok(layouts.into_iter().map(move |layout| {
        let is_indexed = indexed.as_ref().is_some_and(|indexed| indexed.serves(layout.blocks, layout.near));
        let row = (
            layout.blocks,
            is_indexed,
            i64::try_from(layout.probes).unwrap_or(i64::MAX),
            layout.commonest.into_iter().map(share).collect(),
            estimate(layout.candidates),
            estimate(layout.worst),
            estimate(layout.cost),
            layout.best,
        );
        (layout.near, row)
    }))
}

/// Rounds a share of the rows to a hundredth of a percent: below that, chance decides the commonest value of a sample.
fn share(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

/// Rounds to three digits, which is more than a sample can tell.
fn estimate(value: f64) -> f64 {
    // `format!` finds the nearest decimal number, but alone would round 122.5 to the even 122.
    format!("{:.2e}", value * (1.0 + f64::EPSILON)).parse().unwrap_or(value)
}
