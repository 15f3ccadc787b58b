//! Confirms near rows by their texts.
//!
//! A fingerprint is 64 votes, so texts with little in common sometimes have near fingerprints. A guard that drops a row
//! because of votes alone loses somebody's text. So a guard may also compare the text of each near row with the new
//! text ([`simhash::fingerprint::resemblance`]). For example, two letters that share a template may differ in 5 bits
//! and have a resemblance of 0.7: both are stored. With an added line, a letter has 0.97 and is a copy.
//!
//! Reading texts is what costs: the features of the new text are computed once, when the first row is near, and a row
//! that was refuted is not read again ([`super::search::Dismissed`]).

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use postgres::catalog::relation::Relation;
use postgres::error::{Result, tick};
use postgres::heap::computed::Computed;
use postgres::heap::row::Row;
use postgres::settings::with_safe_search_path;
use postgres::text::{TextArgument, decode};
use simhash::fingerprint::resemblance::Prepared;
use simhash::fingerprint::size::{SimilarSizes, is_exact};
use simhash::search::nearness::Nearness;

use super::search::Dismissed;
use super::stored_rows::RunningGuard;
use crate::sql::fingerprint::fingerprint_cache::{self, with_fingerprinter};
use crate::sql::functions::ExtensionSchema;
use crate::sql::guard::definition::cache::{PerTable, of_table};
use crate::sql::guard::definition::searched_table::{SearchedTable, not_from_text};
use crate::sql::indexed::recognise::FingerprintCall;

/// Reads the texts of a guarded table and its partitions, in one statement.
pub struct TextReader {
    guard: RunningGuard,
    /// The text of each table that was read.
    texts: PerTable<TableText>,
}

/// The text of a table's rows, as expressions of the table's columns.
struct TableText {
    call: FingerprintCall,
    of_new_row: Computed,
    /// Made when the first stored row is read, which is rare.
    of_stored_row: OnceCell<StoredText>,
}

struct StoredText {
    computed: Computed,
    /// Whether a column has the text.
    is_stored: bool,
}

impl TextReader {
    pub fn new(guard: RunningGuard) -> Self {
        Self { guard, texts: PerTable::default() }
    }

    /// Calls `f` with the text of a stored row; None if the text is NULL. The text's memory is freed when `f` returns.
    pub fn with_stored_text<T>(
        &self,
        searched: &SearchedTable,
        row: Row<'_>,
        f: impl FnOnce(&str) -> Result<T>,
    ) -> Result<Option<T>> {
        let text = self.text(searched)?;
        let decoded = |text: TextArgument<'_>| f(decode(text.detoast())?.as_str());
        let StoredText { computed, is_stored } = text.of_stored_row.get_or_init(|| {
            self.guard.in_memory(|| {
                let stored = text.call.text_of_stored_row(&Relation::open(searched.oid));
                let is_stored = stored.as_own_column().is_some();
                StoredText { computed: with_safe_search_path(|| Computed::new(stored)), is_stored }
            })
        });
        // SAFETY: the row is of the table for which the expression was made, and the expression's value is a `text`.
        let read = || unsafe { with_text(computed, row, decoded) };
        self.guard.on_stored_row(searched.oid, !is_stored, read)
    }

    fn text(&self, searched: &SearchedTable) -> Result<Rc<TableText>> {
        let make = || {
            let table = Relation::open(searched.oid);
            let schema = ExtensionSchema::from_function(self.guard.function);
            let call = schema.and_then(|schema| FingerprintCall::of_text(searched.computation(&table), schema));
            let call = call.ok_or_else(|| not_from_text(&table))?;
            Ok(TableText { of_new_row: Computed::new(call.source), call, of_stored_row: OnceCell::new() })
        };
        of_table(&self.texts, searched.oid, || self.guard.in_memory(make))
    }
}

