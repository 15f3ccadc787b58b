//! Hooks around the planning and running of each statement. The [`reserve`](super::reserve) is there meanwhile, and
//! [`running_statement`](super::running_statement) notes what the statement may do.

use std::cell::Cell;
use std::ffi::{c_char, c_int};

use pgrx::pg_sys;

use super::ffi::{standard_ExecutorRun, standard_ProcessUtility, standard_planner};
use super::reserve::with_reserve_across_errors;
use super::running_statement::{note_loading, note_statement};

thread_local! {
    static PREVIOUS_PLANNER: Cell<pg_sys::planner_hook_type> = const { Cell::new(None) };
    static PREVIOUS_RUN: Cell<pg_sys::ExecutorRun_hook_type> = const { Cell::new(None) };
    static PREVIOUS_UTILITY: Cell<pg_sys::ProcessUtility_hook_type> = const { Cell::new(None) };
}

/// Sets the hooks. Called once, when the library is loaded, after everything that may fail.
pub fn initialise() {
    note_loading();
    // SAFETY: the library is loaded by one thread, and is never unloaded.
    unsafe {
        PREVIOUS_PLANNER.set(pg_sys::planner_hook);
        PREVIOUS_RUN.set(pg_sys::ExecutorRun_hook);
        PREVIOUS_UTILITY.set(pg_sys::ProcessUtility_hook);
        pg_sys::planner_hook = Some(plan);
        pg_sys::ExecutorRun_hook = Some(run);
        pg_sys::ProcessUtility_hook = Some(run_utility);
    }
}

unsafe extern "C-unwind" fn plan(
    query: *mut pg_sys::Query,
    query_string: *const c_char,
    cursor_options: c_int,
    parameters: pg_sys::ParamListInfo,
    #[cfg(feature = "pg19")] explain: *mut pg_sys::ExplainState,
) -> *mut pg_sys::PlannedStmt {
    let next = PREVIOUS_PLANNER.get().unwrap_or(standard_planner);
    // SAFETY: these are PostgreSQL's arguments.
    with_reserve_across_errors(|| unsafe {
        #[cfg(not(feature = "pg19"))]
        return next(query, query_string, cursor_options, parameters);
        #[cfg(feature = "pg19")]
        return next(query, query_string, cursor_options, parameters, explain);
    })
}

unsafe extern "C-unwind" fn run(
    query: *mut pg_sys::QueryDesc,
    direction: pg_sys::ScanDirection::Type,
    count: u64,
    #[cfg(not(any(feature = "pg18", feature = "pg19")))] execute_once: bool,
) {
    let next = PREVIOUS_RUN.get().unwrap_or(standard_ExecutorRun);
    // SAFETY: these are PostgreSQL's arguments.
    with_reserve_across_errors(|| unsafe {
        note_statement(query);
        #[cfg(not(any(feature = "pg18", feature = "pg19")))]
        next(query, direction, count, execute_once);
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        next(query, direction, count);
    });
}

#[allow(clippy::too_many_arguments)] // PostgreSQL's hook has as many.
unsafe extern "C-unwind" fn run_utility(
    statement: *mut pg_sys::PlannedStmt,
    query_string: *const c_char,
    is_read_only_tree: bool,
    context: pg_sys::ProcessUtilityContext::Type,
    parameters: pg_sys::ParamListInfo,
    environment: *mut pg_sys::QueryEnvironment,
    destination: *mut pg_sys::DestReceiver,
    completion: *mut pg_sys::QueryCompletion,
) {
    let next = PREVIOUS_UTILITY.get().unwrap_or(standard_ProcessUtility);
    // SAFETY: these are PostgreSQL's arguments.
    with_reserve_across_errors(|| unsafe {
        next(statement, query_string, is_read_only_tree, context, parameters, environment, destination, completion);
    });
}
