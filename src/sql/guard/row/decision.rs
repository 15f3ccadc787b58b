//! The trigger function `simhash_dedup`, which decides whether a new row is stored, marked, skipped or rejected. Its
//! trigger fires BEFORE INSERT OR UPDATE, FOR EACH ROW, with the arguments that
//! [`crate::sql::guard::definition::arguments`] describes.
//!
//! The guard decides at once whether the row may be stored. It registers the row ([`super::registration`]), searches
//! for near rows, waits for transactions in progress that have written one, and searches again. If another row has the
//! same key ([`super::same_key`]), an INSERT waits for transactions that have written or locked that row, and leaves
//! the rest to ON CONFLICT.

use std::cell::{Cell, OnceCell};

use pgrx::datum::Internal;
use pgrx::pg_sys::{Datum, HeapTuple};
use pgrx::prelude::*;
use postgres::call::Call;
use postgres::catalog::relation::Relation;
use postgres::error::Result;
use postgres::heap::moment::{Moment, Transaction};
use postgres::trigger::RowEvent;
use simhash::search::nearness::Nearness;

use super::confirmation::NewText;
use super::near_rows::{Outcome, find_near};
use super::returned_row::{act, with_mark, with_old_mark};
use super::running::PendingRow;
use super::same_key::SameKey;
use super::search::{Dismissed, NearQuery};
use super::statement::Statement;
use crate::sql::guard::definition::arguments::USAGE;
use crate::sql::guard::definition::scope::GuardScopeValues;

/// The number of times that an INSERT waits, while it is not registered, for transactions that have written or locked a
/// row with the same key. After that it leaves the wait to ON CONFLICT, where waiters for a row queue in order.
const MAX_WAITS_FOR_SAME_KEY: u32 = 8;

#[pg_extern(sql = false)]
fn simhash_dedup(fcinfo: pg_sys::FunctionCallInfo) -> Result<Internal> {
    // SAFETY: `fcinfo` belongs to the running call.
    let event = RowEvent::from_call(unsafe { Call::new(fcinfo) }, "simhash_dedup", USAGE)?;
    // SAFETY: `fcinfo` belongs to the running call, and only this function has written to its `fn_extra`.
    let statement = unsafe { Statement::from_call(fcinfo, &event)? };
    Ok(Internal::from(Some(Datum::from(decide(statement, &event)?))))
}

/// Returns the tuple for the trigger to return: the new row, a changed copy, or null if the row is skipped. An error if
/// it is rejected.
fn decide(statement: &mut Statement, event: &RowEvent) -> Result<HeapTuple> {
    statement.begin_row();
    let Some(fingerprint) = statement.fingerprint(event) else {
        statement.current.borrow_mut().registration.release();
        return with_mark(statement, event, None);
    };
    let scope = statement.own_table().scope.of_row(event.new_row());
    if let Some(old) = event.old_row()
        && statement.own_table().is_unchanged(old, event.new_row(), fingerprint)
        && !statement.is_checked_anew(event, old)?
    {
        // The fingerprint and its source stay the same, so there is nothing to search for. If another session's search
        // misses the new version, that search detects this.
        if statement.are_keys_unchanged(event, old) {
            statement.current.borrow_mut().registration.release();
        } else {
            // If the keys change, an INSERT of another session may no longer conflict with this row, and may then store
            // its row. The registration prevents this while that session decides.
            let near = statement.guard.criterion.near.by_any_votes();
            statement.register(fingerprint, near, &scope);
        }
        return Ok(with_old_mark(statement, event, old).unwrap_or_else(|| event.new_tuple()));
    }
    let near = statement.guard.criterion.near;
    let near = statement.new_text(event).map_or(Ok(near), |text| text.near(near))?;
    let mut waits = 0;
    loop {
        pgrx::check_for_interrupts!();
        statement.register(fingerprint, near, &scope);
        statement.refresh(event)?;
        if let Some(tuple) = search_once(statement, event, fingerprint, &scope, near, &mut waits)? {
            return Ok(tuple);
        }
    }
}

/// Searches once for near rows and for a row with the same key. Returns the tuple for the trigger to return; None if
/// the outcome depended on a transaction that has ended by now, so that the search must be repeated. `waits` counts the
/// transactions that have written or locked a row with the same key.
fn search_once(
    statement: &Statement,
    event: &RowEvent,
    fingerprint: i64,
    scope: &GuardScopeValues<'_>,
    near: Nearness,
    waits: &mut u32,
) -> Result<Option<HeapTuple>> {
    // The transaction may have to wait for the registered row: release the registration first.
    let wait = |transaction: Transaction, table: &Relation, tid| {
        statement.current.borrow_mut().registration.release();
        transaction.wait(table, tid);
    };
    let since = Moment::now();
    let same_key = || match event.old_row() {
        None => statement.same_key(event, &since),
        Some(_) => SameKey::default(),
    };
    let known = OnceCell::new();
    let replaced =
        || -> &[_] { known.get_or_init(|| event.old_row().map_or_else(|| same_key().tids, |old| vec![old.tid()])) };
    let new_text = statement.new_text(event);
    let query = NearQuery {
        fingerprint,
        near,
        sizes: new_text.as_ref().map_or(Ok(None), NewText::similar_sizes)?,
        max_distance: Cell::new(near.max_distance()),
        scope,
        table: event.table().oid(),
        replaced: &replaced,
        since: &since,
        excluded: Dismissed::default(),
    };
    let outcome =
        if statement.is_unchecked(event)? { Outcome::Unique } else { find_near(statement, &query, new_text.as_ref())? };
    let (tuple, is_near) = match outcome {
        Outcome::Unique => (with_mark(statement, event, None)?, false),
        // A row with the same key has been stored, or replaced by another version, since the search began.
        Outcome::Near(nearest) if nearest.searched.oid == query.table && same_key().may_be(nearest.entry) => {
            return Ok(None);
        }
        Outcome::Near(nearest) => (act(statement, event, &nearest)?, true),
        Outcome::Depends(transaction, table, tid) => {
            wait(transaction, &Relation::open(table), tid);
            return Ok(None);
        }
        Outcome::SearchAgain => return Ok(None),
    };
    if tuple.is_null() {
        statement.current.borrow_mut().registration.release();
        return Ok(Some(tuple));
    }
    // Look for the row with the same key last, so that the result almost always still holds when ON CONFLICT looks for
    // it.
    let same_key = same_key();
    if let Some((transaction, tid)) = same_key.awaited
        && *waits < MAX_WAITS_FOR_SAME_KEY
    {
        *waits += 1;
        wait(transaction, &event.table(), tid);
        return Ok(None);
    }
    // PostgreSQL does not store a row if another row has the same key. It stores any other row, and later rows may be
    // near it. A marked row does not count as a near-duplicate of later rows.
    // If the transaction that the row with the same key depends on rolls back, PostgreSQL stores the row after all.
    if !is_near && !same_key.is_present() {
        // SAFETY: the tuple is the event's new row, or a copy of it with another mark. The pending row is forgotten
        // with the memory of the trigger's call, which is the current one.
        let pending = unsafe { PendingRow::new(event, fingerprint, tuple) };
        statement.current.borrow_mut().pending = Some(pending);
    }
    Ok(Some(tuple))
}
