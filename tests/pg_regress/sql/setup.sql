-- Runs before all others, which use this installation.
CREATE EXTENSION pg_simhash;
SELECT simhash_format();
