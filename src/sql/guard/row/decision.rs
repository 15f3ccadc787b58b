//! Decides whether a new row is stored, marked, skipped or rejected.
//!
//! The guard decides at once whether the row may be stored. It registers the row ([`super::registration`]), searches
//! for near rows, waits for transactions in progress that have written one, and searches again. If another row has the
//! same key ([`super::same_key`]), an INSERT waits for transactions that have written or locked that row, and leaves
//! the rest to ON CONFLICT.

use std::cell::Cell;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{HeapTuple, ItemPointerData};
use postgres::catalog::relation::Relation;
use postgres::heap::moment::{Moment, Transaction};
use postgres::heap::row::Row;
use postgres::row_movement::may_complete_move;
use postgres::trigger::RowEvent;
use simhash::search::nearness::Nearness;

use super::confirmation::NewText;
use super::near_rows::{Outcome, find_near};
use super::returned_row::{act, with_mark, with_old_mark};
use super::same_key::SameKey;
use super::search::{Dismissed, MarkedRows, NearQuery};
use super::statement::Statement;
use crate::sql::guard::definition::guard::TriggerGuard;
use crate::sql::guard::definition::scope::GuardScopeValues;

/// The number of times that an INSERT waits, while it is not registered, for transactions that have written or locked a
/// row with the same key. After that it leaves the wait to ON CONFLICT, where waiters for a row queue in order.
const MAX_WAITS_FOR_SAME_KEY: u32 = 8;

/// A row that is about to be stored.
struct NewRow<'a> {
    event: &'a RowEvent<'a>,
    fingerprint: i64,
    scope: GuardScopeValues<'a>,
    /// Whether an UPDATE moves the row to another partition.
    moves: bool,
    /// Whether the row is or may be inserted by an UPDATE that has deleted it in another partition.
    may_have_moved: bool,
    /// Whether ON CONFLICT may find another row with the same key: true for an INSERT, unless an UPDATE moves the row
    /// here.
    may_have_same_key: bool,
}

/// The decision after one search of the table.
enum Decision {
    /// Return this tuple to PostgreSQL; null skips the row.
    Return(HeapTuple),
    /// A transaction that the outcome depends on has ended; search again.
    SearchAgain,
    /// Another transaction has written or locked a row with the same key, which has this tid.
    SameKeyDepends(Transaction, ItemPointerData),
}

/// Returns the tuple for the trigger to return: the new row, a changed copy, or null if the row is skipped. An error if
/// it is rejected.
///
/// # Safety
/// The event belongs to the statement.
pub unsafe fn decide(statement: &mut Statement, event: &RowEvent) -> Result<HeapTuple, ErrorReport> {
    let has_moved = statement.begin_row(event);
    // SAFETY: the caller passes an event of this statement.
    let Some(row) = (unsafe { new_row(statement, event, has_moved) }) else {
        statement.release_registration();
        return with_mark(statement.guard(), event, None);
    };
    if let Some(old) = event.old_row()
        && needs_no_search(statement.guard(), &row, old)
        && !statement.is_checked_anew(event, old)?
    {
        // The fingerprint and its source stay the same, so there is nothing to search for. If another session's search
        // misses the new version, that search detects this.
        if statement.are_keys_unchanged(event, old) {
            statement.release_registration();
        } else {
            // If the keys change, an INSERT of another session may no longer conflict with this row, and may then store
            // its row. The registration prevents this while that session decides.
            let near = statement.guard().criterion.near.by_any_votes();
            statement.register(row.fingerprint, near, &row.scope);
        }
        return Ok(with_old_mark(statement.guard(), event, old).unwrap_or_else(|| event.new_tuple()));
    }
    let near = statement.guard().criterion.near;
    let near = statement.new_text(event).map_or(Ok(near), |text| text.near(near))?;
    let mut waits = 0;
    loop {
        pgrx::check_for_interrupts!();
        statement.register(row.fingerprint, near, &row.scope);
        statement.refresh(event)?;
        // SAFETY: `row` was made from an event of this statement.
        match unsafe { search_once(statement, &row, near, waits)? } {
            Decision::Return(tuple) => return Ok(tuple),
            Decision::SearchAgain => {}
            Decision::SameKeyDepends(transaction, tid) => {
                // Such a transaction may have to wait for the registered row: release the registration first.
                waits += 1;
                statement.release_registration();
                transaction.wait(&event.table(), tid);
            }
        }
    }
}

