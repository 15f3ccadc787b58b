//! The trigger `simhash_dedup(action, max distance, fingerprint column [, mark column [, scope column ...]])`.
//!
//! It fires BEFORE INSERT OR UPDATE, FOR EACH ROW, and decides at once whether the row may be stored: under locks that
//! keep other writers of near rows waiting ([`super::locks`]), it looks for what is near, waits for transactions that have
//! written something near and not ended, and looks again.

use std::ffi::{CStr, c_int};
use std::ops::ControlFlow;
use std::rc::Rc;

use pgrx::datum::Internal;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use pgrx::{PgMemoryContexts, PgRelation};

use super::cache::Cache;
use super::conflict::conflict;
use super::key::PrimaryKey;
use super::locks::Locks;
use super::search::{Candidate, Scope, Searched, State, Wanted, value};
use crate::sql::error::user_error;
use crate::sql::functions::Functions;
use crate::sql::spi::{from_server, to_server};
use crate::sql::tables::{ancestors, leaves, open};
use crate::sql::trigger::{RowEvent, protocol_violated, triggers};

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
            _ => Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, format!("unknown action \"{name}\""))
                .set_hint("The actions are reject, skip and mark.")),
        }
    }
}

/// What it takes to decide about the rows of one table.
struct Guard {
    action: Action,
    max_distance: i32,
    /// The column of the fingerprint.
    fingerprint: i16,
    scope: Vec<Scope>,
    mark: Option<i16>,
    /// All that is searched: the table, or all partitions of a partitioned table.
    searched: Vec<Searched>,
    /// The table that the locks are on: the partitioned table, if it is partitions that are searched.
    root: Oid,
}

thread_local! {
    static GUARDS: Cache<Guard> = Cache::new();
}

/// A guard at work in one statement.
struct Statement {
    guard: Rc<Guard>,
    fingerprint: Fingerprint,
    locks: Locks,
}

/// Where the fingerprint of a new row comes from.
enum Fingerprint {
    Column(i16),
    /// A generated column, which PostgreSQL computes only after the trigger.
    Generated {
        column: i16,
        expression: *mut pg_sys::ExprState,
        context: *mut pg_sys::ExprContext,
    },
}

/// The nearest row found, and of several such the one whose key comes first.
struct Nearest<'a> {
    distance: u32,
    primary_key: &'a PrimaryKey,
    key: Vec<Datum>,
    is_visible: bool,
}

enum Outcome<'a> {
    Unique,
    Near(Nearest<'a>),
    /// It was not known, and now it may be.
    LookAgain,
}

