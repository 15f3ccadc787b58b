"""Calls of the extension's functions, with hostile arguments, in every kind of statement that treats calls differently:
planned, prepared, stored, inlined, in parallel, in a cursor, in a loop that catches errors."""

import re

from values import MAKERS, Values

# Columns of hostile.rows by their type.
COLUMNS_BY_TYPE = {
    "text": ("text_value", "text_external", "text_main"), "jsonb": ("jsonb_value",), "integer": ("integer_value", "id"),
    "bigint": ("bigint_value",), "double precision": ("double_value",), "boolean": ("boolean_value",),
    "name": ("name_value",), "tsvector": ("tsvector_value",), "regclass": ("regclass_value",),
    "bytea": ("bytea_value",), "text[]": ("text_array",), "double precision[]": ("double_array",),
    "bigint[]": ("bigint_array",), "anyarray": ("text_array", "double_array", "bigint_array"),
    "anyelement": (
        "text_value", "integer_value", "bigint_value", "double_value", "boolean_value", "name_value", "text_array",
        "tsvector_value", "regclass_value",
    ),
}

# Templates of statements that call a function, one a line; an indented line continues the one before. `;;` separates
# statements. {values} is a call with values as arguments, {mixed} one with columns of hostile.rows too, {columns} one
# with such columns and without NULLs. {distinct} and {ordered} are {mixed} with DISTINCT or ORDER BY, and {type} is the
# type of the result.
IN_A_LOOP = """
DO $here$BEGIN FOR n IN 1..5 LOOP BEGIN PERFORM {mixed} FROM hostile.rows; PERFORM 1 / (n % 2); EXCEPTION
    WHEN OTHERS THEN IF SQLSTATE ~ '^XX' THEN RAISE; END IF; END; END LOOP; END$here$
"""
VALUE = """
SELECT {values}, {mixed} FROM hostile.rows
SELECT id FROM hostile.rows WHERE ({mixed})::text > '5' OR {values} IS NULL ORDER BY ({mixed})::text DESC NULLS FIRST
    LIMIT 3
SELECT ({mixed})::text AS result, count({mixed}) FROM hostile.rows GROUP BY GROUPING SETS ((({mixed})::text), ())
    HAVING count({mixed}) >= 0
SELECT result FROM hostile.rows, LATERAL (SELECT {mixed} AS result OFFSET 0) AS results
SELECT other.id FROM hostile.rows AS other LEFT JOIN hostile.rows ON other.id = rows.id AND ({mixed}) IS NULL
SELECT CASE WHEN integer_value > 5 THEN {mixed} WHEN integer_value < 2 THEN {values} END, coalesce({mixed}, {values})
    FROM hostile.rows
SELECT lag({mixed}) OVER w, count({mixed}) OVER w FROM hostile.rows WINDOW w AS (PARTITION BY ({mixed})::text
    ORDER BY id)
WITH RECURSIVE w (n, result) AS (SELECT 1, ({values})::text UNION SELECT n + 1, ({values})::text FROM w WHERE n < 5)
    SELECT * FROM w
SELECT to_jsonb(result), result::text, (ROW({values}, {values}))::text FROM (SELECT {mixed}, {values}
    FROM hostile.rows) AS result
SET LOCAL force_parallel_mode = regress ;; SELECT {mixed}, max(({mixed})::text) FROM hostile.rows
    GROUP BY integer_value, 1
SET LOCAL jit_above_cost = 0 ;; SELECT {mixed} FROM hostile.rows
CREATE TEMPORARY VIEW here AS SELECT {mixed} AS result FROM hostile.rows ;; SELECT * FROM here ;;
    SELECT pg_get_viewdef('here')
CREATE INDEX here ON hostile.rows ((({columns})::text)) WHERE ({columns}) IS NOT NULL ;; REINDEX INDEX hostile.here ;;
    SELECT id FROM hostile.rows WHERE (({columns})::text) = '0'
CREATE STATISTICS hostile.here ON ({columns}), id FROM hostile.rows ;; ANALYZE hostile.rows
ALTER TABLE hostile.rows ADD new_column {type} GENERATED ALWAYS AS ({columns}) STORED ;;
    UPDATE hostile.rows SET text_value = 'changed'
ALTER TABLE hostile.rows ADD CHECK (({columns}) IS NOT NULL) NOT VALID ;; UPDATE hostile.rows SET integer_value = 1
CREATE POLICY here ON hostile.rows USING (({columns}) IS NOT NULL) ;;
    ALTER TABLE hostile.rows ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY ;; SELECT count(*) FROM hostile.rows
CREATE FUNCTION pg_temp.inlined() RETURNS {type} LANGUAGE sql AS $here$SELECT {values}$here$ ;;
    SELECT pg_temp.inlined() FROM generate_series(1, 5)
DECLARE c SCROLL CURSOR FOR SELECT {mixed} FROM hostile.rows ;; FETCH 3 FROM c ;; FETCH BACKWARD 2 FROM c ;; CLOSE c
UPDATE hostile.rows SET integer_value = 1 WHERE ({mixed}) IS NOT NULL RETURNING {mixed}, {values}
MERGE INTO hostile.rows USING (SELECT id FROM hostile.rows) AS other ON rows.id = other.id AND ({mixed}) IS NULL
    WHEN MATCHED AND ({mixed}) IS NULL THEN UPDATE SET text_value = ({mixed})::text WHEN NOT MATCHED
    AND ({values}) IS NULL THEN INSERT (text_value) VALUES (({values})::text)
SAVEPOINT s ;; SELECT {values} ;; ROLLBACK TO s ;; SELECT {values} ;; RELEASE s ;; SELECT {values}
SET LOCAL ROLE hostile_user ;; SELECT {values} ;; SELECT {mixed} FROM hostile.rows
SET LOCAL search_path = pg_catalog ;; SET LOCAL bytea_output = escape ;; SELECT {values}
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY ;; SELECT {values} ;; SELECT {mixed} FROM hostile.rows
COPY (SELECT {mixed} FROM hostile.rows) TO STDOUT
"""
# For a function that returns a boolean: PostgreSQL plans a condition by the function's support function.
CONDITION = """
SELECT id FROM hostile.rows WHERE {mixed}
SELECT id FROM hostile.rows WHERE NOT {mixed} OR {values}
SELECT other.id FROM hostile.rows AS other, hostile.rows WHERE {mixed} AND other.id < rows.id
SELECT other.id FROM hostile.rows AS other LEFT JOIN hostile.rows ON {mixed}
SELECT other.id FROM hostile.rows AS other WHERE EXISTS (SELECT FROM hostile.rows WHERE {mixed}
    AND rows.integer_value = other.integer_value)
SELECT count(*) FILTER (WHERE {mixed}) FROM hostile.rows HAVING {values}
CREATE INDEX here ON hostile.rows (id) WHERE {columns} ;; SELECT id FROM hostile.rows WHERE {columns}
SELECT id FROM hostile.attached WHERE simhash_near(simhash, (SELECT bigint_value FROM hostile.rows WHERE {mixed}
    LIMIT 1))
SELECT id FROM hostile.indexed WHERE simhash_near(body, (SELECT text_value FROM hostile.rows WHERE {mixed} LIMIT 1))
SELECT indexed.id FROM hostile.indexed JOIN hostile.rows ON simhash_near(indexed.body, rows.text_value) AND {mixed}
"""
SET = """
SELECT * FROM {values}
SELECT count(result) FROM hostile.rows LEFT JOIN LATERAL {mixed} AS result ON true
SELECT * FROM ROWS FROM ({values}, generate_series(1, 3)) WITH ORDINALITY
SELECT {values}, {values}, generate_series(1, 2) LIMIT 20
SELECT {mixed} FROM hostile.rows LIMIT 5
SELECT ({values}).* LIMIT 7
SELECT EXISTS (SELECT {values}), ARRAY(SELECT result::text FROM {values} AS result LIMIT 100)
SELECT count(*) FROM {values} AS one FULL JOIN {values} AS two ON one::text = two::text
DECLARE c SCROLL CURSOR FOR SELECT * FROM {values} ;; FETCH 3 FROM c ;; FETCH BACKWARD 2 FROM c ;; CLOSE c
SET LOCAL force_parallel_mode = regress ;; SET LOCAL work_mem = 64 ;;
    SELECT count(*) FROM {values} AS one, {values} AS two
SET LOCAL ROLE hostile_user ;; SELECT * FROM {values} LIMIT 10
DO $here$DECLARE one_row record; BEGIN FOR i IN 1..3 LOOP FOR one_row IN SELECT *
    FROM {values} LOOP EXIT; END LOOP; END LOOP; END$here$
"""
AGGREGATE = """
SELECT {values}
SELECT integer_value, {mixed} FROM hostile.rows GROUP BY ROLLUP (integer_value)
SELECT {distinct}, {ordered} FROM hostile.rows
SELECT {mixed} FILTER (WHERE integer_value > 3) FROM hostile.rows GROUP BY integer_value HAVING ({mixed}) IS NOT NULL
    ORDER BY {mixed}
SELECT {mixed} OVER (PARTITION BY integer_value ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM hostile.rows
SET LOCAL parallel_setup_cost = 0 ;; SET LOCAL parallel_tuple_cost = 0 ;; SET LOCAL min_parallel_table_scan_size = 0 ;;
    SELECT {mixed} FROM hostile.rows GROUP BY integer_value
SET LOCAL enable_partitionwise_aggregate = on ;; SELECT {values} FROM hostile.partitioned GROUP BY id
SET LOCAL work_mem = 64 ;; SELECT n, {values} FROM generate_series(1, 3000) AS n GROUP BY n
DECLARE c CURSOR FOR SELECT {mixed} FROM hostile.rows GROUP BY id ;; FETCH 3 FROM c ;; CLOSE c
"""
WINDOW = """
SELECT {values} OVER ()
SELECT {mixed} OVER (PARTITION BY integer_value ORDER BY id DESC ROWS BETWEEN 1 PRECEDING
    AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM hostile.rows
SELECT {mixed} OVER w, rank() OVER w, lag(id) OVER w, {mixed} OVER (PARTITION BY boolean_value) FROM hostile.rows
    WINDOW w AS (ORDER BY integer_value)
SELECT result FROM (SELECT {mixed} OVER () AS result FROM hostile.rows) AS results WHERE result IS NULL LIMIT 1
SET LOCAL work_mem = 64 ;; SELECT {values} OVER (PARTITION BY n / 1000 ORDER BY n DESC)
    FROM generate_series(1, 5000) AS n
DECLARE c SCROLL CURSOR FOR SELECT {mixed} OVER () FROM hostile.rows ;; FETCH 3 FROM c ;; FETCH BACKWARD 2 FROM c ;;
    CLOSE c
"""


