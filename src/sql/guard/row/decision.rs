//! Decides whether a new row is stored, marked, skipped or rejected.
//!
//! The guard decides at once whether the row may be stored. It registers the row ([`super::registration`]), searches
//! for near rows, waits for transactions in progress that have written one, and searches again. If another row has the
//! same key ([`super::same_key`]), an INSERT waits for transactions that have written or locked that row, and leaves
//! the rest to ON CONFLICT.

use std::cell::Cell;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{Datum, HeapTuple, ItemPointerData};
use postgres::heap::computed::Computed;
use postgres::heap::moment::{Moment, Transaction};
use postgres::heap::row::Row;
use postgres::row_movement::may_complete_move;
use postgres::trigger::RowEvent;
use simhash::search::lock_keys::LockKeys;

use super::confirmation::NewText;
use super::dismissed::Dismissed;
use super::near_rows::Outcome;
use super::running::clear_after_call;
use super::same_key::SameKey;
use super::search::{MarkedRows, NearQuery};
use super::statement::Statement;
use crate::sql::guard::definition::guard::Guard;
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

impl Statement {
    /// Returns the tuple for the trigger to return: the new row, a changed copy, or null if the row is skipped. An
    /// error if it is rejected.
    ///
    /// # Safety
    /// The event belongs to this statement.
    pub unsafe fn decide(&mut self, event: &RowEvent) -> Result<HeapTuple, ErrorReport> {
        let has_moved = self.begin_row(event);
        let may_have_moved = may_complete_move(event) || has_moved;
        // SAFETY: the caller passes an event of this statement.
        let Some(row) = (unsafe { self.new_row(event, has_moved, may_have_moved) }) else {
            self.current.borrow_mut().registration.release();
            return self.with_mark(event, None);
        };
        if let Some(old) = event.old_row()
            && self.needs_no_search(&row, old)
            && !self.begins_to_count(event, old)?
        {
            // The fingerprint and its source stay the same, so there is nothing to search for. If another session's
            // search misses the new version, that search detects this.
            if self.unique_indexes(event).are_keys_unchanged(old, event.new_row()) {
                self.current.borrow_mut().registration.release();
            } else {
                // If the keys change, an INSERT of another session may no longer conflict with this row, and may then
                // store its row. The registration prevents this while that session decides.
                self.register(&row);
            }
            return Ok(self.with_old_mark(event, old).unwrap_or_else(|| event.new_tuple()));
        }
        let mut waits = 0;
        loop {
            pgrx::check_for_interrupts!();
            self.register(&row);
            self.refresh(event)?;
            // SAFETY: `row` was made from an event of this statement.
            match unsafe { self.search_once(&row, waits)? } {
                Decision::Return(tuple) => return Ok(tuple),
                Decision::SearchAgain => {}
                Decision::SameKeyDepends(transaction, tid) => {
                    // Such a transaction may have to wait for the registered row: release the registration first.
                    waits += 1;
                    self.current.borrow_mut().registration.release();
                    transaction.wait(&event.table(), tid);
                }
            }
        }
    }

    /// Forgets the previous row, which has been stored or dropped. Returns whether the new row has already been checked
    /// in another partition, from which an UPDATE moves it here.
    fn begin_row(&self, event: &RowEvent) -> bool {
        clear_after_call(&self.current);
        let mut current = self.current.borrow_mut();
        current.pending.clear();
        std::mem::take(&mut current.moves) && event.old_row().is_none()
    }

