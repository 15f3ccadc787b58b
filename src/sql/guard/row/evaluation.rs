//! Evaluates the source and the conditions of a guard on rows, in one statement.
//!
//! On a new row they are evaluated as the writer, like a CHECK constraint, the conditions with times in UTC. On stored
//! rows, which may be hidden from the writer, they run only code of PostgreSQL and of the extension, with times in UTC:
//! they mean the same in every session. Their errors do not show values to a writer who may not read the rows.

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
use postgres::heap::prepared_expression::PreparedExpression;
use postgres::heap::row::{Row, TableSlot};
use postgres::raised::raise_without_values;
use postgres::settings::{with_fixed_times, without_messages};
use postgres::text::TextArgument;

use crate::sql::guard::definition::distribution::name_without_shard;
use crate::sql::guard::definition::guard_expression::{GuardExpression, GuardExpressions};
use crate::sql::guard::definition::row_key::RowKey;
use crate::sql::guard::definition::searched_fingerprints::SearchedFingerprints;
use crate::sql::guard::definition::searched_table::{Lookup, SearchedTable};
use crate::sql::guard::definition::searched_texts::SearchedTexts;
use crate::sql::lookup::text_keys::TextKeys;

/// Evaluates the expressions of one guard, and prepares each once in a statement.
pub struct Evaluator {
    /// The name of the guard, for errors.
    guard: String,
    /// The statement's memory context.
    memory: pg_sys::MemoryContext,
    /// The prepared expressions, by their tables, the guard's arguments and the kind of rows.
    prepared: RefCell<HashMap<(Oid, &'static CStr, RowKind), Rc<PreparedExpression>>>,
}

/// Whether an expression is evaluated as for a new row, or as for a stored one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowKind {
    /// Its generated columns are not computed yet.
    New,
    Stored,
}

impl Evaluator {
    /// # Safety
    /// The memory context lives as long as the result.
    pub unsafe fn new(guard: String, memory: pg_sys::MemoryContext) -> Self {
        Self { guard, memory, prepared: RefCell::default() }
    }

    pub fn memory(&self) -> pg_sys::MemoryContext {
        self.memory
    }

    /// Runs `allocate` in the statement's memory.
    pub fn in_memory<T>(&self, allocate: impl FnOnce() -> T) -> T {
        // SAFETY: the memory context lives as long as this evaluator.
        unsafe { PgMemoryContexts::For(self.memory).switch_to(|_| allocate()) }
    }

    /// Forgets the prepared expressions. Call this when the definition of the guard has changed.
    pub fn forget_expressions(&mut self) {
        self.prepared.take();
    }

    /// Evaluates the source and the condition `among` on the first row of each table, so that their errors show when
    /// the guard is created or listed, and not only when a row is written.
    pub fn try_stored_rows(&self, tables: &[SearchedTable]) -> Result<()> {
        for searched in tables {
            let table = Relation::open(searched.oid);
            if table.is_temporary_elsewhere() {
                continue;
            }
            let slot = TableSlot::new(&table);
            // SAFETY: a running function has an active snapshot.
            if let Some(row) = unsafe { slot.first(&table, pg_sys::GetActiveSnapshot()) } {
                self.key(searched, row, RowKind::Stored)?;
                self.is_among(searched, row, RowKind::Stored)?;
            }
        }
        Ok(())
    }

    /// The key by which the rows near a row are looked up; None if the row's source is NULL, or has no word. The keys
    /// of stored texts are not cached, so that the new text stays in the cache.
    pub fn key(&self, searched: &SearchedTable, row: Row<'_>, kind: RowKind) -> Result<Option<RowKey>> {
        match &searched.lookup {
            Lookup::Texts(SearchedTexts { criterion, options, .. }) => {
                let text_keys = if kind == RowKind::New { TextKeys::of } else { TextKeys::uncached };
                let keys = self.with_text(searched, row, kind, |text| text_keys(text, *criterion, options))?;
                Ok(keys.flatten().map(RowKey::Text))
            }
            &Lookup::Fingerprints(SearchedFingerprints { max_distance, .. }) => {
                let to_key = |value: i64| RowKey::Fingerprint { value: value.cast_unsigned(), max_distance };
                Ok(self.fingerprint(searched, row, kind)?.map(to_key))
            }
        }
    }

    /// The fingerprint of a row; None for NULL.
    pub fn fingerprint(&self, searched: &SearchedTable, row: Row<'_>, kind: RowKind) -> Result<Option<i64>> {
        let to_bigint = |value: Option<Datum>| Ok(value.map(|value| value.value() as i64));
        self.with_value(&searched.expressions.source, row, kind, to_bigint)
    }

