"""Compares random queries of random tables with and without the scan of the indexes of blocks and bands: whatever the
plan and however the conditions are written, the rows must be the same, and the distances must come in the same order.

    python tests/load/queries [--seed N] [--tables N] [--failures FILE]

Needs the server of psql's environment (PGHOST and so on), with pg_simhash, as a superuser, and the packages of
tests/requirements.txt. The test makes its own database. --failures writes each failure as a script for psql.
"""

import argparse
import collections
import random
import sys

import psycopg

sys.path.append(f"{sys.path[0]}/..")
import database
from patience import LIMIT
from queries import Queries
from tables import ALIKE, Table, Values, views

# The number of queries for each pair of tables.
QUERIES = 40

SETUP = """
CREATE ROLE queries_reader;
GRANT ALL ON SCHEMA public TO queries_reader;
CREATE SCHEMA other;
CREATE FUNCTION other.simhash_block(bigint, integer, integer) RETURNS integer IMMUTABLE LANGUAGE sql RETURN 0;
CREATE DOMAIN fingerprint AS bigint;
-- The planner inlines these functions. CREATE INDEX runs them with another search path.
CREATE FUNCTION wrapped(f bigint, q bigint, d integer) RETURNS boolean IMMUTABLE LANGUAGE sql AS
    'SELECT public.simhash_near(f, q, d)';
CREATE FUNCTION twice_wrapped(q bigint, d integer, f bigint) RETURNS boolean IMMUTABLE LANGUAGE sql AS
    'SELECT public.wrapped(f, q, d)';
"""
# The forms of a condition. The length of its arguments chooses one, so a query is always written in the same way.
FORMS = (
    "simhash_near({fingerprint}, {query}, {distance})",
    "wrapped({fingerprint}, {query}, {distance})",
    "twice_wrapped({query}, {distance}, {fingerprint})",
    "simhash_near(max_distance => {distance}, query => {query}, fingerprint => {fingerprint})",
    "({fingerprint} <~> {query} <= {distance})",
    "({distance} >= hamming({query}, {fingerprint}))",
    "(hamming({fingerprint}, {query}) < {distance} + 1)",
    "({distance} + 1 > {query} <~> {fingerprint})",
)
# A row that is merged twice, or new rows that a policy or a constraint refuses.
ALLOWED = "21000", "42501", "23514"


def main():
    parser = argparse.ArgumentParser(prog="tests/load/queries")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--failures", metavar="FILE")
    options = parser.parse_args()
    database.create("queries")
    counts, failures = collections.Counter(), []
    session = f"-c jit=off -c client_min_messages=warning {LIMIT}"
    with psycopg.connect(autocommit=True, prepare_threshold=None, options=session) as connection:
        connection.execute("DROP ROLE IF EXISTS queries_reader")
        connection.execute(SETUP)
        for n in range(options.tables):
            for case_counts, case_failures in try_tables(connection, f"{options.seed} {n}"):
                counts.update(case_counts)
                failures += case_failures
    print(f"{dict(counts)}, {len(failures)} failures")
    if options.failures:
        with open(options.failures, "w") as file:
            file.write("\n".join(failures))
    if failures:
        sys.exit(f"FAILED: {failures[0]}")
    database.drop("queries")
    if counts["indexed"] * 4 < counts["cases"] or counts["by bands"] * 100 < counts["cases"]:
        sys.exit(f"FAILED: too few queries search the indexes: {dict(counts)}")
    if not counts["cases"] or (counts["with rows"] - counts["errors"]) * 4 < counts["cases"]:
        sys.exit(f"FAILED: too few queries find rows: {dict(counts)}")


def try_tables(connection, seed):
    """Makes one pair of tables, and runs queries on them. Yields what each counts as, and its failures, which are
    scripts for psql."""
    rng = random.Random(seed)
    values = Values(rng)
    t, u = Table(rng, "t", 160, values), Table(rng, "u", 40, values)
    setup = [*t.setup, *u.setup, *ALIKE, *(f"CREATE VIEW {view}" for view in views(t).values())]
    setup.append("GRANT SELECT, UPDATE, INSERT, DELETE ON ALL TABLES IN SCHEMA public TO queries_reader")
    connection.execute("BEGIN")
    for statement in setup:
        connection.execute(statement)
    queries = Queries(rng, values, t, u)
    for _ in range(QUERIES):
        settings, case = queries.settings(), queries.case()
        variants = variants_of(settings, case)
        answers = {name: answer(connection, statements) for name, statements in variants.items()}
        plan = explain(connection, settings, case)
        counts = {"cases": 1, "indexed": "(SimhashScan)" in plan, "by bands": "Bands: " in plan}
        counts |= {"with rows": bool(answers["expected"]), "errors": is_error(answers["expected"])}
        if are_right(answers):
            yield counts, []
            continue
        script = [f"-- seed {seed}\nBEGIN", *setup]
        for name, statements in variants.items():
            script += [f"-- {name}: {answers[name]}\nSAVEPOINT s", *statements, "ROLLBACK TO s"]
        yield counts, [";\n".join([*script, "ROLLBACK;\n"]) + f"/* {plan} */\n"]
    connection.execute("ROLLBACK")


def variants_of(settings, case):
    """The statements of a case: without the scan, with the scan if it is possible, and as the planner chooses."""
    before, statement, after = case.spelled(write_near)
    plain_before, plain, _ = case.spelled(write_hamming)
    shown = [after] if after else []
    return {
        "expected": ["SET LOCAL pg_simhash.enable_scan = off", *plain_before, plain, *shown],
        "forced": [*settings, "SET LOCAL enable_seqscan = off", *before, statement, *shown],
        "free": [*before, statement, *shown],
    }


def write_near(fingerprint, query, distance):
    form = FORMS[(len(fingerprint) + len(query)) % len(FORMS)]
    # "+ 1" would overflow, or the distance is not a number.
    if "+ 1" in form and not (distance.lstrip("-").isdigit() and abs(int(distance)) < 1000):
        form = FORMS[0]
    if form == FORMS[0] and distance == "3":
        return f"simhash_near({fingerprint}, {query})"  # 3 is the default
    return form.format(fingerprint=fingerprint, query=query, distance=distance)


def write_hamming(fingerprint, query, distance):
    return f"(hamming({fingerprint}, {query}) <= {distance})"


def answer(connection, statements):
    """The sorted rows of the last statement, or its error; afterwards all of them are undone."""
    connection.execute("SAVEPOINT before")
    try:
        for statement in statements:
            cursor = connection.execute(statement)
        return sorted(cursor.fetchall(), key=repr)
    except psycopg.errors.QueryCanceled:
        raise
    except psycopg.Error as error:
        return [("error", error.sqlstate, error.diag.message_primary)]
    finally:
        connection.execute("ROLLBACK TO before")
        connection.execute("DEALLOCATE ALL")


def explain(connection, settings, case):
    before, statement, _ = case.spelled(write_near)
    if statement.startswith("FETCH"):
        return ""
    explained = [*settings, "SET LOCAL enable_seqscan = off", *before, f"EXPLAIN (COSTS OFF) {statement}"]
    return "\n".join(map(str, answer(connection, explained)))


def are_right(answers):
    # Messages may differ.
    expected, forced, free = (
        rows[0][:2] if is_error(rows) else rows for rows in map(answers.get, ("expected", "forced", "free"))
    )
    is_allowed = not is_error(answers["expected"]) or expected[1] in ALLOWED
    return is_allowed and expected == forced == free


def is_error(rows):
    return bool(rows) and rows[0][0] == "error"


if __name__ == "__main__":
    main()
