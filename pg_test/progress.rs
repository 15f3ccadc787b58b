//! simhash_attach counts rows while it rewrites the table, and never afterwards, however it ends.

mod tests {
    use crate::sql::rewrite_progress::is_watching;
    use pgrx::prelude::*;

    /// The expression of the generated column `source` calls this for each row. The fingerprint's expression has the
    /// same call, since a generated column cannot refer to another.
    #[pg_extern(sql = false)]
    fn watched(_body: &str) -> String {
        if is_watching() { "watched" } else { "unwatched" }.to_owned()
    }

    #[pg_extern(sql = false)]
    fn rows_are_counted_only_while_they_are_rewritten() {
        Spi::run(
            "CREATE FUNCTION watched(text) RETURNS text IMMUTABLE STRICT LANGUAGE c
                 AS '$libdir/pg_simhash', 'watched_wrapper';
             CREATE TABLE docs (body text, source text GENERATED ALWAYS AS (watched(body)) STORED);
             INSERT INTO docs VALUES ('a text'), ('another');
             SELECT simhash_attach('docs', 'source')",
        )
        .expect("an attached table");
        assert!(!is_watching());
        let all = |condition: &str| Spi::get_one::<bool>(&format!("SELECT bool_and({condition}) FROM docs"));
        assert_eq!(all("source = 'unwatched' AND simhash = simhash('watched')"), Ok(Some(true)));
        Spi::run("UPDATE docs SET body = body || '!'").expect("an update");
        assert_eq!(all("simhash = simhash('unwatched')"), Ok(Some(true)));
    }

    #[pg_extern(sql = false)]
    fn an_error_ends_the_counting() {
        Spi::run(
            "CREATE TABLE docs (body text);
             CREATE FUNCTION fails(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 1 / length($1); END $$;
             ALTER TABLE docs ADD source text GENERATED ALWAYS AS (fails(body)) STORED;
             INSERT INTO docs VALUES ('a text');
             CREATE OR REPLACE FUNCTION fails(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'no'; END $$;
             DO $$ BEGIN PERFORM simhash_attach('docs', 'source'); EXCEPTION WHEN raise_exception THEN NULL; END $$",
        )
        .expect("an error that is caught");
        assert!(!is_watching());
        assert_eq!(Spi::get_one::<bool>("SELECT to_regclass('docs_simhash_block0_idx') IS NULL"), Ok(Some(true)));
    }
}
