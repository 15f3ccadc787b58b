"""The memory of a backend stays constant over a million calls of each function: the memory in use in PostgreSQL's
contexts, and the resident memory of the process (from /proc), because Rust's memory is in no context.

    python tests/load/hostile/leaks.py [--calls N] [--only NAME]

Each function is called in one statement for many rows, in many statements that are each planned, and with hostile
arguments that mostly raise errors. All calls run once as a warm-up and once between two measurements. The functions are
read from the catalogue, and a function without a known call is a failure. Functions that change tables are called less
often, by the factor next to each. The test runs on Linux.
"""

import argparse
import random
import re
import sys
from functools import partial

import calls
import catalogue
import database
from patience import PATIENCE

# The arguments of the nth call: by their type, and those of which name and type matter.
ARGUMENTS = {
    "text": "'document ' || n || ' of some words'",
    "jsonb": "(CASE n % 3 WHEN 0 THEN '{}' ELSE '{\"ngram\": 2}' END)::jsonb", "integer": "(n % 3)::integer",
    "bigint": "n::bigint", "numeric": "n::numeric", "double precision": "n::float8", "boolean": "n % 2 = 0",
    "text[]": "ARRAY['a', n::text, 'b']", "double precision[]": "ARRAY[n, 2, 3]::float8[]",
    "bigint[]": "ARRAY[n, 2, n]::bigint[]", "anyarray": "ARRAY['a', 'b', n::text]", "anyelement": "n::text",
    "tsvector": "('a:1A ' || n)::tsvector", "name": "'f'::name", "regclass": "'leaks.searched'::regclass",
}
NAMED_ARGUMENTS = {
    "options text": "'{\"ngram\": 2}'", "criterion text": "'{\"ngram\": 2}'", "blocks integer": "4",
    "max_distance integer": "3", "headline text": "'MaxFragments=2'", "digits text": "lpad(to_hex(n), 16, '0')",
    "share double precision": ".8", "features integer": "3", "sample integer": "2",
    "resemblance double precision": ".84",
}
# Arguments of an aggregate that all rows of a group must share, by their type.
GROUP_ARGUMENTS = {"jsonb": "'{\"ngram\": 2}'::jsonb"}

