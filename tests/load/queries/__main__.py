"""Compares random queries of random tables with and without the scan of the indexes of blocks and bands: whatever the
plan and however the conditions are written, the rows must be the same, and the distances must come in the same order.

    python tests/load/queries [--seed N] [--tables N] [--failures FILE]

--failures writes each failure as a script for psql.
"""

import argparse
import collections
import random
import sys

import psycopg

import database
from queries import Queries
from tables import ALIKE, Table, Values, views

# The number of queries for each pair of tables.
QUERIES = 40

SETUP_SQL = """
CREATE ROLE queries_reader;
GRANT ALL ON SCHEMA public TO queries_reader;
CREATE SCHEMA other;
CREATE FUNCTION other.simhash_block(bigint, integer, integer) RETURNS integer IMMUTABLE LANGUAGE sql RETURN 0;
CREATE DOMAIN fingerprint AS bigint;
-- The planner inlines these functions. CREATE INDEX runs them with another search path.
CREATE FUNCTION wrapped(fingerprint bigint, query bigint, max_distance integer) RETURNS boolean IMMUTABLE
    LANGUAGE sql AS 'SELECT public.simhash_near(fingerprint, query, max_distance)';
CREATE FUNCTION twice_wrapped(query bigint, max_distance integer, fingerprint bigint) RETURNS boolean IMMUTABLE
    LANGUAGE sql AS 'SELECT public.wrapped(fingerprint, query, max_distance)';
"""
# The spellings of a condition. The length of its arguments chooses one, so a query is always written in the same way.
SPELLINGS = (
    "simhash_near({fingerprint}, {query}, {distance})",
    "wrapped({fingerprint}, {query}, {distance})",
    "twice_wrapped({query}, {distance}, {fingerprint})",
    "simhash_near(max_distance => {distance}, query => {query}, fingerprint => {fingerprint})",
    "({fingerprint} <~> {query} <= {distance})",
    "({distance} >= hamming({query}, {fingerprint}))",
    "(hamming({fingerprint}, {query}) < {distance} + 1)",
    "({distance} + 1 > {query} <~> {fingerprint})",
)
# The errors that a statement may raise: of a row that is merged twice, and of new rows that a policy or a constraint
# refuses.
ALLOWED_ERRORS = "21000", "42501", "23514"


def main():
    options = read_options()
    database.create("queries")
    counts, failures = run_tables(options)
    print(f"{dict(counts)}, {len(failures)} failures")
    if options.failures:
        with open(options.failures, "w") as file:
            file.write("\n".join(failures))
    if failures:
        sys.exit(f"FAILED: {failures[0]}")
    database.drop("queries")
    check_counts(counts)


def read_options():
    parser = argparse.ArgumentParser(prog="tests/load/queries")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--failures", metavar="FILE")
    return parser.parse_args()


def run_tables(options):
    counts, failures = collections.Counter(), []
    with database.connect("-c jit=off -c client_min_messages=warning", prepare_threshold=None) as connection:
        connection.execute("DROP ROLE IF EXISTS queries_reader")
        connection.execute(SETUP_SQL)
        for number in range(options.tables):
            compare_on_random_tables(connection, f"{options.seed} {number}", counts, failures)
    return counts, failures


def check_counts(counts):
    """Fails if the test has proved too little."""
    if counts["indexed"] * 4 < counts["cases"] or counts["by bands"] * 100 < counts["cases"]:
        sys.exit(f"FAILED: too few queries search the indexes: {dict(counts)}")
    if not counts["cases"] or (counts["with rows"] - counts["errors"]) * 4 < counts["cases"]:
        sys.exit(f"FAILED: too few queries find rows: {dict(counts)}")


