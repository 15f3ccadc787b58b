"""Statements with a call in every clause, in objects that the catalogs store, and in loops.

A template is a list of statements with the call in them: {e} has values as arguments, {r} columns of hostile.rows too,
{f} only columns, {d} and {o} say DISTINCT and ORDER BY in it, and {t} is the type of the result. Statements after
COMMIT run outside of a transaction block. Others are rolled back if they may change something.
"""

import re

# For a function that returns a value, and is not an aggregate or a window function.
VALUE = """
SELECT {e}
SELECT {e}, {e} FROM generate_series(1, 3)
SELECT {r} FROM hostile.rows
SELECT id FROM hostile.rows WHERE ({r}) IS NOT NULL
SELECT id FROM hostile.rows WHERE ({r})::text > '5' OR {e} IS NULL
SELECT id FROM hostile.rows ORDER BY ({r})::text DESC NULLS FIRST, {e} LIMIT 3
SELECT ({r})::text AS g, count(*) FROM hostile.rows GROUP BY GROUPING SETS ((({r})::text), ()) HAVING count({r}) >= 0
SELECT DISTINCT ON (({r})::text) id FROM hostile.rows
SELECT x FROM hostile.rows, LATERAL (SELECT {r} AS x OFFSET 0) AS l
SELECT (SELECT ({r})::text FROM generate_series(1, 2) LIMIT 1) FROM hostile.rows
SELECT a.id FROM hostile.rows a LEFT JOIN hostile.rows ON a.id = rows.id AND ({r}) IS NULL
SELECT CASE WHEN i > 5 THEN {r} WHEN i < 2 THEN {e} END, coalesce({r}, {e}), nullif(({r})::text, ({e})::text) FROM
    hostile.rows
SELECT 1 FROM hostile.rows LIMIT abs(hashtext(({e})::text)) % 7
SELECT 1 FROM hostile.rows TABLESAMPLE bernoulli (abs(hashtext(({e})::text)) % 100)
VALUES ({e}), ({e}), (NULL)
SELECT count({r}), count(DISTINCT ({r})::text), array_agg({r} ORDER BY ({r})::text) FILTER (WHERE ({r}) IS NOT NULL)
    FROM hostile.rows
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY ({r})::text) FROM hostile.rows
SELECT lag({r}) OVER w, first_value({r}) OVER w, count({r}) OVER w FROM hostile.rows WINDOW w AS (PARTITION BY
    ({r})::text ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)
SELECT rank() OVER (ORDER BY ({r})::text) FROM hostile.rows
WITH RECURSIVE w (n, x) AS (SELECT 1, ({e})::text UNION SELECT n + 1, ({e})::text FROM w WHERE n < 5) SELECT * FROM w
WITH m AS MATERIALIZED (SELECT ({r})::text AS x FROM hostile.rows) SELECT count(*) FROM m a JOIN m b USING (x)
SELECT ({r})::text FROM hostile.rows UNION SELECT ({e})::text EXCEPT SELECT ({e})::text
EXPLAIN (VERBOSE, ANALYZE, COSTS, TIMING OFF) SELECT {r} FROM hostile.rows WHERE ({r}) IS NOT NULL
SELECT to_jsonb(x), x::text FROM (SELECT {r}, {e} FROM hostile.rows) AS x
SELECT (ROW({e}, {e}))::text, ARRAY[({e})::text], ({e}) IS DISTINCT FROM ({e})
SET LOCAL force_parallel_mode = on ;; SELECT {r} FROM hostile.rows
SET LOCAL force_parallel_mode = regress ;; SELECT count({r}), max(({r})::text) FROM hostile.rows GROUP BY i
SET LOCAL parallel_setup_cost = 0 ;; SET LOCAL parallel_tuple_cost = 0 ;; SET LOCAL min_parallel_table_scan_size = 0
    ;; SELECT count({r}) FROM hostile.rows
SET LOCAL jit_above_cost = 0 ;; SELECT {r} FROM hostile.rows
CREATE TEMP VIEW v AS SELECT {r} AS x FROM hostile.rows ;; SELECT * FROM v ;; SELECT pg_get_viewdef('v') ;; CREATE
    OR REPLACE TEMP VIEW v AS SELECT {r} AS x FROM hostile.rows
CREATE MATERIALIZED VIEW hostile.m_here AS SELECT id, {r} AS x FROM hostile.rows ;; REFRESH MATERIALIZED VIEW
    hostile.m_here
CREATE TEMP TABLE here AS SELECT {r} AS x FROM hostile.rows ;; ANALYZE here
CREATE INDEX here ON hostile.rows ((({f})::text)) WHERE ({f}) IS NOT NULL ;; REINDEX INDEX hostile.here ;; SELECT id
    FROM hostile.rows WHERE (({f})::text) = '0'
CREATE INDEX here ON hostile.rows USING hash (({f})) ;; SET LOCAL enable_seqscan = off ;; SELECT id FROM
    hostile.rows WHERE ({f}) = ({e})
CREATE STATISTICS hostile.here ON ({f}), id FROM hostile.rows ;; ANALYZE hostile.rows
ALTER TABLE hostile.rows ADD x_here {t} GENERATED ALWAYS AS ({f}) STORED ;; UPDATE hostile.rows SET t = 'changed'
ALTER TABLE hostile.rows ADD CHECK (({f}) IS NOT NULL) NOT VALID ;; UPDATE hostile.rows SET i = 1 ;; INSERT INTO
    hostile.rows DEFAULT VALUES
ALTER TABLE hostile.rows ADD x_here {t} DEFAULT {e} ;; INSERT INTO hostile.rows DEFAULT VALUES
CREATE DOMAIN hostile.d_here AS integer CHECK (VALUE > 0 AND ({e}) IS NULL) ;; SELECT 1::hostile.d_here
CREATE POLICY here ON hostile.rows USING (({f}) IS NOT NULL) ;; ALTER TABLE hostile.rows ENABLE ROW LEVEL SECURITY,
    FORCE ROW LEVEL SECURITY ;; SELECT count(*) FROM hostile.rows
CREATE RULE here AS ON UPDATE TO hostile.rows WHERE ({e}) IS NULL DO INSTEAD NOTHING ;; UPDATE hostile.rows SET i = 1
CREATE TEMP TABLE here (id integer, x text) PARTITION BY LIST (({e}))
CREATE TEMP TABLE here (x text) PARTITION BY LIST (x) ;; CREATE TEMP TABLE h PARTITION OF here FOR VALUES IN
    (({e})::text)
CREATE FUNCTION pg_temp.inlined() RETURNS {t} LANGUAGE sql AS $here$SELECT {e}$here$ ;; SELECT pg_temp.inlined()
    FROM generate_series(1, 5)
CREATE FUNCTION pg_temp.atomic() RETURNS {t} LANGUAGE sql RETURN {e} ;; SELECT pg_temp.atomic(),
    pg_get_functiondef('pg_temp.atomic'::regproc)
DECLARE c SCROLL CURSOR FOR SELECT {r} FROM hostile.rows ;; FETCH 3 FROM c ;; FETCH BACKWARD 2 FROM c ;; FETCH LAST
    FROM c ;; CLOSE c
DECLARE c CURSOR WITH HOLD FOR SELECT {r} FROM hostile.rows ;; FETCH 3 FROM c ;; CLOSE c
UPDATE hostile.rows SET i = 1 WHERE ({r}) IS NOT NULL RETURNING {r}, {e}
INSERT INTO hostile.rows (t) SELECT ({r})::text FROM hostile.rows RETURNING {r}
DELETE FROM hostile.rows WHERE ({r})::text < '4'
MERGE INTO hostile.rows USING (SELECT id AS x FROM hostile.rows) AS s ON rows.id = s.x AND ({r}) IS NULL WHEN
    MATCHED AND ({r}) IS NULL THEN UPDATE SET t = ({r})::text WHEN NOT MATCHED AND ({e}) IS NULL THEN INSERT (t)
    VALUES (({e})::text)
INSERT INTO hostile.rows (id, t) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET t = ({r})::text WHERE ({r}) IS NULL
SAVEPOINT s ;; SELECT {e} ;; ROLLBACK TO s ;; SELECT {e} ;; RELEASE s ;; SELECT {e}
SET LOCAL ROLE hostile_user ;; SELECT {e} ;; SELECT {r} FROM hostile.rows
SET LOCAL search_path = pg_catalog ;; SELECT {e}
SET LOCAL search_path = hostile, pg_temp ;; SET LOCAL DateStyle = german ;; SET LOCAL extra_float_digits = -15 ;;
    SET LOCAL bytea_output = escape ;; SELECT {r} FROM hostile.rows
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY ;; SELECT {e} ;; SELECT {r} FROM hostile.rows
SET LOCAL transaction_read_only = on ;; SELECT {e}
SET LOCAL plan_cache_mode = force_generic_plan ;; DO $here$DECLARE x text; BEGIN FOR i IN 1..5 LOOP x := {e};
    PERFORM {e}; END LOOP; END$here$
DO $here$BEGIN FOR i IN 1..5 LOOP BEGIN PERFORM {e}; PERFORM 1 / (i % 2); EXCEPTION WHEN OTHERS THEN IF SQLSTATE ~
    '^XX' THEN RAISE; END IF; END; END LOOP; END$here$
DO $here$DECLARE x text; BEGIN FOR x IN SELECT ({r})::text FROM hostile.rows LOOP CONTINUE WHEN x IS NULL; EXIT WHEN
    x > '5'; END LOOP; END$here$
COMMIT ;; DO $here$BEGIN FOR i IN 1..3 LOOP PERFORM {e}; IF i = 2 THEN ROLLBACK; ELSE COMMIT; END IF; END LOOP;
    END$here$
COPY (SELECT {r} FROM hostile.rows) TO STDOUT
SELECT {e} FROM hostile.viewed, hostile.materialized LIMIT 2
SELECT query_to_xml($here$SELECT {e}$here$, true, true, '')
SELECT json_agg(x) FROM xmltable('/a' PASSING xmlparse(document '<a/>') COLUMNS x text DEFAULT ({e})::text) AS x
SELECT * FROM ROWS FROM (generate_series(1, 2), json_to_recordset('[{{"a": 1}}]') AS (a int)) WITH ORDINALITY WHERE
    ({e}) IS NULL
"""

