//! Decides what becomes of a new row: a guard at work in one statement.
//!
//! The guard decides at once whether the row may be stored. Under locks that keep other writers of near rows waiting
//! ([`super::locks`]), it searches for near rows, waits for transactions in progress that have written one, and
//! searches again. An INSERT whose own row ([`super::own_row`]) already exists waits for transactions that have written
//! or locked that row, and leaves the rest to ON CONFLICT.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_void;
use std::ops::ControlFlow;
use std::rc::Rc;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{Datum, HeapTuple, ItemPointerData, Oid};
use pgrx::prelude::*;
use simhash::search::lock_keys::LockKeys;

use super::action::Action;
use super::among::Among;
use super::confirmation::{NewText, TextReader};
use super::conflict::conflict;
use super::counts::Counts;
use super::definition::{Guard, Identity};
use super::disclosure::Disclosure;
use super::distribution::known_name;
use super::locks::{Locks, Running};
use super::log::{Guarded, Writer};
use super::nearest::Nearest;
use super::own_row::{Found, OwnRow};
use super::pending::PendingRow;
use super::scope::ScopeValues;
use super::search::{Candidate, SearchedTable, Wanted};
use crate::postgres::catalog::foreign_key::foreign_keys;
use crate::postgres::catalog::relation::Relation;
use crate::postgres::error::{algorithm_error, user_error};
use crate::postgres::heap::computed::Computed;
use crate::postgres::heap::dirty_scan::VersionState;
use crate::postgres::heap::moment::{Moment, Transaction};
use crate::postgres::heap::row::{Row, TableSlot};
use crate::postgres::portal::may_lock_on_conflict;
use crate::postgres::trigger::RowEvent;

/// How often an INSERT waits, without locks, for transactions that have written or locked its own row. After that it
/// leaves the wait to ON CONFLICT, where waiters for a row queue in order.
const MOST_WAITS: u32 = 8;

thread_local! {
    static RUNNING: RefCell<Vec<Running<Identity>>> = const { RefCell::new(Vec::new()) };
    /// Whether `subtransaction_ended` is registered with PostgreSQL.
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
    /// Computes the fingerprint if it is a generated column: PostgreSQL does so only after the trigger.
    generated: Option<Computed>,
    /// The condition that a partition's rows fulfil; None if the table is not a partition.
    partition: Option<Computed>,
    /// The unique indexes by which an INSERT may find its own row, read when first needed.
    own_row: OnceCell<OwnRow>,
    texts: TextReader,
    among: Option<Among>,
    /// The guard's log, prepared when the first row is logged.
    log: OnceCell<Writer>,
    counts: Rc<Counts>,
    memory: pg_sys::MemoryContext,
    locks: Rc<RefCell<Locks>>,
}

/// A row that is about to be stored.
struct NewRow<'a> {
    event: &'a RowEvent<'a>,
    fingerprint: i64,
    scope: ScopeValues<'a>,
    /// Whether an UPDATE moves the row to another partition.
    moves: bool,
    /// Whether ON CONFLICT may find another row in its place: true for an INSERT, unless an UPDATE moves the row here.
    may_have_own_row: bool,
}