/// Calls `f` with a text; None if it is NULL.
///
/// # Safety
/// The row is of the table for which the expression was made, and the expression's value is a `text`.
unsafe fn with_text<T>(
    expression: &Computed,
    row: Row<'_>,
    f: impl FnOnce(TextArgument<'_>) -> Result<T>,
) -> Result<Option<T>> {
    // SAFETY: the caller passes an expression with such a value, and a row of the expression's table.
    unsafe { expression.with_value(row, |text| text.map(|text| f(TextArgument::new(text))).transpose()) }
}

/// The text of a new row, with which near rows are compared during one search. Its features are computed once, when
/// first needed.
pub struct NewText<'a> {
    reader: &'a TextReader,
    row: Row<'a>,
    /// The new row's table.
    own: &'a SearchedTable,
    /// The least resemblance that matters. It may grow during the search.
    pub least_resemblance: Cell<f64>,
    features: OnceCell<Option<Prepared>>,
    /// The stored rows that do not resemble the new row.
    refuted: Dismissed,
}

impl<'a> NewText<'a> {
    pub fn new(reader: &'a TextReader, row: Row<'a>, own: &'a SearchedTable, least_resemblance: f64) -> Self {
        let least_resemblance = Cell::new(least_resemblance);
        Self { reader, row, own, least_resemblance, features: OnceCell::new(), refuted: Dismissed::default() }
    }

    /// Calls `f` with the new text, also if a generated column that is not computed yet has it; None if it is NULL.
    fn with_text<T>(&self, f: impl FnOnce(TextArgument<'_>) -> Result<T>) -> Result<Option<T>> {
        // SAFETY: the row is of the table for which the expression was made, and the expression's value is a `text`.
        unsafe { with_text(&self.reader.text(self.own)?.of_new_row, self.row, f) }
    }

    /// The sizes of the texts that may resemble the new text, by `least_resemblance`; None if the size of the new text
    /// is not known, or the tables do not have sizes.
    pub fn similar_sizes(&self) -> Result<Option<SimilarSizes>> {
        let Some(source) = self.own.source.as_ref().filter(|_| self.own.has_sizes) else { return Ok(None) };
        // The generated columns ask for the same size when the row is stored.
        let size = self.with_text(|text| fingerprint_cache::size(text, &source.options))?;
        let similar = |size| SimilarSizes::new(size, self.least_resemblance.get(), is_exact(&source.options));
        Ok(size.flatten().map(similar))
    }

    /// Which fingerprints are near the new row: by the votes of its text, if the guard flips bits.
    pub fn near(&self, near: Nearness) -> Result<Nearness> {
        let Some(source) = self.own.source.as_ref().filter(|_| near.flips().next().is_some()) else { return Ok(near) };
        let order = self.with_text(|text| fingerprint_cache::closest_votes(text, &source.fingerprint_options))?;
        Ok(order.flatten().map_or(near.by_radii_alone(), |order| near.by_votes(&order)))
    }

    /// What [`Self::confirm`] returns, for a row that is present. A text that does not resemble the new text is
    /// compared once.
    pub fn confirm_present(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<f64>> {
        self.refuted.unless_dismissed(searched.oid, row, || self.confirm(searched, row))
    }

    /// The resemblance of a row's text to the new text; None if it is less than `least_resemblance`, or if one of the
    /// texts is NULL or has no feature. Costs at most as much as the fingerprint of the row's text.
    pub fn confirm(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<f64>> {
        let Some(features) = self.features()? else { return Ok(None) };
        let resemblance = self.reader.with_stored_text(searched, row, |text| {
            with_fingerprinter(|fingerprinter| {
                features.resemblance_from(self.least_resemblance.get(), fingerprinter, text, &tick)
            })
        })?;
        Ok(resemblance.flatten())
    }

    /// The features of the new text; None if it is NULL.
    fn features(&self) -> Result<Option<&Prepared>> {
        if let Some(known) = self.features.get() {
            return Ok(known.as_ref());
        }
        let prepared = match &self.own.source {
            Some(source) => self.with_text(|text| {
                let text = decode(text.detoast())?.as_str();
                with_fingerprinter(|fingerprinter| Prepared::new(fingerprinter, text, &source.options, &tick))
            })?,
            None => None,
        };
        Ok(self.features.get_or_init(|| prepared).as_ref())
    }
}
