//! The guard of a table as its trigger's arguments define it: what it searches, and what it does.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::rc::Rc;

use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use simhash::search::lock_keys::{KeyBlocks, Secret};

use super::action::Action;
use super::cache::Cache;
use super::criterion::Criterion;
use super::distribution::{check_sees_all, known_names};
use super::locks::secret;
use super::log::Log;
use super::mark_column::Mark;
use super::members::{Members, no_index};
use super::search::SearchedTable;
use crate::postgres::catalog::column::Column;
use crate::postgres::catalog::partition::with_inheritors;
use crate::postgres::catalog::relation::Relation;
use crate::postgres::error::user_error;
use crate::postgres::owner::as_owner;
use crate::postgres::spi::from_server;
use crate::postgres::trigger::{RowEvent, protocol_violated, table_of_original};
use crate::sql::functions::ExtensionSchema;

/// How to create the trigger, shown as a hint to users who create it by hand.
pub const USAGE: &str = "CREATE TRIGGER ... BEFORE INSERT OR UPDATE ... FOR EACH ROW EXECUTE FUNCTION \
    simhash_dedup(action, max_distance, fingerprint_column)";

/// What identifies a guard: its table, which is the partitioned table for triggers of its partitions, and the trigger's
/// arguments, in the server's encoding.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    pub root: Oid,
    arguments: Vec<CString>,
    /// The trigger's own table, if it is a partition of the root that is being detached: new transactions no longer
    /// find it among the root's partitions, but its trigger still guards the whole table.
    detached: Option<Oid>,
}

/// What is needed to decide about the rows of a table and all its partitions.
pub struct Guard {
    pub identity: Identity,
    /// The secret with which lock keys are hashed, and the blocks that they are made from.
    pub secret: Secret,
    pub key_blocks: KeyBlocks,
    pub action: Action,
    pub criterion: Criterion,
    /// The table that gets a row for each row that is skipped or marked.
    pub log: Option<Log>,
    /// The condition under which existing rows count, as SQL; None if all do.
    pub among: Option<String>,
    /// The tables to search: the table, or all partitions of a partitioned table. `positions` has the position of each.
    pub searched: Vec<SearchedTable>,
    positions: HashMap<Oid, usize>,
    /// The mark column of each table in `searched`; empty if the guard does not mark.
    marks: Vec<Mark>,
    /// All tables that the guard depends on, including partitioned ones.
    members: Vec<Oid>,
}

thread_local! {
    static GUARDS: Cache<Identity, Guard> = Cache::new();
}

