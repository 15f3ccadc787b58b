//! Confirms near rows by their texts.
//!
//! Texts that share a band are probably alike, but need not be. A guard that drops a row because of a band alone loses
//! somebody's text. So it compares the text of each row that it finds with the new text
//! ([`simhash::fingerprint::resemblance`]). For example, two letters that share a template may have a resemblance of
//! 0.7: both are stored. With an added line, a letter has 0.97 and is a copy.
//!
//! Reading texts is what costs: the features of the new text are computed once, when the first row is found.

use std::cell::{Cell, OnceCell};

use postgres::error::Result;
use postgres::heap::row::Row;
use postgres::text::{TextArgument, decode};
use simhash::fingerprint::options::Options;
use simhash::fingerprint::resemblance::Prepared;

use super::evaluation::Evaluator;
use crate::sql::fingerprint::fingerprint_cache::with_fingerprinter;
use crate::sql::guard::definition::searched_table::{Lookup, SearchedTable};

/// The features of a new text, computed when the first row is found; None if it is NULL.
pub type NewFeatures = OnceCell<Option<Box<Prepared>>>;

/// The text of a new row, with which the rows that are found for it are compared during one search.
pub struct NewText<'a> {
    pub evaluator: &'a Evaluator,
    pub row: Row<'a>,
    /// The new row's table.
    pub own: &'a SearchedTable,
    /// The least resemblance that matters. It may grow during the search.
    pub least_resemblance: Cell<f64>,
    pub features: &'a NewFeatures,
}

impl NewText<'_> {
    /// The resemblance of a stored row's text to the new text; None if it is less than `least_resemblance`, or if one
    /// of the texts is NULL or has no feature. Costs at most as much as the fingerprint of the row's text.
    pub fn confirm(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<f64>> {
        let Some(features) = self.features()? else { return Ok(None) };
        Ok(self.evaluator.with_stored_text(searched, row, |text| self.resemblance(features, text))?.flatten())
    }

    /// The resemblance of the text of a row that is not stored yet, as [`Self::confirm`] has it.
    pub fn confirm_new(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<f64>> {
        let Some(features) = self.features()? else { return Ok(None) };
        Ok(self.evaluator.with_new_text(searched, row, |text| self.resemblance(features, text))?.flatten())
    }

    fn resemblance(&self, features: &Prepared, text: TextArgument<'_>) -> Result<Option<f64>> {
        let text = decode(text.detoast())?.as_str();
        let least = self.least_resemblance.get();
        with_fingerprinter(self.options(), |fingerprinter| features.resemblance_from(least, fingerprinter, text))
    }

    fn options(&self) -> &Options {
        match &self.own.lookup {
            Lookup::Texts(texts) => &texts.options,
            Lookup::Fingerprints(_) => unreachable!("a guard of texts looks texts up"),
        }
    }

    fn features(&self) -> Result<Option<&Prepared>> {
        if let Some(features) = self.features.get() {
            return Ok(features.as_deref());
        }
        let prepared = self.evaluator.with_new_text(self.own, self.row, |text| {
            let text = decode(text.detoast())?.as_str();
            with_fingerprinter(self.options(), |fingerprinter| Prepared::new(fingerprinter, text))
        })?;
        Ok(self.features.get_or_init(|| prepared.map(Box::new)).as_deref())
    }
}