def split_templates(text):
    return re.sub(r"\n +", " ", text.strip()).splitlines()


TEMPLATES = {
    "value": split_templates(VALUE + IN_A_LOOP),
    "condition": split_templates(CONDITION),
    "set": split_templates(SET),
    "aggregate": split_templates(AGGREGATE + IN_A_LOOP),
    "window": split_templates(WINDOW + IN_A_LOOP.replace("{mixed}", "{mixed} OVER ()")),
}


def functions_without_values(functions):
    """The functions with an argument of a type without hostile values."""
    return [function.signature for function in functions if not set(function.argument_types) <= set(MAKERS)]


class Calls:
    """Makes calls. `size` bounds the length of texts and arrays."""

    def __init__(self, rng, size):
        self.rng, self.values = rng, Values(rng, size)

    def arguments(self, function, column_share=0.0, only_columns=False):
        count = len(function.argument_types)
        if function.default_count and self.rng.random() < 0.3:
            count -= self.rng.randint(0, function.default_count)
        arguments = [
            self.argument(type, name, column_share, only_columns)
            for type, name in list(zip(function.argument_types, function.argument_names))[:count]
        ]
        # Two arrays must have the same type, which two hostile ones seldom have.
        if list(function.argument_types[:2]) == ["anyarray", "anyarray"] and self.rng.random() < 0.7:
            arguments[1] = arguments[0]
        return arguments

    def argument(self, type, name, column_share, only_columns):
        if type in COLUMNS_BY_TYPE and self.rng.random() < column_share:
            return "rows." + self.rng.choice(COLUMNS_BY_TYPE[type])
        # Expressions in the catalogue get no NULL arguments, so that most of them can be stored and evaluated.
        return self.values.value(type, name) if only_columns else self.values.value_or_null(type, name)

    def statements(self, function):
        """Statements that call the function, by a random template. What they change is undone."""
        if function.result == "trigger":
            return [f"SELECT {function.call_sql([])}"]
        may_be_prepared = function.kind in "fw" and not function.returns_set and not function.takes_internal()
        if may_be_prepared and self.rng.random() < 0.1:
            return self.prepared(function)
        template = self.rng.choice(TEMPLATES[self.kind_of_template(function)])
        filled = re.sub(r"\{(\w+)\}", lambda found: self.part(found[1], function), template)
        return ["BEGIN", *filled.split(" ;; "), "ROLLBACK"]

    def kind_of_template(self, function):
        if function.result == "boolean" and self.rng.random() < 0.5:
            return "condition"
        return {"a": "aggregate", "w": "window"}.get(function.kind) or ("set" if function.returns_set else "value")

    def part(self, name, function):
        """What replaces a name in braces in a template."""
        if name == "type":
            return function.result
        arguments = self.arguments(function, 0.0 if name == "values" else 0.7, name == "columns")
        if name == "distinct":
            arguments[0] = f"DISTINCT {arguments[0]}"
        elif name == "ordered":
            arguments[-1] += f" ORDER BY {arguments[0]} DESC"
        return function.call_sql(arguments)

    def prepared(self, function):
        """A statement that is planned without its arguments, or planned again for each of them."""
        types = [{"anyarray": "integer[]", "anyelement": "text"}.get(type, type) for type in function.argument_types]
        call = function.call_sql([f"${number}" for number in range(1, len(types) + 1)])
        over = " OVER ()" if function.kind == "w" else ""
        mode = self.rng.choice(("auto", "force_generic_plan", "force_custom_plan"))
        query = self.rng.choice((f"SELECT {call}{over}", f"SELECT {call}{over} FROM hostile.rows"))
        statements = ["DEALLOCATE ALL", f"SET plan_cache_mode = {mode}"]
        statements.append(f"PREPARE hostile_call {in_parentheses(types)} AS {query}")
        for _ in range(6):
            values = map(self.values.value_or_null, types, function.argument_names)
            statements.append(f"EXECUTE hostile_call {in_parentheses(values)}")
        return statements