ROWS = 1000
NEW_TABLE = (
    "DROP TABLE IF EXISTS leaks.changed ;;"
    " CREATE TABLE leaks.changed AS SELECT n AS id, 'text ' || n AS body FROM generate_series(1, 10) AS n"
)
# For functions that no query can call for each row: the statements of a round, and for how many calls one round runs.
ROUNDS = {
    # The attribute number of a dropped column is never used again.
    "attach": (
        400, f"{NEW_TABLE} ;; SELECT simhash_attach('leaks.changed', 'body') ;; SELECT simhash_detach('leaks.changed')",
    ),
    "index": (400, f"{NEW_TABLE} ;; SELECT simhash_index('leaks.changed', 'lower(body)', scope => ARRAY['id'])"),
    "index commands": (50, "SELECT count(*) FROM simhash_index_commands('leaks.online', 'body')"),
    "guard": (
        500, "SELECT simhash_guard('leaks.guarded_later', 'skip', source => 'f', among => 'f > 0') ;;"
        " SELECT simhash_unguard('leaks.guarded_later')",
    ),
    "guards": (100, "SELECT count(*) FROM (SELECT simhash_guards()) AS guards"),
    "preview": (500, "SELECT count(*) FROM simhash_preview('leaks.previewed', sample => 50)"),
    "layouts": (500, "SELECT count(*) FROM simhash_layouts('leaks.searched', 'f')"),
    "dedup trigger": (
        10, "INSERT INTO leaks.guarded (f) VALUES ((random() * 1e18)::bigint) ;;"
        " DELETE FROM leaks.guarded WHERE id % 50 <> 0",
    ),
    "confirming trigger": (
        10, "INSERT INTO leaks.confirmed (body) SELECT string_agg('word' || least(word, 99 * random()), ' ') FROM"
        " generate_series(90, 99) AS word ;; DELETE FROM leaks.confirmed WHERE id % 50 <> 0",
    ),
    "rejected": (
        20, "DO $$BEGIN INSERT INTO leaks.rejecting (f) VALUES (1); EXCEPTION WHEN exclusion_violation THEN END$$",
    ),
    "search": (10, "SELECT count(*) FROM leaks.searched WHERE simhash_near(f, (random() * 1e9)::bigint)"),
    "search of texts": (10, "SELECT count(*) FROM leaks.texts WHERE simhash_near(body, 'text ' || random())"),
    "search by hand": (
        10,
        "SELECT count(*) FROM leaks.searched WHERE simhash_block(f, 0) = simhash_block((random() * 1e9)::bigint, 0)",
    ),
    "nearest": (10, "SELECT f FROM leaks.searched ORDER BY f <~> (random() * 1e9)::bigint LIMIT 5"),
    "unread rows": (
        50, "SELECT simhash_features(repeat('unread text ', 50)) LIMIT 1 ;;"
        " SELECT simhash_pairs(ids, array_fill(0::bigint, ARRAY[1000])), simhash_components(ids, ids)"
        " FROM (SELECT ARRAY(SELECT generate_series(1, 1000))) AS rows (ids) LIMIT 1",
    ),
    # Statements that each call for many rows, about ROWS.
    "triggers, rows": (
        10 * ROWS, f"INSERT INTO leaks.guarded (f) SELECT (random() * 1e18)::bigint FROM generate_series(1, {ROWS}) ;;"
        " TRUNCATE leaks.guarded",
    ),
    "searches, rows": (
        5 * ROWS, f"SELECT count(*) FROM generate_series(1, {ROWS}) AS n, leaks.searched WHERE simhash_near(f, n)",
    ),
    "searches of texts, rows": (
        5 * ROWS,
        "SELECT count(*) FROM leaks.texts AS one, leaks.texts AS two WHERE simhash_near(one.body, two.body || ' more')",
    ),
    "aggregate in parallel": (
        10 * ROWS,
        "SET parallel_setup_cost = 0 ;; SET parallel_tuple_cost = 0 ;; SET min_parallel_table_scan_size = 0 ;;"
        " SELECT simhash_agg(f::text, 1) FROM leaks.searched GROUP BY f % 10",
    ),
    "weights": (10 * ROWS, "SELECT simhash_weights('text ' || f, '{}') FROM leaks.searched GROUP BY f % 10"),
}
# Functions that the statements of ROUNDS call without naming them.
CALLED_BY_POSTGRES = {
    "simhash_dedup", "simhash_guard_definition", "simhash_guard_error", "simhash_near_support", "simhash_block_support",
    *(f"simhash_agg_{part}" for part in ("add", "combine", "serialize", "deserialize", "final")),
    "simhash_weights_add", "simhash_weights_final",
}

TABLES_SQL = f"""
CREATE SCHEMA leaks;
CREATE TABLE leaks.searched (id serial PRIMARY KEY, f bigint);
INSERT INTO leaks.searched (f) SELECT n * 7919 FROM generate_series(1, {ROWS}) AS n;
SELECT simhash_attach('leaks.searched', 'f');
CREATE TABLE leaks.texts (id serial PRIMARY KEY, body text);
INSERT INTO leaks.texts (body)
SELECT string_agg(md5(n || ' ' || word), ' ') FROM generate_series(1, {ROWS}) AS n, generate_series(1, 20) AS word
GROUP BY n;
SELECT simhash_index('leaks.texts', 'body');
CREATE TABLE leaks.online (id serial PRIMARY KEY, body text);
CREATE TABLE leaks.guarded (id serial PRIMARY KEY, f bigint);
SELECT simhash_attach('leaks.guarded', 'f'), simhash_guard('leaks.guarded', 'skip', source => 'f');
CREATE TABLE leaks.guarded_later (id serial PRIMARY KEY, f bigint);
SELECT simhash_attach('leaks.guarded_later', 'f');
CREATE TABLE leaks.rejecting (id serial PRIMARY KEY, f bigint);
SELECT simhash_attach('leaks.rejecting', 'f'), simhash_guard('leaks.rejecting', source => 'f', among => 'id > 0');
INSERT INTO leaks.rejecting (f) VALUES (0);
CREATE TABLE leaks.previewed (id serial PRIMARY KEY, body text);
INSERT INTO leaks.previewed (body) SELECT 'one two three four ' || n % 10 FROM generate_series(1, 50) AS n;
SELECT simhash_index('leaks.previewed', 'body');
CREATE TABLE leaks.confirmed (id serial PRIMARY KEY, body text);
SELECT simhash_index('leaks.confirmed', 'body'), simhash_guard('leaks.confirmed', 'skip');
VACUUM ANALYZE leaks.searched;
VACUUM ANALYZE leaks.texts;
"""

