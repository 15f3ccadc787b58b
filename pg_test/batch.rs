//! Compares pairs and clusters of random tables with their definitions in SQL; tests progress reports and a lack of
//! memory.

mod tests {
    use std::ffi::c_int;
    use std::time::{Duration, Instant};

    use pgrx::prelude::*;
    use simhash::pairs::{Phase, Progress};
    use simhash::random::Random;

    use crate::sql::batch::progress::{REPORT_INTERVAL, Reporter};

    /// Counts the pairs that only simhash_pairs finds or only the definition has.
    const PAIRS: &str = "
        WITH found AS (
            SELECT p.* FROM (SELECT array_agg(id ORDER BY position), array_agg(fp ORDER BY position) FROM docs) AS x (ids, fps),
                simhash_pairs(ids, fps, $1) AS p
        ), expected AS (
            SELECT a.id AS a, b.id AS b, hamming(a.fp, b.fp) AS distance
            FROM docs AS a JOIN docs AS b ON a.position < b.position AND hamming(a.fp, b.fp) <= $1
        )
        SELECT count(*) FROM ((TABLE found EXCEPT ALL TABLE expected) UNION ALL
            (TABLE expected EXCEPT ALL TABLE found)) AS differences";

    /// Counts the rows whose cluster is not the first row that can be reached from them.
    const CLUSTERS: &str = "
        WITH RECURSIVE found AS (
            SELECT position, tenant, fp, simhash_cluster(number, fp, $1) OVER w AS cluster, number
            FROM (SELECT *, row_number() OVER (PARTITION BY tenant ORDER BY position) AS number FROM docs) AS docs
            WINDOW w AS (PARTITION BY tenant ORDER BY position)
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

    #[pg_extern(sql = false)]
    fn random_pairs_and_clusters() {
        let mut random = Random(5);
        Spi::run("CREATE TABLE docs (position integer, id text, tenant integer, fp bigint)").expect("a table");
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

    /// Counts the rows whose cluster is not the first row that near-duplicates lead to, by the criterion $1.
    const CLUSTERS_OF_TEXTS: &str = "
        WITH RECURSIVE found AS (
            SELECT *, simhash_cluster(number, body, $1::jsonb) OVER (PARTITION BY tenant ORDER BY number) AS cluster
            FROM texts
        ), edges AS (
            SELECT a.tenant, a.number AS a, b.number AS b
            FROM texts AS a JOIN texts AS b ON a.tenant = b.tenant AND simhash_near(a.body, b.body, $1::jsonb)
        ), reached AS (
            SELECT tenant, number AS start, number FROM texts WHERE simhash(body) IS NOT NULL
            UNION
            SELECT tenant, start, b FROM reached JOIN edges USING (tenant) WHERE a = number
        )
        SELECT count(*) FROM found LEFT JOIN
            (SELECT tenant, start AS number, min(number) AS cluster FROM reached GROUP BY tenant, start) AS expected
            USING (tenant, number)
        WHERE found.cluster IS DISTINCT FROM expected.cluster";

    /// Inserts row by row, as a guard does, and counts the rows for which `simhash_duplicate_of` returns something
    /// else.
    const ROW_BY_ROW: &str = "
        CREATE FUNCTION row_by_row(criterion jsonb, options jsonb) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
            this record;
            earlier bigint;
            wrong bigint = 0;
        BEGIN
            CREATE TEMP TABLE kept (tenant integer, number bigint, body text) ON COMMIT DROP;
            FOR this IN SELECT *, simhash_duplicate_of(number, body, criterion)
                    OVER (PARTITION BY tenant ORDER BY number) AS duplicate_of FROM texts
            LOOP
                SELECT number INTO earlier FROM kept
                WHERE tenant = this.tenant AND simhash_near(body, this.body, criterion)
                ORDER BY simhash(body, options) <~> simhash(this.body, options), number LIMIT 1;
                IF earlier IS NULL THEN
                    INSERT INTO kept VALUES (this.tenant, this.number, this.body);
                END IF;
                wrong = wrong + (this.duplicate_of IS DISTINCT FROM earlier)::integer;
            END LOOP;
            DROP TABLE kept;
            RETURN wrong;
        END $$";

    #[pg_extern(sql = false)]
    fn random_clusters_of_texts() {
        let mut random = Random(11);
        Spi::run("CREATE TABLE texts (tenant integer, number bigint, body text)").expect("a table");
        Spi::run(ROW_BY_ROW).expect("a function");
        let (mut clustered, mut duplicates) = (0, 0);
        for _ in 0..40 {
            let (rows, tenants) = (random.below(60), 1 + random.below(3));
            let mut bodies: Vec<Option<String>> = Vec::new();
            for _ in 0..rows {
                // A template with some words replaced.
                let template = random.below(2);
                let words = (0..30).map(|word| match random.below(60) {
                    0 => "other".to_owned(),
                    1 => "more more".to_owned(),
                    2 => format!("w{}", random.next()),
                    _ => format!("t{template}w{word}"),
                });
                let words: Vec<String> = words.collect();
                bodies.push(match random.below(12) {
                    0 => None,
                    1 => Some("?!".to_owned()),
                    _ => Some(words.join(" ")),
                });
            }
            let tenants: Vec<i32> = (0..rows).map(|_| random.below(tenants) as i32).collect();
            let distance = *random.one_of(&[0, 3, 6, 8, 12, 20, 64]);
            let least = *random.one_of(&["null", "0", "0.6", "0.7", "0.8", "0.9", "1"]);
            let radii = *random.one_of(&["[]", "[0, 0, 0, 0]", "[1, 1, 1, 1]", "[2, -1, 0]"]);
            let options = *random.one_of(&[
                "{}",
                r#"{"weight": "tf"}"#,
                r#"{"weight": "log", "ngram": 2}"#,
                r#"{"top": 20, "tokens": "chars"}"#,
            ]);
            // All pairs are compared that are near by the radii.
            let criterion = format!(
                r#"{{"max_distance": {distance}, "resemblance": {least}, "radii": {radii}, "flips": [], {}"#,
                &options[1..]
            );
            let criterion = criterion.replace(", }", "}");
            Spi::run("TRUNCATE texts").expect("an empty table");
            Spi::run_with_args(
                "INSERT INTO texts SELECT tenant, row_number() OVER (PARTITION BY tenant ORDER BY n), body
                 FROM unnest($1, $2) WITH ORDINALITY AS docs (tenant, body, n)",
                &[tenants.into(), bodies.into()],
            )
            .expect("rows");
            let wrong = Spi::get_one_with_args::<i64>(CLUSTERS_OF_TEXTS, &[criterion.as_str().into()]);
            assert_eq!(wrong, Ok(Some(0)), "{criterion}");
            let arguments = [criterion.as_str().into(), options.into()];
            let wrong = Spi::get_one_with_args::<i64>("SELECT row_by_row($1::jsonb, $2::jsonb)", &arguments);
            assert_eq!(wrong, Ok(Some(0)), "{criterion}");
            let found = Spi::get_two_with_args::<i64, i64>(
                "SELECT count(*) FILTER (WHERE cluster < number), count(duplicate_of)
                 FROM (SELECT number, simhash_cluster(number, body, $1::jsonb) OVER w AS cluster,
                           simhash_duplicate_of(number, body, $1::jsonb) OVER w AS duplicate_of
                       FROM texts WINDOW w AS (PARTITION BY tenant ORDER BY number)) AS found",
                &[criterion.as_str().into()],
            );
            let (joined, dropped) = found.expect("counts");
            clustered += joined.unwrap_or_default();
            duplicates += dropped.unwrap_or_default();
        }
        // Each duplicate is also in a cluster with an earlier row. Rows that are connected only by dropped rows are in
        // a cluster, but are no duplicates.
        assert!(duplicates > 100 && clustered > duplicates, "{clustered} {duplicates}");
    }

    #[pg_extern(sql = false)]
    fn reports_progress_on_request() {
        let start = Instant::now();
        let progress = Progress { phase: Phase::Near, share: 0.426 };
        let reporter = Reporter::new("simhash_pairs", 900, true);
        assert_eq!(reporter.report(progress, start), None);
        let later = Instant::now() + REPORT_INTERVAL;
        let report = Some("simhash_pairs: comparing fingerprints of 900 rows, 43 %".to_owned());
        assert_eq!(reporter.report(progress, later), report);
        assert_eq!(reporter.report(progress, later + REPORT_INTERVAL - Duration::from_millis(1)), None);
        // The reporter of the next partition continues the reports of the same statement.
        let another = Reporter::new("simhash_pairs", 900, true);
        assert_eq!(another.report(progress, later + REPORT_INTERVAL), report);
        assert_eq!(Reporter::new("simhash_pairs", 900, false).report(progress, later + 2 * REPORT_INTERVAL), None);
        assert_eq!(another.report(progress, later + 2 * REPORT_INTERVAL), report);
        let components = Reporter::new("simhash_components", 900, true);
        let progress = Progress { phase: Phase::JoinPairs, share: 0.426 };
        let report = Some("simhash_components: joining ids of 900 pairs, 43 %".to_owned());
        assert_eq!(components.report(progress, later + 3 * REPORT_INTERVAL), report);
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

    /// Runs a statement with each of these amounts of memory, and then with ample memory. It must fail at least
    /// `fewest` times, each time with the error for a lack of memory.
    #[cfg(target_os = "linux")]
    fn check_lack_of_memory(statement: &str, kilobytes: impl Iterator<Item = u64>, fewest: usize) {
        let codes: Vec<_> = kilobytes.map(|kilobytes| with_kilobytes(kilobytes, statement)).collect();
        assert!(codes.iter().flatten().all(|code| code == "53200"), "{statement}: {codes:?}");
        assert!(codes.iter().flatten().count() >= fewest, "{statement}: {codes:?}");
        assert_eq!(with_kilobytes(300 << 10, statement), None, "{statement}");
    }

    #[pg_extern(sql = false)]
    #[cfg(target_os = "linux")]
    fn pairs_out_of_memory() {
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
                    "SELECT max(cluster) FROM (SELECT simhash_cluster(fp, fp, {distance}) OVER () AS cluster
                     FROM arrays, unnest(fps) AS fp WHERE rows = {rows}) AS x"
                ),
            ] {
                check_lack_of_memory(&statement, steps.clone(), 1);
            }
        }
    }

    #[pg_extern(sql = false)]
    #[cfg(target_os = "linux")]
    fn components_out_of_memory() {
        create_sqlstate_of();
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

    /// All rows are near others, and resemble few of them.
    #[pg_extern(sql = false)]
    #[cfg(target_os = "linux")]
    fn features_out_of_memory() {
        create_sqlstate_of();
        let criterion = r#"'{"max_distance": 64, "radii": [], "resemblance": 1}'"#;
        for function in ["simhash_cluster", "simhash_duplicate_of"] {
            let call = format!("{function}(n, 'text ' || n % 700, {criterion})");
            let statement = format!(
                "SELECT max(found) FROM (SELECT {call} OVER () AS found FROM generate_series(1, 40000) AS n) AS x"
            );
            // `sqlstate_of` needs some memory itself, before it can catch an error.
            check_lack_of_memory(&statement, (200..8200).step_by(400), 2);
        }
    }

    /// The probes take a few MB, and PostgreSQL's array of them takes more.
    #[pg_extern(sql = false)]
    #[cfg(target_os = "linux")]
    fn probes_out_of_memory() {
        create_sqlstate_of();
        let statement = "SELECT count(simhash_probes(n, 0, 3, 25)) FROM generate_series(1, 3) AS n";
        check_lack_of_memory(statement, (1..20).map(|megabytes| megabytes << 10), 3);
    }
}