# For a condition, which PostgreSQL plans by the function's support function.
CONDITION = """
SELECT id FROM hostile.rows WHERE {r}
SELECT id FROM hostile.rows WHERE NOT {r} OR {e}
SELECT a.id FROM hostile.rows a, hostile.rows WHERE {r} AND a.id < rows.id
SELECT a.id FROM hostile.rows a LEFT JOIN hostile.rows ON {r}
SELECT a.id FROM hostile.rows a WHERE EXISTS (SELECT FROM hostile.rows WHERE {r} AND rows.i = a.i)
SELECT a.id FROM hostile.rows a WHERE a.id NOT IN (SELECT id FROM hostile.rows WHERE {r})
SELECT count(*) FILTER (WHERE {r}) FROM hostile.rows HAVING {e}
CREATE TEMP TABLE here (x integer CHECK ({e})) ;; INSERT INTO here VALUES (1)
CREATE INDEX here ON hostile.rows (id) WHERE {f} ;; SELECT id FROM hostile.rows WHERE {f}
DELETE FROM hostile.rows WHERE {r}
SELECT id FROM hostile.attached WHERE simhash_near(simhash, (SELECT i8 FROM hostile.rows WHERE {r} LIMIT 1))
"""

SET = """
SELECT {e}
SELECT * FROM {e}
SELECT count(*) FROM {e}
SELECT count(*) FROM hostile.rows, {r} AS s
SELECT count(s) FROM hostile.rows LEFT JOIN LATERAL {r} AS s ON true
SELECT * FROM ROWS FROM ({e}, generate_series(1, 3)) WITH ORDINALITY
SELECT {e}, {e}, generate_series(1, 2) LIMIT 20
SELECT {r} FROM hostile.rows LIMIT 5
SELECT ({e}).* LIMIT 7
SELECT DISTINCT s::text FROM {e} AS s ORDER BY 1 DESC
SELECT EXISTS (SELECT {e}), ARRAY(SELECT s::text FROM {e} AS s LIMIT 100)
SELECT count(*) FROM {e} AS a FULL JOIN {e} AS b ON a::text = b::text
SELECT CASE WHEN true THEN 1 END, {e} LIMIT 1
SELECT row_number() OVER (), s FROM {e} AS s
CREATE TEMP TABLE here AS SELECT * FROM {e} ;; SELECT count(*) FROM here
CREATE TEMP VIEW v AS SELECT * FROM {e} ;; SELECT count(*) FROM v
DECLARE c SCROLL CURSOR FOR SELECT * FROM {e} ;; FETCH 3 FROM c ;; FETCH BACKWARD 2 FROM c ;; FETCH LAST FROM c ;;
    CLOSE c
DECLARE c CURSOR FOR SELECT {e} ;; FETCH 1 FROM c ;; CLOSE c
SET LOCAL force_parallel_mode = on ;; SELECT count(*) FROM {e}
SET LOCAL work_mem = 64 ;; SELECT count(*) FROM {e} AS a, {e} AS b
SET LOCAL ROLE hostile_user ;; SELECT * FROM {e} LIMIT 10
DO $here$DECLARE x record; BEGIN FOR i IN 1..3 LOOP FOR x IN SELECT * FROM {e} LOOP EXIT; END LOOP; END LOOP;
    END$here$
DO $here$BEGIN FOR i IN 1..5 LOOP BEGIN PERFORM {e}; PERFORM 1 / (i % 2); EXCEPTION WHEN OTHERS THEN IF SQLSTATE ~
    '^XX' THEN RAISE; END IF; END; END LOOP; END$here$
COPY (SELECT {e}) TO STDOUT
EXPLAIN (ANALYZE, TIMING OFF) SELECT * FROM {e}
"""

