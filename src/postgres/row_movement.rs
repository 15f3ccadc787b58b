//! Row movement: an UPDATE or MERGE that changes a row's partition deletes it in one and inserts it into the other.
//!
//! A BEFORE trigger of that INSERT cannot see that it belongs to an UPDATE. So a hook notes the statements that may
//! move rows. A worker of logical replication runs no statement: there, the context of its errors is read instead.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::ptr::NonNull;

use pgrx::PgMemoryContexts;
use pgrx::prelude::*;

use super::catalog::partition::{PartitionTree, topmost_of};
use super::catalog::relation::{ACCESS_SHARE, Relation};
use super::ffi::standard_ExecutorRun;
use super::memory::OnDrop;
use super::modify_table::{client_statement_may, modify_tables};
use super::trigger::RowEvent;

thread_local! {
    /// The running statements that may move rows, each by the memory context of its executor.
    static STATEMENTS: RefCell<Vec<pg_sys::MemoryContext>> = const { RefCell::new(Vec::new()) };
    static PREVIOUS_HOOK: Cell<pg_sys::ExecutorRun_hook_type> = const { Cell::new(None) };
    /// When the client's statement began that has loaded the library.
    static LOADING_STATEMENT_START: Cell<pg_sys::TimestampTz> = const { Cell::new(0) };
}

/// Sets the hook that notes statements. Called once, when the library is loaded.
pub fn initialise() {
    // SAFETY: the library is loaded by one thread, and is never unloaded.
    unsafe {
        LOADING_STATEMENT_START.set(pg_sys::GetCurrentStatementStartTimestamp());
        PREVIOUS_HOOK.set(pg_sys::ExecutorRun_hook);
        pg_sys::ExecutorRun_hook = Some(note_and_run);
    }
}

/// Whether an INSERT into a partition may be the second half of an UPDATE that moves a row there. `statement` is the
/// memory context of the executor that fires the trigger.
///
/// May be true for other rows of a MERGE, and of a statement with an UPDATE in WITH: they count as moved if the
/// transaction has deleted rows in other partitions. So do the rows of the statement that has loaded the library, which
/// the hook has missed, unless the client itself has sent it and it moves none.
///
/// # Safety
/// The memory context exists.
pub unsafe fn may_complete_move(event: &RowEvent, statement: pg_sys::MemoryContext) -> bool {
    let table = event.table();
    if event.old_row().is_some() || !table.is_partition() {
        return false;
    }
    // SAFETY: the functions only read variables.
    let (is_worker, statement_start) =
        unsafe { (pg_sys::IsLogicalWorker(), pg_sys::GetCurrentStatementStartTimestamp()) };
    if is_worker && is_applying_update() {
        return true;
    }
    let is_noted = STATEMENTS.with_borrow(|statements| statements.contains(&statement));
    // SAFETY: the caller passes a memory context that exists, and `client_statement_may` valid statements.
    let may_be_missed = || unsafe { client_statement_may(statement, |planned| may_move(planned)) };
    let is_missed = !is_worker && statement_start == LOADING_STATEMENT_START.get() && may_be_missed();
    (is_noted || is_missed) && has_deleted_elsewhere(&table)
}

/// # Safety
/// The statement is valid.
unsafe fn may_move(planned: &pg_sys::PlannedStmt) -> bool {
    let moves = |command| matches!(command, pg_sys::CmdType::CMD_UPDATE | pg_sys::CmdType::CMD_MERGE);
    moves(planned.commandType) || unsafe { modify_tables(planned) }.any(|node| moves(node.operation))
}

/// Notes and runs a statement. PostgreSQL's errors may pass through: nothing in this function needs to be dropped.
unsafe extern "C-unwind" fn note_and_run(
    query: *mut pg_sys::QueryDesc,
    direction: pg_sys::ScanDirection::Type,
    count: u64,
    #[cfg(not(any(feature = "pg18", feature = "pg19")))] execute_once: bool,
) {
    // SAFETY: PostgreSQL passes a statement that is ready to run, and what the other functions expect.
    unsafe {
        note_statement(query);
        let run_query = PREVIOUS_HOOK.get().unwrap_or(standard_ExecutorRun);
        #[cfg(not(any(feature = "pg18", feature = "pg19")))]
        run_query(query, direction, count, execute_once);
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        run_query(query, direction, count);
    }
}

/// Notes a statement if it may move rows, until its executor's memory is freed.
#[pg_guard]
unsafe extern "C-unwind" fn note_statement(query: *mut pg_sys::QueryDesc) {
    // SAFETY: PostgreSQL passes a statement that is ready to run.
    let (memory, planned) = unsafe { ((*(*query).estate).es_query_cxt, &*(*query).plannedstmt) };
    // A cursor runs its statement several times, so it may be noted already.
    // SAFETY: the statement is valid.
    if unsafe { may_move(planned) } && !STATEMENTS.with_borrow(|statements| statements.contains(&memory)) {
        let forget = move || STATEMENTS.with_borrow_mut(|statements| statements.retain(|noted| *noted != memory));
        PgMemoryContexts::For(memory).leak_and_drop_on_delete(OnDrop(forget));
        STATEMENTS.with_borrow_mut(|statements| statements.push(memory));
    }
}

/// Whether the running transaction has deleted rows of other partitions of the table's partition tree; true if nobody
/// counts them (track_counts is off). It may still move rows to a partition that another session is detaching.
fn has_deleted_elsewhere(table: &Relation) -> bool {
    let has_deletions = |&member: &pg_sys::Oid| {
        let partition = Relation::open(member);
        // SAFETY: an open table may have counts, with a list of its counts in this transaction by subtransactions.
        unsafe {
            let counts = partition.pgstat_info.as_ref().and_then(|counts| counts.trans.as_ref());
            let mut levels = std::iter::successors(counts, |level| level.upper.as_ref());
            levels.any(|level| level.tuples_deleted + level.deleted_pre_truncdrop > 0)
        }
    };
    // SAFETY: a plain variable.
    let is_counted = unsafe { pg_sys::pgstat_track_counts };
    let PartitionTree { members, .. } = PartitionTree::read(topmost_of(table.oid()), table.oid(), ACCESS_SHARE);
    !is_counted || members.iter().filter(|&&member| member != table.oid()).any(has_deletions)
}

/// Whether this process, a worker of logical replication, fires the trigger because it applies an UPDATE, by which it
/// may move a row. Only the context of its errors tells: `.. during message type "UPDATE" for replication target
/// relation "public.docs" ..`. The type is the same in all languages. The table's name is never taken for it, because
/// it has a point.
///
/// False while a worker copies a new table's rows, and if the context has several lines: then the INSERT is of another
/// function or statement. True if the context names no type.
fn is_applying_update() -> bool {
    // SAFETY: this process is a worker. The function returns null or a NUL-terminated text in memory of its own.
    let (state, context) = unsafe {
        let start = NonNull::new(pg_sys::GetErrorContextStack());
        ((*pg_sys::MyLogicalRepWorker).relstate as u8, start.map(|start| CStr::from_ptr(start.as_ptr())))
    };
    let lines = context.unwrap_or_default().to_bytes();
    let mut words = lines.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'.');
    let message_type = words.find(|word| *word == b"INSERT" || *word == b"UPDATE");
    let is_update = message_type.is_none_or(|message_type| message_type == b"UPDATE");
    state != pg_sys::SUBREL_STATE_DATASYNC && !lines.contains(&b'\n') && is_update
}
