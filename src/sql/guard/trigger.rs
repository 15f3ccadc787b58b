//! The trigger `simhash_dedup(action, max distance, fingerprint column [, mark column [, scope column ...]])`.
//!
//! It fires BEFORE INSERT OR UPDATE, FOR EACH ROW, and decides at once whether the row may be stored: under locks that
//! keep other writers of near rows waiting ([`super::locks`]), it looks for what is near, waits for transactions that
//! have written something near and not ended, and looks again. An INSERT that finds its own row first locks that, and
//! leaves the rest to ON CONFLICT.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString, c_void};
use std::ops::ControlFlow;
use std::rc::Rc;

use pgrx::PgMemoryContexts;
use pgrx::datum::Internal;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;

use super::cache::Cache;
use super::computed::Computed;
use super::conflict::conflict;
use super::locks::{Locks, Running, secret};
use super::nearest::Nearest;
use super::own_row::{Found, OwnRow};
use super::search::{Moment, Searched, State, Wanted, value};
use super::table::{Members, mark_column, name_of, no_index, same_values};
use crate::simhash::guard::Secret;
use crate::sql::arguments::check_distance;
use crate::sql::error::{shorten, user_error};
use crate::sql::functions::Functions;
use crate::sql::spi::from_server;
use crate::sql::tables::{open, with_inheritors};
use crate::sql::trigger::{RowEvent, protocol_violated, table_of_original};

/// How often an INSERT waits without locks for those who have written or locked the row in its way. Then it leaves that
/// to ON CONFLICT, where those who wait for a row come in their order.
const MOST_WAITS: u32 = 8;

const USAGE: &str = "CREATE TRIGGER ... BEFORE INSERT OR UPDATE ... FOR EACH ROW EXECUTE FUNCTION \
    simhash_dedup(action, max_distance, fingerprint_column)";

#[pg_extern(sql = false)]
fn simhash_dedup(fcinfo: pg_sys::FunctionCallInfo) -> Result<Internal, ErrorReport> {
    let event = RowEvent::of(fcinfo, "simhash_dedup", USAGE)?;
    // SAFETY: `fcinfo` is that of the running call, and what it remembers was put there by this function.
    let row = unsafe { Statement::of(fcinfo, &event)?.decide(&event)? };
    Ok(Internal::from(Some(Datum::from(row))))
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Reject,
    Skip,
    Mark,
}

impl Action {
    pub fn named(name: &str) -> Result<Self, ErrorReport> {
        match name {
            "reject" => Ok(Self::Reject),
            "skip" => Ok(Self::Skip),
            "mark" => Ok(Self::Mark),
            _ => {
                let message = format!("unknown action \"{}\"", shorten(name));
                Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
                    .set_hint("The actions are reject, skip and mark."))
            }
        }
    }
}

/// What a guard is told: the table, which is the partitioned one if the triggers are those of its partitions, and the
/// triggers' arguments, in the server's encoding.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Identity {
    root: Oid,
    arguments: Vec<CString>,
    /// The trigger's own table, if it is a partition of the root that is being detached: new transactions do not find
    /// it among the root's partitions any more, while its trigger is still that of the whole.
    detached: Option<Oid>,
}

/// What it takes to decide about the rows of a table and all its partitions.
struct Guard {
    identity: Identity,
    /// What the keys of its locks are hashed with.
    secret: Secret,
    action: Action,
    max_distance: i32,
    /// All that is searched: the table, or all partitions of a partitioned table; and where each is.
    searched: Vec<Searched>,
    places: HashMap<Oid, usize>,
    /// For each of these the column of the mark, if there is one.
    marks: Vec<Option<i16>>,
    /// All that its working depends on: the partitioned tables too.
    members: Vec<Oid>,
}

thread_local! {
    static GUARDS: Cache<Identity, Guard> = Cache::new();
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
        RUNNING.with(|running| Locks::of_aborted(running, subtransaction));
    }
}

