//! Finds the near-duplicate of a new row among the near rows of all tables that the guard searches.

use std::ops::ControlFlow::{Break, Continue};

use pgrx::itemptr::item_pointer_to_u64;
use pgrx::pg_sys::ItemPointerData;
use pgrx::prelude::*;
use postgres::catalog::relation::Relation;
use postgres::error::{Explain, Result, user_error};
use postgres::heap::dirty_scan::{FoundVersion, VersionState};
use postgres::heap::primary_key::KeyValue;
use postgres::heap::row::{Row, TableSlot};
use postgres::heap::transactions::Awaited;

use super::conflicting_rows::UniqueIndexes;
use super::current_row::current_rows_of_others;
use super::evaluation::RowKind;
use super::pending_row::PendingRow;
use super::search::{Closeness, NearQuery};
use super::statement::Statement;
use crate::sql::guard::definition::arguments::Action;
use crate::sql::guard::definition::distribution::name_without_shard;
use crate::sql::guard::definition::guard_expression::GuardExpression;
use crate::sql::guard::definition::searched_table::SearchedTable;

/// The near row that a search has found: the closest one if the guard rejects, otherwise the first one.
pub struct NearDuplicate<'a> {
    pub closeness: Closeness,
    /// The table of the row.
    pub searched: &'a SearchedTable,
    pub primary_key: KeyValue,
    /// The tid in the index entry by which the row was found, or the row's own. ON CONFLICT may find the same entry.
    pub entry: ItemPointerData,
    /// The row's tid. Among equally close rows of a table, the nearest one has the smallest tid.
    tid: ItemPointerData,
    /// Whether this transaction's snapshot sees the row.
    pub is_visible: bool,
}

#[derive(Default)]
pub struct NearRows<'a> {
    /// A row that is present: it decides, whatever other transactions do.
    pub nearest: Option<NearDuplicate<'a>>,
    /// A transaction that decides whether a near row is present.
    pub awaited: Option<Awaited>,
}

/// Searches all tables for near rows.
///
/// A present row ends the search if no other can be closer, or if the action is skip or mark: a row may have thousands
/// of copies, and the search does not look among them for a closer one.
pub fn find_near<'a>(statement: &'a Statement, query: &NearQuery) -> Result<NearRows<'a>> {
    let is_any_enough = statement.guard.action != Action::Reject;
    let mut rows = NearRows::default();
    query.each_near(&statement.guard.searched, |searched, candidate| {
        let is_present = candidate.state == VersionState::Present;
        // Each index that has the row's key finds the row again. It is compared once.
        if is_present && !query.earlier_searches.add_compared(searched.oid, candidate.version.row()) {
            return Ok(Continue(()));
        }
        if may_be_duplicate(statement, searched, &candidate)? {
            rows.consider(searched, &candidate, query)?;
        }
        let is_decided = rows.nearest.as_ref().is_some_and(|nearest| is_any_enough || nearest.closeness.is_highest());
        Ok(if is_decided { Break(()) } else { Continue(()) })
    })?;
    // A near row that is stored, or a transaction that stores one, decides before a row that is pending.
    if rows.nearest.is_none() && rows.awaited.is_none() {
        check_pending(statement, query)?;
    }
    Ok(rows)
}

/// Whether a version of a row may be a near-duplicate: it has no mark, and it fulfils the condition `among`, or this
/// cannot be told yet. If a transaction in progress changes the row, its old and its new version are both found, and
/// each is checked by itself.
fn may_be_duplicate(statement: &Statement, searched: &SearchedTable, candidate: &FoundVersion) -> Result<bool> {
    let row = candidate.version.row();
    // Only unmarked rows count. So marks form no cycle, and among rows near each other at least one is unmarked.
    if searched.mark.as_ref().is_some_and(|mark| row.value(mark.column).is_some()) {
        return Ok(false);
    }
    // A value that may vanish is not read: its transaction decides.
    let may_lose_value = |among: &GuardExpression| candidate.may_lose(among.stored_row_columns.iter().copied());
    if searched.expressions.among.as_ref().is_some_and(may_lose_value) {
        return Ok(true);
    }
    statement.evaluator.is_among(searched, row, RowKind::Stored)
}