    /// The new row; None if it has no fingerprint.
    ///
    /// # Safety
    /// The event belongs to this statement.
    unsafe fn new_row<'a>(&self, event: &'a RowEvent, has_moved: bool, may_have_moved: bool) -> Option<NewRow<'a>> {
        let (own, new) = (self.guard.own_table(), event.new_row());
        let fingerprint = match &self.computation {
            // SAFETY: the event belongs to this statement, and `computation` was made for its table.
            Some(computation) => unsafe { computation.value(new) },
            None => own.fingerprint.and_then(|column| new.value(column)),
        };
        let is_update = event.old_row().is_some();
        Some(NewRow {
            event,
            fingerprint: fingerprint?.value() as i64,
            scope: own.scope.of_row(new),
            // SAFETY: the event belongs to this statement, and `new` is its row.
            moves: is_update && unsafe { self.moves(new) },
            may_have_moved,
            may_have_same_key: !is_update && !has_moved,
        })
    }

    /// Whether an UPDATE leaves the fingerprint, its source, the scope and the partition unchanged.
    fn needs_no_search(&self, row: &NewRow, old: Row<'_>) -> bool {
        let (own, new) = (self.guard.own_table(), row.event.new_row());
        own.has_same_fingerprint(old, new, row.fingerprint)
            && own.has_same_scope(old, new)
            && own.has_same_source(old, new)
            && !row.moves
    }

    /// Whether an UPDATE makes the condition `among` hold for the row. Then the row is checked as if it were new.
    fn begins_to_count(&self, event: &RowEvent, old: Row<'_>) -> Result<bool, ErrorReport> {
        let (table, new) = (event.table().oid(), event.new_row());
        match &self.among {
            Some(among) if !among.has_same_columns(table, old, new)? => {
                Ok(among.holds(table, new)? && !among.holds(table, old)?)
            }
            _ => Ok(false),
        }
    }

    /// Searches once for near rows and for a row with the same key, and decides if the outcome is certain.
    ///
    /// # Safety
    /// The row's event belongs to this statement.
    unsafe fn search_once(&self, row: &NewRow, waits: u32) -> Result<Decision, ErrorReport> {
        let (event, guard) = (row.event, &self.guard);
        let since = Moment::now();
        let has_same_key = |found: Row<'_>, by_plain_columns| {
            // SAFETY: the search asks only about rows of the event's table, to which the unique indexes belong.
            unsafe { self.unique_indexes(event).has_same_key(event.new_row(), found, by_plain_columns, &self.name) }
        };
        let new_text = |least| NewText::new(&self.texts, event.new_row(), guard.own_table(), least);
        let new_text = guard.criterion.resemblance.map(new_text);
        let query = NearQuery {
            fingerprint: row.fingerprint,
            near: guard.criterion.near,
            sizes: new_text.as_ref().map_or(Ok(None), NewText::similar_sizes)?,
            max_distance: Cell::new(guard.criterion.near.max_distance()),
            scope: &row.scope,
            table: event.table().oid(),
            old_tid: event.old_row().map(Row::tid),
            has_same_key: row.may_have_same_key.then_some(&has_same_key),
            since: &since,
            marked: MarkedRows::default(),
            excluded: Dismissed::default(),
        };
        let (tuple, is_near) = match self.find_near(&query, new_text.as_ref())? {
            Outcome::SearchAgain => return Ok(Decision::SearchAgain),
            Outcome::Unique => (self.with_mark(event, None)?, false),
            Outcome::Near(nearest) => (self.act(event, &nearest, row.may_have_moved)?, true),
        };
        // Look for the row with the same key last, so that the result almost always still holds when ON CONFLICT looks
        // for it.
        let same_key = if row.may_have_same_key && !tuple.is_null() {
            // SAFETY: the unique indexes belong to the event's table, and so does the new row.
            unsafe { self.unique_indexes(event).find(&event.table(), event.new_row(), &since) }
        } else {
            SameKey::None
        };
        if let SameKey::Depends(transaction, tid) = same_key
            && waits < MAX_WAITS_FOR_SAME_KEY
        {
            return Ok(Decision::SameKeyDepends(transaction, tid));
        }
        // PostgreSQL does not store a row if another row has the same key. It stores any other row, and later rows may
        // be near it. A marked row does not count as a near-duplicate of later rows.
        // If the transaction that the row with the same key depends on rolls back, PostgreSQL stores the row after all.
        let may_be_stored = !tuple.is_null() && !matches!(same_key, SameKey::Present);
        self.prepare_to_store(row, tuple, may_be_stored && !is_near);
        Ok(Decision::Return(tuple))
    }

    /// Leaves a row registered that is to be stored and, if `is_pending`, makes it the pending row. Releases the
    /// registration if the tuple is null, that is, if the row is skipped.
    fn prepare_to_store(&self, row: &NewRow, tuple: HeapTuple, is_pending: bool) {
        let own = self.guard.own_table();
        let mut current = self.current.borrow_mut();
        if tuple.is_null() {
            current.registration.release();
            return;
        }
        if is_pending {
            let tuple = (own.source.is_some() || self.among.is_some()).then_some(tuple);
            // SAFETY: the memory of the statement, with which the current row is dropped.
            unsafe { current.pending.set(self.memory, row.event, row.fingerprint, &own.scope, &row.scope, tuple) };
        }
        current.moves = row.moves;
    }

    /// Whether an UPDATE moves the row to another partition. PostgreSQL deletes the old row before it inserts the new
    /// one there, so the guard must decide before the deletion.
    ///
    /// # Safety
    /// The row belongs to the trigger's table.
    unsafe fn moves(&self, new: Row<'_>) -> bool {
        // SAFETY: the row belongs to the table that the condition was made for; the condition's result is a boolean.
        let fulfils = |partition: &Computed| unsafe { partition.value(new) } != Some(Datum::from(false));
        !self.partition.as_ref().is_none_or(fulfils)
    }

    fn register(&self, row: &NewRow) {
        let Guard { identity, secret, key_blocks, .. } = &*self.guard;
        let scope = self.guard.own_table().scope.hash(&row.scope);
        let keys = LockKeys { secret, scope, key_blocks };
        self.current.borrow_mut().registration.register(identity.root, &keys, row.fingerprint);
    }
}
