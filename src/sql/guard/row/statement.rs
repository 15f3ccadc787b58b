//! The state of a guard in one statement.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::heap::computed::Computed;
use postgres::portal::may_lock_on_conflict;
use postgres::trigger::RowEvent;

use super::among::Among;
use super::confirmation::TextReader;
use super::running::{CurrentRow, current_row};
use super::same_key::UniqueIndexes;
use crate::sql::guard::definition::distribution::user_names_of;
use crate::sql::guard::definition::guard::{Guard, TriggerGuard};

/// The state of a guard for one table in one statement.
pub struct Statement {
    /// The trigger function.
    function: Oid,
    /// The guard's name.
    pub name: Rc<str>,
    pub guard: TriggerGuard,
    /// Computes the fingerprint of a new row, unless it is a plain column: PostgreSQL computes generated columns, and
    /// the expressions of indexes, only after the trigger.
    pub computation: Option<Computed>,
    /// The condition that a partition's rows fulfil; None if the table is not a partition.
    pub partition: Option<Computed>,
    unique_indexes: OnceCell<UniqueIndexes>,
    pub texts: TextReader,
    pub among: Option<Among>,
    /// Memory that lives as long as the statement.
    pub memory: pg_sys::MemoryContext,
    pub current: Rc<RefCell<CurrentRow>>,
}

impl Statement {
    /// The guard in the running statement, made in its first call.
    ///
    /// # Safety
    /// `fcinfo` belongs to the running call, and the function stores nothing else in its `fn_extra`.
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
        let guard = TriggerGuard::of_trigger(function, event)?;
        let table = event.table();
        let computation = || guard.own_table().computation(&table).map(Computed::new);
        let expressions = || (computation(), Computed::partition(&table));
        // SAFETY: the statement's memory context outlives the expressions that are made in it.
        let (computation, partition) = unsafe { PgMemoryContexts::For(memory).switch_to(|_| expressions()) };
        let name: Rc<str> = user_names_of(&table, event.trigger_name()?)?.1.into();
        let current = current_row(memory, guard.identity.without_detached());
        // SAFETY: the statement's memory context outlives the statement.
        let (texts, among) =
            unsafe { (TextReader::new(function, name.clone(), memory), among_of(&guard, &name, memory)) };
        let unique_indexes = OnceCell::new();
        Ok(Self { function, name, guard, computation, partition, unique_indexes, texts, among, memory, current })
    }

    /// Reads the guard again if its definition has changed: while this session waited, another transaction may have
    /// stored a near row in a new partition.
    pub fn refresh(&mut self, event: &RowEvent) -> Result<(), ErrorReport> {
        // SAFETY: a trigger function runs in a transaction.
        unsafe { pg_sys::AcceptInvalidationMessages() };
        if let Some(guard) = self.guard.changed(self.function, event)? {
            self.texts.forget();
            // SAFETY: the statement's memory context outlives the statement.
            self.among = unsafe { among_of(&guard, &self.name, self.memory) };
            self.guard = guard;
        }
        Ok(())
    }

    /// The unique indexes of the trigger's table, by which ON CONFLICT finds the row with the same key.
    pub fn unique_indexes(&self, event: &RowEvent) -> &UniqueIndexes {
        self.unique_indexes.get_or_init(|| {
            // SAFETY: the statement's memory context lives as long as the statement, and so as long as the result.
            unsafe {
                let indexes = |_: &mut _| UniqueIndexes::new(&event.table(), may_lock_on_conflict(self.memory));
                PgMemoryContexts::For(self.memory).switch_to(indexes)
            }
        })
    }
}

/// The condition of a guard; None if all rows count.
///
/// # Safety
/// The memory context lives as long as the result.
unsafe fn among_of(guard: &Guard, name: &Rc<str>, memory: pg_sys::MemoryContext) -> Option<Among> {
    // SAFETY: the caller passes a memory context that lives long enough.
    guard.among.clone().map(|condition| unsafe { Among::new(condition, name.clone(), memory) })
}
