//! What the texts of a table have in common: the weights that a criterion asks for and, without weights, a report if
//! texts consist mostly of it.

use postgres::catalog::citus::{check_has_rows, distribution};
use postgres::catalog::relation::hides_rows;
use postgres::catalog::target::Target;
use postgres::error::{Result, algorithm_error, notice, tick};
use simhash::fingerprint::learn::{TABLE_SAMPLE, TextSample};
use simhash::fingerprint::options::Options;

use super::sample::each_sampled_row;
use crate::sql::guard::definition::criterion::GuardCriterion;
use crate::sql::guard::definition::searched_table::SearchedTable;
use crate::sql::guard::row::confirmation::TextReader;

/// Report common words if at least this share of the sampled texts consists mostly of them.
const MIN_REPORTED_SHARE: f64 = 0.1;
/// Fewer texts have words in common by chance.
const MIN_REPORTED_TEXTS: usize = 20;

/// The criterion, with the weights of the table if it asks for them. If it has no weights, reports if texts consist
/// mostly of words that many rows have.
pub fn weighed(
    criterion: GuardCriterion,
    searched: &[SearchedTable],
    texts: &TextReader,
    (table, family): (&Target, &[Target]),
    fingerprint: &str,
) -> Result<GuardCriterion> {
    let is_asked = criterion.weights_of_table;
    if criterion.resemblance.is_none() || !is_asked && (criterion.options.weights.is_some() || !can_be_read(table)?) {
        return Ok(criterion);
    }
    check_has_rows(&table.open())?;
    let mut sample = TextSample::new(TABLE_SAMPLE);
    each_sampled_row(searched, family, fingerprint, TABLE_SAMPLE as i32, |own, row| {
        texts.with_stored_text(own, row, |text| sample.add(text).map_err(algorithm_error)).map(drop)
    })?;
    if !is_asked {
        report(&criterion.options, &sample, table)?;
        return Ok(criterion);
    }
    criterion.with_weights(&sample.learn_table(&criterion.options, &tick).map_err(algorithm_error)?)
}

/// Whether the rows can be read. If a policy hides rows from the owner, they cannot. The rows of a table that Citus
/// manages are in other tables.
fn can_be_read(table: &Target) -> Result<bool> {
    let is_elsewhere = table.open().is_temporary_elsewhere() || distribution(table.oid)?.is_some();
    Ok(!is_elsewhere && !hides_rows(table.oid, Some(table.owner)))
}

fn report(options: &Options, sample: &TextSample, table: &Target) -> Result<()> {
    let share = sample.mostly_common(options, &tick).map_err(algorithm_error)?;
    if sample.texts() >= MIN_REPORTED_TEXTS && share >= MIN_REPORTED_SHARE {
        notice(format!(
            "of a sample of table \"{}\", {:.0} % of the texts consist mostly of words that a tenth of the rows have; \
             texts that differ in few others are near-duplicates, unless the criterion has {{\"weights\": \"table\"}}",
            table.name,
            100.0 * share
        ));
    }
    Ok(())
}
