-- ALTER SYSTEM knows the setting only when the session has loaded the library. ALTER DATABASE takes it before.
ALTER SYSTEM SET pg_simhash.enable_scan = off;
ALTER DATABASE alter_system SET pg_simhash.enable_scan = off;
LOAD 'pg_simhash';
ALTER SYSTEM SET pg_simhash.enable_scan = off;
ALTER SYSTEM RESET pg_simhash.enable_scan;
\connect -
EXPLAIN (COSTS OFF) SELECT simhash('a text');
SHOW pg_simhash.enable_scan;
