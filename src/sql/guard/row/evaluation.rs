//! Evaluates the source and the conditions of a guard on rows, in one statement.
//!
//! On a new row they are evaluated as the writer, like a CHECK constraint. On stored rows, which may be hidden from the
//! writer, they run PostgreSQL's own code alone, with times in UTC: they mean the same in every session. Their errors
//! do not show values to a writer who may not read the rows.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CStr;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use postgres::catalog::relation::{Relation, may_select_rows};
use postgres::error::{Result, raise};
use postgres::heap::computed::Computed;
use postgres::heap::row::{Row, TableSlot};
use postgres::raised::raise_without_values;
use postgres::settings::{with_fixed_settings, with_fixed_times};
use postgres::text::TextArgument;
use simhash::criterion::TextCriterion;
use simhash::fingerprint::options::Options;

use crate::sql::guard::definition::distribution::user_names_of;
use crate::sql::guard::definition::guard_expression::GuardExpression;
use crate::sql::guard::definition::row_key::RowKey;
use crate::sql::guard::definition::searched_table::{Lookup, SearchedTable};
use crate::sql::lookup::text_keys::TextKeys;

pub struct Evaluator {
    /// The name of the guard's trigger, for errors.
    trigger: String,
    /// Memory that lives as long as the statement, and identifies it.
    memory: pg_sys::MemoryContext,
    /// The expressions that have been evaluated, by their tables and arguments, and whether for stored rows.
    prepared: RefCell<HashMap<(Oid, &'static CStr, bool), Rc<Computed>>>,
}

impl Evaluator {
    /// # Safety
    /// The memory context lives as long as the result.
    pub unsafe fn new(trigger: String, memory: pg_sys::MemoryContext) -> Self {
        Self { trigger, memory, prepared: RefCell::default() }
    }

    pub fn memory(&self) -> pg_sys::MemoryContext {
        self.memory
    }

    /// Runs `f` in the statement's memory.
    pub fn in_memory<T>(&self, f: impl FnOnce() -> T) -> T {
        // SAFETY: the memory context lives as long as this.
        unsafe { PgMemoryContexts::For(self.memory).switch_to(|_| f()) }
    }

    /// Forgets the expressions of a guard whose definition has changed.
    pub fn forget(&mut self) {
        self.prepared.take();
    }

    /// Evaluates what the guard evaluates on stored rows, for the first row of each table: only errors matter.
    pub fn try_stored_rows(&self, tables: &[SearchedTable]) -> Result<()> {
        for searched in tables {
            let table = Relation::open(searched.oid);
            if table.is_temporary_elsewhere() {
                continue;
            }
            let slot = TableSlot::new(&table);
            // SAFETY: a running function has an active snapshot.
            if let Some(row) = unsafe { slot.first(&table, pg_sys::GetActiveSnapshot()) } {
                self.stored_key(searched, row)?;
                self.is_among(searched, row)?;
            }
        }
        Ok(())
    }