/// An error if the new row is near a row that another statement of this session is about to store. No search finds that
/// row yet.
fn check_pending(statement: &Statement, query: &NearQuery) -> Result<()> {
    for other in current_rows_of_others(&statement.current) {
        if let Some(pending) = &*other.pending.borrow()
            && query.key.may_be_near(&pending.key)
            && !pending.is_stored()
            && is_near_pending(statement, pending, query)?
        {
            let name = name_without_shard(&Relation::open(statement.guard.identity.root))?;
            let message = format!("near-duplicate of a row that is being stored in table \"{name}\"");
            return Err(user_error(PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION, message)
                .with_detail("A trigger or a function wrote it before the other row was stored.")
                .with_hint("Write it in an AFTER trigger."));
        }
    }
    Ok(())
}

/// Whether a pending row that may be near by its key is a near-duplicate: it is in the scope, fulfils the condition
/// `among`, its text resembles the new text, and no conflicting row is still present.
fn is_near_pending(statement: &Statement, pending: &PendingRow, query: &NearQuery) -> Result<bool> {
    let has_row = |searched: &&SearchedTable| searched.oid == pending.table;
    // The guard does not search all partitions, for example one that is being detached. Its rows count as near.
    let Some(searched) = statement.guard.searched.iter().find(has_row) else { return Ok(true) };
    let table = Relation::open(pending.table);
    let slot = TableSlot::new(&table);
    // SAFETY: the tuple is a copy of a row of this table, and lives as long as the pending row.
    let row = unsafe {
        pg_sys::ExecForceStoreHeapTuple(pending.tuple, slot.as_ptr(), false);
        Row::new(slot.as_ptr())
    };
    // SAFETY: the row belongs to this table.
    let conflicting = || unsafe { UniqueIndexes::new(&table, false).find(&table, row, query.search) };
    Ok(searched.scope.has_values(row, &query.scope)
        && statement.evaluator.is_among(searched, row, RowKind::New)?
        && query.is_near(searched, row)?
        && !(pending.is_conflicting && conflicting().is_present()))
}

impl<'a> NearRows<'a> {
    /// If a row is close enough, makes it the nearest one or, while a transaction decides whether it is present, makes
    /// this transaction the awaited one. A text that cannot be read yet counts as close enough, unless it is refuted.
    fn consider(&mut self, searched: &'a SearchedTable, candidate: &FoundVersion, query: &NearQuery) -> Result<()> {
        let FoundVersion { version, state, entry, .. } = *candidate;
        let row = version.row();
        match state {
            VersionState::Depends { .. } if self.awaited.is_some() => {}
            VersionState::Depends { on, .. } => {
                let columns = searched.expressions.source.stored_row_columns.iter().copied();
                let may_be_near = if candidate.may_lose(columns) {
                    !query.earlier_searches.is_refuted(searched, row)
                } else {
                    query.closeness(searched, candidate)?.is_some()
                };
                if may_be_near {
                    self.awaited = Some(Awaited { transaction: on, table: searched.oid, tid: row.tid() });
                }
            }
            VersionState::Present => {
                let Some(closeness) = query.closeness(searched, candidate)? else { return Ok(()) };
                let tid = row.tid();
                if self.nearest.as_ref().is_some_and(|nearest| nearest.stays_nearest(closeness, searched, tid)) {
                    return Ok(());
                }
                query.wanted.narrow(closeness);
                let (primary_key, is_visible) = (searched.primary_key.of_row(row), is_visible(candidate));
                self.nearest = Some(NearDuplicate { closeness, searched, primary_key, entry, tid, is_visible });
                if searched.mark.is_some() {
                    searched.originals.add(tid, || query.evaluator.key(searched, row, RowKind::Stored))?;
                }
            }
        }
        Ok(())
    }
}

impl NearDuplicate<'_> {
    /// Whether this row stays the nearest when another row is found that is at least as close. It does if the other row
    /// is not closer, and is in another table or has a larger tid.
    fn stays_nearest(&self, closeness: Closeness, searched: &SearchedTable, tid: ItemPointerData) -> bool {
        let is_before = item_pointer_to_u64(self.tid) < item_pointer_to_u64(tid);
        self.closeness == closeness && (self.searched.oid != searched.oid || is_before)
    }
}

/// Whether the transaction's snapshot sees the row; always true below REPEATABLE READ, where each statement takes a new
/// snapshot.
fn is_visible(FoundVersion { table, version, .. }: &FoundVersion) -> bool {
    let (table, slot) = (table.as_ptr(), version.row().slot());
    // SAFETY: the table is open, and the slot holds one of its rows.
    unsafe {
        pg_sys::XactIsoLevel < pg_sys::XACT_REPEATABLE_READ as i32
            || version.is_inserted_here()
            || pg_sys::table_tuple_satisfies_snapshot(table, slot, pg_sys::GetTransactionSnapshot())
    }
}
