//! Compares pairs and clusters of random tables with their definitions in SQL; tests progress reports and a lack of
//! memory.

#[pgrx::pg_schema]
mod tests {
    use std::ffi::c_int;
    use std::time::{Duration, Instant};

    use pgrx::prelude::*;

    use crate::pg_test::random::Random;
    use crate::postgres::report::INTERVAL;
    use crate::sql::batch::progress::Reporter;
    use simhash::pairs::{Phase, Progress};

    /// Counts the pairs that only simhash_pairs finds or only the definition has.
    const PAIRS: &str = "
        WITH found AS (
            SELECT p.* FROM (SELECT array_agg(id ORDER BY place), array_agg(fp ORDER BY place) FROM docs) AS x (ids, fps),
                simhash_pairs(ids, fps, $1) AS p
        ), expected AS (
            SELECT a.id AS a, b.id AS b, hamming(a.fp, b.fp) AS distance
            FROM docs AS a JOIN docs AS b ON a.place < b.place AND hamming(a.fp, b.fp) <= $1
        )
        SELECT count(*) FROM ((TABLE found EXCEPT ALL TABLE expected) UNION ALL
            (TABLE expected EXCEPT ALL TABLE found)) AS differences";

    /// Counts the rows whose cluster is not the first row that can be reached from them.
    const CLUSTERS: &str = "
        WITH RECURSIVE found AS (
            SELECT place, tenant, fp, simhash_cluster(fp, $1) OVER w AS cluster, row_number() OVER w AS number FROM docs
            WINDOW w AS (PARTITION BY tenant ORDER BY place)
        ), reached AS (
            SELECT tenant, number AS start, number, fp FROM found WHERE fp IS NOT NULL
            UNION
            SELECT r.tenant, r.start, f.number, f.fp FROM reached AS r JOIN found AS f
                ON f.tenant = r.tenant AND hamming(f.fp, r.fp) <= $1
        )
        SELECT count(*) FROM found LEFT JOIN
            (SELECT tenant, start AS number, min(number) AS cluster FROM reached GROUP BY tenant, start) AS expected
            USING (tenant, number)
        WHERE found.cluster IS DISTINCT FROM expected.cluster";

    #[pg_test]
    fn random_pairs_and_clusters() {
        let mut random = Random(5);
        Spi::run("CREATE TABLE docs (place integer, id text, tenant integer, fp bigint)").expect("a table");
        for _ in 0..60 {
            let (rows, kinds, bits) = (random.below(80), 1 + random.below(20), random.below(7));
            let tenants = 1 + random.below(4);
            let common: Vec<u64> = (0..kinds).map(|_| random.next()).collect();
            let fingerprints: Vec<Option<i64>> = (0..rows)
                .map(|_| {
                    let flipped = (0..bits).fold(0, |flipped, _| flipped | 1u64 << random.below(64));
                    (random.below(10) > 0).then(|| (*random.one_of(&common) ^ flipped).cast_signed())
                })
                .collect();
            let tenants: Vec<i32> = (0..rows).map(|_| random.below(tenants) as i32).collect();
            let distance = *random.one_of(&[0, 1, 2, 3, 4, 6, 8, 12, 16, 17, 30, 64]);
            Spi::run("TRUNCATE docs").expect("an empty table");
            Spi::run_with_args(
                "INSERT INTO docs SELECT n, 'id ' || n % 50, tenant, fp
                 FROM unnest($1, $2) WITH ORDINALITY AS docs (fp, tenant, n)",
                &[fingerprints.clone().into(), tenants.clone().into()],
            )
            .expect("rows");
            for query in [PAIRS, CLUSTERS] {
                let wrong = Spi::get_one_with_args::<i64>(query, &[distance.into()]);
                assert_eq!(wrong, Ok(Some(0)), "{query}, {distance}: {fingerprints:?} {tenants:?}");
            }
        }
    }

    #[pg_test]
    fn progress_is_reported_every_few_seconds_if_wanted() {
        let start = Instant::now();
        let progress = Progress { phase: Phase::Near, share: 0.426 };
        let reporter = Reporter::new("simhash_pairs", 900, true);
        assert_eq!(reporter.report(progress, start), None);
        let later = Instant::now() + INTERVAL;
        let report = Some("simhash_pairs: comparing fingerprints of 900 rows, 43 %".to_owned());
        assert_eq!(reporter.report(progress, later), report);
        assert_eq!(reporter.report(progress, later + INTERVAL - Duration::from_millis(1)), None);
        // The reporter of the next partition continues the reports of the same statement.
        let another = Reporter::new("simhash_pairs", 900, true);
        assert_eq!(another.report(progress, later + INTERVAL), report);
        assert_eq!(Reporter::new("simhash_pairs", 900, false).report(progress, later + 2 * INTERVAL), None);
        assert_eq!(another.report(progress, later + 2 * INTERVAL), report);
    }