def in_parentheses(items):
    listed = ", ".join(items)
    return listed and f"({listed})"


def huge_call(rng, digits):
    """A call with a text of up to 10 ^ digits bytes, or an array of that size. Results are short."""
    size = int(10 ** rng.uniform(6, digits))
    piece = rng.choice(("a", "a ", "x\u0301", "\u4e2d", "\ufdfa", "\u0130 ", "\uac00", "\U0001f600 ", "1 2 3 "))
    text = f"repeat('{piece}', {min(size, 1_073_741_800) // len(piece.encode())})"
    random_words = f"(SELECT string_agg(md5(i::text), ' ') FROM generate_series(1, {size // 200}) AS i)"
    count = min(size // 100, 5_000_000)
    options = rng.choice(('"ngram": 16, "weight": "tf"', '"tokens": "chars"'))
    return rng.choice(
        (
            f"SELECT simhash({text}, '{{{options}}}')",
            f"SELECT simhash({random_words}, '{{{options}}}')",
            f"SELECT hamming(array_fill(0::bigint, ARRAY[{count}]), array_fill(-1::bigint, ARRAY[{count}]))",
            f"SELECT count(*), max(length(feature)) FROM simhash_features({text}, '{{\"ngram\": 3}}')",
            f"SELECT simhash_resemblance({text}, {random_words})",
            f"SELECT simhash_band({text}, 63, '{{{options}}}'), simhash_size({random_words})",
            f"SELECT count(*) FROM hostile.indexed WHERE simhash_near(body, {text})",
            f"SELECT simhash(array_fill('a'::text, ARRAY[{count}]), array_fill(1e9::float8, ARRAY[{count}]))",
            f"SELECT simhash_agg({text}, n) FROM generate_series(1, 2) AS n",
            f"SELECT simhash('a', {text})",
            f"SELECT simhash('a', ('{{\"' || repeat('x', {count * 10}) || '\": 1}}')::jsonb)",
            f"SELECT simhash('a', ('[' || repeat('1e131071,', {size // 100_000}) || '1]')::jsonb)",
            f"SELECT simhash_headline('a b c d', 'a b c d', {text})",
            f"SELECT simhash_index('hostile.indexed', {text} || 'body')",
            f"SELECT simhash(to_tsvector('simple', left({random_words}, 900000)))",
            f"SELECT count(*) FROM simhash_pairs(ARRAY(SELECT generate_series(1, {count})), ARRAY(SELECT i::bigint *"
            f" 2654435761 FROM generate_series(1, {count}) AS i), 1)",
            f"SELECT count(*) FROM simhash_components(ARRAY(SELECT i % 7 || {text} FROM generate_series(1, 9) AS i),"
            f" ARRAY(SELECT {text} || i FROM generate_series(1, 9) AS i))",
            f"SELECT max(cluster), max(original) FROM (SELECT simhash_cluster(i, {text} || i % 5) OVER () AS cluster,"
            f" simhash_duplicate_of(i, {text} || i % 5) OVER (ORDER BY i) AS original"
            f" FROM generate_series(1, {count}) AS i) AS found",
            f"INSERT INTO hostile.guarded (id, body) SELECT {rng.randint(1, 10**9)}, {text}",
        )
    )
