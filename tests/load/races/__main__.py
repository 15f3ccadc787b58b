"""Commands resolve names once. While a superuser runs the extension's commands on a table, the owner of its schema
renames the schema again and again, and gives its name to another schema, which is full of the owner's code.

    python tests/load/races [--commands N] [--renames N] [--only SCENARIO]

Needs the server of psql's environment (PGHOST and so on), with pg_simhash, as a superuser, and the packages of
tests/requirements.txt. The test makes its own database. In each scenario, at least N commands succeed while the schema
is renamed at least N times. The test fails if the owner's code has run with the superuser's rights, or if a command has
changed the owner's table.
"""

import argparse
import collections
import sys
import threading
import time

import psycopg
from psycopg import sql

sys.path.append(f"{sys.path[0]}/..")
import database
from patience import LIMIT, PATIENCE, NotReached

DATABASE = "races"
ATTACKER = "regress_simhash_attacker"

# The attacker's code calls evidence.ran, which logs whoever runs it, unless that is the attacker.
SETUP = f"""
CREATE ROLE {ATTACKER} LOGIN;
GRANT CREATE ON DATABASE {DATABASE} TO {ATTACKER};
CREATE SCHEMA evidence;
GRANT USAGE ON SCHEMA evidence TO public;
CREATE TABLE evidence.log (code text, role text);
GRANT ALL ON evidence.log TO public;
-- For the superuser: without the indexes of simhash_index, the next call makes them again.
CREATE FUNCTION evidence.drop_indexes(t regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    index regclass;
BEGIN
    FOR index IN SELECT indexrelid FROM pg_index WHERE indrelid = t AND indexprs IS NOT NULL LOOP
        EXECUTE format('DROP INDEX %s', index);
    END LOOP;
END $$;
CREATE SEQUENCE evidence.renames;
GRANT ALL ON evidence.renames TO public;
CREATE FUNCTION evidence.ran(code text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_user <> '{ATTACKER}' THEN
        INSERT INTO evidence.log VALUES (code, current_user);
    END IF;
END $$;
"""

# `good` is the schema that the superuser means, `evil` the one that takes its name now and then. In `evil`, each way
# to the attacker's code: a trigger, a cast of the text, a cast of the fingerprint, functions of the same names.
SCHEMAS = f"""
CREATE SCHEMA good AUTHORIZATION {ATTACKER};
SET ROLE {ATTACKER};
CREATE SCHEMA evil;
CREATE FUNCTION evil.trigger() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.ran(''trigger''); RETURN NULL; END';
CREATE TYPE evil.words AS (words text);
CREATE FUNCTION evil.to_text(evil.words) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.ran(''cast to text''); RETURN ''x''; END';
CREATE CAST (evil.words AS text) WITH FUNCTION evil.to_text(evil.words) AS IMPLICIT;
CREATE TYPE evil.number AS (number text);
CREATE FUNCTION evil.to_bigint(evil.number) RETURNS bigint LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.ran(''cast to bigint''); RETURN 1; END';
CREATE CAST (evil.number AS bigint) WITH FUNCTION evil.to_bigint(evil.number);
CREATE FUNCTION evil.normal(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.ran(''function of the source''); RETURN ''x''; END';
CREATE FUNCTION evil.simhash(text, jsonb DEFAULT '{{}}') RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.ran(''simhash''); RETURN 1; END';
CREATE FUNCTION evil.simhash_block(bigint, integer, integer DEFAULT 4) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.ran(''simhash_block''); RETURN 1; END';
CREATE FUNCTION evil.simhash_band(text, integer, jsonb DEFAULT '{{}}') RETURNS integer IMMUTABLE LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.ran(''simhash_band''); RETURN 1; END';
CREATE FUNCTION evil.simhash_size(text, jsonb DEFAULT '{{}}') RETURNS integer IMMUTABLE LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.ran(''simhash_size''); RETURN 1; END';
CREATE FUNCTION evil.simhash_dedup() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.ran(''simhash_dedup''); RETURN NEW; END';
-- Renames both schemas and back, each time for good. A change that leaves the names alone comes first, so that a
-- command that holds a name has to hold it in the row's new version too.
CREATE PROCEDURE evil.flip() LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        GRANT USAGE ON SCHEMA good TO public;
        ALTER SCHEMA good RENAME TO away;
        ALTER SCHEMA evil RENAME TO good;
        COMMIT;
        ALTER SCHEMA good RENAME TO evil;
        ALTER SCHEMA away RENAME TO good;
        COMMIT;
        PERFORM nextval('evidence.renames');
    END LOOP;
END $$;
RESET ROLE;
"""

EXTENSION = "CREATE EXTENSION pg_simhash SCHEMA public;"
TABLE = "CREATE TABLE good.t (id integer PRIMARY KEY, body text); INSERT INTO good.t VALUES (1, 'a b'), (2, 'c d');"


