//! What the statement that fires a trigger may do to other rows. A trigger's call does not tell it.
//!
//! A [hook](super::statement_hooks) notes what each statement may do, by the memory context of its executor, until this
//! is freed. It misses the statements that are running when the library is loaded. COPY and logical replication run no
//! statement.

use std::cell::{Cell, RefCell};

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::OnConflictAction::{ONCONFLICT_NONE, ONCONFLICT_NOTHING};
use pgrx::pg_sys::{ActivePortal, CmdType, MemoryContext, ModifyTable, NodeTag, Plan, PlannedStmt, PortalData};
use pgrx::prelude::*;

use super::list::nodes;
use super::memory::OnDrop;

/// What a statement may do to rows.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Effects {
    /// It may move rows to other partitions: it is, or contains, an UPDATE or a MERGE.
    pub moves_rows: bool,
    /// It may lock and update conflicting rows, by ON CONFLICT.
    pub locks_conflicting_rows: bool,
}

thread_local! {
    /// The running statements that have effects, each by the memory context of its executor; and those without, while
    /// others may have been missed.
    static STATEMENTS: RefCell<Vec<(MemoryContext, Effects)>> = const { RefCell::new(Vec::new()) };
    /// When the client's statement began that has loaded the library.
    static LOADING_STATEMENT_START: Cell<pg_sys::TimestampTz> = const { Cell::new(0) };
}

/// Notes that the running statement has loaded the library.
pub(crate) fn note_loading() {
    // SAFETY: the function only reads a variable.
    LOADING_STATEMENT_START.set(unsafe { pg_sys::GetCurrentStatementStartTimestamp() });
}

/// What the statement with this executor's memory context may do; for COPY, this is the context in which it runs. Of
/// a statement that was running when the library was loaded, all is assumed that the client's plan does not rule out.
///
/// # Safety
/// The memory context exists.
pub unsafe fn effects_of(executor_memory: MemoryContext) -> Effects {
    let noted = STATEMENTS.with_borrow(|statements| {
        statements.iter().find(|(memory, _)| *memory == executor_memory).map(|(_, own)| *own)
    });
    match noted {
        Some(effects) => effects,
        // SAFETY: the caller passes a memory context that exists.
        None if is_loading_statement() => unsafe { effects_of_client_statement(executor_memory) },
        None => Effects::default(),
    }
}

/// Whether the client's statement that has loaded the library is still running.
fn is_loading_statement() -> bool {
    // SAFETY: the function only reads a variable.
    unsafe { pg_sys::GetCurrentStatementStartTimestamp() == LOADING_STATEMENT_START.get() }
}

/// What the statement may do if the client itself has sent it. Everything if it has not, or if the client has sent a
/// utility statement other than COPY, such as EXPLAIN.
///
/// # Safety
/// The memory context exists.
unsafe fn effects_of_client_statement(executor_memory: MemoryContext) -> Effects {
    let everything = Effects { moves_rows: true, locks_conflicting_rows: true };
    // SAFETY: the active portal is null or valid, and so are its statements.
    unsafe {
        // The executor's memory context is a child of the portal's context. The triggers of COPY have the portal's.
        let runs_here =
            |portal: &&PortalData| [executor_memory, (*executor_memory).parent].contains(&portal.portalContext);
        let Some(portal) = ActivePortal.as_ref().filter(runs_here) else { return everything };
        let effects = nodes(portal.stmts).into_iter().map(|statement: *mut PlannedStmt| {
            match (*statement).utilityStmt.as_ref() {
                Some(utility) if utility.type_ == NodeTag::T_CopyStmt => Effects::default(),
                Some(_) => everything,
                None => planned_effects(&*statement),
            }
        });
        effects.fold(Effects::default(), either)
    }
}

/// What a plan does.
///
/// # Safety
/// The statement is valid.
unsafe fn planned_effects(statement: &PlannedStmt) -> Effects {
    let moves = |command| matches!(command, CmdType::CMD_UPDATE | CmdType::CMD_MERGE);
    let of_node = |node: &ModifyTable| Effects {
        moves_rows: moves(node.operation),
        locks_conflicting_rows: ![ONCONFLICT_NONE, ONCONFLICT_NOTHING].contains(&node.onConflictAction),
    };
    let of_command = Effects { moves_rows: moves(statement.commandType), ..Effects::default() };
    // SAFETY: the caller passes a valid statement.
    unsafe { modify_tables(statement) }.map(of_node).fold(of_command, either)
}

fn either(a: Effects, b: Effects) -> Effects {
    Effects {
        moves_rows: a.moves_rows || b.moves_rows,
        locks_conflicting_rows: a.locks_conflicting_rows || b.locks_conflicting_rows,
    }
}

/// The ModifyTable nodes of a statement: each is the root of the plan or, for a statement in WITH, of a subplan.
///
/// # Safety
/// The statement is valid. If it has a plan, this lives as long as the result.
unsafe fn modify_tables<'a>(statement: &PlannedStmt) -> impl Iterator<Item = &'a ModifyTable> {
    // SAFETY: the caller passes a valid statement. A plan may be null.
    unsafe {
        let plans = nodes::<Plan>(statement.subplans).into_iter().chain([statement.planTree]);
        let modifying = plans.filter(|plan| plan.as_ref().is_some_and(|plan| plan.type_ == NodeTag::T_ModifyTable));
        modifying.map(|plan| &*plan.cast())
    }
}

/// Notes what a statement may do, until its executor's memory is freed. Its errors are PostgreSQL's.
///
/// # Safety
/// The statement is valid and ready to run.
#[pg_guard]
pub(crate) unsafe extern "C-unwind" fn note_statement(query: *mut pg_sys::QueryDesc) {
    // SAFETY: the caller passes a valid statement.
    let (memory, effects) = unsafe { ((*(*query).estate).es_query_cxt, planned_effects(&*(*query).plannedstmt)) };
    // A cursor runs its statement several times, so it may be noted already.
    let is_noted = || STATEMENTS.with_borrow(|statements| statements.iter().any(|(noted, _)| *noted == memory));
    if (effects != Effects::default() || is_loading_statement()) && !is_noted() {
        let forget = move || STATEMENTS.with_borrow_mut(|statements| statements.retain(|(noted, _)| *noted != memory));
        PgMemoryContexts::For(memory).leak_and_drop_on_delete(OnDrop(forget));
        STATEMENTS.with_borrow_mut(|statements| statements.push((memory, effects)));
    }
}
