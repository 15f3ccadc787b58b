//! What becomes of a new row: a guard at work in one statement.
//!
//! The guard decides at once whether the row may be stored. Under locks that keep other writers of near rows waiting
//! ([`super::locks`]), it looks for what is near, waits for transactions that have written something near and not ended,
//! and looks again. An INSERT whose own row is there already waits for those who have written or locked that row, and
//! leaves the rest to ON CONFLICT.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_void;
use std::ops::ControlFlow;
use std::rc::Rc;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{CommandId, Datum, HeapTuple, ItemPointerData, Oid};
use pgrx::prelude::*;

use super::action::Action;
use super::conflict::conflict;
use super::definition::{Guard, Identity};
use super::locks::{Locks, Running};
use super::nearest::Nearest;
use super::own_row::{Found, OwnRow};
use super::scope::ScopeValues;
use super::search::{Candidate, SearchedTable, Wanted};
use crate::postgres::catalog::relation::Relation;
use crate::postgres::dirty_scan::State;
use crate::postgres::error::{algorithm_error, user_error};
use crate::postgres::moment::{Moment, Transaction};
use crate::postgres::nodes::computed::Computed;
use crate::postgres::row::Row;
use crate::postgres::trigger::RowEvent;

/// How often an INSERT waits without locks for those who have written or locked the row in its way. Then it leaves that
/// to ON CONFLICT, where those who wait for a row come in their order.
const MOST_WAITS: u32 = 8;

thread_local! {
    static RUNNING: RefCell<Vec<Running<Identity>>> = const { RefCell::new(Vec::new()) };
    /// Whether PostgreSQL calls `subtransaction_ended`.
    static IS_REGISTERED: Cell<bool> = const { Cell::new(false) };
}

#[pg_guard]
unsafe extern "C-unwind" fn subtransaction_ended(
    event: pg_sys::SubXactEvent::Type,
    subtransaction: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    _argument: *mut c_void,
) {
    if event == pg_sys::SubXactEvent::SUBXACT_EVENT_ABORT_SUB {
        RUNNING.with(|running| Locks::release_aborted(running, subtransaction));
    }
}

/// A guard at work on one table in one statement.
pub struct Statement {
    function: Oid,
    guard: Rc<Guard>,
    /// The fingerprint, if it is a generated column: PostgreSQL computes these only after the trigger.
    generated: Option<Computed>,
    /// Of a partition, the condition that its rows fulfil.
    partition: Option<Computed>,
    /// The unique indexes by which an INSERT may find its own row. None until they are needed.
    own_row: OnceCell<OwnRow>,
    memory: pg_sys::MemoryContext,
    locks: Rc<RefCell<Locks>>,
}

/// A row that is to be stored.
struct NewRow<'a> {
    event: &'a RowEvent<'a>,
    fingerprint: i64,
    scope: ScopeValues,
    /// The row is updated, and goes to another partition.
    moves: bool,
    /// The row is inserted, and not as one that an UPDATE moves here: ON CONFLICT may find another row in its place.
    may_have_own_row: bool,
}

/// What one look at the table has led to.
enum Step {
    /// The row is to be stored as this one, or not at all, where it is null.
    Decided(HeapTuple),
    /// A transaction that the outcome depends on has ended; search again.
    LookAgain,
    /// Another transaction has written or locked the row in the new one's way.
    OwnRowIsBusy(Transaction, ItemPointerData),
}

/// What a search has found.
enum Outcome<'a> {
    Unique,
    Near(Nearest<'a>),
    /// A transaction that the outcome depends on has ended; search again.
    LookAgain,
}