    /// Calls `read` with the text of a row; None if it is NULL. The text's memory is freed when `read` returns.
    pub fn with_text<T>(
        &self,
        searched: &SearchedTable,
        row: Row<'_>,
        kind: RowKind,
        read: impl FnOnce(TextArgument<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.with_value(&searched.expressions.source, row, kind, |text| {
            // SAFETY: the source of a guard that compares texts is a `text`.
            text.map(|text| read(unsafe { TextArgument::new(text) })).transpose()
        })
    }

    /// Whether a row fulfils the condition `among` or, if it is new, will fulfil it once it is stored.
    pub fn is_among(&self, searched: &SearchedTable, row: Row<'_>, kind: RowKind) -> Result<bool> {
        let Some(among) = &searched.expressions.among else { return Ok(true) };
        let evaluate = || self.with_value(among, row, kind, holds);
        if kind == RowKind::New { with_fixed_times(evaluate) } else { evaluate() }
    }

    /// Whether a new row is stored unchecked, by the condition `unless`.
    pub fn is_unchecked(&self, searched: &SearchedTable, row: Row<'_>) -> Result<bool> {
        let Some(unless) = &searched.expressions.unless else { return Ok(false) };
        with_fixed_times(|| self.with_value(unless, row, RowKind::New, holds))
    }

    /// Whether an UPDATE makes the condition `among` hold for a row, or `unless` no longer hold. Then the row is
    /// checked as if it were new. If `unless` may not be evaluated on the old row, it counts as having held.
    pub fn is_newly_checked(&self, searched: &SearchedTable, old: Row<'_>, new: Row<'_>) -> Result<bool> {
        let GuardExpressions { among, unless, .. } = &searched.expressions;
        let has_changed =
            |condition: &&GuardExpression| !old.has_same_values(new, condition.new_row_columns.iter().copied());
        if among.as_ref().is_some_and(|among| has_changed(&among))
            && self.is_among(searched, new, RowKind::New)?
            && !self.is_among(searched, old, RowKind::Stored)?
        {
            return Ok(true);
        }
        let Some(unless) = unless.as_ref().filter(has_changed) else { return Ok(false) };
        Ok(!self.is_unchecked(searched, new)?
            && (!unless.is_for_stored_rows() || self.with_value(unless, old, RowKind::Stored, holds)?))
    }

    /// Calls `read` with an expression's value for a row; None for NULL. `read` runs in memory that is freed when it
    /// returns, and must not evaluate the expression again.
    ///
    /// If the current user may not read the stored rows of the table, an error about a stored row keeps its SQLSTATE,
    /// and the message says only which guard has failed; other messages are not sent.
    fn with_value<T>(
        &self,
        expression: &GuardExpression,
        row: Row<'_>,
        kind: RowKind,
        read: impl FnOnce(Option<Datum>) -> Result<T>,
    ) -> Result<T> {
        // SAFETY: the row is of the expression's table. Nothing in this library passes a `read` that evaluates an
        // expression.
        let evaluate = || unsafe { self.prepare(expression, kind).with_value(row, read) };
        if kind == RowKind::New {
            return evaluate();
        }
        let evaluate_stored = || if expression.is_column { evaluate() } else { with_fixed_times(evaluate) };
        if may_select_rows(expression.table) {
            return evaluate_stored();
        }
        let (table, guard) = (name_without_shard(&Relation::open(expression.table))?, &self.guard);
        let message = || format!("guard \"{guard}\" of table \"{table}\" cannot evaluate an expression on another row");
        Ok(PgTryBuilder::new(AssertUnwindSafe(|| {
            without_messages(evaluate_stored).unwrap_or_else(|error| raise(error))
        }))
        .catch_others(|error| raise_without_values(error, message()))
        .execute())
    }

    /// Makes an expression ready to be evaluated. Call this under the settings of the evaluation: it folds constants.
    fn prepare(&self, expression: &GuardExpression, kind: RowKind) -> Rc<PreparedExpression> {
        let key = (expression.table, expression.argument, kind);
        if let Some(prepared) = self.prepared.borrow().get(&key) {
            return prepared.clone();
        }
        let tree = match kind {
            RowKind::New => &expression.for_new_row,
            RowKind::Stored => &expression.for_stored_row,
        };
        let prepared = Rc::new(self.in_memory(|| PreparedExpression::new(tree.read())));
        self.prepared.borrow_mut().insert(key, prepared.clone());
        prepared
    }
}

/// Whether a condition holds: not if it is NULL.
fn holds(value: Option<Datum>) -> Result<bool> {
    Ok(value == Some(Datum::from(true)))
}
