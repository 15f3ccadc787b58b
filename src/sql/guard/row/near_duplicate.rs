//! The near-duplicate of a new row.

use pgrx::prelude::*;
use postgres::heap::primary_key::KeyValue;

use super::search::Candidate;
use crate::sql::guard::definition::searched_table::SearchedTable;

/// The nearest row that a search has found; of several rows at the same distance, the first one.
pub struct NearDuplicate<'a> {
    pub distance: u32,
    /// The resemblance of the texts; None if texts are not compared.
    pub resemblance: Option<f64>,
    /// The table of the row.
    pub searched: &'a SearchedTable,
    pub key: KeyValue,
    /// Whether this transaction's snapshot sees the row.
    pub is_visible: bool,
}

impl<'a> NearDuplicate<'a> {
    pub fn new(searched: &'a SearchedTable, candidate: &Candidate, resemblance: Option<f64>) -> Self {
        Self {
            distance: candidate.distance,
            resemblance,
            searched,
            key: searched.primary_key.of_row(candidate.version.row()),
            is_visible: is_visible(candidate),
        }
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
