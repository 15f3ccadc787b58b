//! Row movement: an UPDATE or MERGE that changes a row's partition deletes the row in the one partition and inserts it
//! into the other.
//!
//! A trigger before that INSERT is not told that it belongs to an UPDATE. The executor's state says it. So a hook notes
//! the state of each statement that may move rows. The worker of logical replication runs no statement.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::ptr::NonNull;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys;
use pgrx::prelude::*;

use super::catalog::partition::{ancestors, with_inheritors};
use super::catalog::relation::Relation;
use super::ffi::executor;
use super::list::nodes;
use super::trigger::RowEvent;

/// A running statement that may move rows.
struct Statement {
    executor: *mut pg_sys::EState,
    plan: *mut pg_sys::PlanState,
    /// The row version that was moved last: its table and tid.
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    last_moved: Option<(pg_sys::Oid, (u32, u16))>,
}

thread_local! {
    static STATEMENTS: RefCell<Vec<Statement>> = const { RefCell::new(Vec::new()) };
    static PREVIOUS_HOOK: Cell<pg_sys::ExecutorRun_hook_type> = const { Cell::new(None) };
    /// When the client's statement began that loaded the library.
    static LOADED_BY: Cell<pg_sys::TimestampTz> = const { Cell::new(0) };
}

pub fn initialise() {
    // SAFETY: the library is loaded by one thread, and is never unloaded.
    unsafe {
        LOADED_BY.set(pg_sys::GetCurrentStatementStartTimestamp());
        PREVIOUS_HOOK.set(pg_sys::ExecutorRun_hook);
        pg_sys::ExecutorRun_hook = Some(run);
    }
}

/// Whether an INSERT into a partition is or may be the second half of an UPDATE that moves a row there. Must be called
/// for each INSERT into a partition, before its row is stored.
pub fn may_complete_move(event: &RowEvent) -> bool {
    let table = event.table();
    if event.old_row().is_some() || !table.is_partition() {
        return false;
    }
    // SAFETY: the function only reads a variable.
    let is_applied = unsafe { pg_sys::IsLogicalWorker() };
    STATEMENTS.with_borrow_mut(|statements| statements.iter_mut().any(|statement| statement.moves(event)))
        || if is_applied { is_applied_update() } else { is_unknown_move(&table) }
}

/// Runs a statement. Errors pass through unchanged: nothing in this function needs to be dropped.
unsafe extern "C-unwind" fn run(
    query: *mut pg_sys::QueryDesc,
    direction: pg_sys::ScanDirection::Type,
    count: u64,
    #[cfg(not(any(feature = "pg18", feature = "pg19")))] execute_once: bool,
) {
    // SAFETY: PostgreSQL passes a statement that is ready to run, and what the other functions expect.
    unsafe {
        note(query);
        let run = PREVIOUS_HOOK.get().unwrap_or(executor::standard_ExecutorRun);
        #[cfg(not(any(feature = "pg18", feature = "pg19")))]
        run(query, direction, count, execute_once);
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        run(query, direction, count);
    }
}

/// Notes a statement that may move rows, until its executor's memory is freed.
#[pg_guard]
unsafe extern "C-unwind" fn note(query: *mut pg_sys::QueryDesc) {
    struct Noted(*mut pg_sys::EState);
    impl Drop for Noted {
        fn drop(&mut self) {
            STATEMENTS.with_borrow_mut(|statements| statements.retain(|statement| statement.executor != self.0));
        }
    }
    // SAFETY: PostgreSQL passes a statement that is ready to run. Its executor's state lives in `es_query_cxt`.
    unsafe {
        let (executor, planned) = ((*query).estate, &*(*query).plannedstmt);
        let may_move = planned.hasModifyingCTE
            || matches!(planned.commandType, pg_sys::CmdType::CMD_UPDATE | pg_sys::CmdType::CMD_MERGE);
        let is_noted = || STATEMENTS.with_borrow(|noted| noted.iter().any(|other| other.executor == executor));
        // A cursor runs its statement several times.
        if !may_move || is_noted() {
            return;
        }
        PgMemoryContexts::For((*executor).es_query_cxt).leak_and_drop_on_delete(Noted(executor));
        let statement = Statement {
            executor,
            plan: (*query).planstate,
            #[cfg(any(feature = "pg15", feature = "pg16"))]
            last_moved: None,
        };
        STATEMENTS.with_borrow_mut(|statements| statements.push(statement));
    }
}

impl Statement {
    /// Whether the statement is moving the row of this event.
    fn moves(&mut self, event: &RowEvent) -> bool {
        // SAFETY: the statement is running, so its executor's state and its nodes exist. A partition that is found by
        // routing has the root of the node that inserts into it.
        unsafe {
            let routed: Vec<*mut pg_sys::ResultRelInfo> = nodes((*self.executor).es_tuple_routing_result_relations);
            for node in self.modifying_nodes() {
                let own = (0..(*node).mt_nrels as usize).map(|i| (*node).resultRelInfo.add(i));
                let root = (*node).rootResultRelInfo;
                let routed = routed.iter().copied().filter(|table| (**table).ri_RootResultRelInfo == root);
                if own.chain(routed).any(|table| fires(table, event)) {
                    return match (*node).operation {
                        pg_sys::CmdType::CMD_UPDATE => true,
                        pg_sys::CmdType::CMD_MERGE => self.merge_moves(node),
                        _ => false,
                    };
                }
            }
        }
        false
    }

