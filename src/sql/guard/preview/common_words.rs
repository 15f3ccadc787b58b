//! What the texts of a table have in common: the weights that a criterion asks for and, without weights, a report if
//! texts consist mostly of it.

use postgres::catalog::citus::check_has_rows;
use postgres::catalog::target::Target;
use postgres::error::{Result, algorithm_error, notice, tick};
use simhash::fingerprint::learn::{TABLE_SAMPLE, TextSample};
use simhash::fingerprint::options::Options;

use super::cost::can_be_read;
use super::sample::Preview;

/// Report common words if at least this share of the sampled texts consists mostly of them.
const MIN_REPORTED_SHARE: f64 = 0.1;
/// Fewer texts have words in common by chance.
const MIN_REPORTED_TEXTS: usize = 20;

impl Preview {
    /// Gives the criterion the weights of the table if it asks for them. If it has no weights, reports if texts consist
    /// mostly of words that many rows have.
    pub fn weigh(&mut self, table: &Target, family: &[Target], fingerprint: &str) -> Result<()> {
        let is_asked = self.criterion.weights_of_table;
        if self.criterion.resemblance.is_none()
            || !is_asked && (self.criterion.options.weights.is_some() || !can_be_read(table)?)
        {
            return Ok(());
        }
        check_has_rows(&table.open())?;
        let sample = self.texts_of_sample(family, fingerprint)?;
        if !is_asked {
            return report(&self.criterion.options, &sample, table);
        }
        let weights = sample.learn_table(&self.criterion.options, &tick).map_err(algorithm_error)?;
        self.criterion = self.criterion.with_weights(&weights)?;
        self.searched.iter_mut().for_each(|searched| searched.compare_with_weights(&self.criterion.options));
        Ok(())
    }

    fn texts_of_sample(&self, family: &[Target], fingerprint: &str) -> Result<TextSample> {
        let mut sample = TextSample::new(TABLE_SAMPLE);
        self.each_sampled_row(family, fingerprint, TABLE_SAMPLE as i32, |own, row| {
            self.texts.with_stored_text(own, row, |text| sample.add(text).map_err(algorithm_error))?;
            Ok(true)
        })?;
        Ok(sample)
    }
}

fn report(options: &Options, sample: &TextSample, table: &Target) -> Result<()> {
    let share = sample.mostly_common(options, &tick).map_err(algorithm_error)?;
    if sample.len() >= MIN_REPORTED_TEXTS && share >= MIN_REPORTED_SHARE {
        notice(format!(
            "of a sample of table \"{}\", {:.0} % of the texts consist mostly of words that a tenth of the rows have; \
             texts that differ in few others are near-duplicates, unless the criterion has {{\"weights\": \"table\"}}",
            table.name,
            100.0 * share
        ));
    }
    Ok(())
}