/// A guard at work on one table in one statement.
struct Statement {
    function: Oid,
    guard: Rc<Guard>,
    /// The fingerprint, if it is a generated column: PostgreSQL computes these only after the trigger.
    generated: Option<Computed>,
    /// Of a partition, what its rows have to fulfil.
    partition: Option<Computed>,
    /// The unique indexes by which an INSERT may find its own row; an UPDATE does not need them.
    own_row: OnceCell<OwnRow>,
    memory: pg_sys::MemoryContext,
    locks: Rc<RefCell<Locks>>,
}

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
    /// `fcinfo` is that of the running call, and its memory is only this function's.
    unsafe fn of<'a>(fcinfo: pg_sys::FunctionCallInfo, event: &RowEvent) -> Result<&'a mut Self, ErrorReport> {
        // SAFETY: a trigger's call information, with its memory, lives as long as the statement. When that goes, so
        // does what is made here, with its locks.
        unsafe {
            let info = &mut *(*fcinfo).flinfo;
            if info.fn_extra.is_null() {
                let function = info.fn_oid;
                let guard = Guard::of(function, event, None)?;
                let own = guard.own(event)?;
                let mut memory = PgMemoryContexts::For(info.fn_mcxt);
                let table = event.table();
                let (generated, partition) =
                    memory.switch_to(|_| (Computed::generated(&table, own.fingerprint), Computed::partition(&table)));
                let identity = guard.identity.of_whole();
                if !IS_REGISTERED.replace(true) {
                    pg_sys::RegisterSubXactCallback(Some(subtransaction_ended), std::ptr::null_mut());
                }
                let locks = RUNNING.with(|running| Locks::of_statement(running, info.fn_mcxt, identity));
                let statement = Self {
                    function,
                    guard,
                    generated,
                    partition,
                    own_row: OnceCell::new(),
                    memory: info.fn_mcxt,
                    locks,
                };
                info.fn_extra = memory.leak_and_drop_on_delete(statement).cast();
            }
            Ok(&mut *info.fn_extra.cast())
        }
    }

    /// What becomes of the new row: itself, another one, or null if it is not to be stored.
    ///
    /// # Safety
    /// The event is of this statement.
    unsafe fn decide(&mut self, event: &RowEvent) -> Result<pg_sys::HeapTuple, ErrorReport> {
        // SAFETY: by the contract, the event's rows are of the guard's table.
        unsafe {
            let own = self.guard.own(event)?;
            let new = match &self.generated {
                Some(generated) => generated.value(event.new_slot()),
                None => value(event.new_slot(), own.fingerprint),
            };
            // The row before is in the table by now, but for one that has been checked where it was, and is on its way
            // to another partition.
            let has_moved = {
                let mut locks = self.locks.borrow_mut();
                locks.pending.clear();
                std::mem::take(&mut locks.moves) && event.old_slot().is_none()
            };
            let Some(fingerprint) = new.map(|datum| datum.value() as i64) else {
                self.locks.borrow_mut().release();
                return self.guard.with_mark(event, None);
            };
            let scope = own.scope_of(event.new_slot());
            let moves = event.old_slot().is_some() && self.moves(event);
            if let Some(old) = event.old_slot()
                && value(old, own.fingerprint).map(|old| old.value() as i64) == Some(fingerprint)
                && own.same_scope(&event.table(), old, event.new_slot())
                && !moves
            {
                // Nothing to look for. Searches notice where the row has moved while they looked.
                if self.own_row(event).keeps_keys(&event.table(), old, event.new_slot()) {
                    self.locks.borrow_mut().release();
                } else {
                    // It may go out of the way of a new row, which is then stored: not while that is being decided.
                    self.take_locks(fingerprint);
                }
                return Ok(event.new_row());
            }
            let (table, except) = (event.table().oid(), event.old_slot().map(|old| (*old).tts_tid));
            let may_have_own_row = except.is_none() && !has_moved;
            let mut waits = 0;
            loop {
                pgrx::check_for_interrupts!();
                self.take_locks(fingerprint);
                // While it waited, somebody may have stored something near in a partition that is new.
                pg_sys::AcceptInvalidationMessages();
                self.guard = Guard::of(self.function, event, Some(&self.guard))?;
                let guard = &self.guard;
                let since = Moment::now();
                let is_own_row =
                    |slot, by_plain_columns| self.own_row(event).is_in_way(event.new_slot(), slot, by_plain_columns);
                let wanted = Wanted {
                    fingerprint,
                    max_distance: guard.max_distance,
                    scope: &scope,
                    table,
                    except,
                    is_own_row: may_have_own_row.then_some(&is_own_row),
                    since: &since,
                };
                let row = match guard.look(&wanted, &self.locks, self.memory)? {
                    Outcome::LookAgain => continue,
                    Outcome::Unique => guard.with_mark(event, None)?,
                    Outcome::Near(nearest) => guard.act(event, &nearest)?,
                };
                // Last of all, so that it is as good as certain when ON CONFLICT comes to it.
                let own_row = if may_have_own_row && !row.is_null() && waits < MOST_WAITS {
                    self.own_row(event).find(&event.table(), event.new_slot(), &since)
                } else {
                    Found::None
                };
                if let Found::Depends(transaction, mut place) = own_row {
                    // Whoever has written or locked the row may want keys: wait without them.
                    waits += 1;
                    drop(since);
                    self.locks.borrow_mut().release();
                    transaction.wait(&event.table(), &mut place);
                    continue;
                }
                let mut locks = self.locks.borrow_mut();
                // A row that is stored although it is near is one that others may be near to.
                if row.is_null() {
                    locks.release();
                } else {
                    // A row that finds another in its way is not stored.
                    if matches!(own_row, Found::None) && waits < MOST_WAITS {
                        locks.pending.set(self.memory, fingerprint, &guard.own(event)?.scope, &scope);
                    }
                    locks.moves = moves;
                }
                return Ok(row);
            }
        }
    }

    /// The unique indexes by which ON CONFLICT finds a row in place of a new one.
    fn own_row(&self, event: &RowEvent) -> &OwnRow {
        self.own_row.get_or_init(|| {
            // SAFETY: the statement's memory, in which that is made; it lives as long as the statement.
            unsafe { PgMemoryContexts::For(self.memory).switch_to(|_| OwnRow::new(&event.table())) }
        })
    }

    /// Whether the new row goes to another partition. There it is inserted when the old one has been deleted: what
    /// becomes of it is to be decided before.
    ///
    /// # Safety
    /// The event is of this statement.
    unsafe fn moves(&self, event: &RowEvent) -> bool {
        // SAFETY: by the contract, the row is of the table that the expression is of, and the result a boolean.
        let fulfils = |partition: &Computed| unsafe { partition.value(event.new_slot()) } != Some(Datum::from(false));
        !self.partition.as_ref().is_none_or(fulfils)
    }

    fn take_locks(&self, fingerprint: i64) {
        let guard = &self.guard;
        self.locks.borrow_mut().take(guard.identity.root, &guard.secret, fingerprint, guard.max_distance);
    }
}