impl Statement {
    /// The running statement.
    ///
    /// # Safety
    /// `fcinfo` is that of the running call, and its memory is only this function's.
    unsafe fn of<'a>(fcinfo: pg_sys::FunctionCallInfo, event: &RowEvent) -> Result<&'a mut Self, ErrorReport> {
        // SAFETY: a trigger's call information, with its memory, lives as long as the statement. When that goes, so does
        // what is made here, with its locks.
        unsafe {
            let info = &mut *(*fcinfo).flinfo;
            if info.fn_extra.is_null() {
                let trigger = (*event.data.tg_trigger).tgoid;
                let guard = GUARDS.with(|guards| guards.get(trigger, || Guard::new(info.fn_oid, event)))?;
                let mut memory = PgMemoryContexts::For(info.fn_mcxt);
                let fingerprint = memory.switch_to(|_| Fingerprint::of(&event.table(), guard.fingerprint));
                let statement = Self { guard, fingerprint, locks: Locks::default() };
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
        // The row before is in the table by now.
        let locks = &mut self.locks;
        locks.release();
        // SAFETY: by the contract, the event's rows are of the guard's table.
        unsafe {
            let Some(fingerprint) = self.fingerprint.of_row(event.new_slot()) else {
                return Ok(self.guard.with_mark(event, None));
            };
            let guard = &self.guard;
            let values = |slot| guard.scope.iter().map(|scope| value(slot, scope.column)).collect::<Vec<_>>();
            let scope = values(event.new_slot());
            if let Some(old) = event.old_slot()
                && value(old, self.fingerprint.column()).map(|old| old.value() as i64) == Some(fingerprint)
                && same_values(&event.table(), &guard.scope, &values(old), &scope)
            {
                // Nothing to look for. But a row that moves while others look for it could be missed: they read an index
                // page by page, and see neither the version that is gone nor the one that was not there yet.
                locks.take(guard.root, fingerprint, guard.max_distance);
                return Ok(event.new_row());
            }
            let except = event.old_slot().map(|old| (event.table().oid(), (*old).tts_tid));
            let own_key = if except.is_none() { guard.own_key(event) } else { None };
            let own_key = own_key.as_ref().map(|key| (event.table().oid(), &key[..]));
            let wanted = Wanted { fingerprint, max_distance: guard.max_distance, scope: &scope, except, own_key };
            loop {
                locks.take(guard.root, fingerprint, guard.max_distance);
                match guard.look(&wanted, locks) {
                    Outcome::LookAgain => {}
                    Outcome::Unique => return Ok(guard.with_mark(event, None)),
                    Outcome::Near(nearest) => {
                        let row = guard.act(event, &nearest)?;
                        // A row that is stored although it is near is one that others may be near to.
                        if row.is_null() {
                            locks.release();
                        }
                        return Ok(row);
                    }
                }
            }
        }
    }
}

impl Guard {
    /// With the tables that it depends on.
    fn new(function: Oid, event: &RowEvent) -> Result<(Self, Vec<Oid>), ErrorReport> {
        let table = event.table();
        // SAFETY: NUL-terminated.
        let decoded = |argument: &CStr| unsafe { from_server(argument.as_ptr()) };
        let arguments = event.arguments().into_iter().map(decoded).collect::<Result<Vec<_>, _>>()?;
        let [action, max_distance, fingerprint, columns @ ..] = &arguments[..] else {
            return Err(protocol_violated("simhash_dedup takes at least 3 arguments".to_owned(), USAGE)
                .set_detail(format!("The trigger has {}.", arguments.len())));
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
        let functions = Functions::beside(function)
            .ok_or_else(|| user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION, "the extension is incomplete"))?;
        let root = root(&table, function);
        let mut searched = Vec::new();
        for member in leaves(root) {
            // SAFETY: locked as a leaf.
            let member_table = unsafe { open(member) };
            let fingerprint = fingerprint_column(&member_table, fingerprint)?;
            let scope = scope_of(&member_table, scope)?;
            let found = Searched::new(member, fingerprint, scope, max_distance, &functions);
            searched.push(found.ok_or_else(|| no_index(&member_table, max_distance))?);
        }
        let tables = searched.iter().map(|searched| searched.oid).chain([root, table.oid()]).collect();
        let guard = Self {
            action,
            max_distance,
            fingerprint: fingerprint_column(&table, fingerprint)?,
            scope: scope_of(&table, scope)?,
            mark: mark.map(|mark| mark_column(&table, mark, &searched)).transpose()?,
            searched,
            root,
        };
        Ok((guard, tables))
    }

    /// Looks for what is near. If that depends on another transaction, waits for it, without locks.
    fn look<'a>(&'a self, wanted: &Wanted, locks: &mut Locks) -> Outcome<'a> {
        let mut nearest: Option<Nearest> = None;
        let mut awaited = None;
        for searched in &self.searched {
            let flow = searched.each_near(wanted, |candidate| {
                // SAFETY: the candidate's slot holds a row of its table.
                match (candidate.state, unsafe { (*candidate.slot).tts_tid }) {
                    (State::Depends(transaction), place) => awaited = Some((transaction, searched.oid, place)),
                    (State::Present, _) => {
                        // SAFETY: as above.
                        let found = unsafe { Nearest::new(&searched.primary_key, candidate) };
                        if nearest.as_ref().is_none_or(|nearest| found.comes_before(nearest)) {
                            nearest = Some(found);
                        }
                        if self.action == Action::Skip {
                            return ControlFlow::Break(());
                        }
                    }
                }
                ControlFlow::Continue(())
            });
            if flow.is_break() {
                break;
            }
        }
        match (nearest, awaited) {
            // What is there already decides, whatever others do.
            (Some(nearest), _) => Outcome::Near(nearest),
            (None, Some((transaction, table, mut place))) => {
                locks.release();
                // SAFETY: a place in that table.
                unsafe { transaction.wait(&open(table), &mut place) };
                Outcome::LookAgain
            }
            (None, None) => Outcome::Unique,
        }
    }

