//! Guards refuse tables that are not stored as heaps.

mod tests {
    use pgrx::datum::Internal;
    use pgrx::prelude::*;

    /// The handler of an access method that works as the heap does, but is another one.
    #[pg_extern(sql = false)]
    fn other_heap(_fcinfo: pg_sys::FunctionCallInfo) -> Internal {
        // SAFETY: GetHeapamTableAmRoutine returns a static struct, which is copied. The copy is leaked, so that it
        // lives as long as the backend that uses it.
        let copy: &mut pg_sys::TableAmRoutine = Box::leak(Box::new(unsafe { *pg_sys::GetHeapamTableAmRoutine() }));
        copy.index_build_range_scan = Some(no_rows);
        Internal::from(Some(pg_sys::Datum::from(&raw mut *copy)))
    }

    /// Replaces the heap's index build, which insists on the heap's access method. Here, tables are empty when they get
    /// an index.
    #[pg_guard]
    #[allow(clippy::too_many_arguments)] // The arguments of PostgreSQL's function.
    unsafe extern "C-unwind" fn no_rows(
        _table: pg_sys::Relation,
        _index: pg_sys::Relation,
        _info: *mut pg_sys::IndexInfo,
        _allow_sync: bool,
        _any_visible: bool,
        _progress: bool,
        _start: pg_sys::BlockNumber,
        _blocks: pg_sys::BlockNumber,
        _callback: pg_sys::IndexBuildCallback,
        _state: *mut std::ffi::c_void,
        _scan: pg_sys::TableScanDesc,
    ) -> f64 {
        0.0
    }

    #[pg_extern(sql = false)]
    fn guard_refuses_access_method() -> spi::Result<()> {
        Spi::run(
            "CREATE FUNCTION other_heap(internal) RETURNS table_am_handler LANGUAGE c
                 AS '$libdir/pg_simhash', 'other_heap_wrapper';
             CREATE ACCESS METHOD other_heap TYPE TABLE HANDLER other_heap;
             CREATE TABLE other (id integer PRIMARY KEY, f bigint) USING other_heap;
             SELECT simhash_attach('other', 'f');
             INSERT INTO other VALUES (1, 0), (2, 1);
             DO $$
             BEGIN
                 PERFORM simhash_guard('other', fingerprint => 'f');
                 RAISE 'the guard accepts the table';
             EXCEPTION WHEN feature_not_supported THEN
                 ASSERT SQLERRM = 'table \"other\" is not stored as a heap', SQLERRM;
             END $$",
        )
    }
}
