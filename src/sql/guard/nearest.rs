//! The near-duplicate that a row collides with, and what may be told of it.

use std::ffi::CString;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;

use super::own_row::is_own;
use super::search::{Candidate, Searched};
use crate::sql::tables::{ancestors, column_name, open};

/// The nearest row found, and of several such the one whose key comes first.
pub struct Nearest<'a> {
    pub distance: u32,
    /// The table that it is in.
    pub searched: &'a Searched,
    pub key: Vec<Datum>,
    pub is_visible: bool,
}

impl<'a> Nearest<'a> {
    /// # Safety
    /// The candidate's slot holds a row of its table, which is that one.
    pub unsafe fn new(searched: &'a Searched, candidate: &Candidate) -> Self {
        // SAFETY: by the contract.
        unsafe {
            let key = searched.primary_key.of_row(candidate.slot).unwrap_or_default();
            Self { distance: candidate.distance, searched, key, is_visible: is_visible(candidate) }
        }
    }

    pub fn comes_before(&self, other: &Self) -> bool {
        let order = self.distance.cmp(&other.distance);
        order.then_with(|| self.searched.primary_key.compare(&self.key, &other.key)).is_lt()
    }

    /// The distance and the key, as a sentence; each only to a user who could select it. From distances to texts of
    /// one's own, one could tell a fingerprint bit by bit.
    pub fn describe(&self) -> Result<String, ErrorReport> {
        // SAFETY: locked as a member.
        let table = unsafe { open(self.searched.oid) };
        let tables: Vec<_> = std::iter::once(self.searched.oid).chain(ancestors(&table)).collect();
        let names = |columns: &mut dyn Iterator<Item = i16>| -> Vec<CString> {
            columns.filter_map(|column| column_name(self.searched.oid, column)).collect()
        };
        let fingerprint = names(&mut std::iter::once(self.searched.fingerprint));
        let key = names(&mut self.searched.primary_key.columns());
        let shows = |columns: &[CString]| tables.iter().any(|&table| may_select(table, columns));
        let other = match self.searched.primary_key.describe(&self.key)? {
            Some(named) if shows(&key) => Some(format!("key {named}")),
            _ => None,
        };
        let bits = if self.distance == 1 { "bit" } else { "bits" };
        Ok(match (shows(&fingerprint), other) {
            (true, other) => {
                let other = other.as_deref().unwrap_or("another row");
                format!("The fingerprint differs in {} {bits} from that of {other}.", self.distance)
            }
            (false, Some(other)) => format!("The fingerprint is near that of {other}."),
            (false, None) if tables.iter().any(|&table| hides_rows(table)) => {
                "Row-level security hides which row it is near.".to_owned()
            }
            (false, None) => "Which row it is near is told to those who may select its key.".to_owned(),
        })
    }
}

/// Whether the current user may select columns of a table, of any row.
fn may_select(table: Oid, columns: &[CString]) -> bool {
    const SELECT: pg_sys::AclMode = pg_sys::ACL_SELECT as pg_sys::AclMode;
    let is_allowed = |result| result == pg_sys::AclResult::ACLCHECK_OK;
    // SAFETY: look-ups in the catalogue.
    let of_table = || unsafe { pg_sys::pg_class_aclcheck(table, pg_sys::GetUserId(), SELECT) };
    let of_column = |column: &CString| unsafe {
        let number = pg_sys::get_attnum(table, column.as_ptr());
        pg_sys::pg_attribute_aclcheck(table, number, pg_sys::GetUserId(), SELECT)
    };
    !hides_rows(table) && (is_allowed(of_table()) || columns.iter().all(|column| is_allowed(of_column(column))))
}

/// Whether row-level security may hide rows of a table from the current user.
fn hides_rows(table: Oid) -> bool {
    // SAFETY: a look-up in the catalogue.
    let security = unsafe { pg_sys::check_enable_rls(table, Oid::INVALID, true) };
    security == pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32
}

/// Whether the transaction can see a row, if it is one that keeps its snapshot.
///
/// # Safety
/// The candidate's slot holds a row of its table.
unsafe fn is_visible(candidate: &Candidate) -> bool {
    // SAFETY: by the contract.
    unsafe {
        if pg_sys::XactIsoLevel < pg_sys::XACT_REPEATABLE_READ as i32 {
            return true;
        }
        is_own(candidate.slot)
            || pg_sys::table_tuple_satisfies_snapshot(
                candidate.table.as_ptr(),
                candidate.slot,
                pg_sys::GetTransactionSnapshot(),
            )
    }
}
