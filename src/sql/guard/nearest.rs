//! The near-duplicate that a new row collides with.

use pgrx::prelude::*;

use super::search::{Candidate, SearchedTable};
use crate::postgres::catalog::primary_key::KeyValue;

/// The nearest row found: one that is not marked, if there is one; of several at the same distance, the one with the
/// first key.
pub struct Nearest<'a> {
    pub distance: u32,
    /// The resemblance of the texts; None if the texts do not matter.
    pub resemblance: Option<f64>,
    /// Whether the row is marked itself.
    is_marked: bool,
    /// The table that the row is in.
    pub searched: &'a SearchedTable,
    pub key: KeyValue,
    pub is_visible: bool,
}

impl<'a> Nearest<'a> {
    /// `mark` is the mark column, if the guard marks.
    pub fn new(searched: &'a SearchedTable, candidate: &Candidate, mark: Option<i16>) -> Self {
        let row = candidate.version.row();
        Self {
            distance: candidate.distance,
            resemblance: None,
            is_marked: mark.is_some_and(|mark| row.value(mark).is_some()),
            searched,
            key: searched.primary_key.of_row(row),
            is_visible: is_visible(candidate),
        }
    }

    pub fn comes_before(&self, other: &Self) -> bool {
        let order = (self.is_marked, self.distance).cmp(&(other.is_marked, other.distance));
        let keys = || self.searched.primary_key.compare(&self.key, &other.searched.primary_key, &other.key);
        order.then_with(keys).is_lt()
    }
}

/// Whether the transaction's snapshot sees the row; always true below REPEATABLE READ, where each statement takes a new
/// snapshot.
fn is_visible(candidate: &Candidate) -> bool {
    let (table, slot) = (candidate.table.as_ptr(), candidate.version.row().slot());
    // SAFETY: the table is open, and the slot holds one of its rows.
    unsafe {
        pg_sys::XactIsoLevel < pg_sys::XACT_REPEATABLE_READ as i32
            || candidate.version.is_own()
            || pg_sys::table_tuple_satisfies_snapshot(table, slot, pg_sys::GetTransactionSnapshot())
    }
}
