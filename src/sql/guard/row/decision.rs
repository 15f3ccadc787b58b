//! The trigger function `simhash_dedup`, which decides whether a new row is stored, marked, skipped or rejected. Its
//! trigger fires BEFORE INSERT OR UPDATE, FOR EACH ROW, with the arguments that
//! [`crate::sql::guard::definition::arguments`] describes.
//!
//! The guard decides before the row is stored:
//!
//! 1. It tries to register the row ([`super::registration`]): then no other session can store a near row meanwhile. It
//!    does not wait for the registration, so that writers of many copies of a stored text do not wait for each other.
//! 2. It searches for near rows. One that is stored decides.
//! 3. If a transaction in progress has written a near row, the guard waits for its end, and searches again:
//!    unregistered up to [`MAX_UNREGISTERED_WAITS`] times, then registered.
//! 4. If no row is near, but the new row is not registered, it waits until it is, and searches again.
//! 5. If other rows conflict with an INSERT ([`super::conflicting_rows`]), it waits for transactions in progress that
//!    have written or locked them, and leaves the rest to ON CONFLICT.

use std::cell::LazyCell;

use pgrx::datum::Internal;
use pgrx::pg_sys::{Datum, HeapTuple};
use pgrx::prelude::*;
use postgres::call::Call;
use postgres::error::{ErrorReport, Result};
use postgres::heap::dirty_scan::{DirtySearch, EntrySet};
use postgres::heap::transactions::Awaited;
use postgres::reserve::with_reserve;
use postgres::trigger::RowEvent;

use super::near_rows::{NearRows, find_near};
use super::pending_row::PendingRow;
use super::registration::IfTaken;
use super::returned_row::{cannot_serialize, take_action, with_old_mark};
use super::search::{EarlierSearches, NearQuery, Wanted};
use super::statement::{NewRow, Statement};
use crate::sql::guard::definition::arguments::USAGE;
use crate::sql::guard::definition::distribution::name_without_shard;
use crate::sql::guard::definition::row_key::RowKey;
use crate::trace;

/// The number of times that a guard waits, unregistered, for transactions that have written near rows, or texts that it
/// cannot read yet. After that, it stays registered, so that no other session can begin to store such a row.
const MAX_UNREGISTERED_WAITS: u32 = 8;

/// The limit on the searches that are made again because a conflicting row has changed during the last one.
const MAX_CHANGES_OF_CONFLICTING: u32 = 8;

#[pg_extern(sql = false)]
fn simhash_dedup(fcinfo: pg_sys::FunctionCallInfo) -> Result<Internal> {
    // SAFETY: `fcinfo` belongs to the running call.
    let event = RowEvent::from_call(unsafe { Call::new(fcinfo) }, "simhash_dedup", USAGE)?;
    let tuple = with_reserve(|| {
        // SAFETY: `fcinfo` belongs to the running call, and only this function has written to its `fn_extra`.
        let statement = unsafe { Statement::from_call(fcinfo, &event)? };
        decide(statement, &event)
    })?;
    Ok(Internal::from(Some(Datum::from(tuple))))
}

/// Returns the tuple for the trigger to return: the new row, a changed copy, or null if the row is skipped. An error if
/// it is rejected.
fn decide(statement: &mut Statement, event: &RowEvent) -> Result<HeapTuple> {
    statement.begin_row();
    let row = NewRow::new(statement, event);
    if let Some(tuple) = decide_without_search(row)? {
        return Ok(tuple);
    }
    let Some(key) = row.key()? else {
        statement.release_registration();
        return Ok(row.without_mark());
    };
    let is_unchecked = statement.evaluator.is_unchecked(statement.own_table(), row.as_row())?;
    row.register(&key, IfTaken::Leave);
    let mut undecided = Undecided { key, is_unchecked, earlier_searches: EarlierSearches::new() };
    // A partition may have been attached since the statement began.
    statement.refresh(event)?;
    let mut waits = 0;
    let mut conflicting_changes = 0;
    loop {
        postgres::interrupts::tick();
        let row = NewRow::new(statement, event);
        trace::step("search");
        let next = search_once(row, &mut undecided)?;
        trace::step(&next);
        match next {
            Next::Store(tuple) => return Ok(tuple),
            Next::Near(tuple) => {
                // Other writers need not find the row: a skipped one is not stored, and a marked one does not count.
                statement.release_registration();
                return Ok(tuple);
            }
            Next::Register => row.register(&undecided.key, IfTaken::Wait),
            Next::Wait(_) if waits == MAX_UNREGISTERED_WAITS && !statement.is_registered() => {
                row.register(&undecided.key, IfTaken::Wait);
            }
            Next::Wait(awaited) => {
                // That transaction may have to wait for the new row.
                if waits < MAX_UNREGISTERED_WAITS {
                    waits += 1;
                    statement.release_registration();
                }
                awaited.wait();
            }
            Next::WaitForConflicting(awaited) => {
                // That transaction has locked the conflicting row, and may have to wait for the new row.
                statement.release_registration();
                awaited.wait();
            }
            Next::SearchAgain if conflicting_changes == MAX_CHANGES_OF_CONFLICTING => {
                return Err(changed_too_often(event)?);
            }
            Next::SearchAgain => {
                conflicting_changes += 1;
                undecided.earlier_searches = EarlierSearches::new();
                continue;
            }
        }
        undecided.earlier_searches.begin_next();
        if statement.refresh(event)? {
            undecided.earlier_searches = EarlierSearches::new();
        }
    }
}

