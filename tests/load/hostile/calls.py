"""Calls of the extension's functions, with hostile arguments, in every kind of statement that treats calls differently:
planned, prepared, stored, inlined, in parallel, in a cursor, in a loop that catches errors."""

import re

from values import MAKERS, Values

# Columns of hostile.rows by their type.
COLUMNS = {
    "text": ("t", "t_external", "t_main"),
    "jsonb": ("j",),
    "integer": ("i", "id"),
    "bigint": ("i8",),
    "double precision": ("f8",),
    "boolean": ("b",),
    "name": ("n",),
    "text[]": ("ta",),
    "double precision[]": ("f8a",),
    "bigint[]": ("i8a",),
    "anyarray": ("ta", "f8a", "i8a"),
    "anyelement": ("t", "i", "i8", "f8", "b", "n", "ta", "v", "r"),
    "tsvector": ("v",),
    "regclass": ("r",),
    "bytea": ('"by"',),
}

# A line is a template: statements with a call in them. {e} has values as arguments, {r} columns of hostile.rows too,
# {f} only columns, {d} and {o} say DISTINCT and ORDER BY in it, and {t} is the type of the result. An indented line
# continues the one before.
IN_A_LOOP = """
DO $here$BEGIN FOR n IN 1..5 LOOP BEGIN PERFORM {r} FROM hostile.rows; PERFORM 1 / (n % 2); EXCEPTION WHEN OTHERS THEN
    IF SQLSTATE ~ '^XX' THEN RAISE; END IF; END; END LOOP; END$here$
"""
VALUE = """
SELECT {e}, {r} FROM hostile.rows
SELECT id FROM hostile.rows WHERE ({r})::text > '5' OR {e} IS NULL ORDER BY ({r})::text DESC NULLS FIRST LIMIT 3
SELECT ({r})::text AS g, count({r}) FROM hostile.rows GROUP BY GROUPING SETS ((({r})::text), ()) HAVING count({r}) >= 0
SELECT x FROM hostile.rows, LATERAL (SELECT {r} AS x OFFSET 0) AS l
SELECT a.id FROM hostile.rows a LEFT JOIN hostile.rows ON a.id = rows.id AND ({r}) IS NULL
SELECT CASE WHEN i > 5 THEN {r} WHEN i < 2 THEN {e} END, coalesce({r}, {e}) FROM hostile.rows
SELECT lag({r}) OVER w, count({r}) OVER w FROM hostile.rows WINDOW w AS (PARTITION BY ({r})::text ORDER BY id)
WITH RECURSIVE w (n, x) AS (SELECT 1, ({e})::text UNION SELECT n + 1, ({e})::text FROM w WHERE n < 5) SELECT * FROM w
SELECT to_jsonb(x), x::text, (ROW({e}, {e}))::text FROM (SELECT {r}, {e} FROM hostile.rows) AS x
SET LOCAL force_parallel_mode = regress ;; SELECT {r}, max(({r})::text) FROM hostile.rows GROUP BY i, 1
SET LOCAL jit_above_cost = 0 ;; SELECT {r} FROM hostile.rows
CREATE TEMP VIEW v AS SELECT {r} AS x FROM hostile.rows ;; SELECT * FROM v ;; SELECT pg_get_viewdef('v')
CREATE INDEX here ON hostile.rows ((({f})::text)) WHERE ({f}) IS NOT NULL ;; REINDEX INDEX hostile.here ;; SELECT id
    FROM hostile.rows WHERE (({f})::text) = '0'
CREATE STATISTICS hostile.here ON ({f}), id FROM hostile.rows ;; ANALYZE hostile.rows
ALTER TABLE hostile.rows ADD x_here {t} GENERATED ALWAYS AS ({f}) STORED ;; UPDATE hostile.rows SET t = 'changed'
ALTER TABLE hostile.rows ADD CHECK (({f}) IS NOT NULL) NOT VALID ;; UPDATE hostile.rows SET i = 1
CREATE POLICY here ON hostile.rows USING (({f}) IS NOT NULL) ;; ALTER TABLE hostile.rows ENABLE ROW LEVEL SECURITY,
    FORCE ROW LEVEL SECURITY ;; SELECT count(*) FROM hostile.rows
CREATE FUNCTION pg_temp.inlined() RETURNS {t} LANGUAGE sql AS $here$SELECT {e}$here$ ;; SELECT pg_temp.inlined()
    FROM generate_series(1, 5)
DECLARE c SCROLL CURSOR FOR SELECT {r} FROM hostile.rows ;; FETCH 3 FROM c ;; FETCH BACKWARD 2 FROM c ;; CLOSE c
UPDATE hostile.rows SET i = 1 WHERE ({r}) IS NOT NULL RETURNING {r}, {e}
MERGE INTO hostile.rows USING (SELECT id AS x FROM hostile.rows) AS s ON rows.id = s.x AND ({r}) IS NULL WHEN
    MATCHED AND ({r}) IS NULL THEN UPDATE SET t = ({r})::text WHEN NOT MATCHED AND ({e}) IS NULL THEN INSERT (t)
    VALUES (({e})::text)
SAVEPOINT s ;; SELECT {e} ;; ROLLBACK TO s ;; SELECT {e} ;; RELEASE s ;; SELECT {e}
SET LOCAL ROLE hostile_user ;; SELECT {e} ;; SELECT {r} FROM hostile.rows
SET LOCAL search_path = pg_catalog ;; SET LOCAL bytea_output = escape ;; SELECT {e}
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY ;; SELECT {e} ;; SELECT {r} FROM hostile.rows
COPY (SELECT {r} FROM hostile.rows) TO STDOUT
"""
# For a condition, which PostgreSQL plans by the function's support function.
CONDITION = """
SELECT id FROM hostile.rows WHERE {r}
SELECT id FROM hostile.rows WHERE NOT {r} OR {e}
SELECT a.id FROM hostile.rows a, hostile.rows WHERE {r} AND a.id < rows.id
SELECT a.id FROM hostile.rows a LEFT JOIN hostile.rows ON {r}
SELECT a.id FROM hostile.rows a WHERE EXISTS (SELECT FROM hostile.rows WHERE {r} AND rows.i = a.i)
SELECT count(*) FILTER (WHERE {r}) FROM hostile.rows HAVING {e}
CREATE INDEX here ON hostile.rows (id) WHERE {f} ;; SELECT id FROM hostile.rows WHERE {f}
SELECT id FROM hostile.attached WHERE simhash_near(simhash, (SELECT i8 FROM hostile.rows WHERE {r} LIMIT 1))
SELECT id FROM hostile.indexed WHERE simhash_near(body, (SELECT t FROM hostile.rows WHERE {r} LIMIT 1))
SELECT indexed.id FROM hostile.indexed JOIN hostile.rows ON simhash_near(indexed.body, rows.t) AND {r}
"""
SET = """
SELECT * FROM {e}
SELECT count(s) FROM hostile.rows LEFT JOIN LATERAL {r} AS s ON true
SELECT * FROM ROWS FROM ({e}, generate_series(1, 3)) WITH ORDINALITY
SELECT {e}, {e}, generate_series(1, 2) LIMIT 20
SELECT {r} FROM hostile.rows LIMIT 5
SELECT ({e}).* LIMIT 7
SELECT EXISTS (SELECT {e}), ARRAY(SELECT s::text FROM {e} AS s LIMIT 100)
SELECT count(*) FROM {e} AS a FULL JOIN {e} AS b ON a::text = b::text
DECLARE c SCROLL CURSOR FOR SELECT * FROM {e} ;; FETCH 3 FROM c ;; FETCH BACKWARD 2 FROM c ;; CLOSE c
SET LOCAL force_parallel_mode = regress ;; SET LOCAL work_mem = 64 ;; SELECT count(*) FROM {e} AS a, {e} AS b
SET LOCAL ROLE hostile_user ;; SELECT * FROM {e} LIMIT 10
DO $here$DECLARE x record; BEGIN FOR i IN 1..3 LOOP FOR x IN SELECT * FROM {e} LOOP EXIT; END LOOP; END LOOP;
    END$here$
"""
AGGREGATE = """
SELECT {e}
SELECT i, {r} FROM hostile.rows GROUP BY ROLLUP (i)
SELECT {d}, {o} FROM hostile.rows
SELECT {r} FILTER (WHERE i > 3) FROM hostile.rows GROUP BY i HAVING ({r}) IS NOT NULL ORDER BY {r}
SELECT {r} OVER (PARTITION BY i ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM hostile.rows
SET LOCAL parallel_setup_cost = 0 ;; SET LOCAL parallel_tuple_cost = 0 ;; SET LOCAL min_parallel_table_scan_size = 0
    ;; SELECT {r} FROM hostile.rows GROUP BY i
SET LOCAL enable_partitionwise_aggregate = on ;; SELECT {e} FROM hostile.partitioned GROUP BY id
SET LOCAL work_mem = 64 ;; SELECT n, {e} FROM generate_series(1, 3000) AS n GROUP BY n
DECLARE c CURSOR FOR SELECT {r} FROM hostile.rows GROUP BY id ;; FETCH 3 FROM c ;; CLOSE c
"""
WINDOW = """
SELECT {e} OVER ()
SELECT {r} OVER (PARTITION BY i ORDER BY id DESC ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM
    hostile.rows
SELECT {r} OVER w, rank() OVER w, lag(id) OVER w, {r} OVER (PARTITION BY b) FROM hostile.rows WINDOW w AS (ORDER BY i)
SELECT x FROM (SELECT {r} OVER () AS x FROM hostile.rows) AS s WHERE x IS NULL LIMIT 1
SET LOCAL work_mem = 64 ;; SELECT {e} OVER (PARTITION BY n / 1000 ORDER BY n DESC) FROM generate_series(1, 5000) AS n
DECLARE c SCROLL CURSOR FOR SELECT {r} OVER () FROM hostile.rows ;; FETCH 3 FROM c ;; FETCH BACKWARD 2 FROM c ;;
    CLOSE c
"""


