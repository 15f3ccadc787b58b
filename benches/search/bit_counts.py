"""What the queries cost that applications have, before and after simhash_attach, beside simhash_near.

    python benches/search/bit_counts.py RUNS ROWS FINGERPRINTS

The same ROWS rows have their fingerprint as a bigint, as a bit(64), and as hexadecimal digits in a text. They are
searched by the distance that bit_count computes, without the scan and with it, and by simhash_near. Fingerprints are
uniform, or those of texts (the file FINGERPRINTS, from fingerprints.rs, has a thousand more than ROWS). Needs
PYTHONPATH=benches, and psql's environment (PGHOST and so on) pointing to a server with pg_simhash.

Everything is warm and in shared buffers, and all ways take turns: medians of RUNS runs, and of the runs' ratios.
Without the scan every row is read, so that few queries are run.
"""

import sys

import exact
import tables
from searches import LOOKUP, NEAR, choose
from server import Way, measure, warm
from statements import psql, value

K = 3
BEFORE, AFTER = "bit_count before", "bit_count after"
# The most time that bit_count may take, beside simhash_near.
BAR = 1.1
# Of each kind of column: its expression from a fingerprint, the arguments of simhash_attach, and the distance from :q.
KINDS = {
    "bigint": ("simhash", "'source'", "bit_count((source # {q})::bit(64))"),
    "bit(64)": ("simhash::bit(64)", "'source'", "bit_count(source # ({q})::bit(64))"),
    "hex": (
        "lpad(to_hex(simhash), 16, '0')",
        """'source', options => '{"source": "hex"}'""",
        "bit_count(('x' || source)::bit(64) # ('x' || lpad(to_hex({q}), 16, '0'))::bit(64))",
    ),
}


def main():
    runs, rows, file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    print(f"shared_buffers {value('SHOW shared_buffers')}, no JIT, no parallel workers; medians of {runs} runs; pgbench"
          f" -M prepared, one client, generic plans; distance at most {K}")
    wrong = 0
    for distribution in ("uniform", "text"):
        (source,) = tables.prepare(distribution, (rows,), file)
        exact.scan(source)
        print(f"\n{distribution} fingerprints, {rows:,} rows")
        for kind in KINDS:
            wrong += report(source, rows, kind, runs)
    print(f"\nwrong rows in all searches: {wrong}")
    if wrong:
        sys.exit("searches differ from scans")


def report(source, rows, kind, runs):
    expression, arguments, distance = KINDS[kind]
    psql("CREATE UNLOGGED TABLE counted (id bigint PRIMARY KEY, body text NOT NULL, source "
         f"{'text' if kind == 'hex' else kind})",
         f"INSERT INTO counted SELECT id, body, {expression} FROM {source}", "VACUUM ANALYZE counted")
    condition = f"{distance.format(q=':q::bigint')} <= {K}"
    setup = choose(source, K)
    search = Way(f"SELECT t.id FROM counted AS t WHERE {condition}", *setup)
    before = measure({BEFORE: search}, 1, ("counted",), least=3)
    psql(f"SELECT simhash_attach('counted', {arguments})", "VACUUM ANALYZE counted", client_min_messages="warning")
    indexes = psql("SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'counted'::regclass")
    warm("counted", *(name for (name,) in indexes))
    column = "source" if kind == "bigint" else "simhash"
    ways = {
        LOOKUP: Way("SELECT body FROM counted WHERE id = :row", f"\\set row random(1, {rows})"),
        NEAR: Way(f"SELECT t.id FROM counted AS t WHERE simhash_near(t.{column}, :q, {K})", *setup),
        AFTER: search,
    }
    times = measure(ways, runs, ("counted",))
    found, wrong = exact.check(source, K, f"{distance.format(q='q.simhash')} <= {K}", "counted")
    ratio = times.ratio(AFTER, NEAR)
    print(f"{kind}: {BEFORE} {before.ms(BEFORE):.1f} ms, after {times.ms(AFTER):.3f} ms, simhash_near"
          f" {times.ms(NEAR):.3f} ms, primary-key lookup {times.ms(LOOKUP):.3f} ms; found {found}, wrong {wrong};"
          f" {ratio:.2f} times simhash_near, bar {BAR}: {'reached' if ratio <= BAR else 'MISSED'}", flush=True)
    psql("DROP TABLE counted")
    return wrong


if __name__ == "__main__":
    main()
