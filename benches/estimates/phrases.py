"""The sentences and figures that docs/scale.md has in its prose."""

from math import comb
from pathlib import Path

import by_hand
import checks
from model import GROWN, uniform_share
from tables import DISTANCES, SHARDS_OF, TABLE_ROWS, digits, in_words


def phrases(model):
    """What the prose of each section of the page must have."""
    return {
        "When one machine is enough": [
            grows(model), freshly_built(), texts(model), disk(model), grown(), built(model), task(), register(),
            *guards(model),
        ],
        "Estimates": [
            memory(model), candidates(model), latency(), latency_of_tasks(), key_time(), pairs(model), key_table(),
            *by_chance(), *held(model), few_shards(model), connection(), *inserts(model),
        ],
    }


def span(values):
    """From the least to the most of them, in two digits."""
    least, most = digits(min(values)), digits(max(values))
    return least if least == most else f"{least} to {most}"


def whole(value):
    return f"{value:,.0f}"


def between(values):
    least, most = values
    return f"{least:,} to {most:,}"


def grows(model):
    tenth, largest = (
        next(s.ms for s in model.measured.searches if (s.record, s.rows, s.blocks, s.k) == ("scale", rows, 3, 3))
        for rows in (10_000_000, 100_000_000)
    )
    times = digits(largest / tenth)
    return f"a search of a hundred million rows at distance 3 takes {times} times as long as one of ten million"


def freshly_built():
    return f"the indexes of four blocks take {by_hand.HUNDRED_MILLION_GB} GB, with the indexes freshly built"


def texts(model):
    least, most = (model.disk(100_000_000, blocks) / 1e9 for blocks in (2, 4))
    return f"takes {digits(least / 100)} to {digits(most / 100)} kB"


def disk(model):
    least, most = (digits(model.disk(100_000_000, blocks) / 1e9) for blocks in (2, 4))
    return f"so a hundred million take {least} to {most} GB"


def grown():
    return (f"take {digits(GROWN)} times as much as freshly built ones ({by_hand.INDEXES_GROWN} against"
            f" {by_hand.INDEXES_BUILT} bytes a row, measured by hand on PostgreSQL 15)")


def built(model):
    more = [model.row_bytes(blocks) / model.row_bytes(blocks, grown=1) for blocks in model.layouts_known]
    return f"{span(more)} times as many rows fit"


def task():
    return f"costs {by_hand.CITUS_CPU_OF_TASK} ms of CPU for each shard (measured by hand)"


def register():
    return f"takes {between(by_hand.INSERTS_REGISTER)} rows a second (measured by hand)"


def guards(model):
    date = Path(model.measured.sources["guard-distance"]).name[:10]
    yield f"record `guard-distance` of {date}"
    rates = model.measured.guards
    guarded, free = (rates["guard-distance", 10_000_000, 4, action] for action in ("reject", "none"))
    yield f"four clients insert {digits(guarded)} rows a second into ten million"
    yield f"{whole(round(free, -2))} without a guard"
    slower = [rates["guard-texts", 1_000_000, n, "by distance"] / rates["guard-texts", 1_000_000, n, "reject"]
              for n in (1, 4)]
    yield f"takes {span(slower)} times as long"


def memory(model):
    each = [digits(model.row_bytes(blocks)) for blocks in model.layouts_known]
    return f"{each[0]}, {each[1]} or {each[2]} bytes with two, three or four blocks"


def candidates(model):
    rows = model.measured.largest("text")
    ratios = [
        found / (rows * uniform_share(blocks, k)) for blocks in model.layouts_known for k in DISTANCES
        if (found := model.measured.candidates("text", rows, blocks, k)) is not None
    ]
    return f"which is {whole(min(ratios))} to {whole(max(ratios))} times the share among uniform ones"


def latency():
    times = ", ".join(f"{between(times)} ms on {shards}" for shards, times in by_hand.CITUS_SEARCHES.items())
    return f"{by_hand.CITUS_LOCAL} ms without Citus, {times.replace(' on 8,', ' on 8 shards,')}"


def latency_of_tasks():
    each = by_hand.CITUS_CPU_OF_TASK / by_hand.CITUS_CORES
    return f"{by_hand.CITUS_LOCAL} ms, {each} ms for each shard, and the time"


def key_time():
    return f"in {by_hand.KEY_TABLE_SECONDS} seconds, measured by hand on {min(by_hand.CITUS_SEARCHES)} shards"


def pairs(model):
    return f"`simhash_pairs` with its arrays takes {whole(model.measured.pairs_bytes)} bytes a row"


def key_table():
    """Each row is there once for each block: three columns of 8 bytes with padding, a header of 24, 4 for its place."""
    size = by_hand.KEY_TABLE_BLOCKS * 8192 / ((8192 - 24) // (4 + 24 + 24))
    return f"The key table takes about {digits(size)} bytes a row on disk"


def by_chance():
    """Rows of the largest table, of uniform fingerprints, that are near any query."""
    far, near = (TABLE_ROWS[-1] * sum(comb(64, bits) for bits in range(k + 1)) / 2**64 for k in (8, 5))
    return f"{far:.1f} are within distance 8 of any query by chance", f"within distance 5, {near:.3f} are"


def held(model):
    ratios = {}
    for check in checks.checks(model):
        ratios.setdefault(check.what.split(":")[0], []).append(check.ratio)
    yield f"a hundred million uniform rows: {span(ratios['search'] + ratios['scale'])}"
    yield f"8 and 32 shards: {span(ratios['Citus']).replace(' to ', ' and ')} of the middle"
    yield f"from the time for one million: {span(ratios['all pairs']).replace(' to ', ' and ')}"
    yield f"freshly built indexes: {span(ratios['size'])}"


def few_shards(model):
    rows, gb = SHARDS_OF
    names = {2: "two", 3: "three", 4: "four", 5: "five"}
    servers = names[model.plan(rows, 3, server_gb=gb).servers]
    return f"With a {in_words(rows).removeprefix('1 ')} rows on {servers} servers of {gb} GB"


def connection():
    return f"takes {between(by_hand.CONNECTION)} ms on a machine with two busy cores (measured by hand, PostgreSQL 15)"


def inserts(model):
    one, four = (model.measured.guards["guard-distance", 10_000_000, clients, "reject"] for clients in (1, 4))
    yield f"{digits(one)} with one client, {digits(four)} with four"
    yield f"{between(by_hand.INSERTS_WITHIN_SCOPE)} with eight clients (measured by hand)"
    yield f"{by_hand.INSERTS_REFERENCE} (measured by hand)"
    yield f"{between(by_hand.INSERTS_REGISTER)} (measured by hand)"
