//! Guards refuse tables that are not stored as heaps.

mod tests {
    use pgrx::datum::Internal;
    use pgrx::prelude::*;

    /// The handler of an access method that works as the heap does, but whose routines have another address.
    #[pg_extern(sql = false)]
    fn other_heap(_fcinfo: pg_sys::FunctionCallInfo) -> Internal {
        // SAFETY: GetHeapamTableAmRoutine returns a static struct, which is copied. The copy is leaked, so that it
        // lives as long as the backend that uses it.
        let copy = Box::leak(Box::new(unsafe { *pg_sys::GetHeapamTableAmRoutine() }));
        Internal::from(Some(pg_sys::Datum::from(&raw mut *copy)))
    }

    #[pg_extern(sql = false)]
    fn guard_refuses_access_method() -> spi::Result<()> {
        Spi::run(
            "CREATE FUNCTION other_heap(internal) RETURNS table_am_handler LANGUAGE c
                 AS '$libdir/pg_simhash', 'other_heap_wrapper';
             CREATE ACCESS METHOD other_heap TYPE TABLE HANDLER other_heap;
             CREATE TABLE docs (id integer PRIMARY KEY, fingerprint bigint);
             SELECT simhash_attach('docs', 'fingerprint');
             -- Not by CREATE TABLE: the heap's index build insists on its own access method.
             UPDATE pg_class SET relam = pg_am.oid FROM pg_am WHERE relname = 'docs' AND amname = 'other_heap';
             DO $$
             BEGIN
                 PERFORM simhash_guard('docs', source => 'fingerprint');
                 RAISE 'the guard accepts the table';
             EXCEPTION WHEN feature_not_supported THEN
                 ASSERT SQLERRM = 'table \"docs\" is not stored as a heap', SQLERRM;
             END $$",
        )
    }
}
