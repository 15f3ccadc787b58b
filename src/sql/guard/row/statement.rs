//! The state of a guard in one statement.

use std::cell::OnceCell;
use std::rc::Rc;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{HeapTuple, Oid};
use pgrx::prelude::*;
use postgres::catalog::types::check_type_takes_null;
use postgres::error::Result;
use postgres::heap::dirty_scan::DirtySearch;
use postgres::heap::row::Row;
use postgres::running_statement::effects_of;
use postgres::trigger::RowEvent;
use simhash::search::lock_keys::LockKeys;

use super::conflicting_rows::{ConflictingRows, UniqueIndexes};
use super::current_row::{CurrentRow, current_row};
use super::evaluation::{Evaluator, RowKind};
use super::registration::IfTaken;
use crate::sql::guard::definition::cache::guard_of_trigger;
use crate::sql::guard::definition::distribution::names_without_shard;
use crate::sql::guard::definition::guard::Guard;
use crate::sql::guard::definition::row_key::RowKey;
use crate::sql::guard::definition::scope::GuardScopeValues;
use crate::sql::guard::definition::searched_table::SearchedTable;
use crate::trace;

/// The state of a guard for one table in one statement. A statement that writes to several partitions has one for each.
pub struct Statement {
    /// The trigger function.
    function: Oid,
    pub guard: Rc<Guard>,
    /// The position, among the tables that the guard searches, of the statement's table.
    position: usize,
    unique_indexes: OnceCell<UniqueIndexes>,
    pub evaluator: Evaluator,
    /// The row that the statement is storing, also in other partitions.
    pub current: Rc<CurrentRow>,
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
        let guard = guard_of_trigger(function, event, None)?;
        let table = event.table();
        let position = guard.position_of(&table)?;
        let (_, name) = names_without_shard(&table, event.trigger_name()?)?;
        // SAFETY: the statement is dropped with its memory context.
        let evaluator = unsafe { Evaluator::new(name, memory) };
        let current = current_row(memory, guard.identity.without_detached());
        Ok(Self { function, guard, position, unique_indexes: OnceCell::new(), evaluator, current })
    }

    /// Reads the guard again if its definition has changed, and returns whether it has. Another transaction may have
    /// added a partition, and a near row in it.
    pub fn refresh(&mut self, event: &RowEvent) -> Result<bool> {
        // SAFETY: a trigger function runs in a transaction.
        unsafe { pg_sys::AcceptInvalidationMessages() };
        let guard = guard_of_trigger(self.function, event, Some(&self.guard))?;
        let has_changed = !Rc::ptr_eq(&guard, &self.guard);
        if has_changed {
            self.position = guard.position_of(&event.table())?;
            self.evaluator.forget_expressions();
            self.guard = guard;
        }
        Ok(has_changed)
    }

    /// The statement's table, ready to be searched.
    pub fn own_table(&self) -> &SearchedTable {
        &self.guard.searched[self.position]
    }

    /// Forgets the previous row, which has been stored or dropped. The new one is cleared at the end of the call.
    pub fn begin_row(&self) {
        trace::step("begin");
        self.current.clear_after_call();
        self.current.pending.take();
    }

    pub fn is_registered(&self) -> bool {
        self.current.registration.borrow().is_registered()
    }

    pub fn release_registration(&self) {
        self.current.registration.borrow_mut().release();
    }
}

/// A new row of a statement, before it is stored.
#[derive(Clone, Copy)]
pub struct NewRow<'a> {
    pub statement: &'a Statement,
    pub event: &'a RowEvent<'a>,
}

impl<'a> NewRow<'a> {
    /// The row of an event. Panics if it is of another table than the statement's.
    pub fn new(statement: &'a Statement, event: &'a RowEvent<'a>) -> Self {
        assert_eq!(event.table().oid(), statement.own_table().oid, "the row is of another table");
        Self { statement, event }
    }

    pub fn as_row(self) -> Row<'a> {
        self.event.new_row()
    }

    /// The key by which the rows near this row are looked up; None if the row's source is NULL, or has no word.
    pub fn key(self) -> Result<Option<RowKey>> {
        self.statement.evaluator.key(self.statement.own_table(), self.as_row(), RowKind::New)
    }

    pub fn scope_values(self) -> GuardScopeValues<'a> {
        self.statement.own_table().scope.of_row(self.as_row())
    }

    /// The tuple to be stored, with NULL in the mark column.
    pub fn without_mark(self) -> HeapTuple {
        match &self.statement.own_table().mark {
            Some(mark) if self.as_row().value(mark.column).is_some() => {
                // The cache does not notice that a domain has become NOT NULL.
                check_type_takes_null(mark.data_type);
                // SAFETY: the row's table has this column, and NULL is of any type.
                unsafe { self.event.with_value(mark.column.into(), None) }
            }
            _ => self.event.new_tuple(),
        }
    }

    /// Whether an UPDATE leaves the source and the scope of the old row unchanged, and the conditions do not require a
    /// new check.
    pub fn is_checked_already(self, old: Row<'_>) -> Result<bool> {
        let own = self.statement.own_table();
        Ok(own.is_unchanged(old, self.as_row())
            && !self.statement.evaluator.is_newly_checked(own, old, self.as_row())?)
    }

    /// Looks for the rows that ON CONFLICT would find. An UPDATE has none.
    pub fn conflicting_rows(self, search: DirtySearch<'_>) -> ConflictingRows {
        if self.event.old_row().is_some() {
            return ConflictingRows::default();
        }
        // SAFETY: the unique indexes belong to the statement's table, and so does the row.
        unsafe { self.unique_indexes().find(&self.event.table(), self.as_row(), search) }
    }

    /// Whether an UPDATE leaves the unique keys unchanged, and the row in its partition.
    pub fn has_unchanged_keys(self, old: Row<'_>) -> bool {
        let partition = &self.statement.own_table().partition_columns;
        self.as_row().has_same_values(old, partition.iter().copied())
            && self.unique_indexes().has_unchanged_keys(old, self.as_row())
    }

    fn unique_indexes(self) -> &'a UniqueIndexes {
        let Statement { unique_indexes, evaluator, .. } = self.statement;
        unique_indexes.get_or_init(|| {
            // SAFETY: the statement's memory context exists, and the statement has opened its table.
            unsafe {
                let waits_for_locks = effects_of(evaluator.memory()).locks_conflicting_rows;
                evaluator.in_memory(|| UniqueIndexes::new(&self.event.table(), waits_for_locks))
            }
        })
    }

    /// Registers the row. `if_taken` says what to do if another session has registered a row with one of the keys.
    pub fn register(self, key: &RowKey, if_taken: IfTaken) {
        let Statement { guard, current, .. } = self.statement;
        let scope = self.statement.own_table().scope.hash(&self.scope_values());
        let keys = key.lock_keys(&LockKeys { secret: &guard.secret, scope });
        current.registration.borrow_mut().register(guard.identity.root, &keys, if_taken);
    }
}