/// What one search of the table has led to.
enum Step {
    /// Store this row; if it is null, store none.
    Decided(HeapTuple),
    /// A transaction that the outcome depends on has ended; search again.
    LookAgain,
    /// Another transaction has written or locked the new row's own row, which has this tid.
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
    /// The guard in the running statement, made in its first call.
    ///
    /// # Safety
    /// `fcinfo` belongs to the running call, and the function keeps nothing else in its `fn_extra`.
    pub unsafe fn from_call<'a>(
        fcinfo: pg_sys::FunctionCallInfo,
        event: &RowEvent,
    ) -> Result<&'a mut Self, ErrorReport> {
        // SAFETY: a trigger's call information and its memory live as long as the statement. What is made here is
        // dropped with that memory, and its locks are released.
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
        // SAFETY: the statement's memory context outlives the expressions that are made in it.
        let (generated, partition) = unsafe { PgMemoryContexts::For(memory).switch_to(|_| expressions()) };
        if !IS_REGISTERED.replace(true) {
            // SAFETY: the callback is a function of this library, which is never unloaded.
            unsafe { pg_sys::RegisterSubXactCallback(Some(subtransaction_ended), std::ptr::null_mut()) };
        }
        let identity = guard.identity.without_detached();
        let locks = RUNNING.with(|running| Locks::for_statement(running, memory, identity));
        // SAFETY: the statement's memory context outlives the statement.
        let (texts, among) = unsafe { (TextReader::new(function, memory), Among::of_guard(&guard, memory)) };
        let counts = Counts::of(guard.identity.root, event);
        let (own_row, log) = (OnceCell::new(), OnceCell::new());
        Ok(Self { function, guard, generated, partition, own_row, texts, among, log, counts, memory, locks })
    }

    /// What becomes of the new row: the row itself, a changed copy, or null if it is not to be stored. An error if it
    /// is rejected.
    ///
    /// # Safety
    /// The event belongs to this statement.
    pub unsafe fn decide(&mut self, event: &RowEvent) -> Result<HeapTuple, ErrorReport> {
        let has_moved = self.begin_row(event);
        // SAFETY: the caller passes an event of this statement.
        let Some(row) = (unsafe { self.new_row(event, has_moved)? }) else {
            self.locks.borrow_mut().release();
            return self.with_mark(event, None);
        };
        if let Some(old) = event.old_row()
            && self.leaves_fingerprint(&row, old)?
            && !self.begins_to_count(event, old)?
        {
            // The fingerprint and its source stay, so there is nothing to search for. If the row moves during another
            // search, that search notices.
            if self.own_row(event).keeps_keys(old, event.new_row()) {
                self.locks.borrow_mut().release();
            } else {
                // If the keys change, another session's INSERT may no longer collide with this row, and store its own.
                // The locks prevent that while that session decides.
                self.register(&row)?;
            }
            return Ok(self.with_old_mark(event, old)?.unwrap_or_else(|| event.new_tuple()));
        }
        let mut waits = 0;
        loop {
            pgrx::check_for_interrupts!();
            self.register(&row)?;
            // While this session waited, another transaction may have stored a near row in a new partition.
            // SAFETY: a trigger function runs in a transaction.
            unsafe { pg_sys::AcceptInvalidationMessages() };
            let guard = Guard::from_trigger(self.function, event, Some(&self.guard))?;
            if !Rc::ptr_eq(&guard, &self.guard) {
                self.texts.forget();
                // SAFETY: the statement's memory context outlives the statement.
                self.among = unsafe { Among::of_guard(&guard, self.memory) };
                self.log.take();
                self.guard = guard;
            }
            // SAFETY: `row` was made from an event of this statement.
            match unsafe { self.look_once(&row, waits)? } {
                Step::Decided(tuple) => return Ok(tuple),
                Step::LookAgain => {}
                Step::OwnRowIsBusy(transaction, tid) => {
                    // The transactions that wrote or locked the row may need lock keys: release ours before waiting.
                    waits += 1;
                    self.locks.borrow_mut().release();
                    transaction.wait(&event.table(), tid);
                }
            }
        }
    }

    /// Forgets the previous row, which is in the table by now. Returns whether the new row has already been checked in
    /// another partition, from which an UPDATE moves it here.
    fn begin_row(&self, event: &RowEvent) -> bool {
        Locks::end_with_call(&self.locks);
        let mut locks = self.locks.borrow_mut();
        locks.pending.clear();
        std::mem::take(&mut locks.moves) && event.old_row().is_none()
    }

    /// The new row; None if it has no fingerprint.
    ///
    /// # Safety
    /// The event belongs to this statement.
    unsafe fn new_row<'a>(&self, event: &'a RowEvent, has_moved: bool) -> Result<Option<NewRow<'a>>, ErrorReport> {
        let own = self.guard.own(event)?;
        let new = event.new_row();
        let fingerprint = match &self.generated {
            // SAFETY: the event belongs to this statement, and `generated` was made for its table.
            Some(generated) => unsafe { generated.value(new) },
            None => new.value(own.fingerprint),
        };
        let Some(fingerprint) = fingerprint.map(|datum| datum.value() as i64) else { return Ok(None) };
        let is_update = event.old_row().is_some();
        Ok(Some(NewRow {
            event,
            fingerprint,
            scope: own.scope.of_row(new),
            // SAFETY: the event belongs to this statement, and `new` is its row.
            moves: is_update && unsafe { self.moves(new) },
            may_have_own_row: !is_update && !has_moved,
        }))
    }

    /// Whether an UPDATE keeps the fingerprint, its source, the scope and the partition.
    fn leaves_fingerprint(&self, row: &NewRow, old: Row<'_>) -> Result<bool, ErrorReport> {
        let own = self.guard.own(row.event)?;
        Ok(old.value(own.fingerprint).map(|old| old.value() as i64) == Some(row.fingerprint)
            && own.has_same_scope(old, row.event.new_row())
            && own.has_equal_source(old, row.event.new_row())
            && !row.moves)
    }

    /// Whether an UPDATE makes the row one that counts. Then the row is checked as if it were new.
    fn begins_to_count(&self, event: &RowEvent, old: Row<'_>) -> Result<bool, ErrorReport> {
        let (table, new) = (event.table().oid(), event.new_row());
        match &self.among {
            Some(among) if !among.has_same_columns(table, old, new)? => {
                Ok(among.holds(table, new)? && !among.holds(table, old)?)
            }
            _ => Ok(false),
        }
    }

    /// Searches once for near rows and for the new row's own row, and decides if the outcome is certain.
    ///
    /// # Safety
    /// The row's event belongs to this statement.
    unsafe fn look_once(&self, row: &NewRow, waits: u32) -> Result<Step, ErrorReport> {
        let (event, guard) = (row.event, &*self.guard);
        let since = Moment::now();
        let is_own_row = |found: Row<'_>, by_plain_columns| {
            // SAFETY: the search asks only about rows of the event's table, for which `own_row` was made.
            unsafe { self.own_row(event).is_in_way(event.new_row(), found, by_plain_columns) }
        };
        let wanted = Wanted {
            fingerprint: row.fingerprint,
            near: guard.criterion.near,
            max_distance: Cell::new(guard.criterion.near.max_distance()),
            scope: &row.scope,
            table: event.table().oid(),
            except: event.old_row().map(Row::tid),
            is_own_row: row.may_have_own_row.then_some(&is_own_row),
            since: &since,
        };
        let own = guard.own(event)?;
        let new_text = guard.criterion.resemblance.map(|least| NewText::new(&self.texts, event.new_row(), own, least));
        let (tuple, near) = match self.look(&wanted, new_text.as_ref())? {
            Outcome::LookAgain => return Ok(Step::LookAgain),
            Outcome::Unique => (self.with_mark(event, None)?, None),
            Outcome::Near(nearest) => (self.act(event, &nearest)?, Some(nearest)),
        };
        // Search for the own row last, so that the result almost always still holds when ON CONFLICT looks for it.
        let own_row = if row.may_have_own_row && !tuple.is_null() {
            // SAFETY: `own_row` was made for the event's table, and the new row belongs to that table.
            unsafe { self.own_row(event).find(&event.table(), event.new_row(), &since) }
        } else {
            Found::None
        };
        if let Found::Depends(transaction, tid) = own_row
            && waits < MOST_WAITS
        {
            return Ok(Step::OwnRowIsBusy(transaction, tid));
        }
        let is_stored = !tuple.is_null() && matches!(own_row, Found::None);
        // A marked row does not count as a near-duplicate of later rows.
        self.prepare_to_store(row, tuple, is_stored && waits < MOST_WAITS && near.is_none())?;
        // A row that moves is decided about again where it moves to. A row whose own row exists is not stored: if ON
        // CONFLICT updates the own row, the guard decides about that UPDATE.
        if tuple.is_null() || is_stored && !row.moves {
            self.counts.add(near.as_ref().map(|_| guard.action));
            if let Some(nearest) = near {
                self.log(event, &nearest)?;
            }
        }
        Ok(Step::Decided(tuple))
    }

    /// Keeps the locks for a row that is stored, and remembers the row if no search can find it before it is stored.
    /// Releases the locks if the row is null: it is skipped.
    fn prepare_to_store(&self, row: &NewRow, tuple: HeapTuple, is_pending: bool) -> Result<(), ErrorReport> {
        let own = self.guard.own(row.event)?;
        let mut locks = self.locks.borrow_mut();
        if tuple.is_null() {
            locks.release();
            return Ok(());
        }
        // A row whose own row exists is not stored. Any other row is, and later rows may be near to it.
        if is_pending {
            let tuple = (own.source.is_some() || self.among.is_some()).then_some(tuple);
            // SAFETY: the memory of the statement, with which the locks and their pending row go.
            unsafe { locks.pending.set(self.memory, row.event, row.fingerprint, &own.scope, &row.scope, tuple) };
        }
        locks.moves = row.moves;
        Ok(())
    }

    /// Writes about a row that is skipped or marked to the guard's log, if it has one.
    fn log(&self, event: &RowEvent, nearest: &Nearest) -> Result<(), ErrorReport> {
        let Some(log) = &self.guard.log else { return Ok(()) };
        let writer = match self.log.get() {
            Some(writer) => writer,
            None => {
                let guarded = Guarded {
                    guard: &event.trigger_name()?,
                    root: self.guard.identity.root,
                    table: &event.table(),
                    action: self.guard.action,
                };
                // SAFETY: the statement's memory context lives as long as the statement, and so as long as the result.
                let writer = unsafe { PgMemoryContexts::For(self.memory).switch_to(|_| log.prepare(&guarded)) }?;
                self.log.get_or_init(|| writer)
            }
        };
        // SAFETY: the memory of the statement, in which the log was prepared for the event's table.
        unsafe { writer.write(nearest, event.new_row()) }
    }

    /// Searches for near rows, which the new text confirms if it is given. If the outcome depends on another
    /// transaction, releases the locks and waits for it.
    fn look(&self, wanted: &Wanted, new_text: Option<&NewText>) -> Result<Outcome<'_>, ErrorReport> {
        let mut found = Near::default();
        for searched in &self.guard.searched {
            let mark = self.guard.mark(searched.oid).map(|mark| mark.column);
            let flow = searched
                .each_near(wanted, |candidate| {
                    match self.counts(searched, candidate, mark) {
                        Ok(true) => {}
                        Ok(false) => return ControlFlow::Continue(()),
                        Err(error) => return ControlFlow::Break(Err(error)),
                    }
                    if let Err(error) = found.add(searched, candidate, new_text) {
                        return ControlFlow::Break(Err(error));
                    }
                    let Some(nearest) = &found.nearest else { return ControlFlow::Continue(()) };
                    // Any near row suffices to skip the new one, but a log has the nearest.
                    let any_suffices = self.guard.action == Action::Skip && self.guard.log.is_none();
                    if any_suffices || nearest.distance == 0 {
                        return ControlFlow::Break(Ok(()));
                    }
                    wanted.max_distance.set(nearest.distance.cast_signed() - 1);
                    ControlFlow::Continue(())
                })
                .map_err(algorithm_error)?;
            if let ControlFlow::Break(stopped) = flow {
                stopped?;
                break;
            }
        }
        Ok(match found {
            // A row that is already present decides, whatever other transactions do.
            Near { nearest: Some(nearest), .. } => Outcome::Near(nearest),
            Near { awaited: Some((transaction, table, tid)), .. } => {
                self.locks.borrow_mut().release();
                transaction.wait(&Relation::open(table), tid);
                Outcome::LookAgain
            }
            Near { may_have_moved: true, .. } => Outcome::LookAgain,
            Near { .. } => {
                self.check_pending(wanted, new_text)?;
                Outcome::Unique
            }
        })
    }

    /// Whether a version of a row may be a near-duplicate, as far as its mark and the condition `among` decide. Each
    /// version counts by itself: if a transaction in progress changes the row, its old and its new version are both
    /// found.
    fn counts(&self, searched: &SearchedTable, candidate: &Candidate, mark: Option<i16>) -> Result<bool, ErrorReport> {
        let row = candidate.version.row();
        // A version that is gone tells that the search must be repeated.
        let (VersionState::Depends { .. } | VersionState::Present) = candidate.state else { return Ok(true) };
        // Only unmarked rows count. So marks form no circle, and of rows that are near each other one is unmarked.
        if mark.is_some_and(|mark| row.value(mark).is_some()) {
            return Ok(false);
        }
        let Some(among) = &self.among else { return Ok(true) };
        // As for texts, nothing is read that may vanish.
        if matches!(candidate.state, VersionState::Depends { inserts: true, .. })
            && among.is_out_of_line(searched.oid, row)?
        {
            return Ok(true);
        }
        among.holds(searched.oid, row)
    }

    /// An error if the new row is near a row that another statement of this session is about to store, which no search
    /// can find yet.
    fn check_pending(&self, wanted: &Wanted, new_text: Option<&NewText>) -> Result<(), ErrorReport> {
        let Some(searched) = self.guard.searched.first() else { return Ok(()) };
        let identity = self.guard.identity.without_detached();
        for other in RUNNING.with(|running| Locks::of_other_statements(running, self.memory, &identity)) {
            let other = other.borrow();
            if let Some(near) = other.pending.near(wanted, &searched.scope)
                && self.is_confirmed(near, new_text)?
            {
                let name = known_name(&Relation::open(self.guard.identity.root))?;
                let message = format!("near-duplicate of a row that is being stored in table \"{name}\"");
                return Err(user_error(PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION, message)
                    .set_detail("A trigger or a function wrote it before the other row was stored.")
                    .set_hint("Write it in an AFTER trigger."));
            }
        }
        Ok(())
    }

    /// Whether a row that is being stored counts, and its text resembles the new one.
    fn is_confirmed(&self, pending: &PendingRow, new_text: Option<&NewText>) -> Result<bool, ErrorReport> {
        let Some((table, row)) = pending.tuple() else { return Ok(true) };
        let Some(searched) = self.guard.searched(table) else { return Ok(true) };
        let table = Relation::open(table);
        // SAFETY: the row is a copy of a row of this table, and lives as long as the pending row.
        unsafe {
            let slot = TableSlot::holding(&table, row);
            if let Some(among) = &self.among
                && !among.holds(searched.oid, slot.row())?
            {
                return Ok(false);
            }
            Ok(new_text.map(|text| text.confirm(searched, slot.row())).transpose()? != Some(None))
        }
    }

    /// The new row with a mark that names its near-duplicate, or with NULL there if it has none.
    fn with_mark(&self, event: &RowEvent, near: Option<&Nearest>) -> Result<HeapTuple, ErrorReport> {
        let Some(own) = self.guard.mark(event.table().oid()) else { return Ok(event.new_tuple()) };
        let of_near = |near: &Nearest| self.guard.mark(near.searched.oid).map(|mark| mark.value(near));
        let value = near.and_then(of_near).transpose()?.flatten();
        if value.is_none() && event.new_row().value(own.column).is_none() {
            return Ok(event.new_tuple());
        }
        // SAFETY: the trigger's table has this column, and the value is of its type, as `Mark::of` has checked.
        Ok(unsafe { event.with_value(own.column.into(), value) })
    }

    /// If an UPDATE leaves the text and writes both the text and the mark column, the new row with the old mark. An
    /// application that saves whole rows writes the mark that it has read before, or none. An UPDATE that writes the
    /// mark column but not the text sets the mark.
    fn with_old_mark(&self, event: &RowEvent, old: Row<'_>) -> Result<Option<HeapTuple>, ErrorReport> {
        let (own, table) = (self.guard.own(event)?, event.table().oid());
        let Some(mark) = self.guard.mark(table).map(|mark| mark.column) else { return Ok(None) };
        let writes_text = || own.made_from.iter().any(|&column| event.writes(column));
        if event.new_row().has_same_values(old, std::iter::once(mark)) || !writes_text() {
            return Ok(None);
        }
        // SAFETY: the trigger's table has this column, and the value is of the same column.
        Ok(Some(unsafe { event.with_value(mark.into(), old.value(mark)) }))
    }

    /// Takes the guard's action for a row that is near another one.
    fn act(&self, event: &RowEvent, nearest: &Nearest) -> Result<HeapTuple, ErrorReport> {
        let action = self.guard.action;
        if action != Action::Reject && !nearest.is_visible {
            let name = known_name(&event.table())?;
            // As with INSERT .. ON CONFLICT, a row that this transaction cannot see must not decide what it does.
            return Err(user_error(
                PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
                "could not serialize access due to concurrent update",
            )
            .set_detail(format!("A near-duplicate in table \"{name}\" was committed after this transaction began.")));
        }
        match action {
            // Never skip an UPDATE that a foreign key makes: the row would keep referring to a row that is gone.
            Action::Skip if !changes_foreign_key(event) => Ok(std::ptr::null_mut()),
            Action::Mark => self.with_mark(event, Some(nearest)),
            Action::Skip | Action::Reject => {
                self.counts.add(Some(Action::Reject));
                match conflict(event, &Disclosure::new(nearest)?)? {}
            }
        }
    }

    /// The unique indexes by which ON CONFLICT finds the new row's own row.
    fn own_row(&self, event: &RowEvent) -> &OwnRow {
        self.own_row.get_or_init(|| {
            // SAFETY: the statement's memory context lives as long as the statement, and so as long as the result.
            unsafe {
                let own_row = |_: &mut _| OwnRow::new(&event.table(), may_lock_on_conflict(self.memory));
                PgMemoryContexts::For(self.memory).switch_to(own_row)
            }
        })
    }

    /// Whether an UPDATE moves the row to another partition. It is inserted there after the old row has been deleted,
    /// so the guard must decide about it before.
    ///
    /// # Safety
    /// The row belongs to the trigger's table.
    unsafe fn moves(&self, new: Row<'_>) -> bool {
        // SAFETY: the row belongs to the table that the condition was made for; the condition's result is a boolean.
        let fulfils = |partition: &Computed| unsafe { partition.value(new) } != Some(Datum::from(false));
        !self.partition.as_ref().is_none_or(fulfils)
    }

    fn register(&self, row: &NewRow) -> Result<(), ErrorReport> {
        let Guard { identity, secret, key_blocks, .. } = &*self.guard;
        let scope = self.guard.own(row.event)?.scope.hash(&row.scope);
        let keys = LockKeys { secret, scope, blocks: key_blocks };
        self.locks.borrow_mut().register(identity.root, &keys, row.fingerprint);
        Ok(())
    }
}

