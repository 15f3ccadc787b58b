//! The state of a guard in one statement.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use postgres::error::Result;
use postgres::heap::dirty_scan::KnownEntries;
use postgres::heap::moment::Moment;
use postgres::heap::row::Row;
use postgres::portal::may_lock_on_conflict;
use postgres::trigger::RowEvent;
use simhash::search::lock_keys::LockKeys;

use super::condition::Conditions;
use super::confirmation::SourceReader;
use super::running::{CurrentRow, clear_after_call, current_row};
use super::same_key::{SameKey, UniqueIndexes};
use super::stored_rows::RunningGuard;
use crate::sql::guard::definition::distribution::user_names_of;
use crate::sql::guard::definition::guard::Guard;
use crate::sql::guard::definition::row_key::RowKey;
use crate::sql::guard::definition::scope::GuardScopeValues;
use crate::sql::guard::definition::searched_table::SearchedTable;

/// The state of a guard for one table in one statement. A statement that writes to several partitions has one for each.
pub struct Statement {
    pub running: RunningGuard,
    pub guard: Rc<Guard>,
    /// The position, among the tables that the guard searches, of the statement's table.
    position: usize,
    unique_indexes: OnceCell<UniqueIndexes>,
    pub sources: SourceReader,
    pub conditions: Conditions,
    /// The row that the statement is storing, also in other partitions.
    pub current: Rc<RefCell<CurrentRow>>,
}

impl Statement {
    /// The guard in the running statement, made in its first call.
    ///
    /// # Safety
    /// `fcinfo` belongs to the running call, and the function stores nothing else in its `fn_extra`.
    pub unsafe fn from_call<'a>(fcinfo: pg_sys::FunctionCallInfo, event: &RowEvent) -> Result<&'a mut Self> {
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

    fn begin(function: Oid, memory: pg_sys::MemoryContext, event: &RowEvent) -> Result<Self> {
        let guard = Guard::of_trigger(function, event, None)?;
        let table = event.table();
        let position = guard.position_of(&table)?;
        // SAFETY: the statement is dropped with its memory context.
        let running = unsafe { RunningGuard::new(function, &user_names_of(&table, event.trigger_name()?)?.1, memory) };
        let current = current_row(memory, guard.identity.without_detached());
        let (sources, conditions) = (SourceReader::new(&running), Conditions::new(&running));
        let unique_indexes = OnceCell::new();
        Ok(Self { running, guard, position, unique_indexes, sources, conditions, current })
    }

    /// Reads the guard again if its definition has changed, and returns whether it has: while this session waited,
    /// another transaction may have stored a near row in a new partition.
    pub fn refresh(&mut self, event: &RowEvent) -> Result<bool> {
        // SAFETY: a trigger function runs in a transaction.
        unsafe { pg_sys::AcceptInvalidationMessages() };
        let guard = Guard::of_trigger(self.running.function, event, Some(&self.guard))?;
        let has_changed = !Rc::ptr_eq(&guard, &self.guard);
        if has_changed {
            self.position = guard.position_of(&event.table())?;
            (self.sources, self.conditions) = (SourceReader::new(&self.running), Conditions::new(&self.running));
            self.guard = guard;
        }
        Ok(has_changed)
    }

    /// The statement's table, as it is searched.
    pub fn own_table(&self) -> &SearchedTable {
        &self.guard.searched[self.position]
    }

    /// Whether the new row is stored unchecked, by the condition `unless`.
    pub fn is_unchecked(&self, event: &RowEvent) -> Result<bool> {
        self.conditions.is_unchecked(self.own_table(), self.new_row(event))
    }

    /// The new row of an event, which must be one of this statement's table.
    fn new_row<'a>(&self, event: &'a RowEvent) -> Row<'a> {
        assert_eq!(event.table().oid(), self.own_table().oid, "the row is of another table");
        event.new_row()
    }

    /// What the new row is looked up by; None if its source is NULL, or has no word.
    pub fn key(&self, event: &RowEvent) -> Result<Option<RowKey>> {
        self.sources.key(self.own_table(), self.new_row(event))
    }

    /// Whether the conditions have an UPDATE checked as if its row were new.
    pub fn is_checked_anew(&self, event: &RowEvent, old: Row<'_>) -> Result<bool> {
        self.conditions.are_new(self.own_table(), old, self.new_row(event))
    }

    /// Looks for the rows that ON CONFLICT would find.
    pub fn same_key(&self, event: &RowEvent, since: &Moment, gone: &KnownEntries) -> SameKey {
        // SAFETY: the unique indexes belong to the statement's table, and so does the new row.
        unsafe { self.unique_indexes(event).find(&event.table(), self.new_row(event), since, gone) }
    }

    /// Whether an UPDATE leaves the unique keys unchanged, and in their partition.
    pub fn are_keys_unchanged(&self, event: &RowEvent, old: Row<'_>) -> bool {
        let (new, partition) = (event.new_row(), &self.own_table().partition_columns);
        new.has_same_values(old, partition.iter().copied()) && self.unique_indexes(event).are_keys_unchanged(old, new)
    }

    fn unique_indexes(&self, event: &RowEvent) -> &UniqueIndexes {
        self.unique_indexes.get_or_init(|| {
            // SAFETY: the statement's memory context exists.
            let waits_for_locks = unsafe { may_lock_on_conflict(self.running.memory()) };
            self.running.in_memory(|| UniqueIndexes::new(&event.table(), waits_for_locks))
        })
    }

    /// Forgets the previous row, which has been stored or dropped.
    pub fn begin_row(&self) {
        clear_after_call(&self.current);
        self.current.borrow_mut().pending = None;
    }

    /// Registers the new row. If another session has registered a row that may be near, this waits.
    pub fn register(&self, key: &RowKey, scope: &GuardScopeValues<'_>) {
        let Guard { identity, secret, .. } = &*self.guard;
        let keys = key.lock_keys(&LockKeys { secret, scope: self.own_table().scope.hash(scope) });
        self.current.borrow_mut().registration.register(identity.root, &keys);
    }

    /// Ends the registration of the new row.
    pub fn release(&self) {
        self.current.borrow_mut().registration.release();
    }
}