impl Guard {
    /// That of a trigger, as it is now. Until the transaction ends, no table that it searches is dropped, and no index
    /// of theirs. `known` is one that has been got in this statement.
    fn of(function: Oid, event: &RowEvent, known: Option<&Rc<Self>>) -> Result<Rc<Self>, ErrorReport> {
        // SAFETY: a call has its trigger.
        let trigger = unsafe { (*event.data.tg_trigger).tgoid };
        let get = || {
            let is_its = |guard: &Self| guard.identity.has_arguments_of(event);
            let identify = || Identity::of(event);
            GUARDS.with(|guards| guards.get(trigger, is_its, identify, |identity| Self::new(function, identity)))
        };
        let mut guard = get()?;
        if known.is_some_and(|known| Rc::ptr_eq(known, &guard)) {
            return Ok(guard);
        }
        loop {
            // A table without partitions is locked: PostgreSQL writes to it.
            if guard.members.len() > 1 {
                for &member in &guard.members {
                    // SAFETY: any OID may be locked.
                    unsafe { pg_sys::LockRelationOid(member, pg_sys::AccessShareLock as pg_sys::LOCKMODE) };
                }
            }
            let now = get()?;
            if Rc::ptr_eq(&guard, &now) {
                return Ok(guard);
            }
            guard = now;
        }
    }

    /// With the tables that it depends on.
    fn new(function: Oid, identity: &Identity) -> Result<(Self, HashSet<Oid>), ErrorReport> {
        // SAFETY: NUL-terminated.
        let decoded = |argument: &CString| unsafe { from_server(argument.as_ptr()) };
        let arguments = identity.arguments.iter().map(decoded).collect::<Result<Vec<_>, _>>()?;
        let [action, max_distance, fingerprint, columns @ ..] = &arguments[..] else {
            return Err(protocol_violated("simhash_dedup takes at least 3 arguments".to_owned(), USAGE)
                .set_detail(format!("The trigger has {}.", identity.arguments.len())));
        };
        let action = Action::named(action)?;
        let max_distance = distance(max_distance)?;
        let (mark, scope) = match columns {
            [] => (None, &[][..]),
            [mark, scope @ ..] => (Some(mark).filter(|mark| !mark.is_empty()), scope),
        };
        if (action == Action::Mark) != mark.is_some() {
            let message = "simhash_dedup needs a mark column for the action mark, and for no other";
            return Err(protocol_violated(message.to_owned(), USAGE));
        }
        let members = Members::with(identity.root, identity.detached)?;
        let searched = members.searched(fingerprint, scope, max_distance, Functions::beside(function))?;
        let Members { all, with_rows } = members;
        let mark_of = |own: &Searched| {
            // SAFETY: locked as a member.
            mark.map(|mark| mark_column(&unsafe { open(own.oid) }, mark, Some(own), &searched)).transpose()
        };
        let marks = searched.iter().map(mark_of).collect::<Result<_, _>>()?;
        let places = with_rows.into_iter().enumerate().map(|(place, member)| (member, place)).collect();
        let tables = all.iter().copied().collect();
        let (identity, secret) = (identity.clone(), secret(identity.root)?);
        let guard = Self { identity, secret, action, max_distance, searched, places, marks, members: all };
        Ok((guard, tables))
    }