    /// The nodes of the plan that write to tables.
    ///
    /// # Safety
    /// The statement is running.
    unsafe fn modifying_nodes(&self) -> Vec<*mut pg_sys::ModifyTableState> {
        // SAFETY: the caller says that the statement is running. The executor lists the nodes below the top one.
        unsafe {
            let mut found = nodes((*self.executor).es_auxmodifytables);
            if (*self.plan).type_ == pg_sys::NodeTag::T_ModifyTableState {
                found.push(self.plan.cast());
            }
            found
        }
    }

    /// Whether a MERGE that inserts a row is moving it.
    ///
    /// # Safety
    /// The node is a running MERGE.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    unsafe fn merge_moves(&mut self, node: *mut pg_sys::ModifyTableState) -> bool {
        // SAFETY: while a MERGE writes a row, it has an action.
        unsafe { (*(*(*node).mt_merge_action).mas_action).commandType == pg_sys::CmdType::CMD_UPDATE }
    }

    /// Whether a MERGE that inserts a row is moving it. These versions do not say which action runs. But the row that
    /// was matched last is marked as moved, and no INSERT has followed.
    ///
    /// # Safety
    /// The node is a running MERGE.
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    unsafe fn merge_moves(&mut self, node: *mut pg_sys::ModifyTableState) -> bool {
        use super::heap::row::{TableSlot, tid_numbers};
        use super::heap::row_version::RowVersion;

        // SAFETY: the node has `mt_nrels` tables, which are open. The slot of a table has the row that was matched
        // last.
        unsafe {
            let matched = if (*node).mt_nrels > 1 { (*node).mt_lastResultIndex as usize } else { 0 };
            let matched = &*(*node).resultRelInfo.add(matched);
            let Some(old) = matched.ri_oldTupleSlot.as_ref() else { return false };
            let table = Relation::opened_by_server(matched.ri_RelationDesc);
            let slot = TableSlot::new(&table);
            if !RowVersion::fetch(&table, old.tts_tid, &slot).is_some_and(RowVersion::is_moved) {
                return false;
            }
            let moved = Some((table.oid(), tid_numbers(old.tts_tid)));
            std::mem::replace(&mut self.last_moved, moved) != moved
        }
    }
}

/// Whether the event's trigger is one of this table in the executor's state.
///
/// # Safety
/// The table exists.
unsafe fn fires(table: *mut pg_sys::ResultRelInfo, event: &RowEvent) -> bool {
    // SAFETY: the caller passes a table of the executor, which has a copy of the table's triggers, or none.
    unsafe {
        let triggers = (*table).ri_TrigDesc.as_ref();
        let own = triggers.map(|triggers| std::slice::from_raw_parts(triggers.triggers, triggers.numtriggers as usize));
        own.is_some_and(|own| own.as_ptr_range().contains(&event.data.tg_trigger.cast_const()))
    }
}

/// Whether the hook may have missed a statement that moves a row to this table. The library may be loaded by a trigger
/// while a statement runs. Such a statement moves no row if the transaction has deleted none elsewhere in the partition
/// tree.
fn is_unknown_move(table: &Relation) -> bool {
    // SAFETY: the variables are plain numbers. The function takes the OID of any table, and returns an integer.
    unsafe {
        if pg_sys::GetCurrentStatementStartTimestamp() != LOADED_BY.get() {
            return false;
        }
        let Some(&root) = ancestors(table).last() else { return false };
        let has_deleted = |member: &pg_sys::Oid| {
            let function = pg_sys::F_PG_STAT_GET_XACT_TUPLES_DELETED.into();
            *member != table.oid()
                && pg_sys::OidFunctionCall1Coll(function, pg_sys::Oid::INVALID, (*member).into()).value() > 0
        };
        !pg_sys::pgstat_track_counts
            || with_inheritors(root, pg_sys::NoLock as pg_sys::LOCKMODE).iter().any(has_deleted)
    }
}

/// Whether the worker of logical replication, which this process is, fires the trigger while it applies an UPDATE. It
/// moves a row by a DELETE and an INSERT. Only the context of its errors says which message it applies: its line is the
/// last one, and the only one unless another function or statement runs meanwhile. The name of the message is the same
/// in all languages, and precedes the name of the table.
fn is_applied_update() -> bool {
    // SAFETY: the function returns null or a NUL-terminated text in memory of its own.
    let context = unsafe { NonNull::new(pg_sys::GetErrorContextStack()).map(|text| CStr::from_ptr(text.as_ptr())) };
    let context = context.unwrap_or_default().to_bytes();
    let mut words = context.split(|byte| !byte.is_ascii_alphanumeric());
    let message = words.find(|word| *word == b"INSERT" || *word == b"UPDATE");
    !context.contains(&b'\n') && message.is_some_and(|message| message == b"UPDATE")
}
