//! Evaluates the conditions of a guard in one statement. A condition does not hold if it is NULL.

use pgrx::pg_sys::Datum;
use postgres::error::Result;
use postgres::heap::row::Row;
use postgres::settings::{with_fixed_settings, with_fixed_times};

use super::stored_rows::{Evaluated, RunningGuard};
use crate::sql::guard::definition::guard_expression::GuardExpression;
use crate::sql::guard::definition::searched_table::SearchedTable;

pub struct Conditions {
    among: Evaluated,
    unless: Evaluated,
}

impl Conditions {
    pub fn new(guard: &RunningGuard) -> Self {
        Self { among: Evaluated::new(guard), unless: Evaluated::new(guard) }
    }

    /// Whether a stored row fulfils the condition `among`.
    pub fn is_among(&self, searched: &SearchedTable, row: Row<'_>) -> Result<bool> {
        let Some(among) = &searched.among else { return Ok(true) };
        self.among.of_stored_row(searched.oid, among, row, holds)
    }

    /// Whether a row that is not stored yet will fulfil it.
    pub fn will_be_among(&self, searched: &SearchedTable, row: Row<'_>) -> Result<bool> {
        let Some(among) = &searched.among else { return Ok(true) };
        with_fixed_times(|| self.among.of_new_row(searched.oid, among, row, holds))
    }

    /// Whether a new row is stored unchecked, by the condition `unless`.
    pub fn is_unchecked(&self, searched: &SearchedTable, row: Row<'_>) -> Result<bool> {
        let Some(unless) = &searched.unless else { return Ok(false) };
        with_fixed_settings(|| self.unless.of_new_row(searched.oid, unless, row, holds))
    }

    /// Whether an UPDATE makes the condition `among` hold for a row, or `unless` no longer hold. Then the row is
    /// checked as if it were new. A condition that may not be evaluated on the old row counts as one that held.
    pub fn are_new(&self, searched: &SearchedTable, old: Row<'_>, new: Row<'_>) -> Result<bool> {
        let has_changed = |condition: &&GuardExpression| !old.has_same_values(new, condition.made_from.iter().copied());
        if searched.among.as_ref().is_some_and(|among| has_changed(&among))
            && self.will_be_among(searched, new)?
            && !self.is_among(searched, old)?
        {
            return Ok(true);
        }
        let Some(unless) = searched.unless.as_ref().filter(has_changed) else { return Ok(false) };
        Ok(!self.is_unchecked(searched, new)?
            && (!unless.is_for_stored_rows() || self.unless.of_stored_row(searched.oid, unless, old, holds)?))
    }
}

fn holds(value: Option<Datum>) -> Result<bool> {
    Ok(value == Some(Datum::from(true)))
}