def lines(text):
    return re.sub(r"\n +", " ", text.strip()).splitlines()


TEMPLATES = {
    "value": lines(VALUE + IN_A_LOOP),
    "condition": lines(CONDITION),
    "set": lines(SET),
    "aggregate": lines(AGGREGATE + IN_A_LOOP),
    "window": lines(WINDOW + IN_A_LOOP.replace("{r}", "{r} OVER ()")),
}


def without_values(functions):
    """The functions with an argument of a type without hostile values."""
    return [function.signature for function in functions if not set(function.types) <= set(MAKERS)]


class Calls:
    def __init__(self, rng, size):
        self.rng, self.values = rng, Values(rng, size)

    def arguments(self, function, columns=0.0, only_columns=False):
        count = len(function.types)
        if function.defaults and self.rng.random() < 0.3:
            count -= self.rng.randint(0, function.defaults)
        arguments = [
            self.argument(type, name, columns, only_columns)
            for type, name in list(zip(function.types, function.names))[:count]
        ]
        # Two arrays must have the same type, which two hostile ones seldom have.
        if list(function.types[:2]) == ["anyarray", "anyarray"] and self.rng.random() < 0.7:
            arguments[1] = arguments[0]
        return arguments

    def argument(self, type, name, columns, only_columns):
        if type in COLUMNS and self.rng.random() < columns:
            return "rows." + self.rng.choice(COLUMNS[type])
        # Expressions in the catalogue get no NULL arguments, so that most of them can be stored and evaluated.
        return self.values.one(type, name) if not only_columns else self.values.not_null(type, name)

    def statements(self, function):
        """Statements that call the function, by a random template. What they change is undone."""
        if function.result == "trigger":
            return [f"SELECT {function.call([])}"]
        if function.kind in "fw" and not function.is_set and not function.takes_internal() and self.rng.random() < 0.1:
            return self.prepared(function)
        kind = {"a": "aggregate", "w": "window"}.get(function.kind) or ("set" if function.is_set else "value")
        if function.result == "boolean" and self.rng.random() < 0.5:
            kind = "condition"
        arguments = lambda *how: self.arguments(function, *how)
        forms = {
            "e": lambda: function.call(arguments()),
            "r": lambda: function.call(arguments(0.7)),
            "f": lambda: function.call(arguments(0.7, True)),
            "d": lambda: function.call(["DISTINCT " + (a := arguments(0.7))[0], *a[1:]]),
            "o": lambda: function.call([*(a := arguments(0.7))[:-1], a[-1] + f" ORDER BY {a[0]} DESC"]),
            "t": lambda: function.result,
        }
        template = self.rng.choice(TEMPLATES[kind])
        filled = re.sub(r"\{(\w)\}", lambda form: forms[form[1]](), template)
        return ["BEGIN", *filled.split(" ;; "), "ROLLBACK"]

    def prepared(self, function):
        """A statement that is planned without its arguments, or planned again for each of them."""
        types = [{"anyarray": "integer[]", "anyelement": "text"}.get(type, type) for type in function.types]
        call = function.call([f"${n}" for n in range(1, len(types) + 1)])
        over = " OVER ()" if function.kind == "w" else ""
        mode = self.rng.choice(("auto", "force_generic_plan", "force_custom_plan"))
        listed = lambda items: f"({', '.join(items)})" if types else ""
        execute = [f"EXECUTE p {listed(map(self.values.one, types, function.names))}" for _ in range(6)]
        query = self.rng.choice((f"SELECT {call}{over}", f"SELECT {call}{over} FROM hostile.rows"))
        return ["DEALLOCATE ALL", f"SET plan_cache_mode = {mode}", f"PREPARE p {listed(types)} AS {query}", *execute]


