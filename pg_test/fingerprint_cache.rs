//! The caches of the last texts: a row costs one fingerprint, however many columns use it, and a text that is compared
//! with many others is read once.

mod tests {
    use std::cell::Cell;
    use std::thread::LocalKey;

    use pgrx::prelude::*;

    use crate::sql::fingerprint::fingerprint_cache::COMPUTED;
    use crate::sql::fingerprint::resemblance::PREPARED;

    /// Runs a statement. Returns by how much it increases a counter.
    fn increase_of(counter: &'static LocalKey<Cell<usize>>, statement: &str) -> usize {
        let before = counter.get();
        Spi::run(statement).expect(statement);
        counter.get() - before
    }

    /// Panics unless a statement computes this number of fingerprints and sizes.
    fn assert_computed(count: usize, statement: &str) {
        assert_eq!(increase_of(&COMPUTED, statement), count, "{statement}");
    }

    /// Panics unless a statement prepares the features of this number of texts for comparisons.
    fn assert_prepared(count: usize, statement: &str) {
        assert_eq!(increase_of(&PREPARED, statement), count, "{statement}");
    }

    #[pg_extern(sql = false)]
    fn row_costs_one_fingerprint() {
        Spi::run(
            "CREATE TABLE docs (
                body text,
                simhash        bigint  GENERATED ALWAYS AS (simhash(body)) STORED,
                simhash_block0 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 0)) STORED,
                simhash_block1 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 1)) STORED,
                simhash_block2 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 2)) STORED,
                simhash_block3 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 3)) STORED
            );
            CREATE TABLE sources (storage text, body text);
            INSERT INTO sources
            SELECT storage, repeat((SELECT string_agg(md5((n * id)::text), ' ') FROM generate_series(1, words) AS n), times)
            FROM (VALUES ('whole', 3, 1), ('compressed', 3, 100), ('out of line', 300, 1), ('both', 300, 100))
                    AS kinds (storage, words, times),
                generate_series(1, 10) AS id",
        )
        .expect("tables");
        assert_computed(100, "INSERT INTO docs SELECT 'document ' || n FROM generate_series(1, 100) AS n");
        for storage in ["whole", "compressed", "out of line", "both"] {
            assert_computed(10, &format!("INSERT INTO docs SELECT body FROM sources WHERE storage = '{storage}'"));
        }
        // 100 short documents, and 10 of each storage.
        assert_computed(140, "UPDATE docs SET body = body || ' again'");
    }

    /// The indexes on all bands compute them, and the size, at once.
    #[pg_extern(sql = false)]
    fn indexed_row_costs_one_summary() {
        Spi::run("CREATE TABLE docs (body text); SELECT simhash_index('docs', 'body', bands => 12)").expect("a table");
        // By the first row, the cache learns how many bands are used.
        Spi::run("INSERT INTO docs VALUES ('the first document')").expect("a row");
        assert_computed(100, "INSERT INTO docs SELECT 'document ' || n FROM generate_series(1, 100) AS n");
    }

    #[pg_extern(sql = false)]
    fn search_costs_one_fingerprint() {
        Spi::run("CREATE TABLE docs AS SELECT simhash('document ' || n) FROM generate_series(1, 100) AS n")
            .expect("a table");
        Spi::run("SET plan_cache_mode = force_generic_plan; PREPARE search (text) AS
            SELECT FROM docs WHERE simhash_block(simhash, 0) = simhash_block(simhash($1), 0) AND simhash <~> simhash($1) <= 64")
            .expect("a statement");
        assert_computed(1, "EXECUTE search ('what is looked for')");
    }

    #[pg_extern(sql = false)]
    fn plan_of_partitions_costs_one_summary_of_each_text() {
        Spi::run(
            "CREATE TABLE parts (id integer, body text) PARTITION BY LIST (id);
            CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
            CREATE TABLE part_2 PARTITION OF parts FOR VALUES IN (2);
            CREATE TABLE part_3 PARTITION OF parts FOR VALUES IN (3);
            SELECT simhash_index('parts', 'body')",
        )
        .expect("a table");
        let plan =
            "EXPLAIN SELECT FROM parts WHERE simhash_near(body, 'some text') AND simhash_near(body, 'other words')";
        assert_computed(2, plan);
    }

    #[pg_extern(sql = false)]
    fn prepares_compared_text_once() {
        Spi::run(
            "CREATE TABLE docs (id integer, body text);
            ALTER TABLE docs ALTER body SET STORAGE EXTERNAL;
            INSERT INTO docs SELECT n, 'document ' || n || repeat(' word', n % 2 * 1000)
            FROM generate_series(1, 100) AS n",
        )
        .expect("a table");
        for text in ["'a text'", "(SELECT body FROM docs WHERE id = 7)"] {
            assert_prepared(1, &format!("SELECT sum(simhash_resemblance({text}, body)) FROM docs"));
            let statement = format!("SELECT sum(simhash_resemblance(body, {text})) FROM docs");
            assert!(increase_of(&PREPARED, &statement) <= 2, "{statement}");
        }
        // If a new text is the second argument, it must be passed twice before its features are cached.
        assert_prepared(2, "SELECT sum(simhash_resemblance(body, 'another text')) FROM docs");
        // Other options give other features.
        for options in ["{}", "{\"ngram\": 2}", "{}"] {
            assert_prepared(1, &format!("SELECT sum(simhash_resemblance('a text', body, '{options}')) FROM docs"));
        }
    }

    /// Bands are computed only for the 10 texts that resemble the searched text, and for that text.
    #[pg_extern(sql = false)]
    fn near_texts_cost_bands_once() {
        Spi::run(
            "CREATE TABLE docs AS
            SELECT n, CASE n % 10 WHEN 0 THEN 'Some words, ' || repeat('!', n) || ' the same' ELSE md5(n::text) END AS body
            FROM generate_series(1, 100) AS n",
        )
        .expect("a table");
        for condition in ["simhash_near(body, 'some words the same')", "simhash_near('some words: the same', body)"] {
            assert_computed(11, &format!("SELECT count(*) FROM docs WHERE {condition}"));
        }
        for band in 0..6 {
            Spi::run(&format!("CREATE INDEX ON docs (simhash_band(body, {band}), simhash_size(body), simhash(body))"))
                .expect("an index");
        }
        Spi::run("SET LOCAL enable_seqscan = off").expect("a setting");
        // The scan and its filter each compute the bands of the searched text.
        assert_computed(12, "SELECT count(*) FROM docs WHERE simhash_near(body, (SELECT 'some words the same'))");
    }
}