/// What a search has found so far.
#[derive(Default)]
struct Near<'a> {
    nearest: Option<Nearest<'a>>,
    /// A transaction that decides whether a near row is present, with that row's table and tid.
    awaited: Option<(Transaction, Oid, ItemPointerData)>,
    may_have_moved: bool,
}

impl<'a> Near<'a> {
    /// Adds a row within the distance, unless its text refutes that it is near. A row that is present is nearer than
    /// those added before.
    fn add(
        &mut self,
        searched: &'a SearchedTable,
        candidate: &Candidate,
        new_text: Option<&NewText>,
    ) -> Result<(), ErrorReport> {
        let row = candidate.version.row();
        match candidate.state {
            VersionState::Depends { on, inserts } => {
                // If an inserting transaction rolls back, VACUUM may at once remove what it has stored out of line. So
                // such a text is not read before the transaction has ended.
                let may_vanish = inserts && searched.has_source_out_of_line(row);
                let is_refuted =
                    |text: &NewText| Ok::<_, ErrorReport>(!may_vanish && text.confirm(searched, row)?.is_none());
                if self.awaited.is_none() && !new_text.map_or(Ok(false), is_refuted)? {
                    self.awaited = Some((on, searched.oid, row.tid()));
                }
            }
            VersionState::Gone { lately } => self.may_have_moved |= lately,
            VersionState::Present => {
                let resemblance = new_text.map(|text| text.confirm_present(searched, row)).transpose()?;
                if resemblance != Some(None) {
                    self.nearest = Some(Nearest::new(searched, candidate, resemblance.flatten()));
                }
            }
        }
        Ok(())
    }
}

/// Whether the event is an UPDATE that changes a column of a foreign key.
fn changes_foreign_key(event: &RowEvent) -> bool {
    let Some(old) = event.old_row() else { return false };
    let columns = foreign_keys(&event.table()).into_iter().flat_map(|key| key.columns);
    !event.new_row().has_same_values(old, columns)
}