/// The new row; None if it has no fingerprint. `has_moved` says whether an UPDATE moves it here from another partition.
///
/// # Safety
/// The event belongs to the statement.
unsafe fn new_row<'a>(statement: &Statement, event: &'a RowEvent, has_moved: bool) -> Option<NewRow<'a>> {
    // SAFETY: the caller passes an event of this statement.
    let (fingerprint, moves) = unsafe { (statement.fingerprint(event)?, statement.moves(event)) };
    Some(NewRow {
        event,
        fingerprint,
        scope: statement.guard().own_table().scope.of_row(event.new_row()),
        moves,
        may_have_moved: may_complete_move(event) || has_moved,
        may_have_same_key: event.old_row().is_none() && !has_moved,
    })
}

/// Whether an UPDATE leaves the fingerprint, its source, the scope and the partition unchanged.
fn needs_no_search(guard: &TriggerGuard, row: &NewRow, old: Row<'_>) -> bool {
    let (own, new) = (guard.own_table(), row.event.new_row());
    own.has_same_fingerprint(old, new, row.fingerprint)
        && own.has_same_scope(old, new)
        && own.has_same_source(old, new)
        && !row.moves
}

/// Searches once for near rows and for a row with the same key, and decides if the outcome is certain.
///
/// # Safety
/// The row's event belongs to the statement.
unsafe fn search_once(
    statement: &Statement,
    row: &NewRow,
    near: Nearness,
    waits: u32,
) -> Result<Decision, ErrorReport> {
    let (event, guard) = (row.event, statement.guard());
    let since = Moment::now();
    let has_same_key = |found: Row<'_>, by_plain_columns| {
        // SAFETY: the caller passes an event of this statement, and the search asks only about rows of its table.
        unsafe { statement.has_same_key(event, found, by_plain_columns) }
    };
    let new_text = statement.new_text(event);
    let query = NearQuery {
        fingerprint: row.fingerprint,
        near,
        sizes: new_text.as_ref().map_or(Ok(None), NewText::similar_sizes)?,
        max_distance: Cell::new(near.max_distance()),
        scope: &row.scope,
        table: event.table().oid(),
        old_tid: event.old_row().map(Row::tid),
        has_same_key: row.may_have_same_key.then_some(&has_same_key),
        since: &since,
        marked: MarkedRows::default(),
        excluded: Dismissed::default(),
    };
    let outcome =
        if statement.is_unchecked(event)? { Outcome::Unique } else { find_near(statement, &query, new_text.as_ref())? };
    let (tuple, is_near) = match outcome {
        Outcome::Unique => (with_mark(guard, event, None)?, false),
        Outcome::Near(nearest) => (act(guard, event, &nearest, row.may_have_moved)?, true),
        Outcome::Depends(transaction, table, tid) => {
            statement.release_registration();
            transaction.wait(&Relation::open(table), tid);
            return Ok(Decision::SearchAgain);
        }
        Outcome::SearchAgain => return Ok(Decision::SearchAgain),
    };
    if tuple.is_null() {
        statement.release_registration();
        return Ok(Decision::Return(tuple));
    }
    // Look for the row with the same key last, so that the result almost always still holds when ON CONFLICT looks for
    // it.
    let same_key = if row.may_have_same_key {
        // SAFETY: the caller passes an event of this statement.
        unsafe { statement.same_key(event, &since) }
    } else {
        SameKey::None
    };
    if let SameKey::Depends(transaction, tid) = same_key
        && waits < MAX_WAITS_FOR_SAME_KEY
    {
        return Ok(Decision::SameKeyDepends(transaction, tid));
    }
    // PostgreSQL does not store a row if another row has the same key. It stores any other row, and later rows may be
    // near it. A marked row does not count as a near-duplicate of later rows.
    // If the transaction that the row with the same key depends on rolls back, PostgreSQL stores the row after all.
    if !is_near && !matches!(same_key, SameKey::Present) {
        // SAFETY: the tuple is the event's new row, or a copy of it with another mark.
        unsafe { statement.set_pending(event, row.fingerprint, &row.scope, tuple) };
    }
    statement.set_moves(row.moves);
    Ok(Decision::Return(tuple))
}
