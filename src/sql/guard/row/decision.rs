//! The trigger function `simhash_dedup`, which decides whether a new row is stored, marked, skipped or rejected. Its
//! trigger fires BEFORE INSERT OR UPDATE, FOR EACH ROW, with the arguments that
//! [`crate::sql::guard::definition::arguments`] describes.
//!
//! The guard decides at once whether the row may be stored. It registers the row ([`super::registration`]) and searches
//! for near rows. If the row would have to wait to be registered, the guard searches first: a near row that is stored
//! already decides. If a transaction in progress has written a near row, the guard waits for that one, unregistered the
//! first times, and searches again. If another row has the same key ([`super::same_key`]), an INSERT waits for transactions that have
//! written or locked that row, and leaves the rest to ON CONFLICT.

use std::cell::OnceCell;

use pgrx::datum::Internal;
use pgrx::pg_sys::{Datum, HeapTuple, ItemPointerData, Oid};
use pgrx::prelude::*;
use postgres::call::Call;
use postgres::catalog::relation::Relation;
use postgres::error::{ErrorReport, Result, user_error};
use postgres::heap::dirty_scan::KnownEntries;
use postgres::heap::moment::{Moment, Transaction};
use postgres::trigger::RowEvent;

use super::near_rows::{Outcome, find_near};
use super::returned_row::{act, with_mark, with_old_mark};
use super::running::PendingRow;
use super::same_key::SameKey;
use super::search::{Known, NearQuery, Sought};
use super::statement::{NewRow, Statement};
use crate::sql::guard::definition::arguments::USAGE;
use crate::sql::guard::definition::distribution::user_name_of;
use crate::sql::guard::definition::row_key::RowKey;
use crate::trace;

/// The number of times that a guard waits, unregistered, for transactions that have written near rows, or texts that it
/// cannot read yet. After that it stays registered, so that no other session can begin to store such a row.
const MAX_UNREGISTERED_WAITS: u32 = 8;

/// The number of times that a search is made again because the row with the same key has changed during the search.
const MAX_CHANGES_OF_SAME_KEY: u32 = 8;

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
    let row = NewRow::new(statement, event);
    if let Some(old) = event.old_row()
        && row.is_checked_already(old)?
    {
        // There is nothing to search for. If another session's search misses the new version, it comes there from the
        // old one.
        statement.release();
        if !row.are_keys_unchanged(old)
            && let Some(key) = row.key()?
        {
            // If the keys change, an INSERT of another session may no longer conflict with this row, and may then store
            // its row. The registration prevents this while that session decides.
            row.register(&key, true);
        }
        return Ok(with_old_mark(row, old).unwrap_or_else(|| event.new_tuple()));
    }
    let Some(key) = row.key()? else {
        statement.release();
        return with_mark(row, None);
    };
    let (is_unchecked, is_registered) = (row.is_unchecked()?, row.register(&key, false));
    let mut state = Undecided { key, is_unchecked, known: Known::new(), later: None, is_registered, waits: 0 };
    // A partition may have been attached since the statement began.
    statement.refresh(event)?;
    let mut changes = 0;
    loop {
        pgrx::check_for_interrupts!();
        let row = NewRow::new(statement, event);
        trace::step("search");
        let decision = search(row, &mut state)?;
        trace::step(&decision);
        match decision {
            Decision::Store(tuple) => return Ok(tuple),
            Decision::Near(tuple) => {
                // A row that is skipped is not stored, and a marked one does not count.
                statement.release();
                return Ok(tuple);
            }
            Decision::Register => state.is_registered = row.register(&state.key, true),
            Decision::Wait(..) if state.waits == MAX_UNREGISTERED_WAITS && !state.is_registered => {
                state.is_registered = row.register(&state.key, true);
            }
            Decision::Wait(transaction, table, tid) => {
                // That transaction may have to wait for the new row.
                if state.waits < MAX_UNREGISTERED_WAITS {
                    state.waits += 1;
                    statement.release();
                    state.is_registered = false;
                }
                transaction.wait(&Relation::open(table), tid);
            }
            Decision::WaitForSameKey(transaction, table, tid) => {
                // That transaction has locked the row with the same key, and may have to wait for the new row.
                statement.release();
                state.is_registered = false;
                transaction.wait(&Relation::open(table), tid);
            }
            Decision::SearchAgain if changes == MAX_CHANGES_OF_SAME_KEY => return Err(changes_too_often(event)?),
            Decision::SearchAgain => {
                changes += 1;
                state.forget();
                continue;
            }
        }
        state.later = Some(Moment::now());
        if statement.refresh(event)? {
            state.forget();
        }
    }
}

