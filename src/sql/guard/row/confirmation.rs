//! Confirms near rows by their texts.
//!
//! Texts with little in common sometimes have near fingerprints. So a guard may also compare the text of each near row
//! with the new text ([`simhash::fingerprint::resemblance`]).

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::catalog::relation::Relation;
use postgres::error::{algorithm_error, tick};
use postgres::heap::computed::Computed;
use postgres::heap::row::{Row, tid_numbers};
use postgres::owner::as_owner;
use postgres::text::{TextArgument, decode};
use simhash::error::Error;
use simhash::fingerprint::resemblance::Prepared;

use crate::sql::fingerprint::fingerprint_cache::with_fingerprinter;
use crate::sql::functions::ExtensionSchema;
use crate::sql::guard::definition::searched_table::{SearchedTable, not_from_text};
use crate::sql::indexed::text_source::TextSource;

/// Reads the texts of a guarded table and its partitions, in one statement.
pub struct TextReader {
    /// The guard's trigger function.
    function: Oid,
    /// Memory that lives as long as the statement.
    memory: pg_sys::MemoryContext,
    /// The text of each table that was read.
    texts: RefCell<HashMap<Oid, Rc<TableText>>>,
}

/// The text of a table's rows, as an expression of the table's columns.
struct TableText {
    expression: Computed,
    /// The table's owner; None if the text is a column.
    owner: Option<Oid>,
}

impl TextReader {
    /// # Safety
    /// The memory context lives as long as the result.
    pub unsafe fn new(function: Oid, memory: pg_sys::MemoryContext) -> Self {
        Self { function, memory, texts: RefCell::default() }
    }

    /// Forgets the expressions of the texts: the definition of a table may have changed.
    pub fn forget(&mut self) {
        self.texts.take();
    }

    /// Calls `f` with the text of a stored row; None if the text is NULL. The text's memory is freed when `f` returns.
    ///
    /// The text's expression is evaluated as the table's owner. Otherwise, a function in it that depends on the search
    /// path would pass hidden texts to functions of the inserting user.
    pub fn with_stored_text<T>(
        &self,
        searched: &SearchedTable,
        row: Row<'_>,
        f: impl FnOnce(&str) -> Result<T, ErrorReport>,
    ) -> Result<Option<T>, ErrorReport> {
        match self.text(searched)?.owner {
            Some(owner) => as_owner(owner, || self.with_text(searched, row, f)),
            None => self.with_text(searched, row, f),
        }
    }

    /// Calls `f` with the text of a row, read as the current user; None if the text is NULL.
    fn with_text<T>(
        &self,
        searched: &SearchedTable,
        row: Row<'_>,
        f: impl FnOnce(&str) -> Result<T, ErrorReport>,
    ) -> Result<Option<T>, ErrorReport> {
        let text = self.text(searched)?;
        let decoded = |text| {
            // SAFETY: the expression's value is a `text`.
            let text = unsafe { TextArgument::new(text) };
            f(&decode(text.detoast())?).map(Some)
        };
        // SAFETY: the row is of the table for which the expression was made.
        unsafe { text.expression.with_value(row, |text| text.map_or(Ok(None), decoded)) }
    }

    fn text(&self, searched: &SearchedTable) -> Result<Rc<TableText>, ErrorReport> {
        if let Some(known) = self.texts.borrow().get(&searched.oid) {
            return Ok(known.clone());
        }
        let table = Relation::open(searched.oid);
        let make = || {
            let schema = ExtensionSchema::from_function(self.function);
            match schema.and_then(|schema| TextSource::of(searched.computation(&table), schema)) {
                Some(source) => {
                    let is_column = source.expression.as_own_column().is_some();
                    let owner = (!is_column).then(|| table.owner());
                    Ok(Rc::new(TableText { expression: Computed::new(source.expression), owner }))
                }
                None => Err(not_from_text(&table)?),
            }
        };
        // SAFETY: the memory context lives as long as this, and so as long as the expression.
        let made = unsafe { PgMemoryContexts::For(self.memory).switch_to(|_| make()) }?;
        self.texts.borrow_mut().insert(searched.oid, made.clone());
        Ok(made)
    }
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
    /// The stored rows that do not resemble the new row, by table and tid.
    refuted: RefCell<HashSet<(u32, (u32, u16))>>,
}

impl<'a> NewText<'a> {
    pub fn new(reader: &'a TextReader, row: Row<'a>, own: &'a SearchedTable, least_resemblance: f64) -> Self {
        let least_resemblance = Cell::new(least_resemblance);
        Self { reader, row, own, least_resemblance, features: OnceCell::new(), refuted: RefCell::default() }
    }

    /// The number of stored rows that do not resemble the new row.
    pub fn refuted(&self) -> usize {
        self.refuted.borrow().len()
    }

    /// What [`Self::confirm`] returns, for a row that is present. The search may find the row in several indexes; a
    /// text that does not resemble the new text is compared once. No other row gets the row's tid during the search,
    /// because VACUUM does not remove what this transaction may see.
    pub fn confirm_present(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<f64>, ErrorReport> {
        let tid = (searched.oid.to_u32(), tid_numbers(row.tid()));
        if self.refuted.borrow().contains(&tid) {
            return Ok(None);
        }
        let resemblance = self.confirm(searched, row)?;
        if resemblance.is_none() {
            let mut refuted = self.refuted.borrow_mut();
            refuted.try_reserve(1).map_err(Error::from).map_err(algorithm_error)?;
            refuted.insert(tid);
        }
        Ok(resemblance)
    }

    /// The resemblance of a row's text to the new text; None if it is less than `least_resemblance`, or if one of the
    /// texts is NULL or has no feature. Costs at most as much as the fingerprint of the row's text.
    pub fn confirm(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<f64>, ErrorReport> {
        let Some(features) = self.features()? else { return Ok(None) };
        let resemblance = self.reader.with_stored_text(searched, row, |text| {
            with_fingerprinter(|fingerprinter| {
                features.resemblance_from(self.least_resemblance.get(), fingerprinter, text, &tick)
            })
            .map_err(algorithm_error)
        })?;
        Ok(resemblance.flatten())
    }

    /// The features of the new text; None if it is NULL.
    fn features(&self) -> Result<Option<&Prepared>, ErrorReport> {
        if let Some(known) = self.features.get() {
            return Ok(known.as_ref());
        }
        let prepared = match &self.own.source {
            Some(source) => self.reader.with_text(self.own, self.row, |text| {
                with_fingerprinter(|fingerprinter| Prepared::new(fingerprinter, text, &source.options, &tick))
                    .map_err(algorithm_error)
            })?,
            None => None,
        };
        Ok(self.features.get_or_init(|| prepared).as_ref())
    }
}