def compare_on_random_tables(connection, seed, counts, failures):
    """Makes one pair of tables, and compares queries on them. Adds to the counts and to the failures, which are scripts
    for psql."""
    rng = random.Random(seed)
    values = Values(rng)
    searched, other = Table(rng, "t", 160, values), Table(rng, "u", 40, values)
    setup = make_tables(connection, searched, other)
    queries = Queries(rng, values, searched, other)
    for _ in range(QUERIES):
        settings, case = queries.settings(), queries.random_case()
        variants = variants_of(settings, case)
        answers = {name: run_and_undo(connection, statements) for name, statements in variants.items()}
        plan = explain_with_scan(connection, settings, case)
        found = answers["without scan"]
        counts.update({"cases": 1, "indexed": database.has_scan(plan), "by bands": "Bands: " in plan})
        counts.update({"with rows": bool(found), "errors": is_error(found)})
        if not are_right(answers):
            failures.append(failure_script(seed, setup, variants, answers, plan))
    connection.execute("ROLLBACK")


def make_tables(connection, searched, other):
    """Makes the tables and the views in a new transaction, and returns the statements."""
    setup = [*searched.setup, *other.setup, *ALIKE]
    setup += [f"CREATE VIEW {name} {definition}" for name, definition in views(searched).items()]
    setup.append("GRANT SELECT, UPDATE, INSERT, DELETE ON ALL TABLES IN SCHEMA public TO queries_reader")
    for statement in ("BEGIN", *setup):
        connection.execute(statement)
    return setup


def failure_script(seed, setup, variants, answers, plan):
    script = [f"-- seed {seed}\nBEGIN", *setup]
    for name, statements in variants.items():
        script += [f"-- {name}: {answers[name]}\nSAVEPOINT s", *statements, "ROLLBACK TO s"]
    return ";\n".join([*script, "ROLLBACK;\n"]) + f"/* {plan} */\n"


def variants_of(settings, case):
    """The statements of a case: without the scan, with the scan if it is possible, and as the planner chooses."""
    before, statement, after = case.spelled(write_near)
    plain_before, plain, _ = case.spelled(write_hamming)
    shown = [after] if after else []
    return {
        "without scan": ["SET LOCAL pg_simhash.enable_scan = off", *plain_before, plain, *shown],
        "with scan": [*settings, "SET LOCAL enable_seqscan = off", *before, statement, *shown],
        "as planned": [*before, statement, *shown],
    }


def write_near(fingerprint, query, distance):
    spelling = SPELLINGS[(len(fingerprint) + len(query)) % len(SPELLINGS)]
    # "+ 1" would overflow, or the distance is not a number.
    if "+ 1" in spelling and not (distance.lstrip("-").isdigit() and abs(int(distance)) < 1000):
        spelling = SPELLINGS[0]
    if spelling == SPELLINGS[0] and distance == "3":
        return f"simhash_near({fingerprint}, {query})"  # 3 is the default
    return spelling.format(fingerprint=fingerprint, query=query, distance=distance)


def write_hamming(fingerprint, query, distance):
    return f"(hamming({fingerprint}, {query}) <= {distance})"


def run_and_undo(connection, statements):
    """Runs the statements, and undoes them. Returns the sorted rows of the last one, or the error."""
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


def explain_with_scan(connection, settings, case):
    """The plan of a case, with the scan if it is possible; empty for a cursor."""
    before, statement, _ = case.spelled(write_near)
    if statement.startswith("FETCH"):
        return ""
    explained = [*settings, "SET LOCAL enable_seqscan = off", *before, f"EXPLAIN (COSTS OFF) {statement}"]
    return "\n".join(map(str, run_and_undo(connection, explained)))


def are_right(answers):
    """Whether the answers of all variants are the same, and no error that may not be. Messages may differ."""
    first, *others = (rows[0][:2] if is_error(rows) else rows for rows in answers.values())
    is_allowed = not is_error(answers["without scan"]) or first[1] in ALLOWED_ERRORS
    return is_allowed and all(rows == first for rows in others)


def is_error(rows):
    return bool(rows) and rows[0][0] == "error"


if __name__ == "__main__":
    main()
