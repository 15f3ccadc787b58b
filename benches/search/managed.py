"""What searches and inserts cost by the SQL of docs/managed.md, without the extension, beside what they cost with it.

    python benches/search/managed.py RUNS ROWS FINGERPRINTS

The table of the page and a table that simhash_attach has attached, with covering indexes, hold the same ROWS rows: an
id, a fingerprint and a body of 96 bytes. Fingerprints are uniform, or those of texts (the file FINGERPRINTS, from
fingerprints.rs, has a thousand more than ROWS). Needs PYTHONPATH=benches:tests/documents, and psql's environment
(PGHOST and so on) pointing to a server with pg_simhash.

Everything is warm and in shared buffers, and all ways take turns: medians of RUNS runs, and of the runs' ratios.
"""

import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import exact
import tables
from blocks import blocks
from layouts import near, radius
from searches import ANSWER, LOOKUP, choose, lookup
from server import Way, measure, warm
from statements import environment, psql, value

PAGE = pathlib.Path(__file__).parents[2] / "docs/managed.md"
MANAGED, ATTACHED = "managed", "attached"
NEAREST = 10
# Transactions of each client in a run.
TRANSACTIONS = 2000
CLIENTS = 1, 4
DISTANCES = 3, 6


def main():
    runs, rows, file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    shown = ("shared_buffers", "work_mem", "fsync")
    settings = ", ".join(f"{name} {value(f'SHOW {name}')}" for name in shown)
    print(f"{settings}, no JIT, no parallel workers; medians of {runs} runs; searches by pgbench -M prepared,"
          " one client, generic plans")
    wrong = 0
    for distribution in ("uniform", "text"):
        (source,) = tables.prepare(distribution, (rows,), file)
        exact.scan(source)
        print(f"\n{distribution} fingerprints, {rows:,} rows")
        make(source)
        wrong += report_searches(source, rows, runs)
        report_nearest(source, rows, runs)
        if distribution == "uniform":
            report_inserts(runs)
        psql("DROP TABLE managed CASCADE", "DROP TABLE attached")
    print(f"\nwrong rows in all searches: {wrong}")
    if wrong:
        sys.exit("searches differ from scans")


def page(section, beginning):
    """The block of SQL of the page that begins in this way, for the table `managed`."""
    (block,) = (
        "\n".join(lines)
        for language, lines in blocks(PAGE.read_text(encoding="utf-8"), section)
        if language == "sql" and lines[0].startswith(beginning)
    )
    return re.sub(r"\bdocs\b", MANAGED, block)


def make(source):
    """Both tables, with the rows of the source."""
    psql(page("The table", "CREATE TABLE docs"), page("Search", "CREATE FUNCTION near("))
    psql("CREATE TABLE attached ("
         "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL, simhash bigint)",
         "SELECT simhash_attach('attached', 'simhash')")
    for table in (MANAGED, ATTACHED):
        psql(f"INSERT INTO {table} (id, body, simhash) OVERRIDING SYSTEM VALUE SELECT id, body, simhash FROM {source}",
             f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))",
             # As if the indexes had been made after the rows.
             f"REINDEX TABLE {table}", f"VACUUM ANALYZE {table}", "CHECKPOINT")
        warm(table)
        blocks = [index for (index,) in psql(
            f"SELECT indexrelid::regclass FROM pg_index WHERE indrelid = '{table}'::regclass AND NOT indisprimary")]
        warm(f"{table}_pkey", *blocks)
        rows = int(value(f"SELECT count(*) FROM {table}"))
        print(f"{table}: {tables.index_bytes(blocks) / rows:.1f} bytes of the block indexes a row,"
              f" {tables.index_bytes([table]) / rows:.1f} of the table")


def condition(k, query):
    """The page's condition for a distance, on `t`."""
    if k == 3:
        return f"near(t, {query})"
    # The page computes the probes in Python, and passes them as parameters.
    found = " OR ".join(
        f"t.block{block} = ANY (simhash_probes({query}, {block}, 4, {k}))"
        for block in range(4) if radius(block, 4, k) >= 0
    )
    return f"({found}) AND bit_count((t.simhash # {query})::bit(64)) <= {k}"


