//! Confirms near rows by their texts.
//!
//! Texts that share a band are probably alike, but need not be. A guard that drops a row because of a band alone loses
//! somebody's text. So it compares the text of each row that it finds with the new text
//! ([`simhash::fingerprint::resemblance`]). For example, two letters that share a template may have a resemblance of
//! 0.7: both are stored. With an added line, a letter has 0.97 and is a copy.
//!
//! Reading texts is what costs: the features of the new text are computed once, when the first row is found.

use std::cell::{Cell, OnceCell};

use pgrx::pg_sys::Datum;
use postgres::error::Result;
use postgres::heap::row::Row;
use postgres::text::{TextArgument, decode};
use simhash::fingerprint::options::Options;
use simhash::fingerprint::resemblance::Prepared;

use super::stored_rows::{Evaluated, RunningGuard};
use crate::sql::fingerprint::fingerprint_cache::with_fingerprinter;
use crate::sql::guard::definition::row_key::RowKey;
use crate::sql::guard::definition::searched_table::{Lookup, SearchedTable};
use crate::sql::guard::definition::searched_texts::SearchedTexts;
use crate::sql::lookup::text_keys::TextKeys;

/// Computes the source of rows of a guarded table and its partitions, in one statement.
pub struct SourceReader(Evaluated);

impl SourceReader {
    pub fn new(guard: &RunningGuard) -> Self {
        Self(Evaluated::new(guard))
    }

    /// What a new row is looked up by; None if its source is NULL, or has no word.
    pub fn key(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<RowKey>> {
        match &searched.lookup {
            Lookup::Texts(SearchedTexts { criterion, options, .. }) => {
                let keys = self.with_new_text(searched, row, |text| TextKeys::of(text, *criterion, options))?;
                Ok(keys.flatten().map(RowKey::Text))
            }
            Lookup::Fingerprints(fingerprints) => self.0.of_new_row(searched.oid, &searched.source, row, |value| {
                Ok(value.map(|value| fingerprints.key(value.value() as i64)))
            }),
        }
    }

    /// What a stored row is looked up by; None as for a new row.
    pub fn stored_key(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<RowKey>> {
        match &searched.lookup {
            Lookup::Texts(SearchedTexts { criterion, options, .. }) => {
                let keys =
                    self.with_stored_text(searched, row, |text| TextKeys::uncached(text, *criterion, options))?;
                Ok(keys.flatten().map(RowKey::Text))
            }
            Lookup::Fingerprints(fingerprints) => {
                Ok(self.stored_fingerprint(searched, row)?.map(|value| fingerprints.key(value)))
            }
        }
    }

    /// The fingerprint of a stored row; None for NULL.
    pub fn stored_fingerprint(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<i64>> {
        let read = |value: Option<Datum>| Ok(value.map(|value| value.value() as i64));
        self.0.of_stored_row(searched.oid, &searched.source, row, read)
    }

    /// Calls `f` with the text of a new row; None if it is NULL.
    fn with_new_text<T>(
        &self,
        searched: &SearchedTable,
        row: Row<'_>,
        f: impl FnOnce(TextArgument<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.0.of_new_row(searched.oid, &searched.source, row, |text| with_text(text, f))
    }

    /// Calls `f` with the text of a stored row; None if the text is NULL. The text's memory is freed when `f` returns.
    pub fn with_stored_text<T>(
        &self,
        searched: &SearchedTable,
        row: Row<'_>,
        f: impl FnOnce(TextArgument<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.0.of_stored_row(searched.oid, &searched.source, row, |text| with_text(text, f))
    }
}

fn with_text<T>(text: Option<Datum>, f: impl FnOnce(TextArgument<'_>) -> Result<T>) -> Result<Option<T>> {
    // SAFETY: the source of a guard that compares texts is a `text`.
    text.map(|text| f(unsafe { TextArgument::new(text) })).transpose()
}

/// The text of a new row, with which the rows that are found for it are compared during one search.
pub struct NewText<'a> {
    reader: &'a SourceReader,
    row: Row<'a>,
    /// The new row's table.
    own: &'a SearchedTable,
    /// The least resemblance that matters. It may grow during the search.
    pub least_resemblance: Cell<f64>,
    /// Its features, which are computed once for all searches.
    features: &'a OnceCell<Option<Box<Prepared>>>,
}

impl<'a> NewText<'a> {
    /// The text of a row of the table `own`, whose keys are known.
    pub fn new(
        reader: &'a SourceReader,
        row: Row<'a>,
        own: &'a SearchedTable,
        keys: &TextKeys,
        features: &'a OnceCell<Option<Box<Prepared>>>,
    ) -> Self {
        Self { reader, row, own, least_resemblance: Cell::new(keys.least_resemblance()), features }
    }

    /// The resemblance of a stored row's text to the new text; None if it is less than `least_resemblance`, or if one
    /// of the texts is NULL or has no feature. Costs at most as much as the fingerprint of the row's text.
    pub fn confirm(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<f64>> {
        let Some(features) = self.features()? else { return Ok(None) };
        Ok(self.reader.with_stored_text(searched, row, |text| self.resemblance(features, text))?.flatten())
    }

    /// The resemblance of the text of a row that is not stored yet, as [`Self::confirm`] has it.
    pub fn confirm_new(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<f64>> {
        let Some(features) = self.features()? else { return Ok(None) };
        Ok(self.reader.with_new_text(searched, row, |text| self.resemblance(features, text))?.flatten())
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

    /// The features of the new text; None if it is NULL.
    fn features(&self) -> Result<Option<&Prepared>> {
        if let Some(features) = self.features.get() {
            return Ok(features.as_deref());
        }
        let prepared = self.reader.with_new_text(self.own, self.row, |text| {
            let text = decode(text.detoast())?.as_str();
            with_fingerprinter(self.options(), |fingerprinter| Prepared::new(fingerprinter, text))
        })?;
        Ok(self.features.get_or_init(|| prepared.map(Box::new)).as_deref())
    }
}
