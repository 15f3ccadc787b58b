"""Commands resolve names once. While a superuser runs the extension's commands on a table, the owner of its schema
renames the schema again and again, and gives its name to another schema, which is full of the owner's code.

    python tests/load/races [--commands N] [--renames N] [--only SCENARIO]

In each scenario, at least N commands succeed while the schema is renamed at least N times. The test fails if the
owner's code has run with the superuser's rights, or if a command has changed the owner's table.
"""

import argparse
import collections
import sys
import threading
import time
from dataclasses import dataclass, field

import psycopg
from psycopg import sql

import database
from patience import PATIENCE, NotReached

DATABASE = "races"
ATTACKER = "regress_simhash_attacker"

EXTENSION_SQL = "CREATE EXTENSION pg_simhash SCHEMA public;"
TABLE_SQL = "CREATE TABLE good.t (id integer PRIMARY KEY, body text); INSERT INTO good.t VALUES (1, 'a b'), (2, 'c d');"
ATTACH_SQL = "SELECT simhash_attach('good.t', 'body')"


def attackers_table_sql(columns, more):
    """Statements that make the attacker's table, which has the name of the superuser's table."""
    return f"SET ROLE {ATTACKER}; CREATE TABLE evil.t (id integer PRIMARY KEY, {columns}); {more} RESET ROLE;"