def report_searches(source, rows, runs):
    wrong = 0
    for k in DISTANCES:
        ways = {
            ANSWER: Way("SELECT 1"),
            LOOKUP: lookup(ATTACHED, rows),
            MANAGED: Way(f"SELECT t.id FROM managed AS t WHERE {condition(k, ':q')}", *choose(source, k)),
            ATTACHED: Way(f"SELECT t.id FROM attached AS t WHERE {near(k, ':q')}", *choose(source, k)),
        }
        times = measure(ways, runs, (MANAGED, ATTACHED))
        for table, searched in ((MANAGED, condition(k, "q.simhash")), (ATTACHED, near(k, "q.simhash"))):
            found, differing = exact.check(source, k, searched, table)
            wrong += differing
            print(f"k = {k}, {table}: {times.ms(table):.3f} ms, {times.ratio(table, LOOKUP):.1f} primary-key lookups of"
                  f" {times.ms(LOOKUP):.3f} ms; found {found}, wrong {differing}")
        print(f"k = {k}: managed takes {times.ratio(MANAGED, ATTACHED):.1f} times as long as attached", flush=True)
    return wrong


def report_nearest(source, rows, runs):
    """The nearest rows of fingerprints that are in the table, and of fingerprints that nothing is near."""
    for kind, what in ((0, "of a row"), (2, "of another text")):
        ways = {
            ANSWER: Way("SELECT 1"),
            MANAGED: Way(f"SELECT id FROM managed ORDER BY bit_count((simhash # :q)::bit(64)) LIMIT {NEAREST}",
                         *choose(source, 0, kind)),
            ATTACHED: Way(f"SELECT id FROM attached ORDER BY simhash <~> :q LIMIT {NEAREST}", *choose(source, 0, kind)),
        }
        times = measure(ways, min(runs, 3), (MANAGED, ATTACHED), least=3)
        print(f"nearest {NEAREST} {what}: managed {times.ms(MANAGED):.1f} ms, attached {times.ms(ATTACHED):.2f} ms,"
              f" {times.ratio(MANAGED, ATTACHED):.0f} times as long", flush=True)


def report_inserts(runs):
    """Rows a second with and without the trigger of the page, and a guard by distance 3 alone."""
    trigger = page("Near-duplicates on insert", "CREATE FUNCTION reject_near(")
    ways = {
        (MANAGED, "free"): ("SELECT", "SELECT"),
        (MANAGED, "guarded"): (trigger, "DROP FUNCTION reject_near() CASCADE"),
        (ATTACHED, "free"): ("SELECT", "SELECT"),
        (ATTACHED, "guarded"): ("SELECT simhash_guard('attached')", "SELECT simhash_unguard('attached')"),
    }
    rates = {(way, clients): [] for way in ways for clients in CLIENTS}
    seed = 0
    for run in range(runs):
        for way in ways if run % 2 == 0 else reversed(ways):
            before, after = ways[way]
            psql(before, "CHECKPOINT")
            for clients in CLIENTS:
                seed += 1
                rates[way, clients].append(insert_rate(way[0], clients, seed))
            psql(after)
    for clients in CLIENTS:
        for table in (MANAGED, ATTACHED):
            free, guarded = rates[(table, "free"), clients], rates[(table, "guarded"), clients]
            ratio = statistics.median(b / a for a, b in zip(free, guarded, strict=True))
            print(f"inserts, {clients} client{'s' * (clients > 1)}, {table}: {statistics.median(free):,.0f}/s,"
                  f" guarded {statistics.median(guarded):,.0f}/s ({ratio:.2f})", flush=True)


# The high and the low half of a random fingerprint.
INSERT = """\\set f random(-2147483648, 2147483647) * 4294967296 + random(0, 4294967295)
INSERT INTO {table} (body, simhash) VALUES (repeat('x', 96), :f);
"""


def insert_rate(table, clients, seed):
    with tempfile.NamedTemporaryFile("w", prefix="pg_simhash.", suffix=".sql") as file:
        file.write(INSERT.format(table=table))
        file.flush()
        done = subprocess.run(
            ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", str(clients), "-t", str(TRANSACTIONS),
             f"--random-seed={seed}", "-f", file.name],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment({}),
        )
    found = re.search(r"^tps = ([0-9.]+) \(without", done.stdout, re.MULTILINE)
    if not found or "aborted" in done.stdout:
        raise RuntimeError(f"pgbench:\n{done.stdout}")
    return float(found[1])


if __name__ == "__main__":
    main()