AGGREGATE = """
SELECT {e}
SELECT {r} FROM hostile.rows
SELECT i, {r} FROM hostile.rows GROUP BY ROLLUP (i)
SELECT {d} FROM hostile.rows
SELECT {o} FROM hostile.rows
SELECT {r} FILTER (WHERE i > 3) FROM hostile.rows GROUP BY i HAVING ({r}) IS NOT NULL ORDER BY {r}
SELECT {r} OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM hostile.rows
SELECT {r} OVER (PARTITION BY i ORDER BY id ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING EXCLUDE TIES) FROM
    hostile.rows
SELECT (SELECT {r} FROM generate_series(1, 2)) FROM hostile.rows
SET LOCAL force_parallel_mode = on ;; SELECT {r} FROM hostile.rows
SET LOCAL parallel_setup_cost = 0 ;; SET LOCAL parallel_tuple_cost = 0 ;; SET LOCAL min_parallel_table_scan_size = 0
    ;; SELECT {r} FROM hostile.rows GROUP BY i
SET LOCAL enable_partitionwise_aggregate = on ;; SELECT {e} FROM hostile.partitioned GROUP BY id
SET LOCAL work_mem = 64 ;; SET LOCAL hash_mem_multiplier = 1 ;; SELECT n, {e} FROM generate_series(1, 3000) AS n
    GROUP BY n
DECLARE c CURSOR FOR SELECT {r} FROM hostile.rows GROUP BY id ;; FETCH 3 FROM c ;; CLOSE c
DO $here$BEGIN FOR n IN 1..5 LOOP BEGIN PERFORM {r} FROM hostile.rows; PERFORM 1 / (n % 2); EXCEPTION WHEN OTHERS
    THEN IF SQLSTATE ~ '^XX' THEN RAISE; END IF; END; END LOOP; END$here$
"""

