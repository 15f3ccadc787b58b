"""The measured figures of the newest records in benches/records.

The estimates read them, so that a new record changes the estimates.
"""

import re
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[2]
RECORDS = PROJECT / "benches/records"

NUMBER = r"([\d,.]*\d)"
SOURCES = "search", "scale", "operations", "batch", "guard-distance", "guard-texts"


@dataclass(frozen=True)
class Search:
    """One measured search, of a table with covering indexes in memory."""

    kind: str  # uniform or text
    rows: int
    blocks: int
    k: int
    ms: float
    lookup: float  # ms of a primary-key lookup in the same run
    candidates: float | None  # None if the record does not tell
    record: str  # the benchmark


@dataclass(frozen=True)
class Measured:
    probe_us: float
    entry_us: float
    searches: tuple[Search, ...]
    index_bytes: dict[int, float]  # a row, by the number of blocks
    scale_index_bytes: dict[tuple[int, int], float]  # the same of the record `scale`, by rows and blocks
    text_bytes: float  # a row of id and text, without fingerprints
    column_bytes: dict[int, float]  # what fingerprint and block columns add to it, by the number of blocks
    pairs: dict[tuple[str, int], float]  # seconds of simhash_pairs with its arrays, by kind and rows
    pairs_bytes: float  # memory a row of simhash_pairs with its arrays
    guards: dict[tuple[str, int, int, str], float]  # inserts a second, by record, rows, clients and action
    sources: dict[str, str]

    def candidates(self, kind, rows, blocks, k):
        """What a search of a measured table reads; None if it was not measured."""
        of = (kind, rows, blocks, k)
        found = (s for s in self.searches if (s.kind, s.rows, s.blocks, s.k) == of and s.candidates is not None)
        return next((s.candidates for s in found), None)

    def largest(self, kind):
        """The number of rows of the largest table that was searched."""
        return max(s.rows for s in self.searches if s.kind == kind)

    def lookup(self, record, rows):
        """Milliseconds of a primary-key lookup. Where a layout leaves no memory for the table, another one does."""
        return min(s.lookup for s in self.searches if (s.record, s.rows) == (record, rows))


def newest(name):
    """The newest record of a benchmark."""
    records = sorted(RECORDS.glob(f"????-??-??-{name}.txt"))
    if not records:
        raise LookupError(f"benches/records has no record of {name}")
    return records[-1]


def number(text):
    return float(text.replace(",", ""))


def only(pattern, text, source):
    """The groups of the first match."""
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise LookupError(f"{source} has no line like {pattern}")
    return found.groups()


def read():
    cost = PROJECT / "simhash/src/search/cost.rs"
    files = {name: newest(name) for name in SOURCES}
    texts = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    of_cost = cost.read_text(encoding="utf-8")
    searches, index_bytes = searched(texts["search"])
    scale_searches, scale_index_bytes = scaled(texts["scale"])
    stored = rf"^simhash_attach, {{}} blocks{{}} +{NUMBER} .*\+{NUMBER} +{NUMBER}$"
    columns = {
        blocks: number(only(stored.format(blocks, kind), texts["operations"], files["operations"])[1])
        for blocks, kind in ((4, ", covering"), (3, ""), (2, ""))
    }
    return Measured(
        probe_us=number(only(rf"PROBE_MICROSECONDS: f64 = {NUMBER};", of_cost, cost)[0]),
        entry_us=number(only(rf"ENTRY_MICROSECONDS: f64 = {NUMBER};", of_cost, cost)[0]),
        searches=(*searches, *scale_searches),
        index_bytes=index_bytes,
        scale_index_bytes=scale_index_bytes,
        text_bytes=number(only(rf", {NUMBER} bytes a row as stored;", texts["operations"], files["operations"])[0]),
        column_bytes=columns,
        pairs=pairs(texts["batch"]),
        pairs_bytes=number(only(rf"^ +pairs +distinct fingerprints +{NUMBER}", texts["batch"], files["batch"])[0]),
        guards={of: rate for name in ("guard-distance", "guard-texts") for of, rate in guards(name, texts[name])},
        sources={name: str(file.relative_to(PROJECT)) for name, file in {"cost": cost, **files}.items()},
    )


def searched(text):
    """The searches of the record `search`, and the bytes of the indexes."""
    searches, index_bytes = [], {}
    kind = blocks = None
    for line in text.splitlines():
        if line.endswith("plain indexes"):
            kind = None
        elif heading := re.fullmatch(r"(uniform|text) fingerprints, (\d) blocks", line):
            kind, blocks = heading[1], int(heading[2])
        elif built := re.match(rf"{NUMBER} rows: indexes built in .*, {NUMBER} bytes a row;", line):
            index_bytes[blocks] = number(built[2])
        elif kind and re.fullmatch(r" *\d+( +[\d,.]+){8}", line):
            k, rows, _, candidates, _, _, lookup, ms, _ = map(number, line.split())
            searches.append(Search(kind, int(rows), blocks, int(k), ms, lookup, candidates, "search"))
    return searches, index_bytes


def scaled(text):
    """The searches of the record `scale`, all of uniform fingerprints, and the bytes of the indexes."""
    searches, index_bytes = [], {}
    for line in text.splitlines():
        if built := re.match(rf"{NUMBER} rows, (\d) blocks: .*, {NUMBER} bytes a row, lookup {NUMBER} ms$", line):
            rows, blocks, lookup = int(number(built[1])), int(built[2]), number(built[4])
            index_bytes[rows, blocks] = number(built[3])
        elif found := re.match(rf"  k = (\d+): .* probes, {NUMBER} ms,", line):
            searches.append(Search("uniform", rows, blocks, int(found[1]), number(found[2]), lookup, None, "scale"))
    return searches, index_bytes


def guards(record, text):
    """The inserts of one or more clients into tables with covering indexes."""
    rows = None
    for line in text.splitlines():
        if table := re.match(rf"{NUMBER} rows, \d blocks, (covering|plain) indexes; ", line):
            rows = int(number(table[1])) if table[2] == "covering" else None
        elif rows is not None and (found := re.match(r"(\d) clients? ", line)):
            for action, rate in re.findall(rf"(none|reject|skip|by distance) +{NUMBER}/s", line):
                yield (record, rows, int(found[1]), action), number(rate)


def pairs(text):
    seconds = {}
    for line in text.splitlines():
        if table := re.match(rf"(uniform|text), {NUMBER} rows: ", line):
            of = table[1], int(number(table[2]))
        elif found := re.match(rf"  pairs +{NUMBER} +{NUMBER} x sort", line):
            seconds[of] = number(found[1])
    return seconds