/// The tuple for the trigger to return after an UPDATE that leaves everything as it was checked; None if the row is to
/// be checked. The row is not registered, because other sessions find it all the same: a search that meets the old
/// version goes on to the new one.
fn decide_without_search(row: NewRow<'_>) -> Result<Option<HeapTuple>> {
    let Some(old) = row.event.old_row() else { return Ok(None) };
    if !row.is_checked_already(old)? {
        return Ok(None);
    }
    row.statement.release_registration();
    if !row.has_unchanged_keys(old)
        && let Some(key) = row.key()?
    {
        // With other unique keys, this row no longer conflicts with an INSERT of another session, which could then
        // store a near row. By their registrations, one of the two sessions waits for the other.
        row.register(&key, IfTaken::Wait);
    }
    Ok(Some(with_old_mark(row, old).unwrap_or_else(|| row.event.new_tuple())))
}

/// A new row about which the guard has not decided yet.
struct Undecided {
    key: RowKey,
    /// Whether the row is stored unchecked, by the condition `unless`.
    is_unchecked: bool,
    /// Forgotten if the guard or a conflicting row changes: what the searches have learnt may no longer hold.
    earlier_searches: EarlierSearches,
}

/// What follows a search.
#[derive(Debug)]
enum Next {
    /// The tuple for the trigger to return: the row is stored.
    Store(HeapTuple),
    /// There is a near row. The tuple for the trigger to return: null if the row is skipped, otherwise with a mark.
    Near(HeapTuple),
    /// There is no near row, but the new row is not registered, so that another one may be stored at the same time.
    Register,
    /// A transaction decides whether a near row is present.
    Wait(Awaited),
    /// A transaction in progress has written or locked a conflicting row.
    WaitForConflicting(Awaited),
    /// The near row conflicts with the new one, and has changed during the search.
    SearchAgain,
}

/// Searches for near rows and for conflicting rows.
fn search_once(row: NewRow<'_>, undecided: &mut Undecided) -> Result<Next> {
    let NewRow { statement, event } = row;
    let Undecided { key, earlier_searches, .. } = &*undecided;
    let search = DirtySearch { since: earlier_searches.since(), entries_without_row: &EntrySet::default() };
    let own = statement.own_table();
    let near_rows = if undecided.is_unchecked {
        NearRows::default()
    } else {
        let find_replaced = move || match event.old_row() {
            Some(old) => vec![old.tid()],
            None => row.conflicting_rows(search).tids,
        };
        let query = NearQuery {
            row: row.as_row(),
            own,
            key,
            scope: row.scope_values(),
            evaluator: &statement.evaluator,
            replaced: LazyCell::new(Box::new(find_replaced)),
            earlier_searches,
            search,
            wanted: Wanted::of_criterion(key),
        };
        find_near(statement, &query)?
    };
    let action_tuple = match (near_rows.nearest, near_rows.awaited) {
        // The search left out the conflicting rows that it knew. The near row may be a later version of one.
        (Some(nearest), _)
            if nearest.searched.oid == own.oid && row.conflicting_rows(search).may_include(nearest.entry) =>
        {
            return Ok(Next::SearchAgain);
        }
        (Some(nearest), _) => Some(take_action(row, &nearest)?),
        (None, Some(awaited)) => return Ok(Next::Wait(awaited)),
        (None, None) if !statement.is_registered() => return Ok(Next::Register),
        (None, None) => None,
    };
    // A skipped row is not stored, so no row conflicts with it.
    if let Some(tuple) = action_tuple.filter(|tuple| tuple.is_null()) {
        return Ok(Next::Near(tuple));
    }
    // Look for conflicting rows last, so that the result almost always still holds when ON CONFLICT looks for them.
    let conflicting = row.conflicting_rows(search);
    if let Some(awaited) = conflicting.awaited {
        if action_tuple.is_some() {
            // The next search has to find the near row again.
            undecided.earlier_searches = EarlierSearches::new();
        }
        return Ok(Next::WaitForConflicting(awaited));
    }
    if let Some(tuple) = action_tuple {
        return Ok(Next::Near(tuple));
    }
    let tuple = row.without_mark();
    // Later rows of this session may be near the row before a search finds it.
    // SAFETY: the tuple is the event's new row, or a copy of it with another mark. The pending row is forgotten with
    // the memory of the trigger's call, which is the current one.
    let pending = unsafe { PendingRow::new(event, undecided.key.clone(), tuple, conflicting.is_present()) };
    statement.current.pending.replace(Some(pending));
    Ok(Next::Store(tuple))
}

/// The error for a row that conflicts with a row which other transactions change all the time.
fn changed_too_often(event: &RowEvent) -> Result<ErrorReport> {
    let name = name_without_shard(&event.table())?;
    let detail = format!("The row with the same key in table \"{name}\" was updated during each of the searches.");
    Ok(cannot_serialize(detail))
}
