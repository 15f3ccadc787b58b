//! Functions on many rows that lack memory: they fail with an error, and the server keeps running.

#[cfg(target_os = "linux")]
mod tests {
    use std::ffi::c_int;

    use pgrx::prelude::*;

    /// Runs a statement while this process may have only `kilobytes` more memory than it has now. Returns the SQLSTATE
    /// of its error, if any.
    fn sqlstate_with_kilobytes(kilobytes: u64, statement: &str) -> Option<String> {
        // Declared in malloc.h and sys/resource.h.
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> c_int;
            fn setrlimit(resource: c_int, limits: *const [u64; 2]) -> c_int;
        }
        const RLIMIT_AS: c_int = 9;
        const UNLIMITED: u64 = u64::MAX;
        const PAGE_BYTES: u64 = 4096;
        // SAFETY: setrlimit reads a struct of two 64-bit numbers, which lives during the call. The second number, the
        // hard limit, stays unlimited, so that the first can be raised again.
        let set_limit = |bytes| assert_eq!(unsafe { setrlimit(RLIMIT_AS, &[bytes, UNLIMITED]) }, 0);
        // SAFETY: malloc_trim has no preconditions. It returns free memory to the system, so that later allocations ask
        // for it again.
        unsafe { malloc_trim(0) };
        let sizes = std::fs::read_to_string("/proc/self/statm").expect("sizes");
        let pages: u64 = sizes.split(' ').next().and_then(|size| size.parse().ok()).expect("a size");
        set_limit(pages * PAGE_BYTES + (kilobytes << 10));
        let code = Spi::get_one_with_args::<String>("SELECT sqlstate_of($1)", &[statement.into()]);
        set_limit(UNLIMITED);
        code.expect("a result")
    }

    /// Runs a statement with each of these amounts of memory, and then with ample memory. It must fail at least
    /// `min_failures` times, each time with the error for a lack of memory.
    fn check_lack_of_memory(statement: &str, kilobytes: impl Iterator<Item = u64>, min_failures: usize) {
        Spi::run(
            "CREATE OR REPLACE FUNCTION sqlstate_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
             BEGIN
                 EXECUTE statement;
                 RETURN NULL;
             EXCEPTION WHEN OTHERS THEN
                 RETURN SQLSTATE;
             END $$",
        )
        .expect("a function");
        let codes: Vec<_> = kilobytes.map(|kilobytes| sqlstate_with_kilobytes(kilobytes, statement)).collect();
        assert!(codes.iter().flatten().all(|code| code == "53200"), "{statement}: {codes:?}");
        assert!(codes.iter().flatten().count() >= min_failures, "{statement}: {codes:?}");
        assert_eq!(sqlstate_with_kilobytes(300 << 10, statement), None, "{statement}");
    }

    #[pg_extern(sql = false)]
    fn pairs_out_of_memory() {
        Spi::run(
            "CREATE TABLE arrays AS SELECT rows, array_agg(n) AS ids, array_agg(hashint8extended(n, 0)) AS fingerprints
             FROM unnest(ARRAY[30000, 300000]) AS rows, generate_series(1, rows) AS n GROUP BY rows",
        )
        .expect("arrays");
        // The steps are smaller than the allocations, so that each allocation is refused in turn.
        for (rows, distance, steps) in [
            (30_000, 3, (0..2000).step_by(60)),
            (30_000, 16, (0..6000).step_by(60)),
            (300_000, 3, (1000..20_000).step_by(2000)),
        ] {
            let pairs = format!(
                "SELECT count(*) FROM arrays, simhash_pairs(ids, fingerprints, {distance}) WHERE rows = {rows}"
            );
            check_lack_of_memory(&pairs, steps.clone(), 1);
            let clusters = format!(
                "SELECT max(cluster)
                 FROM (SELECT simhash_cluster(fingerprint, fingerprint, {distance}) OVER () AS cluster
                       FROM arrays, unnest(fingerprints) AS fingerprint WHERE rows = {rows}) AS clusters"
            );
            check_lack_of_memory(&clusters, steps, 1);
        }
    }

    #[pg_extern(sql = false)]
    fn components_out_of_memory() {
        Spi::run(
            "CREATE TABLE arrays AS SELECT array_agg(hashint8extended(n, 0)) AS numbers, array_agg(md5(n::text)) AS texts
             FROM generate_series(1, 30000) AS n",
        )
        .expect("arrays");
        for ids in ["numbers", "texts"] {
            let statement = format!("SELECT count(*) FROM arrays, simhash_components({ids}, {ids})");
            check_lack_of_memory(&statement, (0..3000).step_by(60), 4);
        }
    }

    /// A row is near the rows with an equal text, and resembles no others enough.
    #[pg_extern(sql = false)]
    fn features_out_of_memory() {
        for function in ["simhash_cluster", "simhash_duplicate_of"] {
            let call = format!("{function}(n, 'text ' || n % 700, '{{\"resemblance\": 1}}')");
            let statement = format!(
                "SELECT max(key) FROM (SELECT {call} OVER () AS key FROM generate_series(1, 40000) AS n) AS keys"
            );
            // `sqlstate_of` needs some memory itself, before it can catch an error.
            check_lack_of_memory(&statement, (200..8200).step_by(400), 2);
        }
    }
}