    /// The primary key of a row that is to be inserted. One that is there with the same key cannot be another row: the two
    /// cannot both be stored, or ON CONFLICT makes an UPDATE of it, which is checked as such.
    ///
    /// # Safety
    /// The event is of the statement that the guard is of.
    unsafe fn own_key(&self, event: &RowEvent) -> Option<Vec<Datum>> {
        let own = self.searched.iter().find(|searched| searched.oid == event.table().oid())?;
        let primary_key = Some(&own.primary_key).filter(|key| key.is_immediate())?;
        // SAFETY: by the contract.
        Some(unsafe { primary_key.of_row(event.new_slot()) })
    }

    /// The new row with the key of its near-duplicate, or NULL, in the mark column, if there is one.
    fn with_mark(&self, event: &RowEvent, key: Option<Datum>) -> pg_sys::HeapTuple {
        // SAFETY: the row is of the trigger's table, and one column of it is replaced by a value of its type: that of the
        // key, to which `mark_column` has seen, as to all that depends on the table's definition.
        unsafe {
            let Some(mark) = self.mark.filter(|&mark| key.is_some() || value(event.new_slot(), mark).is_some()) else {
                return event.new_row();
            };
            event.with_value(mark.into(), key)
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
            Action::Skip => Ok(std::ptr::null_mut()),
            Action::Mark => Ok(self.with_mark(event, nearest.key.first().copied())),
            Action::Reject => Err(conflict(event.data, nearest.distance, nearest.describe(&event.table())?)?),
        }
    }
}

impl<'a> Nearest<'a> {
    /// # Safety
    /// The candidate's slot holds a row of its table, which has this primary key.
    unsafe fn new(primary_key: &'a PrimaryKey, candidate: &Candidate) -> Self {
        // SAFETY: by the contract.
        unsafe {
            let key = primary_key.of_row(candidate.slot);
            Self { distance: candidate.distance, primary_key, key, is_visible: is_visible(candidate) }
        }
    }

    fn comes_before(&self, other: &Self) -> bool {
        let order = self.distance.cmp(&other.distance);
        order.then_with(|| self.primary_key.compare(&self.key, &other.key)).is_lt()
    }

    /// The key, unless row-level security hides rows of the table from the current user.
    fn describe(&self, table: &PgRelation) -> Result<Option<String>, ErrorReport> {
        let is_hidden = |table: Oid| {
            // SAFETY: a look-up in the catalogue.
            let security = unsafe { pg_sys::check_enable_rls(table, Oid::INVALID, true) };
            security == pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32
        };
        if is_hidden(table.oid()) || ancestors(table).into_iter().any(is_hidden) {
            return Ok(None);
        }
        self.primary_key.describe(&self.key)
    }
}