def evil_table(columns, more):
    """Statements that make the attacker's table, which has the name of the superuser's table."""
    return f"SET ROLE {ATTACKER}; CREATE TABLE evil.t (id integer PRIMARY KEY, {columns}); {more} RESET ROLE;"


# The same columns, of types with casts.
EVIL_TABLE = evil_table("body evil.words", "INSERT INTO evil.t VALUES (1, ROW('a'));")
EVIL_NUMBERS = evil_table("simhash evil.number", "INSERT INTO evil.t VALUES (1, ROW('b'));")
EVIL_PLAIN_TABLE = evil_table(
    "body text, simhash bigint",
    "INSERT INTO evil.t (id, body) VALUES (1, 'a');"
    " CREATE TRIGGER t BEFORE UPDATE ON evil.t FOR EACH STATEMENT EXECUTE FUNCTION evil.trigger();",
)
# A planner that looks at this table evaluates the expression of its index.
EVIL_INDEX = evil_table(
    "body text, simhash bigint",
    "INSERT INTO evil.t VALUES (1, 'a', 1); CREATE INDEX ON evil.t ((body || evil.normal('x')));",
)
# Each scenario's setup in addition to the schemas, and the commands that the superuser repeats. %(table)s is the OID of
# the scenario's table.
SCENARIOS = {
    "attach": (
        [EXTENSION, TABLE, EVIL_TABLE],
        ["SELECT simhash_attach(%(table)s::regclass, 'body')", "SELECT simhash_detach(%(table)s::regclass)"],
    ),
    "index": (
        [EXTENSION, TABLE, EVIL_TABLE],
        [
            "SELECT simhash_index(%(table)s::regclass, 'body')",
            "SELECT evidence.drop_indexes(%(table)s::regclass)",
            "SELECT simhash_index_commands(%(table)s::regclass, 'body')",
        ],
    ),
    "guard": (
        [
            EXTENSION, TABLE, EVIL_PLAIN_TABLE,
            "SELECT simhash_attach('good.t', 'body'), simhash_index('good.t', 'body')",
        ],
        [
            "SELECT simhash_guard(%(table)s::regclass, source => 'body')",
            "SELECT simhash_unguard(%(table)s::regclass)",
            """SELECT simhash_guard(%(table)s::regclass, criterion => '{"resemblance": null}', source => 'simhash')""",
            "SELECT simhash_unguard(%(table)s::regclass)",
        ],
    ),
    "layouts": (
        [EXTENSION, TABLE, EVIL_NUMBERS, "SELECT simhash_attach('good.t', 'body')"],
        ["SELECT * FROM simhash_layouts(%(table)s::regclass)"],
    ),
    "preview": (
        [EXTENSION, TABLE, EVIL_INDEX, "SELECT simhash_index('good.t', 'body'); ANALYZE good.t"],
        ["SELECT * FROM simhash_preview(%(table)s::regclass)"],
    ),
    # The owner of the schema of a function that a generated column calls.
    "source": (
        [
            EXTENSION,
            "CREATE FUNCTION good.normal(text) RETURNS text IMMUTABLE LANGUAGE sql RETURN lower($1)",
            "CREATE TABLE public.t (id integer, body text, normal text GENERATED ALWAYS AS (good.normal(body)) STORED)",
            "INSERT INTO public.t VALUES (1, 'a b')",
        ],
        ["SELECT simhash_attach(%(table)s::regclass, 'normal')", "SELECT simhash_detach(%(table)s::regclass)"],
    ),
    # The owner of the extension's schema. Functions with parsed bodies call the right ones, whatever they are called.
    "extension": (
        [
            "CREATE EXTENSION pg_simhash SCHEMA good",
            "CREATE TABLE public.t (id integer, body text)",
            "INSERT INTO public.t VALUES (1, 'a b')",
            "CREATE FUNCTION public.attach(t regclass) RETURNS void LANGUAGE sql "
            "BEGIN ATOMIC SELECT good.simhash_attach(t, 'body'); SELECT good.simhash_index(t, 'body'); "
            "SELECT good.simhash_guard(t, source => 'body'); END",
            "CREATE FUNCTION public.detach(t regclass) RETURNS void LANGUAGE sql "
            "BEGIN ATOMIC SELECT good.simhash_unguard(t); SELECT good.simhash_detach(t); "
            "SELECT evidence.drop_indexes(t); END",
        ],
        ["SELECT public.attach(%(table)s::regclass)", "SELECT public.detach(%(table)s::regclass)"],
    ),
}