impl Guard {
    /// The guard of a trigger in its present state. Until the transaction ends, no table that it searches is dropped,
    /// nor any of their indexes. `known` is a guard that this statement has obtained before, whose tables are locked
    /// already.
    pub fn from_trigger(function: Oid, event: &RowEvent, known: Option<&Rc<Self>>) -> Result<Rc<Self>, ErrorReport> {
        // SAFETY: the trigger manager passes the trigger with each call.
        let trigger = unsafe { (*event.data.tg_trigger).tgoid };
        let get = || {
            let is_its = |guard: &Self| guard.identity.has_arguments_of(event);
            let identify = || Identity::from_event(event);
            let make = |identity: &_| Self::new(function, identity, event);
            GUARDS.with(|guards| guards.get(trigger, is_its, identify, make))
        };
        let mut guard = get()?;
        if known.is_some_and(|known| Rc::ptr_eq(known, &guard)) {
            return Ok(guard);
        }
        loop {
            // A table without partitions needs no lock here: the statement that writes to it has locked it.
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

    /// Makes a guard, and returns with it the tables that it depends on.
    fn new(function: Oid, identity: &Identity, event: &RowEvent) -> Result<(Self, HashSet<Oid>), ErrorReport> {
        // SAFETY: a CString is NUL-terminated.
        let text = |argument: &CString| unsafe { from_server(argument.as_ptr()) };
        let arguments = identity.arguments.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        let [action, criterion, fingerprint, columns @ ..] = &arguments[..] else {
            return Err(protocol_violated("simhash_dedup takes at least 3 arguments".to_owned(), USAGE)
                .set_detail(format!("The trigger has {}.", identity.arguments.len())));
        };
        let action = Action::named(action)?;
        let criterion = Criterion::parse(criterion)?;
        let (mark, following) = match columns {
            [] => (None, &[][..]),
            [mark, following @ ..] => (Some(mark).filter(|mark| !mark.is_empty()), following),
        };
        let Following { scope, log, among } = Following::split(following)?;
        if (action == Action::Mark) != mark.is_some() {
            let message = "simhash_dedup takes a mark column for the action mark, and only for that action";
            return Err(protocol_violated(message.to_owned(), USAGE));
        }
        if log.as_ref().is_some_and(|_| action == Action::Reject) {
            return Err(wrong_log());
        }
        let logged = log.iter().flat_map(|log| &log.columns);
        check_columns(event, std::iter::once(fingerprint).chain(mark).chain(scope).chain(logged))?;
        let members = Members::read_with(identity.root, identity.detached)?;
        let has_log = log.is_some();
        let sees_all = |&member: &Oid| check_sees_all(&Relation::open(member), scope, has_log);
        members.all.iter().try_for_each(sees_all)?;
        let schema = ExtensionSchema::from_function(function);
        // PostgreSQL folds the constants of index expressions when it reads them. The writer's rights are not for
        // partitions that the writer does not write to.
        let owner = Relation::open(identity.root).owner();
        let searched = as_owner(owner, || members.searched(fingerprint, scope, &criterion, schema))?;
        let Members { all, with_rows } = members;
        let mark_of = |own: &SearchedTable| mark.map(|mark| Mark::of(own, mark, &searched));
        let marks = searched.iter().filter_map(mark_of).collect::<Result<_, _>>()?;
        let positions = with_rows.into_iter().enumerate().map(|(position, member)| (member, position)).collect();
        let tables = all.iter().copied().collect();
        let (identity, secret) = (identity.clone(), secret(identity.root, &identity.arguments)?);
        let key_blocks = KeyBlocks::of(criterion.near);
        let guard = Self {
            identity,
            secret,
            key_blocks,
            action,
            criterion,
            log,
            among,
            searched,
            positions,
            marks,
            members: all,
        };
        Ok((guard, tables))
    }

    fn position_of(&self, table: Oid) -> Option<usize> {
        self.positions.get(&table).copied()
    }

    /// The trigger's table among those that are searched.
    pub fn own(&self, event: &RowEvent) -> Result<&SearchedTable, ErrorReport> {
        let table = event.table();
        match self.searched(table.oid()) {
            Some(own) => Ok(own),
            // Reached only for a kind of table that has row triggers but no rows of its own.
            None => Err(no_index(&table, self.criterion.near.max_distance())),
        }
    }

    /// A table as it is searched; None if it is not.
    pub fn searched(&self, table: Oid) -> Option<&SearchedTable> {
        self.position_of(table).map(|position| &self.searched[position])
    }

    /// The mark column of a table; None if the guard does not mark.
    pub fn mark(&self, table: Oid) -> Option<&Mark> {
        self.position_of(table).and_then(|position| self.marks.get(position))
    }
}

impl Identity {
    fn from_event(event: &RowEvent) -> Self {
        let (root, own) = (root(event), event.table().oid());
        let is_member = root == own || with_inheritors(root, pg_sys::NoLock as pg_sys::LOCKMODE).contains(&own);
        let arguments = event.arguments().into_iter().map(CStr::to_owned).collect();
        Self { root, arguments, detached: (!is_member).then_some(own) }
    }

    /// The identity that a partition being detached shares with the other partitions.
    pub fn without_detached(&self) -> Self {
        Self { detached: None, ..self.clone() }
    }

    fn has_arguments_of(&self, event: &RowEvent) -> bool {
        self.arguments.iter().map(CString::as_c_str).eq(event.arguments())
    }
}

/// The trigger's arguments after the mark column.
struct Following<'a> {
    scope: &'a [String],
    log: Option<Log>,
    among: Option<String>,
}

impl<'a> Following<'a> {
    /// Splits the arguments: an empty one comes before the log, and another one before the condition.
    fn split(arguments: &'a [String]) -> Result<Self, ErrorReport> {
        let sections: Vec<_> = arguments.split(String::is_empty).collect();
        let (scope, log, among) = match sections[..] {
            [scope] => (scope, None, None),
            [scope, log] => (scope, Some(log), None),
            [scope, log, [among]] => (scope, Some(log).filter(|log| !log.is_empty()), Some(among.clone())),
            _ => return Err(wrong_log()),
        };
        let log = match log {
            None => None,
            Some([schema, name, columns @ ..]) => {
                Some(Log { schema: schema.clone(), name: name.clone(), columns: columns.to_vec() })
            }
            Some(_) => return Err(wrong_log()),
        };
        Ok(Self { scope, log, among })
    }
}

fn wrong_log() -> ErrorReport {
    let message = "simhash_dedup takes the schema and the name of a log, for the actions skip and mark";
    protocol_violated(message.to_owned(), USAGE)
}

/// An error that names the guard if its table lacks a column.
fn check_columns<'a>(event: &RowEvent, mut names: impl Iterator<Item = &'a String>) -> Result<(), ErrorReport> {
    let table = event.table();
    let missing = names.find_map(|name| match Column::find(&table, name) {
        Ok(found) => found.is_none().then_some(Ok(name)),
        Err(error) => Some(Err(error)),
    });
    let Some(missing) = missing.transpose()? else { return Ok(()) };
    let (table, guard) = known_names(&table, event.trigger_name()?)?;
    let message = format!("guard \"{guard}\" of table \"{table}\" needs column \"{missing}\", which does not exist");
    Err(user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, message).set_hint(
        "Call simhash_guard again with the columns that the table has now, or simhash_unguard to remove the guard.",
    ))
}

/// The table that is guarded together with a partition: the table whose trigger the partition's trigger was cloned
/// from.
///
/// A trigger that was created on the partition itself sees only this partition: its owner may not have the right to
/// read the other partitions, and by choosing the trigger's arguments could learn much about their rows.
fn root(event: &RowEvent) -> Oid {
    // SAFETY: the trigger manager passes the trigger with each call.
    let trigger = unsafe { &*event.data.tg_trigger };
    let original = if trigger.tgisclone { table_of_original(trigger.tgoid) } else { None };
    original.unwrap_or_else(|| event.table().oid())
}
