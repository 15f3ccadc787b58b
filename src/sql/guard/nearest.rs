//! The near-duplicate that a new row collides with, and what the user may be told about it.

use std::ffi::CStr;

use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::search::{Candidate, SearchedTable};
use crate::postgres::catalog::column::Column;
use crate::postgres::catalog::partition::ancestors;
use crate::postgres::catalog::primary_key::KeyValue;
use crate::postgres::catalog::relation::Relation;
use crate::postgres::catalog::unlocked::column_number;

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
        order.then_with(|| self.searched.primary_key.compare(&self.key, &other.key)).is_lt()
    }

    /// Distance, key and resemblance as a sentence, each shown only to users who could select what it tells about: by
    /// trying texts, a user could derive a hidden fingerprint from the distances, bit by bit, and a hidden text from
    /// the resemblances, word by word.
    pub fn describe(&self) -> Result<String, ErrorReport> {
        let table = Relation::open(self.searched.oid);
        let tables: Vec<_> = std::iter::once(self.searched.oid).chain(ancestors(&table)).collect();
        let fingerprint = Column::at(&table, self.searched.fingerprint);
        let fingerprint: Vec<_> = fingerprint.iter().map(Column::raw_name).collect();
        let key: Vec<_> = self.searched.primary_key.columns().map(Column::raw_name).collect();
        let shows = |columns: &[&CStr]| tables.iter().any(|&table| may_select(table, columns));
        let other = match self.searched.primary_key.describe(&self.key)? {
            Some(named) if shows(&key) => Some(format!("key {named}")),
            _ => None,
        };
        let source = self.searched.source.iter().flat_map(|source| source.columns());
        let source: Vec<_> = source.filter_map(|&column| Column::at(&table, column)).collect();
        let source: Vec<_> = fingerprint.iter().copied().chain(source.iter().map(Column::raw_name)).collect();
        let resemblance = match self.resemblance {
            Some(resemblance) if shows(&source) => format!("; the resemblance of the texts is {resemblance:.3}"),
            _ => String::new(),
        };
        let bits = if self.distance == 1 { "bit" } else { "bits" };
        Ok(match (shows(&fingerprint), other) {
            (true, other) => {
                let other = other.as_deref().unwrap_or("another row");
                format!("The fingerprint differs in {} {bits} from that of {other}{resemblance}.", self.distance)
            }
            (false, Some(other)) => format!("The fingerprint is near that of {other}."),
            (false, None) if tables.iter().any(|&table| hides_rows(table)) => {
                "Row-level security hides which row it is near.".to_owned()
            }
            (false, None) => "Only users with SELECT on its key are told which row it is near.".to_owned(),
        })
    }
}

/// Whether the current user may select these columns in every row of a table.
fn may_select(table: Oid, columns: &[&CStr]) -> bool {
    const SELECT: pg_sys::AclMode = pg_sys::ACL_SELECT as pg_sys::AclMode;
    let is_allowed = |result| result == pg_sys::AclResult::ACLCHECK_OK;
    // SAFETY: a look-up in system caches.
    let of_table = || unsafe { pg_sys::pg_class_aclcheck(table, pg_sys::GetUserId(), SELECT) };
    let may_select_column = |&column: &&CStr| {
        // SAFETY: a look-up in system caches.
        let check = |number| unsafe { pg_sys::pg_attribute_aclcheck(table, number, pg_sys::GetUserId(), SELECT) };
        column_number(table, column).is_some_and(|number| is_allowed(check(number)))
    };
    !hides_rows(table) && (is_allowed(of_table()) || columns.iter().all(may_select_column))
}

/// Whether row-level security may hide rows of a table from the current user.
pub fn hides_rows(table: Oid) -> bool {
    // SAFETY: a look-up in system caches.
    let security = unsafe { pg_sys::check_enable_rls(table, Oid::INVALID, true) };
    security == pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32
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
