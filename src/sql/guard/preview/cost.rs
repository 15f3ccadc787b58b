//! Reports if a guard is expensive for each new row, and how to make it cheaper.

use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use postgres::catalog::citus::distribution;
use postgres::catalog::column::Column;
use postgres::catalog::relation::hides_rows;
use postgres::catalog::target::Target;
use postgres::error::{algorithm_error, notice, tick};
use simhash::criterion::Criterion;
use simhash::fingerprint::size::expected_share;
use simhash::search::cost;
use simhash::search::layout_costs::{LayoutCost, layout_costs};
use simhash::search::recall::{recall, searches};

use super::sample::Preview;
use crate::sql::guard::definition::searched_table::SearchedTable;
use crate::sql::indexed::fingerprint_sample::SampledTable;
use crate::sql::indexed::layouts::share_read;
use crate::sql::indexed::scope::Scope;

/// Report this many or more fetches for each new row: an insert takes about as long as forty fetches.
const MIN_REPORTED_FETCHES: f64 = 20.0;
/// Report this many or more probes for each new row: a probe takes two microseconds, and an insert a
/// hundred.
const MIN_REPORTED_PROBES: f64 = 1000.0;
/// Report this many or more texts that are compared with each new row and do not resemble it: a comparison takes some
/// microseconds for a page of text, and an insert a hundred.
const MIN_REPORTED_REFUTED: f64 = 100.0;
/// Look for other radii if a guard reads this many or more index entries for each new row: they take a hundred
/// microseconds, like an insert.
const MIN_REPORTED_ENTRIES: f64 = 2000.0;
/// Report other radii if the guard's radii cost at least this many times as much.
const MIN_COST_RATIO: f64 = 3.0;
/// The limit on the share of copies that other radii may miss in addition.
const MAX_MISSED_SHARE: f64 = 0.05;

/// The approximate number of rows that [`report_cost`] looks up.
const COST_SAMPLE_ROWS: i32 = 500;
/// [`report_cost`] stops after this many near rows that the condition excludes, or whose texts do not resemble the row.
const MAX_DISMISSED: usize = 10_000;

/// Reports if many rows are fetched, or many values looked up in the indexes, by the planner's estimates.
pub fn report_estimates(table: &Target, searched: &[SearchedTable]) {
    let fetches: f64 = searched.iter().map(|member| member.fetches).sum();
    if fetches >= MIN_REPORTED_FETCHES {
        notice(format!(
            "for each new row, about {fetches:.0} rows of table \"{}\" will be fetched; with covering indexes, as \
             simhash_attach makes them, only those that are near",
            table.name
        ));
    }
    let probes: f64 = searched.iter().map(|member| member.probes).sum();
    if probes >= MIN_REPORTED_PROBES {
        notice(format!(
            "for each new row, about {probes:.0} values will be looked up in the indexes of table \"{}\"; a layout \
             of more blocks needs fewer (see simhash_layouts)",
            table.name
        ));
    }
}

/// Whether the rows can be read and the names can be locked. A read-only transaction cannot lock names. If a policy
/// hides rows from the owner, they cannot be read. The rows of a table that Citus manages are in other tables.
pub fn can_be_read(table: &Target) -> Result<bool, ErrorReport> {
    let is_elsewhere = table.open().is_temporary_elsewhere() || distribution(table.oid)?.is_some();
    // SAFETY: a setting that is a plain variable.
    let is_read_only = unsafe { pg_sys::XactReadOnly };
    Ok(!is_read_only && !is_elsewhere && !hides_rows(table.oid, Some(table.owner)))
}

/// Looks up some rows as a guard looks up new rows, and reports if it compares many texts that do not resemble them, or
/// reads many index entries.
pub fn report_cost(preview: Preview, table: &Target, family: &[Target], fingerprint: &str) -> Result<(), ErrorReport> {
    if preview.criterion.resemblance.is_none() || !can_be_read(table)? {
        return Ok(());
    }
    let preview = Preview { compares_all: true, ..preview };
    preview.of_sample(family, fingerprint, COST_SAMPLE_ROWS, MAX_DISMISSED)?;
    report_refuted(&preview, table);
    report_cheaper_radii(&preview, table, fingerprint)
}

/// Reports if many texts were compared that do not resemble the sampled rows.
pub fn report_refuted(preview: &Preview, table: &Target) {
    // On average, half of all rows are earlier.
    let share = if preview.compares_all { 1.0 } else { 0.5 };
    let refuted = preview.refuted.get() as f64 / share / preview.rows.get().max(1) as f64;
    if refuted >= MIN_REPORTED_REFUTED {
        notice(format!(
            "for each new row, about {refuted:.0} texts of table \"{}\" will be compared that do not resemble it; \
             with a smaller max_distance they are fewer",
            table.name
        ));
    }
}

/// If the guard has read many index entries for the sampled rows, reports radii that are much cheaper than the guard's.
/// The costs are the same as in `simhash_layouts`.
fn report_cheaper_radii(preview: &Preview, table: &Target, fingerprint: &str) -> Result<(), ErrorReport> {
    let Preview { criterion, searched, rows, .. } = preview;
    let entries: u64 = searched.iter().map(|member| member.entries.get()).sum();
    let has_many = entries as f64 >= MIN_REPORTED_ENTRIES * rows.get().max(1) as f64;
    let (Some(found), Some(first), true) = (recall(criterion.near), searched.first(), has_many) else { return Ok(()) };
    let (layouts, before) = first.layouts();
    let own = layouts.map(|blocks| (blocks, criterion.near));
    let others = searches().filter(|(_, near)| recall(*near).is_some_and(|other| other >= found - MAX_MISSED_SHARE));

    let names = before.into_iter().filter_map(|column| Some(Column::at(&table.open(), column)?.name()));
    let scope = Scope::of_index(names.collect::<Result<_, _>>()?);
    let (sample, rows) = SampledTable::lock(table.oid, fingerprint, &scope)?.sample()?;
    let mut costs = layout_costs(sample, rows, own.chain(others), &tick).map_err(algorithm_error)?;
    // The entries of similar sizes are read alone.
    if first.has_sizes {
        let share = share_read(&first.indexes.layouts, criterion.resemblance.map(expected_share));
        for layout in &mut costs {
            layout.candidates *= share;
            layout.cost = cost::cost(layout.probes, layout.candidates);
        }
    }
    let is_own = |layout: &&LayoutCost| layout.near == criterion.near;
    let cheapest = |a: &&LayoutCost, b: &&LayoutCost| a.cost.total_cmp(&b.cost);
    let (own, other) = (costs.iter().filter(is_own).min_by(cheapest), costs.iter().min_by(cheapest));
    if let (Some(own), Some(other)) = (own, other)
        && other.cost * MIN_COST_RATIO <= own.cost
    {
        notice(format!(
            "for each new row, {} of table \"{}\"; with {} and indexes on {} blocks, {}, and {:.2} of the copies in \
             place of {found:.2} (simhash_layouts with max_distance => NULL compares more)",
            work(own),
            table.name,
            Criterion { near: other.near, resemblance: criterion.resemblance }.to_json(),
            other.blocks,
            work(other),
            recall(other.near).unwrap_or_default(),
        ));
    }
    Ok(())
}

fn work(layout: &LayoutCost) -> String {
    format!("{} look-ups find about {:.0} index entries", layout.probes, layout.candidates)
}