    fn place_of(&self, table: Oid) -> Option<usize> {
        self.places.get(&table).copied()
    }

    /// The trigger's table among those that are searched.
    fn own(&self, event: &RowEvent) -> Result<&Searched, ErrorReport> {
        let table = event.table();
        match self.place_of(table.oid()) {
            Some(place) => Ok(&self.searched[place]),
            // It would have to be a kind of table that has triggers for each row, and no rows of its own.
            None => Err(no_index(&table, self.max_distance)),
        }
    }

    /// Looks for what is near. If that depends on another transaction, waits for it, without locks.
    fn look<'a>(
        &'a self,
        wanted: &Wanted,
        locks: &RefCell<Locks>,
        statement: pg_sys::MemoryContext,
    ) -> Result<Outcome<'a>, ErrorReport> {
        let mut nearest: Option<Nearest> = None;
        let mut awaited = None;
        let mut may_have_moved = false;
        // Rows that this transaction has stored, and since changed or deleted: their fingerprints and the commands.
        let mut gone = Vec::new();
        for searched in &self.searched {
            let flow = searched.each_near(wanted, |candidate| {
                // SAFETY: the candidate's slot holds a row of its table.
                match (candidate.state, unsafe { (*candidate.slot).tts_tid }) {
                    (State::Depends(transaction), place) => awaited = Some((transaction, searched.oid, place)),
                    (State::Gone { lately, stored_by }, _) => {
                        may_have_moved |= lately;
                        if let Some(row) = stored_by.map(|command| (candidate.fingerprint, command))
                            && !gone.contains(&row)
                        {
                            gone.push(row);
                        }
                    }
                    (State::Present, _) => {
                        // SAFETY: as above.
                        let found = unsafe { Nearest::new(searched, candidate) };
                        if nearest.as_ref().is_none_or(|nearest| found.comes_before(nearest)) {
                            nearest = Some(found);
                        }
                        if self.action == Action::Skip {
                            return ControlFlow::Break(());
                        }
                    }
                }
                ControlFlow::Continue(())
            })?;
            if flow.is_break() {
                break;
            }
        }
        Ok(match (nearest, awaited) {
            // What is there already decides, whatever others do.
            (Some(nearest), _) => Outcome::Near(nearest),
            (None, Some((transaction, table, mut place))) => {
                locks.borrow_mut().release();
                // SAFETY: a place in that table.
                unsafe { transaction.wait(&open(table), &mut place) };
                Outcome::LookAgain
            }
            (None, None) if may_have_moved => Outcome::LookAgain,
            (None, None) => {
                self.check_pending(wanted, statement, &gone)?;
                Outcome::Unique
            }
        })
    }

    /// An error if a row is near that an outer statement is about to store: no search can find that one yet. If it has
    /// been stored, and changed or deleted since, it is among those that are gone.
    fn check_pending(
        &self,
        wanted: &Wanted,
        statement: pg_sys::MemoryContext,
        gone: &[(i64, pg_sys::CommandId)],
    ) -> Result<(), ErrorReport> {
        let others = RUNNING.with(|running| Locks::of_others(running, statement, &self.identity.of_whole()));
        for other in others {
            let Some(searched) = self.searched.first() else { continue };
            // SAFETY: all tables that are searched have the same scope columns, of the same types.
            let other = other.borrow();
            let near =
                unsafe { other.pending.near(wanted.fingerprint, wanted.max_distance, &searched.scope, wanted.scope) };
            if near.is_some_and(|near| !near.is_among(gone)) {
                // SAFETY: locked as a member.
                let name = name_of(&unsafe { open(self.identity.root) })?;
                let message = format!("near-duplicate of a row that is being stored in table \"{name}\"");
                return Err(user_error(PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION, message)
                    .set_detail("A trigger or a function has written it while the other row was on its way.")
                    .set_hint("Write it in an AFTER trigger."));
            }
        }
        Ok(())
    }

    /// The new row with the key of its near-duplicate, or NULL, in the mark column, if there is one.
    fn with_mark(&self, event: &RowEvent, key: Option<Datum>) -> Result<pg_sys::HeapTuple, ErrorReport> {
        let mark = self.place_of(event.table().oid()).and_then(|place| self.marks[place]);
        // SAFETY: the row is of the trigger's table, and one column of it is replaced by a value of its type: that of
        // the key, to which `mark_column` has seen, as to all that depends on the table's definition.
        unsafe {
            match mark.filter(|&mark| key.is_some() || value(event.new_slot(), mark).is_some()) {
                None => Ok(event.new_row()),
                Some(mark) => Ok(event.with_value(mark.into(), key)),
            }
        }
    }

    /// # Safety
    /// The event is of the statement that the guard is of.
    unsafe fn act(&self, event: &RowEvent, nearest: &Nearest) -> Result<pg_sys::HeapTuple, ErrorReport> {
        if self.action != Action::Reject && !nearest.is_visible {
            let name = name_of(&event.table())?;
            // As INSERT .. ON CONFLICT does: what this transaction cannot see cannot decide what it does.
            return Err(user_error(
                PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
                "could not serialize access due to concurrent update",
            )
            .set_detail(format!("A near-duplicate in table \"{name}\" was committed after this transaction began.")));
        }
        match self.action {
            // An UPDATE that a foreign key makes must not be left undone: its row would refer to one that is gone.
            Action::Skip if !changes_foreign_key(event) => Ok(std::ptr::null_mut()),
            Action::Mark => self.with_mark(event, nearest.key.first().copied()),
            Action::Skip | Action::Reject => Err(conflict(event.data, nearest.describe()?)?),
        }
    }
}

