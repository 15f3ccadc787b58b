//! Row movement: an UPDATE or MERGE that changes a row's partition deletes it in one and inserts it into the other.
//!
//! A BEFORE trigger of that INSERT cannot see that the INSERT belongs to an UPDATE. So a hook notes the statements that
//! may move rows. A worker of logical replication runs no statement: there, the context of its errors is read instead.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::ptr::NonNull;

use pgrx::PgMemoryContexts;
use pgrx::prelude::*;

use super::catalog::partition::{PartitionTree, topmost_of};
use super::catalog::relation::{ACCESS_SHARE, Relation};
use super::ffi::standard_ExecutorRun;
use super::list::nodes;
use super::memory::OnDrop;
use super::modify_table::modify_tables;
use super::trigger::RowEvent;

thread_local! {
    /// The running statements that may move rows, by their executor's memory.
    static STATEMENTS: RefCell<Vec<pg_sys::MemoryContext>> = const { RefCell::new(Vec::new()) };
    static PREVIOUS_HOOK: Cell<pg_sys::ExecutorRun_hook_type> = const { Cell::new(None) };
    /// When the client's statement that loaded the library began.
    static LOADING_STATEMENT_START: Cell<pg_sys::TimestampTz> = const { Cell::new(0) };
}

/// Sets the hook that notes statements. Called once, when the library is loaded.
pub fn initialise() {
    // SAFETY: the library is loaded by one thread, and is never unloaded.
    unsafe {
        LOADING_STATEMENT_START.set(pg_sys::GetCurrentStatementStartTimestamp());
        PREVIOUS_HOOK.set(pg_sys::ExecutorRun_hook);
        pg_sys::ExecutorRun_hook = Some(run);
    }
}

/// Whether an INSERT into a partition is or may be the second half of an UPDATE that moves a row there. `statement` is
/// the memory of the statement that fires the trigger.
///
/// A MERGE, and a statement with an UPDATE in WITH, may also insert other rows. They count as moved if the transaction
/// has deleted rows in other partitions. So do rows of the statement that loads the library, which the hook misses,
/// unless the client itself has sent it and it moves none.
pub fn may_complete_move(event: &RowEvent, statement: pg_sys::MemoryContext) -> bool {
    let table = event.table();
    if event.old_row().is_some() || !table.is_partition() {
        return false;
    }
    // SAFETY: the functions only read variables.
    let (is_applied, start) = unsafe { (pg_sys::IsLogicalWorker(), pg_sys::GetCurrentStatementStartTimestamp()) };
    if is_applied && is_applied_update() {
        return true;
    }
    let is_noted = STATEMENTS.with_borrow(|statements| statements.contains(&statement));
    let is_missed = !is_applied && start == LOADING_STATEMENT_START.get() && !is_insert_of_client(statement);
    (is_noted || is_missed) && has_deleted_elsewhere(&table)
}

/// Whether the running statement is what the client has sent, and not one of a function, and moves no row.
fn is_insert_of_client(statement: pg_sys::MemoryContext) -> bool {
    // SAFETY: while a portal is active, its statements are valid, and so is the memory of the running statement.
    unsafe {
        let Some(portal) = pg_sys::ActivePortal.as_ref() else { return false };
        let moves_none = |&planned: &*mut pg_sys::PlannedStmt| match (*planned).commandType {
            pg_sys::CmdType::CMD_UTILITY => (*(*planned).utilityStmt).type_ == pg_sys::NodeTag::T_CopyStmt,
            _ => !may_move(&*planned),
        };
        // COPY has no memory of an executor.
        [statement, (*statement).parent].contains(&portal.portalContext) && nodes(portal.stmts).iter().all(moves_none)
    }
}

/// # Safety
/// The statement is valid.
unsafe fn may_move(planned: &pg_sys::PlannedStmt) -> bool {
    let moves = |command| matches!(command, pg_sys::CmdType::CMD_UPDATE | pg_sys::CmdType::CMD_MERGE);
    moves(planned.commandType) || unsafe { modify_tables(planned) }.any(|node| moves(node.operation))
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
        let run_query = PREVIOUS_HOOK.get().unwrap_or(standard_ExecutorRun);
        #[cfg(not(any(feature = "pg18", feature = "pg19")))]
        run_query(query, direction, count, execute_once);
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        run_query(query, direction, count);
    }
}

/// Notes a statement that may move rows, until its executor's memory is freed.
#[pg_guard]
unsafe extern "C-unwind" fn note(query: *mut pg_sys::QueryDesc) {
    // SAFETY: PostgreSQL passes a statement that is ready to run.
    let (memory, planned) = unsafe { ((*(*query).estate).es_query_cxt, &*(*query).plannedstmt) };
    // A cursor runs its statement several times.
    if unsafe { may_move(planned) } && !STATEMENTS.with_borrow(|statements| statements.contains(&memory)) {
        let forget =
            move || STATEMENTS.with_borrow_mut(|statements| statements.retain(|statement| *statement != memory));
        PgMemoryContexts::For(memory).leak_and_drop_on_delete(OnDrop(forget));
        STATEMENTS.with_borrow_mut(|statements| statements.push(memory));
    }
}

/// Whether the running transaction has deleted rows of other partitions of the table's partition tree, or may have. A
/// transaction may still move rows to a partition that another session is detaching.
fn has_deleted_elsewhere(table: &Relation) -> bool {
    let has_deleted = |&member: &pg_sys::Oid| {
        let member = Relation::open(member);
        // SAFETY: an open table may have counts, with a list of its counts in this transaction by subtransactions.
        unsafe {
            let counts = member.pgstat_info.as_ref().and_then(|counts| counts.trans.as_ref());
            let mut levels = std::iter::successors(counts, |level| level.upper.as_ref());
            levels.any(|level| level.tuples_deleted + level.deleted_pre_truncdrop > 0)
        }
    };
    // SAFETY: a plain variable.
    let is_counted = unsafe { pg_sys::pgstat_track_counts };
    let PartitionTree { members, .. } = PartitionTree::read(topmost_of(table.oid()), table.oid(), ACCESS_SHARE);
    !is_counted || members.iter().filter(|&&member| member != table.oid()).any(has_deleted)
}

/// Whether this process, a worker of logical replication, fires the trigger while it applies an UPDATE. A worker moves
/// a row by a DELETE and an INSERT. Only the context of its errors names the type of the message that it applies:
/// `.. during message type "UPDATE" for replication target relation "public.docs" ..`. The type is the same in all
/// languages, and has no point, unlike the table's name. The context has one line, unless another function or statement
/// runs meanwhile. The initial copy of a table has new rows only. Otherwise, if the line names no type, the row counts
/// as moved.
fn is_applied_update() -> bool {
    // SAFETY: this process is a worker. The function returns null or a NUL-terminated text in memory of its own.
    let (state, context) = unsafe {
        let text = NonNull::new(pg_sys::GetErrorContextStack());
        ((*pg_sys::MyLogicalRepWorker).relstate as u8, text.map(|text| CStr::from_ptr(text.as_ptr())))
    };
    let context = context.unwrap_or_default().to_bytes();
    let mut words = context.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'.');
    let message = words.find(|word| *word == b"INSERT" || *word == b"UPDATE");
    let is_update = message.is_none_or(|message| message == b"UPDATE");
    state != pg_sys::SUBREL_STATE_DATASYNC && !context.contains(&b'\n') && is_update
}
