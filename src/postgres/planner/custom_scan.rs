//! A custom scan node (PostgreSQL's `nodes/extensible.h`).
//!
//! A type that implements [`CustomScan`] is the state of a node while a query runs. [`Methods`] are the tables of
//! functions by which PostgreSQL calls it. A node is dropped with the query's memory. After an error, PostgreSQL has
//! already released its resources by then. So an implementation must release resources only in [`CustomScan::end`], not
//! in `drop`.

use std::ffi::CStr;
use std::marker::PhantomData;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::panic::pgrx_extern_c_guard;
use pgrx::pg_sys::{self, CustomExecMethods, CustomPathMethods, CustomScanMethods, CustomScanState};

use crate::ffi::executor::ExecScan;

/// PostgreSQL's counters of a node in EXPLAIN (ANALYZE).
#[cfg(not(feature = "pg19"))]
pub use pg_sys::Instrumentation as NodeInstrumentation;
#[cfg(feature = "pg19")]
pub use pg_sys::NodeInstrumentation;

pub trait CustomScan: Sized + 'static {
    /// The name of the node, as EXPLAIN shows it. It must be unique among all extensions.
    const NAME: &'static CStr;

    /// Begins a scan. It must not read any rows yet.
    ///
    /// # Safety
    /// The node is being initialised, and `plan` has made its plan.
    unsafe fn begin(node: &mut CustomScanState, is_explain_only: bool) -> Self;

    /// The next row, in the node's scan slot; at the end, an empty slot or null.
    ///
    /// # Safety
    /// The node is running.
    unsafe fn next(&mut self, node: &mut CustomScanState) -> *mut pg_sys::TupleTableSlot;

    /// Restarts the scan. Parameters may have changed.
    fn rescan(&mut self);

    /// Releases the resources of the scan.
    ///
    /// # Safety
    /// The node is running, and is no longer used.
    unsafe fn end(&mut self);

    /// Adds properties to the output of EXPLAIN.
    ///
    /// # Safety
    /// The node is initialised; the other arguments are those of `ExplainCustomScan`.
    unsafe fn explain(&self, node: &CustomScanState, ancestors: *mut pg_sys::List, output: *mut pg_sys::ExplainState);
}

#[repr(C)]
struct Node<T> {
    node: CustomScanState,
    /// Null until the scan has begun.
    scan: *mut T,
}

/// The indexes of the two lists in [`path_lists`].
const EXPRESSIONS: i32 = 0;
const PRIVATE: i32 = 1;

/// What a path stores for its plan: the expressions that the scan evaluates (`custom_exprs`), and a list of everything
/// else that it needs (`custom_private`). Both are valid lists of nodes that PostgreSQL can copy.
pub fn path_lists(expressions: *mut pg_sys::List, private: *mut pg_sys::List) -> *mut pg_sys::List {
    // SAFETY: the list is made here.
    unsafe { pg_sys::lappend(pg_sys::lappend(std::ptr::null_mut(), expressions.cast()), private.cast()) }
}

/// The tables of functions by which PostgreSQL calls a node.
pub struct Methods<T>(PhantomData<T>);

impl<T: CustomScan> Methods<T> {
    pub const PATH: &'static CustomPathMethods = &CustomPathMethods {
        CustomName: T::NAME.as_ptr(),
        PlanCustomPath: Some(plan::<T>),
        ReparameterizeCustomPathByChild: Some(reparameterize),
    };
    const SCAN: &'static CustomScanMethods =
        &CustomScanMethods { CustomName: T::NAME.as_ptr(), CreateCustomScanState: Some(create::<T>) };
    const EXEC: &'static CustomExecMethods = &CustomExecMethods {
        CustomName: T::NAME.as_ptr(),
        BeginCustomScan: Some(begin::<T>),
        ExecCustomScan: Some(execute::<T>),
        EndCustomScan: Some(end::<T>),
        ReScanCustomScan: Some(rescan::<T>),
        MarkPosCustomScan: None,
        RestrPosCustomScan: None,
        EstimateDSMCustomScan: None,
        InitializeDSMCustomScan: None,
        ReInitializeDSMCustomScan: None,
        InitializeWorkerCustomScan: None,
        ShutdownCustomScan: None,
        ExplainCustomScan: Some(explain::<T>),
    };

    /// Registers the methods, so that a parallel worker can read plans with this node.
    pub fn register() {
        // SAFETY: the table lives as long as the library, which is never unloaded.
        unsafe {
            if pg_sys::GetCustomScanMethods(T::NAME.as_ptr(), true).is_null() {
                pg_sys::RegisterCustomScanMethods(Self::SCAN);
            }
        }
    }
}

