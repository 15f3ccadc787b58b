"""The tables of docs/scale.md, as Markdown."""

from math import floor, log10

DISTANCES = 3, 5, 8
SHARD_ROWS = 1_000_000, 10_000_000, 30_000_000, 100_000_000, 300_000_000, 1_000_000_000
TABLE_ROWS = 100_000_000, 1_000_000_000, 8_000_000_000
SERVERS_GB = 64, 256
SHARDS_OF = 1_000_000_000, 64  # rows, GB of a server
SHARDS_PER_SERVER = 1, 2, 4, 8, 16, 32


ONE_SERVER_GB = 16, 64, 256, 1000


def tables(model):
    """The tables of each section of the page, in their order."""
    return {
        "When one machine is enough": [rows_of_server(model)],
        "Estimates": [servers(model), distances(model), layouts_by_rows(model), shards_of_server(model)],
    }


def rows_of_server(model):
    lines = [
        [f"{gb:,} GB", *(in_words(model.rows_in(gb, blocks)) for blocks in model.layouts_known)] for gb in ONE_SERVER_GB
    ]
    return markdown(["memory of the server", *(f"{blocks} blocks" for blocks in model.layouts_known)], lines)


def layouts_by_rows(model):
    lines = []
    for rows in SHARD_ROWS:
        cells = [in_words(rows)]
        for k in DISTANCES:
            (uniform, uniform_ms), (text, text_ms) = (model.best(kind, rows, k) for kind in ("uniform", "text"))
            cells += [f"{uniform} / {text}", f"{digits(uniform_ms)} / {digits(text_ms)}"]
        lines.append(cells)
    heading = ["rows of a shard"]
    for k in DISTANCES:
        heading += [f"distance {k}: blocks", "ms"]
    return markdown(heading, lines)


def shards_of_server(model):
    rows, gb = SHARDS_OF
    servers = model.plan(rows, 3, server_gb=gb).servers
    lines = []
    for per_server in SHARDS_PER_SERVER:
        plan = model.plan(rows, 3, server_gb=gb, servers=servers, per_server=per_server)
        lines.append([
            str(per_server), str(plan.shards), in_words(plan.rows / plan.shards), str(plan.blocks),
            digits(plan.cpu), digits(plan.latency), digits(plan.searches),
        ])
    return markdown(
        ["shards of a server", "shards", "rows of a shard", "blocks", "CPU a search, ms", "latency, ms",
         "searches a second"],
        lines,
    )


def servers(model):
    lines = []
    for rows in TABLE_ROWS:
        for plan in plans(model, rows, 3):
            lines.append([
                in_words(rows), servers_of(plan), str(plan.shards) if plan.servers > 1 else "-", str(plan.blocks),
                f"{digits(plan.memory / 1e9)} GB", f"{digits(model.disk(rows, plan.blocks) / 1e9)} GB",
                digits(plan.cpu), digits(plan.latency), digits(plan.searches),
                digits(model.pairs_hours(plan)), str(model.pairs_key_bits(plan)),
            ])
    return markdown(
        ["rows", "servers", "shards", "blocks", "memory", "disk with texts", "CPU a search, ms", "latency, ms",
         "searches a second", "hours of all pairs", "bits of a key"],
        lines,
    )


def distances(model):
    lines = []
    for rows in TABLE_ROWS:
        for k in DISTANCES[1:]:
            for plan in plans(model, rows, k):
                lines.append([
                    in_words(rows), str(k), servers_of(plan), str(plan.blocks), f"{digits(plan.memory / 1e9)} GB",
                    digits(plan.cpu), digits(plan.latency), digits(plan.searches),
                ])
    return markdown(
        ["rows", "distance", "servers", "blocks", "memory", "CPU a search, ms", "latency, ms", "searches a second"],
        lines,
    )


def plans(model, rows, k):
    """On one server as large as it takes, then on several of each size."""
    yield model.plan(rows, k)
    for gb in SERVERS_GB:
        plan = model.plan(rows, k, server_gb=gb)
        if plan.servers > 1:
            yield plan


def servers_of(plan):
    size = digits(plan.server_gb) if plan.servers == 1 else plan.server_gb
    return f"{plan.servers} of {size} GB, {digits(plan.cores).removesuffix('.0')} cores"


def digits(value):
    """Two digits: no estimate is more exact."""
    rounded = float(f"{value:.1e}")
    places = max(0, 1 - floor(log10(rounded)))
    return f"{rounded:,.{places}f}"


def in_words(rows):
    unit, name = (1e9, "billion") if rows >= 1e9 else (1e6, "million")
    return f"{digits(rows / unit).removesuffix('.0')} {name}"


def markdown(heading, lines):
    rows = [heading, ["---"] * len(heading), *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