/// Whether the transaction can see a row, if it is one that keeps its snapshot.
///
/// # Safety
/// The candidate's slot holds a row of its table.
unsafe fn is_visible(candidate: &Candidate) -> bool {
    // SAFETY: by the contract. A heap row's slot gives the transaction that has inserted it.
    unsafe {
        if pg_sys::XactIsoLevel < pg_sys::XACT_REPEATABLE_READ as i32 {
            return true;
        }
        let mut is_null = false;
        let inserter = pg_sys::MinTransactionIdAttributeNumber;
        let inserter = pg_sys::slot_getsysattr(candidate.slot, inserter, &mut is_null);
        pg_sys::TransactionIdIsCurrentTransactionId(pg_sys::TransactionId::from(inserter.value() as u32))
            || pg_sys::table_tuple_satisfies_snapshot(
                candidate.table.as_ptr(),
                candidate.slot,
                pg_sys::GetTransactionSnapshot(),
            )
    }
}

impl Fingerprint {
    fn of(table: &PgRelation, column: i16) -> Self {
        // SAFETY: a column of an open table. What is made lives as long as the guard, in its memory, with the expression
        // that PostgreSQL would compute the column by.
        unsafe {
            if pg_sys::get_attgenerated(table.oid(), column) == 0 {
                return Self::Column(column);
            }
            let expression = pg_sys::build_column_default(table.as_ptr(), column.into());
            let expression = pg_sys::expression_planner(expression.cast());
            Self::Generated {
                column,
                expression: pg_sys::ExecInitExpr(expression, std::ptr::null_mut()),
                context: pg_sys::CreateStandaloneExprContext(),
            }
        }
    }

    fn column(&self) -> i16 {
        match *self {
            Self::Column(column) | Self::Generated { column, .. } => column,
        }
    }

    /// The fingerprint of a new row.
    ///
    /// # Safety
    /// The slot holds a row of the table.
    unsafe fn of_row(&self, slot: *mut pg_sys::TupleTableSlot) -> Option<i64> {
        // SAFETY: by the contract. The expression's columns are the row's, and its result is a bigint.
        unsafe {
            match *self {
                Self::Column(column) => value(slot, column).map(|datum| datum.value() as i64),
                Self::Generated { expression, context, .. } => {
                    let mut is_null = false;
                    (*context).ecxt_scantuple = slot;
                    let result = pg_sys::ExecEvalExprSwitchContext(expression, context, &mut is_null);
                    pg_sys::MemoryContextReset((*context).ecxt_per_tuple_memory);
                    (!is_null).then(|| result.value() as i64)
                }
            }
        }
    }
}

/// Whether two rows have the same values of the scope columns.
///
/// # Safety
/// The values are those of these columns of the table.
unsafe fn same_values(table: &PgRelation, scope: &[Scope], old: &[Option<Datum>], new: &[Option<Datum>]) -> bool {
    let columns = table.tuple_desc();
    scope.iter().zip(old.iter().zip(new)).all(|(scope, pair)| match pair {
        (None, None) => true,
        (Some(old), Some(new)) => columns.get(scope.column as usize - 1).is_some_and(|attribute| {
            // SAFETY: by the contract.
            unsafe {
                let same = || datum_image_eq(*old, *new, attribute.attbyval, attribute.attlen.into());
                pg_sys::ffi::pg_guard_ffi_boundary(same)
            }
        }),
        _ => false,
    })
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

pub fn check_distance(distance: i32) -> Result<i32, ErrorReport> {
    if (0..=64).contains(&distance) {
        return Ok(distance);
    }
    let message = format!("maximum distance {distance} is out of range");
    Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
        .set_detail("Two fingerprints differ in 0 to 64 bits."))
}

pub fn column_of(table: &PgRelation, name: &str) -> Result<i16, ErrorReport> {
    let encoded = to_server(name)?;
    // SAFETY: a look-up in a system cache by a NUL-terminated name.
    let number = unsafe { pg_sys::get_attnum(table.oid(), encoded.as_ptr()) };
    if number <= 0 {
        let message = format!("column \"{name}\" of table \"{}\" does not exist", name_of(table)?);
        return Err(user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, message));
    }
    Ok(number)
}

