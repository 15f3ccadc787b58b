//! The rows that a search has found and dismissed, so that it does not judge them again: it may find a row in several
//! indexes.
//!
//! Only rows that are present may be added. No other row gets such a row's tid during the search, because VACUUM does
//! not remove what this transaction may see.

use std::cell::RefCell;
use std::collections::HashSet;

use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use postgres::error::algorithm_error;
use postgres::heap::row::{Row, tid_numbers};
use simhash::error::Error;

/// Rows by table and tid.
#[derive(Default)]
pub struct Dismissed(RefCell<HashSet<(u32, (u32, u16))>>);

impl Dismissed {
    pub fn contains(&self, table: Oid, row: Row<'_>) -> bool {
        self.0.borrow().contains(&(table.to_u32(), tid_numbers(row.tid())))
    }

    /// Adds a row. An error if out of memory.
    pub fn add(&self, table: Oid, row: Row<'_>) -> Result<(), ErrorReport> {
        let mut rows = self.0.borrow_mut();
        rows.try_reserve(1).map_err(Error::from).map_err(algorithm_error)?;
        rows.insert((table.to_u32(), tid_numbers(row.tid())));
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.0.borrow().len()
    }
}