    #[cfg(target_os = "linux")]
    fn create_sqlstate_of() {
        Spi::run(
            "CREATE FUNCTION sqlstate_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
             BEGIN
                 EXECUTE statement;
                 RETURN NULL;
             EXCEPTION WHEN OTHERS THEN
                 RETURN SQLSTATE;
             END $$",
        )
        .expect("a function");
    }

    /// Runs a statement while this process may have only `kilobytes` more memory than it has now. Returns the SQLSTATE
    /// of its error, if any.
    #[cfg(target_os = "linux")]
    fn with_kilobytes(kilobytes: u64, statement: &str) -> Option<String> {
        // Declared in malloc.h and sys/resource.h.
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> c_int;
            fn setrlimit(resource: c_int, limits: *const [u64; 2]) -> c_int;
        }
        const RLIMIT_AS: c_int = 9;
        const UNLIMITED: u64 = u64::MAX;
        // SAFETY: setrlimit reads a struct of two 64-bit numbers, which lives during the call. The second number, the
        // hard limit, stays unlimited, so that the first can be raised again.
        let limit = |bytes| assert_eq!(unsafe { setrlimit(RLIMIT_AS, &[bytes, UNLIMITED]) }, 0);
        // SAFETY: malloc_trim has no preconditions. It returns free memory to the system, so that later allocations ask
        // for it again.
        unsafe { malloc_trim(0) };
        let pages = std::fs::read_to_string("/proc/self/statm").expect("sizes");
        let pages: u64 = pages.split(' ').next().and_then(|size| size.parse().ok()).expect("a size");
        limit(pages * 4096 + (kilobytes << 10));
        let code = Spi::get_one_with_args::<String>("SELECT sqlstate_of($1)", &[statement.into()]);
        limit(UNLIMITED);
        code.expect("a result")
    }

    #[pg_test]
    #[cfg(target_os = "linux")]
    fn a_lack_of_memory_is_an_ordinary_error() {
        create_sqlstate_of();
        Spi::run(
            "CREATE TABLE arrays AS SELECT rows, array_agg(n) AS ids, array_agg(hashint8extended(n, 0)) AS fps
             FROM unnest(ARRAY[30000, 300000]) AS rows, generate_series(1, rows) AS n GROUP BY rows",
        )
        .expect("arrays");
        // The steps are smaller than the allocations, so that each allocation is refused in turn.
        for (rows, distance, steps) in [
            (30_000, 3, (0..2000).step_by(60)),
            (30_000, 16, (0..6000).step_by(60)),
            (300_000, 3, (1000..20_000).step_by(2000)),
        ] {
            for statement in [
                format!("SELECT count(*) FROM arrays, simhash_pairs(ids, fps, {distance}) WHERE rows = {rows}"),
                format!(
                    "SELECT max(cluster) FROM (SELECT simhash_cluster(fp, {distance}) OVER () AS cluster
                     FROM arrays, unnest(fps) AS fp WHERE rows = {rows}) AS x"
                ),
            ] {
                let codes: Vec<_> = steps.clone().map(|kilobytes| with_kilobytes(kilobytes, &statement)).collect();
                assert!(codes.iter().flatten().all(|code| code == "53200"), "{statement}: {codes:?}");
                assert!(codes.iter().flatten().count() > 0, "{statement}: {codes:?}");
                assert_eq!(with_kilobytes(300 << 10, &statement), None, "{statement}");
            }
        }
    }

    /// The probes take a few MB, and PostgreSQL's array of them takes more.
    #[pg_test]
    #[cfg(target_os = "linux")]
    fn a_lack_of_memory_for_probes_is_an_ordinary_error() {
        create_sqlstate_of();
        let statement = "SELECT count(simhash_probes(n, 0, 3, 25)) FROM generate_series(1, 3) AS n";
        let codes: Vec<_> = (1..20).map(|megabytes| with_kilobytes(megabytes << 10, statement)).collect();
        assert!(codes.iter().flatten().all(|code| code == "53200"), "{codes:?}");
        assert!(codes.iter().flatten().count() >= 3, "{codes:?}");
        assert_eq!(with_kilobytes(300 << 10, statement), None);
    }
}
