//! Reports if a guard reads many index entries for each new row, where other radii need far fewer.

use pgrx::pg_sys::panic::ErrorReport;
use simhash::search::nearness::Nearness;
use simhash::search::recall::{recall, searches};
use simhash::search::skew::{Skew, skew};

use super::criterion::Criterion;
use super::search::SearchedTable;
use crate::postgres::catalog::column::Column;
use crate::postgres::catalog::target::Target;
use crate::postgres::error::{algorithm_error, notice, tick};
use crate::sql::indexed::fingerprint_sample::SampledTable;
use crate::sql::indexed::scope::Scope;

/// From this many entries for each new row on, look for other radii: these entries take a hundred microseconds, as an
/// insert does.
const MANY_ENTRIES: f64 = 2000.0;
/// Other radii are reported if they cost a third.
const TIMES: f64 = 3.0;
/// The share of copies that other radii may miss in addition.
const MISSED: f64 = 0.05;

/// Reports radii that are much cheaper than those of the guard, after it has looked up a number of rows. What searches
/// cost is counted as `simhash_skew` does.
pub fn tell_of_cheaper(
    table: &Target,
    fingerprint: &str,
    criterion: &Criterion,
    searched: &[SearchedTable],
    looked_up: usize,
) -> Result<(), ErrorReport> {
    let entries: u64 = searched.iter().map(|member| member.entries.get()).sum();
    let has_many = entries as f64 >= MANY_ENTRIES * looked_up.max(1) as f64;
    let (Some(found), Some(first), true) = (recall(criterion.near), searched.first(), has_many) else { return Ok(()) };
    let (layouts, before) = first.layouts();
    let own = layouts.map(|blocks| (blocks, criterion.near));
    let others = searches().filter(|(_, near)| recall(*near).is_some_and(|other| other >= found - MISSED));

    let names = before.into_iter().filter_map(|column| Some(Column::at(&table.open(), column)?.name()));
    let scope = Scope::of_index(names.collect::<Result<_, _>>()?);
    let (sample, rows) = SampledTable::lock(table.oid, fingerprint, &scope)?.sample()?;
    let costs = skew(sample, rows, own.chain(others), &tick).map_err(algorithm_error)?;
    let is_own = |skew: &&Skew| skew.near == criterion.near;
    let cheapest = |a: &&Skew, b: &&Skew| a.cost.total_cmp(&b.cost);
    let (own, other) = (costs.iter().filter(is_own).min_by(cheapest), costs.iter().min_by(cheapest));
    if let (Some(own), Some(other)) = (own, other)
        && other.cost * TIMES <= own.cost
    {
        notice(format!(
            "for each new row, {} of table \"{}\"; with max_distance => {}, radii => '{{{}}}' and indexes on {} \
             blocks, {}, and {:.2} of the copies in place of {found:.2} (simhash_skew with max_distance => NULL \
             compares more)",
            cost(own),
            table.name,
            other.near.max_distance(),
            radii(other.near),
            other.blocks,
            cost(other),
            recall(other.near).unwrap_or_default(),
        ));
    }
    Ok(())
}

fn cost(skew: &Skew) -> String {
    format!("{} look-ups find about {:.0} index entries", skew.probes, skew.candidates)
}

fn radii(near: Nearness) -> String {
    near.radii().map(|radius| radius.to_string()).collect::<Vec<_>>().join(",")
}