/// A new row about which the guard has not decided yet.
struct Undecided {
    key: RowKey,
    /// Whether the row is stored unchecked, by the condition `unless`.
    is_unchecked: bool,
    /// What the searches so far have found out.
    known: Known,
    /// When the present search began; None if it is the first one that `known` knows.
    later: Option<Moment>,
    is_registered: bool,
    /// The number of waits for near rows, up to [`MAX_UNREGISTERED_WAITS`].
    waits: u32,
}

impl Undecided {
    fn forget(&mut self) {
        (self.known, self.later) = (Known::new(), None);
    }
}

/// The outcome of one search.
#[derive(Debug)]
enum Decision {
    /// The tuple for the trigger to return: the row is stored.
    Store(HeapTuple),
    /// There is a near row. The tuple for the trigger to return: null if the row is skipped, otherwise with its mark.
    Near(HeapTuple),
    /// There is no near row, but the new row is not registered, so that another one may be stored at the same time.
    Register,
    /// The answer depends on a transaction, which has written this row of a table.
    Wait(Transaction, Oid, ItemPointerData),
    /// The transaction has written or locked the row with the same key.
    WaitForSameKey(Transaction, Oid, ItemPointerData),
    /// The near row is the row with the same key, which has changed during the search.
    SearchAgain,
}

/// Searches for near rows, and for rows with the same key.
fn search(row: NewRow<'_>, state: &mut Undecided) -> Result<Decision> {
    let NewRow { statement, event } = row;
    let Undecided { key, known, later, .. } = &*state;
    let since = later.as_ref().unwrap_or(&known.since);
    let gone = KnownEntries::default();
    let same_key = || match event.old_row() {
        None => row.same_key(since, &gone),
        Some(_) => SameKey::default(),
    };
    let found = OnceCell::new();
    let replaced =
        || -> &[_] { found.get_or_init(|| event.old_row().map_or_else(|| same_key().tids, |old| vec![old.tid()])) };
    let (reader, scope, table) = (&statement.sources, row.scope(), event.table().oid());
    let sought = Sought::new(key, reader, row.row(), statement.own_table(), known);
    let query = NearQuery { key, sought, reader, scope: &scope, table, replaced: &replaced, known, since, gone: &gone };
    let outcome = if state.is_unchecked { Outcome::Unique } else { find_near(statement, &query)? };
    let near = match outcome {
        Outcome::Unique if !state.is_registered => return Ok(Decision::Register),
        Outcome::Unique => None,
        Outcome::Near(nearest) if nearest.searched.oid == table && same_key().may_be(nearest.entry) => {
            return Ok(Decision::SearchAgain);
        }
        Outcome::Near(nearest) => Some(act(row, &nearest)?),
        Outcome::Depends(transaction, table, tid) => return Ok(Decision::Wait(transaction, table, tid)),
    };
    if let Some(tuple) = near.filter(|tuple| tuple.is_null()) {
        return Ok(Decision::Near(tuple));
    }
    // Look for the row with the same key last, so that the result almost always still holds when ON CONFLICT looks for it.
    let same_key = same_key();
    if let Some((transaction, tid)) = same_key.awaited {
        if near.is_some() {
            // The next search has to find that row again.
            state.forget();
        }
        return Ok(Decision::WaitForSameKey(transaction, table, tid));
    }
    if let Some(tuple) = near {
        return Ok(Decision::Near(tuple));
    }
    let tuple = with_mark(row, None)?;
    // PostgreSQL does not store a row if another row has the same key. It stores any other row, and later rows may be near
    // it.
    // If the transaction that the row with the same key depends on rolls back, PostgreSQL stores the row after all.
    if !same_key.is_present() {
        // SAFETY: the tuple is the event's new row, or a copy of it with another mark. The pending row is forgotten
        // with the memory of the trigger's call, which is the current one.
        let pending = unsafe { PendingRow::new(event, state.key.clone(), tuple) };
        statement.current.borrow_mut().pending = Some(pending);
    }
    Ok(Decision::Store(tuple))
}

/// The error for a row whose key is that of a row which other transactions change all the time.
fn changes_too_often(event: &RowEvent) -> Result<ErrorReport> {
    let name = user_name_of(&event.table())?;
    let message = "could not serialize access due to concurrent update";
    Ok(user_error(PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE, message)
        .set_detail(format!("The row with the same key in table \"{name}\" was updated during each of the searches."))
        .set_hint("The transaction might succeed if retried."))
}
