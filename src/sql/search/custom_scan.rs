//! The scan as a custom scan node (PostgreSQL's `nodes/extensible.h`): the tables of functions by which PostgreSQL
//! calls a [`NearScan`].
//!
//! A node is dropped with the query's memory. After an error, PostgreSQL has already released its resources by then. So
//! the scan must release resources only in [`NearScan::end`], not in `drop`.

use std::ffi::{CStr, c_int};

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, CustomExecMethods, CustomPathMethods, CustomScanMethods, CustomScanState};
use pgrx::prelude::*;
use postgres::ffi::ExecScan;

use super::explain::explain;
use super::scan::NearScan;

#[repr(C)]
struct Node {
    node: CustomScanState,
    /// Null until the scan has begun.
    scan: *mut NearScan,
}

/// The positions of the two lists in the result of [`path_lists`].
const EXPRESSIONS: i32 = 0;
const PRIVATE: i32 = 1;

/// The data that a path stores for its plan: the expressions that the scan evaluates (`custom_exprs`), and a list of
/// everything else that the scan needs (`custom_private`). Both are valid lists of nodes that PostgreSQL can copy.
pub fn path_lists(expressions: *mut pg_sys::List, private: *mut pg_sys::List) -> *mut pg_sys::List {
    // SAFETY: the list is made here.
    unsafe { pg_sys::lappend(pg_sys::lappend(std::ptr::null_mut(), expressions.cast()), private.cast()) }
}

/// The name of the node, as EXPLAIN shows it. It must be unique among all extensions.
const NAME: &CStr = c"SimhashScan";

pub const PATH_METHODS: &CustomPathMethods = &CustomPathMethods {
    CustomName: NAME.as_ptr(),
    PlanCustomPath: Some(plan),
    ReparameterizeCustomPathByChild: Some(reparameterize),
};
const SCAN_METHODS: &CustomScanMethods =
    &CustomScanMethods { CustomName: NAME.as_ptr(), CreateCustomScanState: Some(create) };
const EXEC_METHODS: &CustomExecMethods = &CustomExecMethods {
    CustomName: NAME.as_ptr(),
    BeginCustomScan: Some(begin),
    ExecCustomScan: Some(execute),
    EndCustomScan: Some(end),
    ReScanCustomScan: Some(rescan),
    ExplainCustomScan: Some(explain_scan),
    // SAFETY: the other functions are null, which means that the scan does not have them.
    ..unsafe { std::mem::zeroed() }
};

/// Registers the methods, so that a parallel worker can read plans with this node.
pub fn register() {
    // SAFETY: the table lives as long as the library, which is never unloaded.
    unsafe {
        if pg_sys::GetCustomScanMethods(NAME.as_ptr(), true).is_null() {
            pg_sys::RegisterCustomScanMethods(SCAN_METHODS);
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn plan(
    _root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    path: *mut pg_sys::CustomPath,
    targets: *mut pg_sys::List,
    clauses: *mut pg_sys::List,
    _plans: *mut pg_sys::List,
) -> *mut pg_sys::Plan {
    // SAFETY: the planner passes the path that was offered, its relation and its conditions. The new node is all zeros,
    // which is valid in each of its fields, with the tag of its type.
    unsafe {
        let scan = PgBox::<pg_sys::CustomScan>::alloc_node(pg_sys::NodeTag::T_CustomScan).into_pg();
        (*scan).scan.plan.targetlist = targets;
        // The node checks all conditions, so that EvalPlanQual rechecks all of them.
        (*scan).scan.plan.qual = pg_sys::extract_actual_clauses(clauses, false);
        (*scan).scan.scanrelid = (*relation).relid;
        (*scan).flags = (*path).flags;
        (*scan).custom_exprs = pg_sys::list_nth((*path).custom_private, EXPRESSIONS).cast();
        (*scan).custom_private = pg_sys::list_nth((*path).custom_private, PRIVATE).cast();
        (*scan).methods = SCAN_METHODS;
        scan.cast()
    }
}

/// For a partitionwise join, replaces references to another table in a path's expressions by references to a partition
/// of that table.
#[pg_guard]
unsafe extern "C-unwind" fn reparameterize(
    root: *mut pg_sys::PlannerInfo,
    private: *mut pg_sys::List,
    child: *mut pg_sys::RelOptInfo,
) -> *mut pg_sys::List {
    // SAFETY: the planner passes the lists of a path that was offered, and a partition of a table.
    unsafe {
        let expressions = pg_sys::list_nth(private, EXPRESSIONS).cast();
        #[cfg(feature = "pg15")]
        let (child, parent) = ((*child).relids, (*child).top_parent_relids);
        #[cfg(not(feature = "pg15"))]
        let parent = (*child).top_parent;
        let expressions = pg_sys::adjust_appendrel_attrs_multilevel(root, expressions, child, parent);
        path_lists(expressions.cast(), pg_sys::list_nth(private, PRIVATE).cast())
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn create(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node {
    // SAFETY: a node of all zeros, with its tag and its methods, is valid before it begins.
    unsafe {
        let node = pg_sys::palloc0(size_of::<Node>()).cast::<Node>();
        (*node).node.ss.ps.type_ = pg_sys::NodeTag::T_CustomScanState;
        (*node).node.methods = EXEC_METHODS;
        node.cast()
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn begin(node: *mut CustomScanState, state: *mut pg_sys::EState, flags: c_int) {
    // SAFETY: `create` made the node. What the scan allocates lives in the query's memory, as the node does.
    unsafe {
        let is_explain_only = flags as u32 & pg_sys::EXEC_FLAG_EXPLAIN_ONLY != 0;
        let mut memory = PgMemoryContexts::For((*state).es_query_cxt);
        let scan = NearScan::begin(&mut *node, is_explain_only);
        (*node.cast::<Node>()).scan = memory.leak_and_drop_on_delete(scan);
    }
}

// This function needs no guard: it has nothing to drop, so a PostgreSQL error may leave it by longjmp.
unsafe extern "C-unwind" fn execute(node: *mut CustomScanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: the node has begun. Both functions accept it.
    unsafe { ExecScan(&mut (*node).ss, Some(access), Some(recheck)) }
}

#[pg_guard]
unsafe extern "C-unwind" fn access(node: *mut pg_sys::ScanState) -> *mut pg_sys::TupleTableSlot {
    let node = node.cast::<Node>();
    // SAFETY: `begin` made the scan. A node begins with its ScanState. Its counters are valid, or null.
    unsafe { (*(*node).scan).next((*node).node.ss.ps.instrument.as_mut()) }
}

/// Always true: PostgreSQL checks all conditions of the scan itself, after this call.
unsafe extern "C-unwind" fn recheck(_node: *mut pg_sys::ScanState, _slot: *mut pg_sys::TupleTableSlot) -> bool {
    true
}

#[pg_guard]
unsafe extern "C-unwind" fn rescan(node: *mut CustomScanState) {
    // SAFETY: `begin` made the scan.
    unsafe {
        (*(*node.cast::<Node>()).scan).rescan();
        pg_sys::ExecScanReScan(&mut (*node).ss);
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn end(node: *mut CustomScanState) {
    // SAFETY: `begin` made the scan, unless it failed.
    if let Some(scan) = unsafe { (*node.cast::<Node>()).scan.as_mut() } {
        scan.end();
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn explain_scan(
    node: *mut CustomScanState,
    ancestors: *mut pg_sys::List,
    output: *mut pg_sys::ExplainState,
) {
    // SAFETY: `begin` made the scan.
    unsafe { explain(&*(*node.cast::<Node>()).scan, &*node, ancestors, output) }
}