impl Statement {
    /// The running statement.
    ///
    /// # Safety
    /// `fcinfo` is that of the running call, and the function remembers nothing else in its `fn_extra`.
    pub unsafe fn from_call<'a>(
        fcinfo: pg_sys::FunctionCallInfo,
        event: &RowEvent,
    ) -> Result<&'a mut Self, ErrorReport> {
        // SAFETY: a trigger's call information lives, with its memory, as long as the statement. When that goes, what is
        // made here goes too, with its locks.
        unsafe {
            let info = &mut *(*fcinfo).flinfo;
            if info.fn_extra.is_null() {
                let statement = Self::begin(info.fn_oid, info.fn_mcxt, event)?;
                info.fn_extra = PgMemoryContexts::For(info.fn_mcxt).leak_and_drop_on_delete(statement).cast();
            }
            Ok(&mut *info.fn_extra.cast())
        }
    }

    fn begin(function: Oid, memory: pg_sys::MemoryContext, event: &RowEvent) -> Result<Self, ErrorReport> {
        let guard = Guard::from_trigger(function, event, None)?;
        let own = guard.own(event)?;
        let table = event.table();
        let expressions = || (Computed::generated(&table, own.fingerprint), Computed::partition(&table));
        // SAFETY: the statement's memory, which outlives what is made in it.
        let (generated, partition) = unsafe { PgMemoryContexts::For(memory).switch_to(|_| expressions()) };
        if !IS_REGISTERED.replace(true) {
            // SAFETY: a function of this library, which is never unloaded.
            unsafe { pg_sys::RegisterSubXactCallback(Some(subtransaction_ended), std::ptr::null_mut()) };
        }
        let identity = guard.identity.of_whole();
        let locks = RUNNING.with(|running| Locks::for_statement(running, memory, identity));
        Ok(Self { function, guard, generated, partition, own_row: OnceCell::new(), memory, locks })
    }

    /// What becomes of the new row: itself, another one, or null if it is not to be stored.
    ///
    /// # Safety
    /// The event is one of this statement.
    pub unsafe fn decide(&mut self, event: &RowEvent) -> Result<HeapTuple, ErrorReport> {
        let has_moved = self.begin_row(event);
        // SAFETY: by the contract.
        let Some(row) = (unsafe { self.new_row(event, has_moved)? }) else {
            self.locks.borrow_mut().release();
            return self.with_mark(event, None);
        };
        if let Some(old) = event.old_row()
            && self.leaves_fingerprint(&row, old)?
        {
            // There is nothing to look for. Searches notice where the row has moved while they looked.
            if self.own_row(event).keeps_keys(old, event.new_row()) {
                self.locks.borrow_mut().release();
            } else {
                // The row may go out of the way of a new row, which is then stored: not while that is being decided.
                self.take_locks(row.fingerprint);
            }
            return Ok(event.new_tuple());
        }
        let mut waits = 0;
        loop {
            pgrx::check_for_interrupts!();
            self.take_locks(row.fingerprint);
            // While it waited, another transaction may have stored something near in a partition that is new.
            // SAFETY: in a transaction.
            unsafe { pg_sys::AcceptInvalidationMessages() };
            self.guard = Guard::from_trigger(self.function, event, Some(&self.guard))?;
            // SAFETY: by the contract.
            match unsafe { self.look_once(&row, waits)? } {
                Step::Decided(tuple) => return Ok(tuple),
                Step::LookAgain => {}
                Step::OwnRowIsBusy(transaction, place) => {
                    // Those who have written or locked the row may want keys: wait without them.
                    waits += 1;
                    self.locks.borrow_mut().release();
                    transaction.wait(&event.table(), place);
                }
            }
        }
    }

    /// Forgets the row before, which is in the table by now. Whether the new row is one that has been checked where it
    /// was, and that an UPDATE moves to this partition.
    fn begin_row(&self, event: &RowEvent) -> bool {
        let mut locks = self.locks.borrow_mut();
        locks.pending.clear();
        std::mem::take(&mut locks.moves) && event.old_row().is_none()
    }

    /// The new row; None if it has no fingerprint.
    ///
    /// # Safety
    /// The event is one of this statement.
    unsafe fn new_row<'a>(&self, event: &'a RowEvent, has_moved: bool) -> Result<Option<NewRow<'a>>, ErrorReport> {
        let own = self.guard.own(event)?;
        let new = event.new_row();
        let fingerprint = match &self.generated {
            // SAFETY: by the contract, the row is of the table that the expression is of.
            Some(generated) => unsafe { generated.value(new) },
            None => new.value(own.fingerprint),
        };
        let Some(fingerprint) = fingerprint.map(|datum| datum.value() as i64) else { return Ok(None) };
        let is_update = event.old_row().is_some();
        Ok(Some(NewRow {
            event,
            fingerprint,
            scope: own.scope.of_row(new),
            // SAFETY: by the contract.
            moves: is_update && unsafe { self.moves(new) },
            may_have_own_row: !is_update && !has_moved,
        }))
    }

    /// Whether an UPDATE leaves alone all that the guard goes by.
    fn leaves_fingerprint(&self, row: &NewRow, old: Row<'_>) -> Result<bool, ErrorReport> {
        let own = self.guard.own(row.event)?;
        Ok(old.value(own.fingerprint).map(|old| old.value() as i64) == Some(row.fingerprint)
            && own.has_same_scope(old, row.event.new_row())
            && !row.moves)
    }

    /// Looks once for what is near, and for the row in the new one's way, and decides if the outcome is certain.
    ///
    /// # Safety
    /// The row's event is one of this statement.
    unsafe fn look_once(&self, row: &NewRow, waits: u32) -> Result<Step, ErrorReport> {
        let (event, guard) = (row.event, &*self.guard);
        let since = Moment::now();
        let is_own_row = |found: Row<'_>, by_plain_columns| {
            // SAFETY: by the contract, and both rows are of the event's table: others are not asked about.
            unsafe { self.own_row(event).is_in_way(event.new_row(), found, by_plain_columns) }
        };
        let wanted = Wanted {
            fingerprint: row.fingerprint,
            max_distance: guard.max_distance,
            scope: &row.scope,
            table: event.table().oid(),
            except: event.old_row().map(Row::place),
            is_own_row: row.may_have_own_row.then_some(&is_own_row),
            since: &since,
        };
        let tuple = match self.look(&wanted)? {
            Outcome::LookAgain => return Ok(Step::LookAgain),
            Outcome::Unique => self.with_mark(event, None)?,
            Outcome::Near(nearest) => self.act(event, &nearest)?,
        };
        // This comes last, so that it still holds, as good as always, when ON CONFLICT comes to the row.
        let own_row = if row.may_have_own_row && !tuple.is_null() && waits < MOST_WAITS {
            // SAFETY: by the contract.
            unsafe { self.own_row(event).find(&event.table(), event.new_row(), &since) }
        } else {
            Found::None
        };
        if let Found::Depends(transaction, place) = own_row {
            return Ok(Step::OwnRowIsBusy(transaction, place));
        }
        let mut locks = self.locks.borrow_mut();
        if tuple.is_null() {
            locks.release();
            return Ok(Step::Decided(tuple));
        }
        // A row that finds another in its way is not stored. Any other one is, and others may be near to it.
        if matches!(own_row, Found::None) && waits < MOST_WAITS {
            locks.pending.set(self.memory, row.fingerprint, &guard.own(event)?.scope, &row.scope);
        }
        locks.moves = row.moves;
        Ok(Step::Decided(tuple))
    }

    /// Looks for what is near. If that depends on another transaction, waits for it, without locks.
    fn look(&self, wanted: &Wanted) -> Result<Outcome<'_>, ErrorReport> {
        let mut found = Near::default();
        for searched in &self.guard.searched {
            let flow = searched
                .each_near(wanted, |candidate| {
                    found.add(searched, candidate);
                    // Whichever row is near, the new one is skipped.
                    if found.nearest.is_some() && self.guard.action == Action::Skip {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                })
                .map_err(algorithm_error)?;
            if flow.is_break() {
                break;
            }
        }
        Ok(match found {
            // What is there already decides, whatever others do.
            Near { nearest: Some(nearest), .. } => Outcome::Near(nearest),
            Near { awaited: Some((transaction, table, place)), .. } => {
                self.locks.borrow_mut().release();
                transaction.wait(&Relation::open(table), place);
                Outcome::LookAgain
            }
            Near { may_have_moved: true, .. } => Outcome::LookAgain,
            Near { gone, .. } => {
                self.check_pending(wanted, &gone)?;
                Outcome::Unique
            }
        })
    }

    /// An error if a row is near that an outer statement is about to store: no search can find that one yet. If it has
    /// been stored, and changed or deleted since, it is among those that are gone.
    fn check_pending(&self, wanted: &Wanted, gone: &[(i64, CommandId)]) -> Result<(), ErrorReport> {
        let Some(searched) = self.guard.searched.first() else { return Ok(()) };
        let identity = self.guard.identity.of_whole();
        for other in RUNNING.with(|running| Locks::of_other_statements(running, self.memory, &identity)) {
            let other = other.borrow();
            let near = other.pending.near(wanted.fingerprint, wanted.max_distance, &searched.scope, wanted.scope);
            if near.is_some_and(|near| !near.is_among(gone)) {
                let name = Relation::open(self.guard.identity.root).name()?;
                let message = format!("near-duplicate of a row that is being stored in table \"{name}\"");
                return Err(user_error(PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION, message)
                    .set_detail("A trigger or a function wrote it before the other row was stored.")
                    .set_hint("Write it in an AFTER trigger."));
            }
        }
        Ok(())
    }

    /// The new row with the key of its near-duplicate in the mark column, or with NULL if there is none.
    fn with_mark(&self, event: &RowEvent, key: Option<Datum>) -> Result<HeapTuple, ErrorReport> {
        let mark = self.guard.mark(event.table().oid());
        match mark.filter(|&mark| key.is_some() || event.new_row().value(mark).is_some()) {
            None => Ok(event.new_tuple()),
            // SAFETY: a column of the trigger's table, and a value of its type: that of the key, as `mark_column` has
            // checked.
            Some(mark) => Ok(unsafe { event.with_value(mark.into(), key) }),
        }
    }

    /// Does what the guard does with a row that is near another one.
    fn act(&self, event: &RowEvent, nearest: &Nearest) -> Result<HeapTuple, ErrorReport> {
        let action = self.guard.action;
        if action != Action::Reject && !nearest.is_visible {
            let name = event.table().name()?;
            // As with INSERT .. ON CONFLICT, a row that this transaction cannot see must not decide what it does.
            return Err(user_error(
                PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
                "could not serialize access due to concurrent update",
            )
            .set_detail(format!("A near-duplicate in table \"{name}\" was committed after this transaction began.")));
        }
        match action {
            // An UPDATE that a foreign key makes must not be left undone: its row would refer to one that is gone.
            Action::Skip if !changes_foreign_key(event) => Ok(std::ptr::null_mut()),
            Action::Mark => self.with_mark(event, nearest.key.first()),
            Action::Skip | Action::Reject => Err(conflict(event.data, nearest.describe()?)?),
        }
    }

    /// The unique indexes by which ON CONFLICT finds a row in place of a new one.
    fn own_row(&self, event: &RowEvent) -> &OwnRow {
        self.own_row.get_or_init(|| {
            // SAFETY: the statement's memory, in which that is made; it lives as long as the statement.
            unsafe { PgMemoryContexts::For(self.memory).switch_to(|_| OwnRow::new(&event.table())) }
        })
    }

    /// Whether an updated row goes to another partition. There it is inserted when the old one has been deleted: what
    /// becomes of it has to be decided before.
    ///
    /// # Safety
    /// The row is one of this statement.
    unsafe fn moves(&self, new: Row<'_>) -> bool {
        // SAFETY: by the contract, the row is of the table that the condition is of, and the result is a boolean.
        let fulfils = |partition: &Computed| unsafe { partition.value(new) } != Some(Datum::from(false));
        !self.partition.as_ref().is_none_or(fulfils)
    }

    fn take_locks(&self, fingerprint: i64) {
        let Guard { identity, secret, max_distance, .. } = &*self.guard;
        self.locks.borrow_mut().take(identity.root, secret, fingerprint, *max_distance);
    }
}