WINDOW = """
SELECT {e}
SELECT {e} OVER ()
SELECT {r} OVER () FROM hostile.rows
SELECT {r} OVER (ORDER BY id) FROM hostile.rows
SELECT {r} OVER (PARTITION BY i ORDER BY id DESC ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM
    hostile.rows
SELECT {r} OVER w, rank() OVER w, lag(id) OVER w, {r} OVER (PARTITION BY b) FROM hostile.rows WINDOW w AS (ORDER BY i)
SELECT {r} FILTER (WHERE b) OVER () FROM hostile.rows
SELECT count(*), {r} OVER () FROM hostile.rows
SELECT x FROM (SELECT {r} OVER () AS x FROM hostile.rows) AS s WHERE x IS NULL LIMIT 1
SELECT {e} OVER (PARTITION BY n / 1000) FROM generate_series(1, 5000) AS n
SELECT id FROM hostile.rows WHERE {r} OVER () = 1
SELECT id FROM hostile.rows ORDER BY {r} OVER ()
SELECT sum({r} OVER ()) FROM hostile.rows
SET LOCAL work_mem = 64 ;; SELECT {e} OVER (ORDER BY n DESC) FROM generate_series(1, 5000) AS n
SET LOCAL force_parallel_mode = on ;; SELECT {r} OVER () FROM hostile.rows
DECLARE c SCROLL CURSOR FOR SELECT {r} OVER () FROM hostile.rows ;; FETCH 3 FROM c ;; FETCH BACKWARD 2 FROM c ;;
    CLOSE c
DO $here$BEGIN FOR n IN 1..5 LOOP BEGIN PERFORM {r} OVER () FROM hostile.rows; PERFORM 1 / (n % 2); EXCEPTION WHEN
    OTHERS THEN IF SQLSTATE ~ '^XX' THEN RAISE; END IF; END; END LOOP; END$here$
"""

def lines(text):
    """The lines of a text; an indented line continues the one before."""
    return re.sub(r"\n +", " ", text.strip()).splitlines()


OF_KIND = {
    "value": lines(VALUE),
    "condition": lines(CONDITION),
    "set": lines(SET),
    "aggregate": lines(AGGREGATE),
    "window": lines(WINDOW),
}


def kind_of(function):
    if function.kind in "aw":
        return {"a": "aggregate", "w": "window"}[function.kind]
    return "set" if function.is_set else "value"


def choose(rng, function):
    kind = kind_of(function)
    if function.result == "boolean" and rng.random() < 0.5:
        kind = "condition"
    return rng.choice(OF_KIND[kind])


def statements(template, forms):
    """The statements of a template with calls. `forms` has a function for each form of a call, which writes it."""
    filled = lambda part: re.sub(r"\{(\w)\}", lambda form: forms[form[1]](), part)
    changed = [filled(part) for part in template.replace("{{", "\x01").replace("}}", "\x02").split(" ;; ")]
    changed = [part.replace("\x01", "{").replace("\x02", "}") for part in changed]
    if len(changed) == 1 and re.match(r"(SELECT|VALUES|WITH|EXPLAIN|COPY|DO) ", template):
        return changed
    if changed[0] == "COMMIT":
        return changed[1:]
    return ["BEGIN", *changed, "ROLLBACK"]