# Tables of the attacker with the columns of the superuser's table. A cast of a column's type, a trigger or an index
# would run the attacker's code.
TABLE_WITH_TEXT_CAST = attackers_table_sql("body evil.words", "INSERT INTO evil.t VALUES (1, ROW('a'));")
TABLE_WITH_NUMBER_CAST = attackers_table_sql("simhash evil.number", "INSERT INTO evil.t VALUES (1, ROW('b'));")
TABLE_WITH_TRIGGER = attackers_table_sql(
    "body text, simhash bigint",
    "INSERT INTO evil.t (id, body) VALUES (1, 'a');"
    " CREATE TRIGGER t BEFORE UPDATE ON evil.t FOR EACH STATEMENT EXECUTE FUNCTION evil.trigger();",
)
# A planner that looks at this table evaluates the expression of its index.
TABLE_WITH_INDEX = attackers_table_sql(
    "body text, simhash bigint",
    "INSERT INTO evil.t VALUES (1, 'a', 1); CREATE INDEX ON evil.t ((body || evil.normal('x')));",
)
# Each scenario's setup in addition to the schemas, and the commands that the superuser repeats. %(table)s is the OID of
# the scenario's table.
SCENARIOS = {
    "attach": (
        [EXTENSION_SQL, TABLE_SQL, TABLE_WITH_TEXT_CAST],
        ["SELECT simhash_attach(%(table)s::regclass, 'body')", "SELECT simhash_detach(%(table)s::regclass)"],
    ),
    "index": (
        [EXTENSION_SQL, TABLE_SQL, TABLE_WITH_TEXT_CAST],
        [
            "SELECT simhash_index(%(table)s::regclass, 'body')",
            "SELECT evidence.drop_indexes(%(table)s::regclass)",
            "SELECT simhash_index_commands(%(table)s::regclass, 'body')",
        ],
    ),
    "guard": (
        [EXTENSION_SQL, TABLE_SQL, TABLE_WITH_TRIGGER, ATTACH_SQL, "SELECT simhash_index('good.t', 'body')"],
        [
            "SELECT simhash_guard(%(table)s::regclass, source => 'body')",
            "SELECT simhash_unguard(%(table)s::regclass)",
            """SELECT simhash_guard(%(table)s::regclass, criterion => '{"resemblance": null}', source => 'simhash')""",
            "SELECT simhash_unguard(%(table)s::regclass)",
        ],
    ),
    "layouts": (
        [EXTENSION_SQL, TABLE_SQL, TABLE_WITH_NUMBER_CAST, ATTACH_SQL],
        ["SELECT * FROM simhash_layouts(%(table)s::regclass)"],
    ),
    "preview": (
        [EXTENSION_SQL, TABLE_SQL, TABLE_WITH_INDEX, "SELECT simhash_index('good.t', 'body'); ANALYZE good.t"],
        ["SELECT * FROM simhash_preview(%(table)s::regclass)"],
    ),
    # Here the attacker owns the schema of a function that a generated column calls.
    "source": (
        [
            EXTENSION_SQL,
            "CREATE FUNCTION good.normal(text) RETURNS text IMMUTABLE LANGUAGE sql RETURN lower($1)",
            "CREATE TABLE public.t (id integer, body text, normal text GENERATED ALWAYS AS (good.normal(body)) STORED)",
            "INSERT INTO public.t VALUES (1, 'a b')",
        ],
        ["SELECT simhash_attach(%(table)s::regclass, 'normal')", "SELECT simhash_detach(%(table)s::regclass)"],
    ),
    # Here the attacker owns the extension's schema. SQL bodies that are parsed when they are created call the right
    # functions, whatever their schema is called later.
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
CHANGES_SQL = """
SELECT attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
WHERE relowner = %(attacker)s::regrole AND attname LIKE 'simhash_block%%'
UNION ALL
SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE relowner = %(attacker)s::regrole AND relname LIKE '%%simhash%%'
UNION ALL
SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE relowner = %(attacker)s::regrole AND tgname LIKE 'zz%%'
UNION ALL
SELECT description FROM pg_description WHERE objoid IN (SELECT oid FROM pg_class WHERE relowner = %(attacker)s::regrole)
"""


@dataclass
class Outcome:
    """What has happened in a scenario: how many commands have succeeded, the errors of the others, how often the schema
    was renamed, and what has gone wrong."""

    succeeded: int = 0
    errors: collections.Counter = field(default_factory=collections.Counter)
    renames: int = 0
    failures: list = field(default_factory=list)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--commands", type=int, default=200)
    parser.add_argument("--renames", type=int, default=2000)
    parser.add_argument("--only", choices=SCENARIOS)
    options = parser.parse_args()
    database.create(DATABASE)
    with database.connect() as superuser:
        superuser.execute(f"DROP ROLE IF EXISTS {ATTACKER}")
        database.run_script(superuser, "races/setup.sql")
    has_failed = False
    for scenario in [options.only] if options.only else SCENARIOS:
        outcome = run_scenario(scenario, options.commands, options.renames)
        failed = outcome.errors.total()
        print(f"{scenario}: {outcome.succeeded} commands succeeded, {failed} failed; {outcome.renames} renames")
        for message, count in outcome.errors.most_common(3):
            print(f"    {count} {message}")
        if outcome.failures:
            has_failed = True
            print(f"FAILED: {scenario}: {'; '.join(outcome.failures)}", file=sys.stderr)
    database.drop(DATABASE)
    with database.connect() as superuser:
        superuser.execute(f"DROP ROLE {ATTACKER}")
    sys.exit(has_failed)


def run_scenario(scenario, min_commands, min_renames):
    setup, commands = SCENARIOS[scenario]
    outcome, connections = Outcome(), []
    with database.connect() as superuser:
        table = prepare(superuser, setup)
        thread = threading.Thread(target=rename_until_cancelled, args=(connections, outcome.failures))
        thread.start()
        last_progress, deadline = None, None
        try:
            while outcome.succeeded < min_commands or outcome.renames < min_renames:
                if find_evidence(superuser) or not thread.is_alive():
                    break
                progress = min(outcome.succeeded, min_commands), min(outcome.renames, min_renames)
                if progress != last_progress:
                    last_progress, deadline = progress, time.monotonic() + PATIENCE
                if time.monotonic() > deadline:
                    raise NotReached(f"{scenario}: no more than {outcome} within {PATIENCE} s")
                (outcome.renames,) = superuser.execute("SELECT last_value FROM evidence.renames").fetchone()
                run_commands(commands, table, outcome)
        finally:
            while thread.is_alive():
                for connection in connections:
                    connection.cancel()
                time.sleep(0.01)
        outcome.failures += find_evidence(superuser)
    return outcome


def prepare(superuser, setup):
    """Makes all objects again, and returns the OID of the superuser's table."""
    superuser.execute("DROP SCHEMA IF EXISTS good, evil, away CASCADE; DROP TABLE IF EXISTS public.t CASCADE")
    superuser.execute("DROP EXTENSION IF EXISTS pg_simhash CASCADE; TRUNCATE evidence.log")
    superuser.execute("ALTER SEQUENCE evidence.renames RESTART")
    database.run_script(superuser, "races/schemas.sql")
    for statement in setup:
        superuser.execute(statement)
    return superuser.execute(
        "SELECT oid FROM pg_class WHERE relname = 't' AND relowner = current_user::regrole AND relkind = 'r'"
    ).fetchone()[0]


def rename_until_cancelled(connections, failures):
    """Renames the schemas until the connection is cancelled, which it adds to `connections`."""
    # Without a time limit: the procedure runs as long as the scenario.
    with psycopg.connect(autocommit=True, user=ATTACKER) as connection:
        connections.append(connection)
        try:
            connection.execute("CALL evil.rename_schemas()")
        except psycopg.errors.QueryCanceled:
            pass
        except psycopg.Error as error:
            failures.append(f"the attacker has failed: {error}")


def run_commands(commands, table, outcome):
    """Runs the commands 20 times, and counts them in `outcome`."""
    # A new session for each round: no cache of a session knows the table yet.
    with database.connect() as caller:
        for command in commands * 20:
            try:
                caller.execute(sql.SQL(command.replace("%(table)s", str(table))))
                outcome.succeeded += 1
            except psycopg.errors.QueryCanceled:
                raise
            except psycopg.Error as error:
                outcome.errors[str(error).splitlines()[0]] += 1


def find_evidence(superuser):
    """What shows that the attacker has succeeded; empty if nothing does."""
    runs = superuser.execute("SELECT DISTINCT code || ' as ' || role FROM evidence.log").fetchall()
    changes = superuser.execute(CHANGES_SQL, {"attacker": ATTACKER}).fetchall()
    evidence = [f"the attacker's code ran: {run}" for (run,) in runs]
    return evidence + [f"the attacker's table has {change}" for (change,) in changes]


if __name__ == "__main__":
    main()
