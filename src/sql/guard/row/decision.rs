//! The trigger function `simhash_dedup`, which decides whether a new row is stored, marked, skipped or rejected. Its
//! trigger fires BEFORE INSERT OR UPDATE, FOR EACH ROW, with the arguments that
//! [`crate::sql::guard::definition::arguments`] describes.
//!
//! The guard decides at once whether the row may be stored. It registers the row ([`super::registration`]), searches
//! for near rows, waits for transactions in progress that have written one, and searches again. If the row would have to
//! wait to be registered, it is searched for first: a near row that is stored already decides at once. If another row
//! has the same key ([`super::same_key`]), an INSERT waits for transactions that have written or locked that row, and
//! leaves the rest to ON CONFLICT.

use std::cell::OnceCell;

use pgrx::datum::Internal;
use pgrx::pg_sys::{Datum, HeapTuple, ItemPointerData};
use pgrx::prelude::*;
use postgres::call::Call;
use postgres::catalog::relation::Relation;
use postgres::error::Result;
use postgres::heap::moment::{Moment, Transaction};
use postgres::trigger::RowEvent;

use super::near_rows::{Outcome, find_near};
use super::returned_row::{act, with_mark, with_old_mark};
use super::running::PendingRow;
use super::same_key::SameKey;
use super::search::{NearQuery, Sought};
use super::statement::Statement;
use crate::sql::guard::definition::arguments::USAGE;
use crate::sql::guard::definition::row_key::RowKey;
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
    let scope = statement.own_table().scope.of_row(event.new_row());
    if let Some(old) = event.old_row()
        && statement.own_table().is_unchanged(old, event.new_row())
        && !statement.is_checked_anew(event, old)?
    {
        // The source stays the same, so there is nothing to search for. If another session's search misses the new
        // version, that search detects this.
        statement.release();
        if !statement.are_keys_unchanged(event, old)
            && let Some(key) = statement.key(event)?
        {
            // If the keys change, an INSERT of another session may no longer conflict with this row, and may then store
            // its row. The registration prevents this while that session decides.
            statement.register(&key, &scope, true);
        }
        return Ok(with_old_mark(statement, event, old).unwrap_or_else(|| event.new_tuple()));
    }
    let Some(key) = statement.key(event)? else {
        statement.release();
        return with_mark(statement, event, None);
    };
    let (mut waits, mut may_wait) = (0, false);
    loop {
        pgrx::check_for_interrupts!();
        let is_registered = statement.register(&key, &scope, may_wait);
        statement.refresh(event)?;
        match (Search { statement, event, key: &key, scope: &scope }).run(is_registered, &mut waits)? {
            Decision::Tuple(tuple) => return Ok(tuple),
            Decision::SearchAgain => may_wait = false,
            Decision::Register => may_wait = true,
        }
    }
}

/// The outcome of one search.
enum Decision {
    /// The tuple for the trigger to return.
    Tuple(HeapTuple),
    /// The answer depended on a transaction that has ended by now.
    SearchAgain,
    /// There is no near row, but the new row is not registered, so that another one may have been stored meanwhile.
    Register,
}

/// A search for near rows, and for a row with the same key.
struct Search<'a> {
    statement: &'a Statement,
    event: &'a RowEvent<'a>,
    key: &'a RowKey,
    scope: &'a GuardScopeValues<'a>,
}

impl Search<'_> {
    /// Searches once. `waits` counts the transactions that have written or locked a row with the same key.
    fn run(self, is_registered: bool, waits: &mut u32) -> Result<Decision> {
        let Self { statement, event, key, scope } = self;
        let since = Moment::now();
        let same_key = || match event.old_row() {
            None => statement.same_key(event, &since),
            Some(_) => SameKey::default(),
        };
        let known = OnceCell::new();
        let replaced =
            || -> &[_] { known.get_or_init(|| event.old_row().map_or_else(|| same_key().tids, |old| vec![old.tid()])) };
        let (reader, table) = (&statement.sources, event.table().oid());
        let sought = Sought::new(key, reader, event.new_row(), statement.own_table());
        let query = NearQuery { key, sought, reader, scope, table, replaced: &replaced, since: &since };
        let outcome = if statement.is_unchecked(event)? { Outcome::Unique } else { find_near(statement, &query)? };
        let (tuple, is_near) = match outcome {
            Outcome::Unique if !is_registered => return Ok(Decision::Register),
            Outcome::Unique => (with_mark(statement, event, None)?, false),
            // A row with the same key has been stored, or replaced by another version, since the search began.
            Outcome::Near(nearest) if nearest.searched.oid == table && same_key().may_be(nearest.entry) => {
                return Ok(Decision::SearchAgain);
            }
            Outcome::Near(nearest) => (act(statement, event, &nearest)?, true),
            Outcome::Depends(transaction, table, tid) => {
                return Ok(self.wait(transaction, &Relation::open(table), tid));
            }
            Outcome::SearchAgain => return Ok(Decision::SearchAgain),
        };
        // A row that is skipped is not stored, and a marked one does not count.
        if is_near {
            statement.release();
        }
        if tuple.is_null() {
            return Ok(Decision::Tuple(tuple));
        }
        // Look for the row with the same key last, so that the result almost always still holds when ON CONFLICT looks
        // for it.
        let same_key = same_key();
        if let Some((transaction, tid)) = same_key.awaited
            && *waits < MAX_WAITS_FOR_SAME_KEY
        {
            *waits += 1;
            return Ok(self.wait(transaction, &event.table(), tid));
        }
        // PostgreSQL does not store a row if another row has the same key. It stores any other row, and later rows may
        // be near it. A marked row does not count as a near-duplicate of later rows.
        // If the transaction that the row with the same key depends on rolls back, PostgreSQL stores the row after all.
        if !is_near && !same_key.is_present() {
            // SAFETY: the tuple is the event's new row, or a copy of it with another mark. The pending row is forgotten
            // with the memory of the trigger's call, which is the current one.
            let pending = unsafe { PendingRow::new(event, key.clone(), tuple) };
            statement.current.borrow_mut().pending = Some(pending);
        }
        Ok(Decision::Tuple(tuple))
    }

    /// Waits for a transaction that has written or locked a row. It may have to wait for the new row, which is
    /// therefore not registered any more.
    fn wait(&self, transaction: Transaction, table: &Relation, tid: ItemPointerData) -> Decision {
        self.statement.release();
        transaction.wait(table, tid);
        Decision::SearchAgain
    }
}