def huge_call(rng, digits):
    """A call with a text of up to 10 ^ digits bytes, or an array of that size. Results are short."""
    size = int(10 ** rng.uniform(6, digits))
    piece = rng.choice(("a", "a ", "x\u0301", "\u4e2d", "\ufdfa", "\u0130 ", "\uac00", "\U0001f600 ", "1 2 3 "))
    text = f"repeat('{piece}', {min(size, 1_073_741_800) // len(piece.encode())})"
    random_words = f"(SELECT string_agg(md5(i::text), ' ') FROM generate_series(1, {size // 200}) AS i)"
    n = min(size // 100, 5_000_000)
    options = rng.choice(('"ngram": 16, "weight": "tf"', '"tokens": "chars"'))
    return rng.choice(
        (
            f"SELECT simhash({text}, '{{{options}}}')",
            f"SELECT simhash({random_words}, '{{{options}}}')",
            f"SELECT hamming(array_fill(0::bigint, ARRAY[{n}]), array_fill(-1::bigint, ARRAY[{n}]))",
            f"SELECT count(*), max(length(feature)) FROM simhash_features({text}, '{{\"ngram\": 3}}')",
            f"SELECT simhash_resemblance({text}, {random_words})",
            f"SELECT simhash_band({text}, 63, '{{{options}}}'), simhash_size({random_words})",
            f"SELECT count(*) FROM hostile.indexed WHERE simhash_near(body, {text})",
            f"SELECT simhash(array_fill('a'::text, ARRAY[{n}]), array_fill(1e9::float8, ARRAY[{n}]))",
            f"SELECT simhash_agg({text}, n) FROM generate_series(1, 2) AS n",
            f"SELECT simhash('a', {text})",
            f"SELECT simhash('a', ('{{\"' || repeat('x', {n * 10}) || '\": 1}}')::jsonb)",
            f"SELECT simhash(to_tsvector('simple', left({random_words}, 900000)))",
            f"SELECT count(*) FROM simhash_pairs(ARRAY(SELECT generate_series(1, {n})), ARRAY(SELECT i::bigint *"
            f" 2654435761 FROM generate_series(1, {n}) AS i), 1)",
            f"SELECT count(*) FROM simhash_components(ARRAY(SELECT i % 7 || {text} FROM generate_series(1, 9) AS i),"
            f" ARRAY(SELECT {text} || i FROM generate_series(1, 9) AS i))",
            f"SELECT max(c), max(d) FROM (SELECT simhash_cluster(i, {text} || i % 5) OVER () AS c,"
            f" simhash_duplicate_of(i, {text} || i % 5) OVER (ORDER BY i) AS d FROM generate_series(1, {n}) AS i) AS s",
            f"INSERT INTO hostile.guarded (id, body) SELECT {rng.randint(1, 10**9)}, {text}",
        )
    )