# These rounds may leave more memory: PostgreSQL caches look-ups that find nothing, here by OIDs of tables that are
# never used again. Such commands in plain SQL, with as many columns and indexes, leave 1,400 bytes; these look up more.
COMMANDS = {"attach", "index", "guard"}
BYTES_OF_A_COMMAND = 5_000

# Counts the memory in use, because contexts grow by blocks of up to 8 MB, whenever the last block is full.
CONTEXTS_SQL = "SELECT sum(used_bytes)::bigint FROM pg_backend_memory_contexts"
# One of this many calls is a statement of its own.
CALLS_FOR_A_STATEMENT = 10
# The rows of each statement with all other calls.
BATCH = 50_000


def main():
    parser = argparse.ArgumentParser(prog="tests/load/hostile/leaks.py")
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--only", metavar="NAME", default="", help="what has this in its name")
    options = parser.parse_args()
    database.create("pg_simhash_leaks")
    with database.connect() as connection:
        database.run_script(connection, "hostile/tables.sql")
        for statement in database.split_statements(TABLES_SQL):
            connection.execute(statement)
        functions = catalogue.read_functions(connection)
    # A statement of a million calls takes minutes.
    settings = f"-c jit=off -c statement_timeout={max(PATIENCE, options.calls // 500)}s"
    tasks = make_tasks(functions, options.calls)
    leaks = [name for name, task in tasks if options.only in name and memory_grows(name, task, settings)]
    database.drop("pg_simhash_leaks")
    if leaks:
        sys.exit(f"memory grows: {', '.join(leaks)}")