impl Identity {
    fn of(event: &RowEvent) -> Self {
        let (root, own) = (root(event), event.table().oid());
        let is_member = root == own || with_inheritors(root, pg_sys::NoLock as pg_sys::LOCKMODE).contains(&own);
        let arguments = event.arguments().into_iter().map(CStr::to_owned).collect();
        Self { root, arguments, detached: (!is_member).then_some(own) }
    }

    /// What those of a partition that is being detached have in common with those of the others.
    fn of_whole(&self) -> Self {
        Self { detached: None, ..self.clone() }
    }

    fn has_arguments_of(&self, event: &RowEvent) -> bool {
        self.arguments.iter().map(CString::as_c_str).eq(event.arguments())
    }
}

/// Whether it is an UPDATE that changes a column of a foreign key.
fn changes_foreign_key(event: &RowEvent) -> bool {
    let Some(old) = event.old_slot() else { return false };
    let table = event.table();
    // SAFETY: an open table, whose list of foreign keys is valid as long as nothing of it changes; each has as many
    // columns as it says, and they are columns of the table, as the slots' rows are of it.
    unsafe {
        let keys = pg_sys::RelationGetFKeyList(table.as_ptr());
        let count = if keys.is_null() { 0 } else { (*keys).length };
        let columns = (0..count).flat_map(|place| {
            let key = &*pg_sys::list_nth(keys, place).cast::<pg_sys::ForeignKeyCacheInfo>();
            key.conkey[..key.nkeys as usize].to_vec()
        });
        !same_values(&table, columns.collect::<Vec<_>>().into_iter(), old, event.new_slot())
    }
}

fn distance(argument: &str) -> Result<i32, ErrorReport> {
    match argument.parse() {
        Ok(distance) => check_distance(distance),
        Err(_) => Err(user_error(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("maximum distance \"{argument}\" is not a number"),
        )),
    }
}

/// The table that is guarded with a partition: the one whose trigger the partition's was made from.
///
/// A trigger that has been made for the partition itself sees nothing else, whatever other partitions' owners have:
/// that of a partition may not read the others, and with arguments of its own choosing a trigger would tell much of
/// them.
fn root(event: &RowEvent) -> Oid {
    // SAFETY: a call has its trigger.
    let trigger = unsafe { &*event.data.tg_trigger };
    let original = if trigger.tgisclone { table_of_original(trigger.tgoid) } else { None };
    original.unwrap_or_else(|| event.table().oid())
}