# The changes that a command may have made to the attacker's table.
CHANGED = """
SELECT attname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
WHERE relowner = %(attacker)s::regrole AND attname LIKE 'simhash_block%%'
UNION ALL
SELECT relname FROM pg_index JOIN pg_class c ON c.oid = indexrelid
WHERE relowner = %(attacker)s::regrole AND relname LIKE '%%simhash%%'
UNION ALL
SELECT tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
WHERE relowner = %(attacker)s::regrole AND tgname LIKE 'zz%%'
UNION ALL
SELECT description FROM pg_description WHERE objoid IN (SELECT oid FROM pg_class WHERE relowner = %(attacker)s::regrole)
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--commands", type=int, default=200)
    parser.add_argument("--renames", type=int, default=2000)
    parser.add_argument("--only", choices=SCENARIOS)
    options = parser.parse_args()
    database.create(DATABASE)
    with connect() as superuser:
        superuser.execute(f"DROP ROLE IF EXISTS {ATTACKER}")
        superuser.execute(SETUP)
    has_failed = False
    for scenario in [options.only] if options.only else SCENARIOS:
        failures, ran, renames, errors = run(scenario, options.commands, options.renames)
        print(f"{scenario}: {ran} commands ran, {errors.total()} failed; {renames} renames")
        for message, times in errors.most_common(3):
            print(f"    {times} {message}")
        if failures:
            has_failed = True
            print(f"FAILED: {scenario}: {'; '.join(failures)}", file=sys.stderr)
    database.drop(DATABASE)
    with connect() as superuser:
        superuser.execute(f"DROP ROLE {ATTACKER}")
    sys.exit(has_failed)


def run(scenario, min_commands, min_renames):
    """Returns what has gone wrong, how many commands have run, how often the schema was renamed, and the errors of the
    other commands."""
    setup, commands = SCENARIOS[scenario]
    with connect() as superuser:
        table, connections, failures = prepare(superuser, setup), [], []
        thread = threading.Thread(target=flip, args=(connections, failures))
        thread.start()
        ran, renames, errors = 0, 0, collections.Counter()
        before, deadline = None, None
        try:
            while (ran < min_commands or renames < min_renames) and not find_evidence(superuser) and thread.is_alive():
                progress = min(ran, min_commands), min(renames, min_renames)
                if progress != before:
                    before, deadline = progress, time.monotonic() + PATIENCE
                if time.monotonic() > deadline:
                    raise NotReached(f"{scenario}: no more than {ran} commands, {renames} renames within {PATIENCE} s")
                (renames,) = superuser.execute("SELECT last_value FROM evidence.renames").fetchone()
                ran += call(commands, table, errors)
        finally:
            while thread.is_alive():
                for connection in connections:
                    connection.cancel()
                time.sleep(0.01)
        return find_evidence(superuser) + failures, ran, renames, errors


def prepare(superuser, setup):
    """Makes all objects again, and returns the OID of the superuser's table."""
    superuser.execute("SET client_min_messages = warning")
    superuser.execute("DROP SCHEMA IF EXISTS good, evil, away CASCADE; DROP TABLE IF EXISTS public.t CASCADE")
    superuser.execute("DROP EXTENSION IF EXISTS pg_simhash CASCADE; TRUNCATE evidence.log")
    superuser.execute("ALTER SEQUENCE evidence.renames RESTART")
    for statement in (SCHEMAS, *setup):
        superuser.execute(statement)
    return superuser.execute(
        "SELECT oid FROM pg_class WHERE relname = 't' AND relowner = current_user::regrole AND relkind = 'r'"
    ).fetchone()[0]


def flip(connections, failures):
    """Renames the schemas until the connection is cancelled, which it adds to `connections`."""
    with connect(user=ATTACKER) as connection:
        connections.append(connection)
        try:
            connection.execute("CALL evil.flip()")
        except psycopg.errors.QueryCanceled:
            pass
        except psycopg.Error as error:
            failures.append(f"the attacker has failed: {error}")


def call(commands, table, errors):
    """Runs the commands 20 times, and returns how many have succeeded. Counts the errors of the others in `errors`."""
    ran = 0
    # In a session of its own, so that nothing is known yet.
    with connect(options=LIMIT) as caller:
        caller.execute("SET client_min_messages = warning")
        for command in commands * 20:
            try:
                caller.execute(sql.SQL(command.replace("%(table)s", str(table))))
                ran += 1
            except psycopg.errors.QueryCanceled:
                raise
            except psycopg.Error as error:
                errors[str(error).splitlines()[0]] += 1
    return ran


def find_evidence(superuser):
    ran = superuser.execute("SELECT DISTINCT code || ' as ' || role FROM evidence.log").fetchall()
    changed = superuser.execute(CHANGED, {"attacker": ATTACKER}).fetchall()
    return [
        *(f"the attacker's code ran: {code}" for (code,) in ran),
        *(f"the attacker's table has {name}" for (name,) in changed),
    ]


def connect(**options):
    return psycopg.connect(autocommit=True, **options)


main()