def make_tasks(functions, count):
    """Yields the names of the tasks to measure, and functions that do them in a backend."""
    known = CALLED_BY_POSTGRES | set(re.findall(r"simhash_\w+(?=\()", str(ROUNDS)))
    missing = [function.signature for function in functions if not query_sql(function) and function.name not in known]
    if missing:
        sys.exit(f"no calls are known of: {', '.join(missing)}")
    for function in functions:
        if template := query_sql(function):
            yield function.signature, partial(call_in_all_ways, function, template, count)
        else:
            # Mostly errors: about a table and a column that do not exist, or arguments that no caller has.
            share = 10 if function.takes_internal() or function.result == "trigger" else 1000
            yield f"{function.signature}: errors", partial(call_with_errors, function=function, count=count // share)
    for name, (calls_per_round, statements) in ROUNDS.items():
        rounds = max(100 if calls_per_round < ROWS else 2, count // calls_per_round)
        yield name, partial(run_rounds, statements=statements, count=rounds)


def query_sql(function):
    """A query that calls the function for each n from {first} to {last}; None if no query can call it for a row."""
    if function.result == "trigger" or function.takes_internal() or function.volatility != "i":
        return None
    known = ARGUMENTS | GROUP_ARGUMENTS if function.kind == "a" else ARGUMENTS
    named_types = zip(function.argument_types, function.argument_names)
    arguments = [NAMED_ARGUMENTS.get(f"{name} {type}", known.get(type)) for type, name in named_types]
    if None in arguments:
        return None
    call, rows = function.call_sql(arguments), "generate_series({first}, {last}) AS n"
    if function.kind == "a":
        return f"SELECT count(result) FROM (SELECT {call} AS result FROM {rows} GROUP BY n / 4) AS results"
    if function.kind == "w":
        return f"SELECT count(result) FROM (SELECT {call} OVER (PARTITION BY n / 4) AS result FROM {rows}) AS results"
    if function.returns_set:
        return f"SELECT count(*) FROM {rows}, LATERAL {call} AS results"
    return f"SELECT count({call}) FROM {rows}"


def call_in_all_ways(function, template, count, backend):
    call_in_rows(backend, template, count)
    call_in_statements(backend, template, count // CALLS_FOR_A_STATEMENT)
    return count + count // CALLS_FOR_A_STATEMENT + call_with_errors(backend, function, count // 100)


def call_in_rows(backend, template, count):
    for first in range(1, count + 1, BATCH):
        last = min(first + BATCH - 1, count)
        backend.run(template.replace("{first}", str(first)).replace("{last}", str(last)))


def call_in_statements(backend, template, count):
    """Plans the calls again each time. The client sends a single statement, since many would take much longer."""
    quoted = template.replace("'", "''").replace("{first}", "' || i || '").replace("{last}", "' || i || '")
    backend.run(f"DO $do$BEGIN FOR i IN 1..{count} LOOP EXECUTE '{quoted}'; END LOOP; END$do$")


def call_with_errors(backend, function, count):
    """Calls with hostile arguments. They are the same in each round, so that caches are full before the measurement."""
    rng = random.Random(function.signature)
    random_calls = calls.Calls(rng, 40)
    over = " OVER ()" if function.kind == "w" else ""
    calls_of_each = max(1, count // 20)
    backend.run("BEGIN")
    for _ in range(20):
        call = "SELECT " + function.call_sql(random_calls.arguments(function)) + over
        quoted = call.replace("'", "''").replace("\\", "\\\\")
        backend.run(
            f"DO $do$BEGIN FOR i IN 1..{calls_of_each} LOOP BEGIN EXECUTE E'{quoted}'; EXCEPTION WHEN OTHERS THEN"
            " IF SQLSTATE ~ '^XX' THEN RAISE; END IF; END; END LOOP; END$do$"
        )
    backend.run("ROLLBACK")
    return 20 * calls_of_each


def run_rounds(backend, statements, count):
    """Commands that may not run in a transaction, and so neither in a loop of the server's."""
    for _ in range(count):
        for statement in statements.split(" ;; "):
            backend.run(statement)
    return count


def memory_grows(name, task, settings):
    """Whether the memory of a backend grows when it does the task again. `task` returns the number of its calls."""
    backend = Backend(settings)
    # The first calls with errors fill caches and free memory: only after three rounds do both stay as they are.
    for _ in range(3 if name.endswith("errors") else 1):
        task(backend)
    before = backend.memory()
    calls_made = task(backend)
    after = backend.memory()
    backend.connection.close()
    contexts, resident = after[0] - before[0], after[1] - before[1]
    # A byte a call, or an allocation (at least 32 bytes) every fourth call; and what a backend's memory varies by
    # anyway.
    limits = (200_000 + calls_made, 1_500_000 + 8 * calls_made)
    if name in COMMANDS:
        limits = tuple(max(limit, 1_000_000 + calls_made * BYTES_OF_A_COMMAND) for limit in limits)
    has_grown = contexts > limits[0] or resident > limits[1]
    leak = "  LEAK" if has_grown else ""
    print(f"{name:70} {calls_made:9} calls  contexts {contexts:+9}  resident {resident:+9}{leak}", flush=True)
    return has_grown


class Backend:
    def __init__(self, settings):
        self.connection = database.connect(settings)
        self.pid = self.connection.info.backend_pid

    def run(self, statement):
        cursor = self.connection.execute(statement)
        return cursor.fetchall() if cursor.description else None

    def memory(self):
        """The bytes in use in PostgreSQL's contexts, and the resident bytes of the process."""
        [(contexts,)] = self.run(CONTEXTS_SQL)
        with open(f"/proc/{self.pid}/status") as status:
            [resident] = [int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon:")]
        return contexts, resident


if __name__ == "__main__":
    main()
