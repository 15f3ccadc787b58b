//! Reports that many texts of a table consist mostly of words that many rows have, such as the words of a template.

use postgres::catalog::citus::distribution;
use postgres::catalog::target::Target;
use postgres::error::{Result, algorithm_error, notice};
use postgres::interrupts::tick;
use postgres::text::{TextArgument, decode};
use simhash::fingerprint::learn::{TABLE_SAMPLE, TextSample};
use simhash::fingerprint::options::Markup;

use super::sample::each_sampled_row;
use crate::sql::guard::definition::criterion::GuardCriterion;
use crate::sql::guard::definition::searched_table::SearchedTable;
use crate::sql::guard::row::evaluation::{Evaluator, RowKind};

/// Common words are reported if at least this share of the sampled texts consists mostly of them.
const MIN_REPORTED_SHARE: f64 = 0.1;
/// They are reported in samples of at least this number of texts: fewer may have words in common by chance.
const MIN_REPORTED_TEXTS: usize = 20;

/// Reports if many texts consist mostly of words that many rows have, unless the options have weights for them.
pub fn report_common_words(
    criterion: &GuardCriterion,
    searched: &[SearchedTable],
    evaluator: &Evaluator,
    table: &Target,
) -> Result<()> {
    let GuardCriterion::Texts(texts) = criterion else { return Ok(()) };
    if texts.options.weights.is_some() || !can_be_read(table)? {
        return Ok(());
    }
    let mut sample = TextSample::new(TABLE_SAMPLE);
    each_sampled_row(searched, table, TABLE_SAMPLE as i32, |own, row| {
        let add_text = |text: TextArgument<'_>| sample.add(decode(text.detoast())?.as_str()).map_err(algorithm_error);
        evaluator.with_text(own, row, RowKind::Stored, add_text).map(drop)
    })?;
    let share = sample.mostly_common_share(&texts.options, &tick).map_err(algorithm_error)?;
    if sample.text_count() < MIN_REPORTED_TEXTS || share < MIN_REPORTED_SHARE {
        return Ok(());
    }
    let remedy = match texts.options.markup {
        Some(Markup::Html) => {
            "; if they are those of a template around pages, such as navigation, they hide copies of the text in it: \
             index with {\"markup\": \"main\"}, which does not read them"
        }
        None if 2 * sample.tagged_text_count() >= sample.text_count() => {
            "; they have tags, which are words unless they are indexed with {\"markup\": \"main\"} for whole pages or \
             {\"markup\": \"html\"} for parts of pages"
        }
        _ => {
            "; texts that differ in few others are near-duplicates, unless they are indexed with {\"weights\": ..} for \
             these words (simhash_weights learns them)"
        }
    };
    notice(format!(
        "of a sample of table \"{}\", {:.0} % of the texts consist mostly of words that a tenth of the rows \
         have{remedy}",
        table.name,
        100.0 * share
    ));
    Ok(())
}

/// Whether this session can read the rows: not those of another session's temporary table, and not those of a table
/// that Citus manages, which are in other tables.
fn can_be_read(table: &Target) -> Result<bool> {
    Ok(!table.open().is_temporary_elsewhere() && distribution(table.oid)?.is_none())
}