/// The column of fingerprints.
pub fn fingerprint_column(table: &PgRelation, name: &str) -> Result<i16, ErrorReport> {
    let column = column_of(table, name)?;
    // SAFETY: look-ups in system caches.
    if unsafe { pg_sys::getBaseType(pg_sys::get_atttype(table.oid(), column)) } == pg_sys::INT8OID {
        return Ok(column);
    }
    let message = format!("column \"{name}\" of table \"{}\" is not of type bigint", name_of(table)?);
    Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message))
}

/// The column that takes the key of a near-duplicate, wherever that is.
pub fn mark_column(table: &PgRelation, name: &str, searched: &[Searched]) -> Result<i16, ErrorReport> {
    let column = column_of(table, name)?;
    // SAFETY: look-ups in system caches.
    let (of_type, is_generated) =
        unsafe { (pg_sys::get_atttype(table.oid(), column), pg_sys::get_attgenerated(table.oid(), column) != 0) };
    if !is_generated && searched.iter().all(|searched| searched.primary_key.only_type() == Some(of_type)) {
        return Ok(column);
    }
    let message = format!("column \"{name}\" of table \"{}\" cannot take the key of a row", name_of(table)?);
    Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message).set_detail(
        "The table needs a primary key of one column, and the mark column must be of its type and not generated.",
    ))
}

/// The name of a table, decoded.
fn name_of(table: &PgRelation) -> Result<String, ErrorReport> {
    // SAFETY: an open table has a NUL-terminated name.
    unsafe { from_server((*table.rd_rel).relname.data.as_ptr()) }
}

pub fn scope_of(table: &PgRelation, names: &[String]) -> Result<Vec<Scope>, ErrorReport> {
    let scope = |name: &String| {
        let column = column_of(table, name)?;
        // SAFETY: a look-up in a system cache.
        if unsafe { pg_sys::get_attgenerated(table.oid(), column) } != 0 {
            let message = format!("scope column \"{name}\" of table \"{}\" is generated", name_of(table)?);
            return Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
                .set_detail("Generated columns are computed after BEFORE triggers.")
                .set_hint("Name the columns that it is computed from."));
        }
        let columns = table.tuple_desc();
        let attribute = columns.get(column as usize - 1);
        let (data_type, collation) =
            attribute.map_or((Oid::INVALID, Oid::INVALID), |found| (found.atttypid, found.attcollation));
        // SAFETY: a type that exists.
        let entry = unsafe { &*pg_sys::lookup_type_cache(data_type, pg_sys::TYPECACHE_EQ_OPR as i32) };
        if entry.eq_opr == Oid::INVALID {
            let message = format!("column \"{name}\" of table \"{}\" has a type without equality", name_of(table)?);
            return Err(user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION, message));
        }
        // SAFETY: an operator that exists.
        Ok(Scope { column, equality: unsafe { pg_sys::get_opcode(entry.eq_opr) }, collation })
    };
    names.iter().map(scope).collect()
}

pub fn no_index(table: &PgRelation, max_distance: i32) -> ErrorReport {
    let name = name_of(table).unwrap_or_default();
    let message = format!("table \"{name}\" has no index that finds fingerprints at distance {max_distance}");
    user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .set_detail("The guard looks every new row up in btrees on the blocks of a layout, all of them valid.")
        .set_hint("Run simhash_attach again to complete them, or attach a layout that serves this distance.")
}

/// The table that is guarded with a partition: the topmost of which the trigger is one.
fn root(table: &PgRelation, function: Oid) -> Oid {
    // SAFETY: an ancestor of an open table.
    let guarded = |oid: &&Oid| triggers(&unsafe { open(**oid) }).iter().any(|trigger| trigger.tgfoid == function);
    ancestors(table).iter().rev().find(guarded).copied().unwrap_or_else(|| table.oid())
}

// PostgreSQL's `utils/datum.h`, which pgrx leaves out.
unsafe extern "C-unwind" {
    fn datum_image_eq(a: Datum, b: Datum, by_value: bool, length: c_int) -> bool;
}