unsafe extern "C-unwind" fn plan<T: CustomScan>(
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
        pgrx_extern_c_guard(|| {
            let scan = pg_sys::palloc0(size_of::<pg_sys::CustomScan>()).cast::<pg_sys::CustomScan>();
            (*scan).scan.plan.type_ = pg_sys::NodeTag::T_CustomScan;
            (*scan).scan.plan.targetlist = targets;
            // The node checks all conditions, so that EvalPlanQual rechecks all of them.
            (*scan).scan.plan.qual = pg_sys::extract_actual_clauses(clauses, false);
            (*scan).scan.scanrelid = (*relation).relid;
            (*scan).flags = (*path).flags;
            (*scan).custom_exprs = pg_sys::list_nth((*path).custom_private, EXPRESSIONS).cast();
            (*scan).custom_private = pg_sys::list_nth((*path).custom_private, PRIVATE).cast();
            (*scan).methods = Methods::<T>::SCAN;
            scan.cast()
        })
    }
}

/// For a partitionwise join, replaces references to another table in a path's expressions by references to a partition
/// of that table.
unsafe extern "C-unwind" fn reparameterize(
    root: *mut pg_sys::PlannerInfo,
    private: *mut pg_sys::List,
    child: *mut pg_sys::RelOptInfo,
) -> *mut pg_sys::List {
    // SAFETY: the planner passes the lists of a path that was offered, and a partition of a table.
    unsafe {
        pgrx_extern_c_guard(|| {
            let expressions = pg_sys::list_nth(private, EXPRESSIONS).cast();
            #[cfg(feature = "pg15")]
            let (child, parent) = ((*child).relids, (*child).top_parent_relids);
            #[cfg(not(feature = "pg15"))]
            let parent = (*child).top_parent;
            let expressions = pg_sys::adjust_appendrel_attrs_multilevel(root, expressions, child, parent);
            path_lists(expressions.cast(), pg_sys::list_nth(private, PRIVATE).cast())
        })
    }
}

unsafe extern "C-unwind" fn create<T: CustomScan>(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node {
    // SAFETY: a node of all zeros, with its tag and its methods, is valid before it begins.
    unsafe {
        pgrx_extern_c_guard(|| {
            let node = pg_sys::palloc0(size_of::<Node<T>>()).cast::<Node<T>>();
            (*node).node.ss.ps.type_ = pg_sys::NodeTag::T_CustomScanState;
            (*node).node.methods = Methods::<T>::EXEC;
            node.cast()
        })
    }
}

unsafe extern "C-unwind" fn begin<T: CustomScan>(
    node: *mut CustomScanState,
    state: *mut pg_sys::EState,
    flags: std::ffi::c_int,
) {
    // SAFETY: `create` made the node. What the scan allocates lives in the query's memory, as the node does.
    unsafe {
        pgrx_extern_c_guard(|| {
            let is_explain_only = flags as u32 & pg_sys::EXEC_FLAG_EXPLAIN_ONLY != 0;
            let mut memory = PgMemoryContexts::For((*state).es_query_cxt);
            let scan = T::begin(&mut *node, is_explain_only);
            (*node.cast::<Node<T>>()).scan = memory.leak_and_drop_on_delete(scan);
        });
    }
}

// This function needs no guard: it has nothing to drop, so a PostgreSQL error may leave it by longjmp.
unsafe extern "C-unwind" fn execute<T: CustomScan>(node: *mut CustomScanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: the node has begun. Both functions accept it.
    unsafe { ExecScan(&mut (*node).ss, access::<T>, recheck) }
}

unsafe extern "C-unwind" fn access<T: CustomScan>(node: *mut pg_sys::ScanState) -> *mut pg_sys::TupleTableSlot {
    let node = node.cast::<Node<T>>();
    // SAFETY: `begin` made the scan. A node begins with its ScanState.
    unsafe { pgrx_extern_c_guard(|| (*(*node).scan).next(&mut (*node).node)) }
}

/// Always true: PostgreSQL checks all conditions of the scan itself, after this call.
unsafe extern "C-unwind" fn recheck(_node: *mut pg_sys::ScanState, _slot: *mut pg_sys::TupleTableSlot) -> bool {
    true
}

unsafe extern "C-unwind" fn rescan<T: CustomScan>(node: *mut CustomScanState) {
    // SAFETY: `begin` made the scan.
    unsafe {
        pgrx_extern_c_guard(|| {
            (*(*node.cast::<Node<T>>()).scan).rescan();
            pg_sys::ExecScanReScan(&mut (*node).ss);
        });
    }
}

unsafe extern "C-unwind" fn end<T: CustomScan>(node: *mut CustomScanState) {
    // SAFETY: `begin` made the scan, unless it failed.
    unsafe {
        pgrx_extern_c_guard(|| {
            if let Some(scan) = (*node.cast::<Node<T>>()).scan.as_mut() {
                scan.end();
            }
        });
    }
}

unsafe extern "C-unwind" fn explain<T: CustomScan>(
    node: *mut CustomScanState,
    ancestors: *mut pg_sys::List,
    output: *mut pg_sys::ExplainState,
) {
    // SAFETY: `begin` made the scan.
    unsafe { pgrx_extern_c_guard(|| (*(*node.cast::<Node<T>>()).scan).explain(&*node, ancestors, output)) }
}
