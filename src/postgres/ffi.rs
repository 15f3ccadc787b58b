//! Declares PostgreSQL functions that pgrx does not bind, or binds by functions of its own. In [`guarded`], as in
//! pgrx's bindings, a PostgreSQL error becomes a panic, and an error again where PostgreSQL's call into this library
//! ends.

use std::ffi::{c_char, c_int};

/// PostgreSQL's counters of a node in EXPLAIN (ANALYZE).
#[cfg(not(feature = "pg19"))]
pub use pgrx::pg_sys::Instrumentation as NodeInstrumentation;
#[cfg(feature = "pg19")]
pub use pgrx::pg_sys::NodeInstrumentation;
pub use pgrx::pg_sys::ffi::pg_guard_ffi_boundary as guarded;
use pgrx::pg_sys::{self, Datum};

unsafe extern "C-unwind" {
    // utils/elog.h. It sets a field of the current error, and raises no error.
    pub fn errcontext_msg(format: *const c_char, ...) -> c_int;
    // utils/partcache.h. It raises errors, so call it only in [`guarded`].
    pub fn RelationGetPartitionQual(table: pg_sys::Relation) -> *mut pg_sys::List;
    // Comparators in utils/sortsupport.h. pgrx's bindings of them are other functions, with other addresses.
    pub fn ssup_datum_unsigned_cmp(a: Datum, b: Datum, support: pg_sys::SortSupport) -> c_int;
    pub fn ssup_datum_signed_cmp(a: Datum, b: Datum, support: pg_sys::SortSupport) -> c_int;
    pub fn ssup_datum_int32_cmp(a: Datum, b: Datum, support: pg_sys::SortSupport) -> c_int;
}

// These functions are called for every entry, row or statement. To save time, the caller crosses the guarded boundary
// once for many calls, or not at all if none of its frames has anything to drop.
unsafe extern "C-unwind" {
    // access/genam.h
    pub fn index_getnext_tid(
        scan: pg_sys::IndexScanDesc,
        direction: pg_sys::ScanDirection::Type,
    ) -> pg_sys::ItemPointer;
    // executor/executor.h
    pub fn ExecScan(
        node: *mut pg_sys::ScanState,
        access: pg_sys::ExecScanAccessMtd,
        recheck: pg_sys::ExecScanRecheckMtd,
    ) -> *mut pg_sys::TupleTableSlot;
    pub fn standard_ExecutorRun(
        query: *mut pg_sys::QueryDesc,
        direction: pg_sys::ScanDirection::Type,
        count: u64,
        #[cfg(not(any(feature = "pg18", feature = "pg19")))] execute_once: bool,
    );
    // optimizer/planner.h
    pub fn standard_planner(
        parse: *mut pg_sys::Query,
        query_string: *const c_char,
        cursor_options: c_int,
        parameters: pg_sys::ParamListInfo,
        #[cfg(feature = "pg19")] explain: *mut pg_sys::ExplainState,
    ) -> *mut pg_sys::PlannedStmt;
    // tcop/utility.h
    pub fn standard_ProcessUtility(
        statement: *mut pg_sys::PlannedStmt,
        query_string: *const c_char,
        is_read_only_tree: bool,
        context: pg_sys::ProcessUtilityContext::Type,
        parameters: pg_sys::ParamListInfo,
        environment: *mut pg_sys::QueryEnvironment,
        destination: *mut pg_sys::DestReceiver,
        completion: *mut pg_sys::QueryCompletion,
    );
}

/// The descriptor's entry for the column with this attnum; None if the column does not exist.
///
/// # Safety
/// The descriptor is valid, and lives as long as the result.
pub unsafe fn attribute<'a>(descriptor: pg_sys::TupleDesc, attnum: i16) -> Option<&'a pg_sys::FormData_pg_attribute> {
    let index = usize::try_from(attnum).ok()?.checked_sub(1)?;
    // SAFETY: the index is below the `natts` of a valid descriptor. Before PostgreSQL 18, TupleDescAttr is a macro.
    unsafe {
        let columns = &*descriptor;
        let count = columns.natts as usize;
        #[cfg(not(any(feature = "pg18", feature = "pg19")))]
        return columns.attrs.as_slice(count).get(index);
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        return (index < count).then(|| &*pg_sys::TupleDescAttr(descriptor, index as i32));
    }
}

/// PostgreSQL's interface for window functions (`windowapi.h`). Call these functions only in [`guarded`].
pub mod windowapi {
    use super::*;

    /// `WindowObject`, which is opaque.
    pub type WindowObject = *mut pg_sys::Node;

    /// WINDOW_SEEK_HEAD: a position counts from the first row of the partition.
    pub const FROM_HEAD: c_int = 1;

    unsafe extern "C-unwind" {
        pub fn WinGetPartitionLocalMemory(window: WindowObject, size: usize) -> *mut std::ffi::c_void;
        pub fn WinGetCurrentPosition(window: WindowObject) -> i64;
        pub fn WinGetPartitionRowCount(window: WindowObject) -> i64;
        pub fn WinGetFuncArgInPartition(
            window: WindowObject,
            argument: c_int,
            position: c_int,
            seek_type: c_int,
            set_mark: bool,
            is_null: *mut bool,
            is_out: *mut bool,
        ) -> Datum;
        pub fn WinGetFuncArgCurrent(window: WindowObject, argument: c_int, is_null: *mut bool) -> Datum;
        #[cfg(feature = "pg19")]
        pub fn WinCheckAndInitializeNullTreatment(
            window: WindowObject,
            is_allowed: bool,
            call: pg_sys::FunctionCallInfo,
        );
    }
}
