"""What a search for hashes of 256 bits within distance 31 costs by the SQL of docs/images.md.

    python3 benches/search/pdq.py RUNS ROWS

The table of the page, with ROWS uniform hashes. A third of the queries are hashes of the table, a third differ from one
in 31 bits, and to a third nothing is near. Needs PYTHONPATH=benches:tests/documents, and psql's environment (PGHOST and
so on) pointing to a server with pg_simhash.

Everything is warm and in shared buffers: medians of RUNS runs. The found rows of a few queries are compared with those
of a scan of the whole table.
"""

import pathlib
import sys

from blocks import blocks
from server import Way, measure, warm
from statements import psql, seconds, value
from tables import index_bytes

PAGE = pathlib.Path(__file__).parents[2] / "docs/images.md"
DISTANCE = 31
QUERIES = 999
# The kind of a query is its number modulo 3.
KINDS = "of the table", f"{DISTANCE} bits flipped", "nothing near"
# A scan takes seconds.
CHECKED = 12
LOOKUP, SCAN = "lookup", "scan"


def main():
    runs, rows = int(sys.argv[1]), int(sys.argv[2])
    attach, function = page()
    load(rows)
    built = seconds(attach, maintenance_work_mem="1GB")
    psql(function, "VACUUM ANALYZE photos")
    queries(rows)
    indexes = [name for (name,) in psql(
        "SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'photos'::regclass AND NOT indisprimary")]
    warm("photos", "photos_pkey", *indexes)
    print(f"shared_buffers {value('SHOW shared_buffers')}, no JIT, no parallel workers; medians of {runs} runs; pgbench"
          f" -M prepared, one client, generic plans\n{rows:,} uniform hashes of 256 bits, distance at most {DISTANCE};"
          f" {len(indexes)} indexes, built in {built:.0f} s, {index_bytes(indexes) / rows:.0f} bytes a row")
    ways = {LOOKUP: Way("SELECT a FROM photos WHERE id = :row", f"\\set row random(1, {rows})")}
    ways |= {kind: search("photos_near(:q::bigint[])", number) for number, kind in enumerate(KINDS)}
    times = measure(ways, runs, ("photos",))
    scan = f"(SELECT id FROM photos WHERE ARRAY[a, b, c, d] <~> :q::bigint[] <= {DISTANCE}) AS near"
    scans = measure({SCAN: search(scan, 0)}, 1, ("photos",), least=3)
    for kind in KINDS:
        print(f"search, {kind}: {times.ms(kind):.2f} ms, {times.ratio(kind, LOOKUP):.0f} primary-key lookups of"
              f" {times.ms(LOOKUP):.3f} ms")
    print(f"a scan of the table: {scans.ms(SCAN):,.0f} ms")
    found, wrong = check()
    print(f"found by {CHECKED} queries: {found}, wrong: {wrong}")
    if wrong:
        sys.exit("searches differ from scans")


def page():
    """The page's command that attaches the table, and its function."""
    (block,) = (
        "\n".join(lines)
        for language, lines in blocks(PAGE.read_text(encoding="utf-8"), "256 bits: PDQ")
        if language == "sql" and lines[0].startswith("CREATE TABLE photos")
    )
    _, attach, function = block.split("\n\n")
    return attach, function


def load(rows):
    psql(
        "CREATE UNLOGGED TABLE photos (id bigint, a bigint, b bigint, c bigint, d bigint)",
        "INSERT INTO photos SELECT n, hashint8extended(n, 1), hashint8extended(n, 2), hashint8extended(n, 3),"
        f" hashint8extended(n, 4) FROM generate_series(1, {rows}) AS n",
        "ALTER TABLE photos ADD PRIMARY KEY (id)",
    )


def queries(rows):
    flips = ", ".join(
        f"bit_or(CASE WHEN bit / 64 = {word} THEN 1::bigint << bit % 64 ELSE 0 END)" for word in range(4)
    )
    psql(
        f"""CREATE UNLOGGED TABLE queries AS
        SELECT n AS id, CASE n % 3 WHEN 0 THEN ARRAY[a, b, c, d] WHEN 1 THEN ARRAY[a # f0, b # f1, c # f2, d # f3]
            ELSE ARRAY[hashint8extended(n, 5), hashint8extended(n, 6), hashint8extended(n, 7), hashint8extended(n, 8)]
            END AS hash
        FROM generate_series(0, {QUERIES - 1}) AS n
            JOIN photos ON photos.id = 1 + (hashint8extended(n, 9) & 9223372036854775807) % {rows}
            CROSS JOIN LATERAL (SELECT {flips} FROM (SELECT bit FROM generate_series(0, 255) AS bit
                ORDER BY hashint8extended(bit, n) LIMIT {DISTANCE}) AS bits) AS flips (f0, f1, f2, f3)""",
        "ALTER TABLE queries ADD PRIMARY KEY (id)",
        "VACUUM ANALYZE queries",
    )


def search(source, kind):
    return Way(
        f"SELECT id FROM {source}", f"\\set i 3 * random(0, {QUERIES // 3 - 1}) + {kind}",
        "SELECT hash AS q FROM queries WHERE id = :i \\gset",
    )


def check():
    """How many rows a few queries find, and how many differ from those of a scan."""
    some = f"(SELECT * FROM queries WHERE id < {CHECKED}) AS q"
    found = psql(f"SELECT q.id, near.id FROM {some}, photos_near(q.hash) AS near")
    truth = psql(
        f"SELECT q.id, p.id FROM {some} JOIN photos AS p ON ARRAY[p.a, p.b, p.c, p.d] <~> q.hash <= {DISTANCE}",
        max_parallel_workers_per_gather=4,
    )
    found, truth = set(map(tuple, found)), set(map(tuple, truth))
    return len(found), len(found ^ truth)


if __name__ == "__main__":
    main()
