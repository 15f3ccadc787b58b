"""The model beside what was measured."""

from dataclasses import dataclass
from math import sqrt

import by_hand
from model import citus_overhead

FACTOR = 2
SIZE_FACTOR = 1.1
DISTANCES = 3, 5, 8


@dataclass(frozen=True)
class Check:
    what: str
    estimate: float
    measured: float
    unit: str
    factor: float = FACTOR

    @property
    def ratio(self):
        return self.estimate / self.measured

    @property
    def holds(self):
        return 1 / self.factor <= self.ratio <= self.factor


def checks(model):
    yield from searches(model)
    yield from distributed(model)
    yield from sizes(model)
    yield from pairs(model)


def searches(model):
    """Searches of ten million rows and more. Those of texts are estimated from what a tenth of the rows showed."""
    for search in model.measured.searches:
        if search.rows < 10_000_000 or search.k not in DISTANCES:
            continue
        cost = model.cost(search.kind, search.rows, search.blocks, search.k, counted=search.rows // 10)
        if cost is not None:
            what = f"{search.record}: {search.rows:,} rows, {search.kind}, {search.blocks} blocks, distance {search.k}"
            lookup = model.measured.lookup(search.record, search.rows)
            yield Check(what, lookup + cost, search.ms, "ms")


def distributed(model):
    for shards, (least, most) in by_hand.CITUS_SEARCHES.items():
        cost = model.cost("uniform", by_hand.CITUS_ROWS / shards, 4, 3)
        what = f"Citus: {by_hand.CITUS_ROWS:,} rows, {shards} shards ({least} to {most} ms)"
        yield Check(what, citus_overhead(shards) + shards * cost / by_hand.CITUS_CORES, sqrt(least * most), "ms")


def sizes(model):
    """Freshly built, as they were measured; and what was typed by hand, beside the format of PostgreSQL's pages."""
    rows = 100_000_000
    yield size(f"{rows:,} rows, 4 blocks", rows * model.row_bytes(4, grown=1) / 1e9, by_hand.HUNDRED_MILLION_GB, "GB")
    for (of, blocks), measured in model.measured.scale_index_bytes.items():
        if of == rows:
            yield size(f"indexes, {rows:,} rows, {blocks} blocks", model.measured.index_bytes[blocks], measured, "B")
    # 8 kB, a header of 24 bytes, 4 for the place of each row; 24 for the header of a row.
    yield size("a row (id, fingerprint)", 8192 / ((8192 - 24) // (4 + 24 + 16)), by_hand.TABLE_BYTES, "B")
    # 16 bytes more at the end of an index page, 8 for the header of an entry; nine tenths of the page are filled.
    yield size("its entry in the key", 8192 / ((8192 - 40) * 0.9 // (4 + 8 + 8)), by_hand.KEY_BYTES, "B")


def size(what, estimate, measured, unit):
    return Check(f"size: {what}", estimate, measured, unit, SIZE_FACTOR)


def pairs(model):
    """The time of all pairs grows with the rows."""
    for (kind, rows), seconds in model.measured.pairs.items():
        tenth = model.measured.pairs.get((kind, rows // 10))
        if tenth is not None:
            yield Check(f"all pairs: {rows:,} rows, {kind}", 10 * tenth, seconds, "s")