    /// What a new row is looked up by; None if its source is NULL, or has no word.
    pub fn key(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<RowKey>> {
        self.of_new_row(&searched.expressions.source, row, |source| row_key(searched, source, TextKeys::of))
    }

    /// What a stored row is looked up by; None as for a new row.
    pub fn stored_key(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<RowKey>> {
        self.of_stored_row(&searched.expressions.source, row, |source| row_key(searched, source, TextKeys::uncached))
    }

    /// The fingerprint of a stored row; None for NULL.
    pub fn stored_fingerprint(&self, searched: &SearchedTable, row: Row<'_>) -> Result<Option<i64>> {
        let read = |source: Option<Datum>| Ok(source.map(|source| source.value() as i64));
        self.of_stored_row(&searched.expressions.source, row, read)
    }

    /// Calls `f` with the text of a new row; None if it is NULL. The text's memory is freed when `f` returns.
    pub fn with_new_text<T>(
        &self,
        searched: &SearchedTable,
        row: Row<'_>,
        f: impl FnOnce(TextArgument<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.of_new_row(&searched.expressions.source, row, |text| with_text(text, f))
    }

    /// Calls `f` with the text of a stored row, as [`Self::with_new_text`] does.
    pub fn with_stored_text<T>(
        &self,
        searched: &SearchedTable,
        row: Row<'_>,
        f: impl FnOnce(TextArgument<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.of_stored_row(&searched.expressions.source, row, |text| with_text(text, f))
    }

    /// Whether a stored row fulfils the condition `among`.
    pub fn is_among(&self, searched: &SearchedTable, row: Row<'_>) -> Result<bool> {
        let Some(among) = &searched.expressions.among else { return Ok(true) };
        self.of_stored_row(among, row, holds)
    }

    /// Whether a row that is not stored yet will fulfil it.
    pub fn will_be_among(&self, searched: &SearchedTable, row: Row<'_>) -> Result<bool> {
        let Some(among) = &searched.expressions.among else { return Ok(true) };
        with_fixed_times(|| self.of_new_row(among, row, holds))
    }

    /// Whether a new row is stored unchecked, by the condition `unless`.
    pub fn is_unchecked(&self, searched: &SearchedTable, row: Row<'_>) -> Result<bool> {
        let Some(unless) = &searched.expressions.unless else { return Ok(false) };
        with_fixed_settings(|| self.of_new_row(unless, row, holds))
    }

    /// Whether an UPDATE makes the condition `among` hold for a row, or `unless` no longer hold. Then the row is
    /// checked as if it were new. A condition that may not be evaluated on the old row counts as one that held.
    pub fn is_newly_checked(&self, searched: &SearchedTable, old: Row<'_>, new: Row<'_>) -> Result<bool> {
        let has_changed = |condition: &&GuardExpression| !old.has_same_values(new, condition.made_from.iter().copied());
        if searched.expressions.among.as_ref().is_some_and(|among| has_changed(&among))
            && self.will_be_among(searched, new)?
            && !self.is_among(searched, old)?
        {
            return Ok(true);
        }
        let Some(unless) = searched.expressions.unless.as_ref().filter(has_changed) else { return Ok(false) };
        Ok(!self.is_unchecked(searched, new)?
            && (!unless.is_for_stored_rows() || self.of_stored_row(unless, old, holds)?))
    }

    /// Calls `f` with an expression's value for a new row, also if it needs a generated column, which is not computed
    /// yet; None for NULL. `f` runs in memory that is freed when it returns, and must not evaluate the expression
    /// again.
    fn of_new_row<T>(
        &self,
        expression: &GuardExpression,
        row: Row<'_>,
        f: impl FnOnce(Option<Datum>) -> Result<T>,
    ) -> Result<T> {
        self.evaluate(expression, false, row, f)
    }

    /// Calls `f` with an expression's value for a stored row, as [`Self::of_new_row`] does. If the current user may not
    /// read the rows of the table, an error keeps its SQLSTATE, and the message says only which guard has failed.
    fn of_stored_row<T>(
        &self,
        expression: &GuardExpression,
        row: Row<'_>,
        f: impl FnOnce(Option<Datum>) -> Result<T>,
    ) -> Result<T> {
        let evaluate = || self.evaluate(expression, true, row, f);
        let read = || if expression.is_column { evaluate() } else { with_fixed_times(evaluate) };
        if may_select_rows(expression.table) {
            return read();
        }
        let (table, guard) = user_names_of(&Relation::open(expression.table), self.trigger.clone())?;
        let message = || format!("guard \"{guard}\" of table \"{table}\" cannot evaluate an expression on another row");
        Ok(PgTryBuilder::new(AssertUnwindSafe(|| read().unwrap_or_else(|error| raise(error))))
            .catch_others(|error| raise_without_values(error, message()))
            .execute())
    }

    fn evaluate<T>(
        &self,
        expression: &GuardExpression,
        is_stored: bool,
        row: Row<'_>,
        f: impl FnOnce(Option<Datum>) -> Result<T>,
    ) -> Result<T> {
        let key = (expression.table, expression.argument, is_stored);
        let known = self.prepared.borrow().get(&key).cloned();
        let prepared = known.unwrap_or_else(|| {
            let stored = if is_stored { &expression.of_stored_row } else { &expression.of_new_row };
            let prepared = Rc::new(self.in_memory(|| Computed::new(stored.read())));
            self.prepared.borrow_mut().insert(key, prepared.clone());
            prepared
        });
        // SAFETY: the row is of the expression's table. Nothing in this library passes an `f` that evaluates an
        // expression.
        unsafe { prepared.with_value(row, f) }
    }
}

/// What a row with this source is looked up by. `text_keys` computes the keys of a text.
fn row_key(
    searched: &SearchedTable,
    source: Option<Datum>,
    text_keys: impl FnOnce(TextArgument<'_>, TextCriterion, &Options) -> Result<Option<TextKeys>>,
) -> Result<Option<RowKey>> {
    match &searched.lookup {
        Lookup::Texts(texts) => {
            let keys = with_text(source, |text| text_keys(text, texts.criterion, &texts.options))?;
            Ok(keys.flatten().map(RowKey::Text))
        }
        Lookup::Fingerprints(fingerprints) => Ok(source.map(|source| fingerprints.key(source.value() as i64))),
    }
}

fn with_text<T>(text: Option<Datum>, f: impl FnOnce(TextArgument<'_>) -> Result<T>) -> Result<Option<T>> {
    // SAFETY: the source of a guard that compares texts is a `text`.
    text.map(|text| f(unsafe { TextArgument::new(text) })).transpose()
}

/// Whether a condition holds: not if it is NULL.
fn holds(value: Option<Datum>) -> Result<bool> {
    Ok(value == Some(Datum::from(true)))
}
