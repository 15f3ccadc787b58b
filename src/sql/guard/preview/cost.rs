//! Reports if a guard is expensive for each new row, and how to make it cheaper.

use postgres::catalog::citus::distribution;
use postgres::catalog::relation::hides_rows;
use postgres::catalog::target::Target;
use postgres::error::{Result, notice};

use super::sample::Preview;
use crate::sql::guard::definition::searched_table::SearchedTable;

/// Report this many or more fetches for each new row: an insert takes about as long as forty fetches.
const MIN_REPORTED_FETCHES: f64 = 20.0;
/// Report this many or more probes for each new row: a probe takes two microseconds, and an insert a
/// hundred.
const MIN_REPORTED_PROBES: f64 = 1000.0;
/// Report this many or more texts that are compared with each new row and do not resemble it: a comparison takes some
/// microseconds for a page of text, and an insert a hundred.
const MIN_REPORTED_REFUTED: f64 = 100.0;

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

/// Whether the rows can be read. If a policy hides rows from the owner, they cannot. The rows of a table that Citus
/// manages are in other tables.
pub fn can_be_read(table: &Target) -> Result<bool> {
    let is_elsewhere = table.open().is_temporary_elsewhere() || distribution(table.oid)?.is_some();
    Ok(!is_elsewhere && !hides_rows(table.oid, Some(table.owner)))
}

/// Looks up some rows as a guard looks up new rows, and reports if it compares many texts that do not resemble them.
pub fn report_cost(preview: Preview, table: &Target, family: &[Target], fingerprint: &str) -> Result<()> {
    if preview.criterion.resemblance.is_none() || !can_be_read(table)? {
        return Ok(());
    }
    let preview = Preview { compares_all: true, ..preview };
    preview.of_sample(family, fingerprint, COST_SAMPLE_ROWS, MAX_DISMISSED)?;
    report_refuted(&preview, table);
    Ok(())
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