/// What a search has found so far.
#[derive(Default)]
struct Near<'a> {
    nearest: Option<Nearest<'a>>,
    /// A transaction in progress that decides whether a near row is there: the last one found, with the row's table and
    /// place.
    awaited: Option<(Transaction, Oid, ItemPointerData)>,
    may_have_moved: bool,
    /// Rows that this transaction has stored, and since changed or deleted: their fingerprints and the commands.
    gone: Vec<(i64, CommandId)>,
}

impl<'a> Near<'a> {
    fn add(&mut self, searched: &'a SearchedTable, candidate: &Candidate) {
        match candidate.state {
            State::Depends(transaction) => {
                self.awaited = Some((transaction, searched.oid, candidate.version.row().place()));
            }
            State::Gone { lately, stored_by } => {
                self.may_have_moved |= lately;
                let row = stored_by.map(|command| (candidate.fingerprint, command));
                self.gone.extend(row.filter(|row| !self.gone.contains(row)));
            }
            State::Present => {
                let found = Nearest::new(searched, candidate);
                if self.nearest.as_ref().is_none_or(|nearest| found.comes_before(nearest)) {
                    self.nearest = Some(found);
                }
            }
        }
    }
}

/// Whether it is an UPDATE that changes a column of a foreign key.
fn changes_foreign_key(event: &RowEvent) -> bool {
    let Some(old) = event.old_row() else { return false };
    let table = event.table();
    // SAFETY: an open table, whose list of foreign keys is valid as long as nothing of it changes; each has as many
    // columns as it says.
    let columns: Vec<i16> = unsafe {
        let keys = pg_sys::RelationGetFKeyList(table.as_ptr());
        let count = if keys.is_null() { 0 } else { (*keys).length };
        (0..count)
            .flat_map(|place| {
                let key = &*pg_sys::list_nth(keys, place).cast::<pg_sys::ForeignKeyCacheInfo>();
                key.conkey[..key.nkeys as usize].to_vec()
            })
            .collect()
    };
    !event.new_row().has_same_values(old, columns.into_iter())
}
