"""Indexes on the blocks of fingerprints and on the bands of texts: whole layouts, and damaged ones."""

from dataclasses import dataclass

# How a table gets its fingerprints: the type of the column `raw`, the expression, and what is stored for a fingerprint.
SOURCES = {
    "column": (None, "{}fp", "{}"),
    "domain": (None, "{}fp", "{}"),
    "not": ("bigint", "(~{}raw)", "~{}"),
    "coalesce": ("bigint", "coalesce({}raw, bigint '0')", "{}"),
    "text": ("text", "simhash({}raw)", None),
}
# The texts of a table: the column that is inserted, and its lower-case form, computed and stored.
TEXTS = "{}raw", "lower({}raw)", "{}lowered"

# Defects of the blocks of a layout. A column that is `plain` has the right name, but is not generated.
DAMAGES = (
    "no index", "partial", "second", "invalid", "other fingerprint", "other block", "other layout", "other function",
    "plain", "one member",
)


@dataclass
class Layout:
    """The blocks of one layout in a table. They are generated columns, or expressions in indexes, of the fingerprint
    column or of what that is computed from. Indexes may begin with the column `tag`, for searches within one value of
    it. Without `damaged_block`, the damage is that of all blocks."""

    blocks: int
    source: str
    are_columns: bool
    is_of_source: bool
    is_scoped: bool
    damage: str
    damaged_block: int | None

    @classmethod
    def random(cls, rng, source):
        blocks = rng.choice((2, 3, 4, 4, 4, 5, 6, 7, 8))
        are_columns = rng.randrange(3) > 0
        return cls(
            blocks=blocks,
            source=source,
            are_columns=are_columns,
            # Generated columns cannot be of a column that is itself generated.
            is_of_source=source not in ("column", "domain") and (are_columns or rng.random() < 0.5),
            is_scoped=rng.randrange(4) == 0,
            damage=rng.choice(DAMAGES) if rng.randrange(4) == 0 else "",
            damaged_block=rng.randrange(blocks) if rng.randrange(3) > 0 else None,
        )

    def damage_of(self, block):
        return self.damage if self.damaged_block in (None, block) else ""

    def name(self, block):
        return f"b{self.blocks}_{block}"

    def expression(self, block):
        source = SOURCES[self.source][1].format("") if self.is_of_source else "fp"
        blocks = self.blocks
        match self.damage_of(block):
            case "other fingerprint":
                return f"simhash_block({source} # bigint '1', {block}, {blocks})"
            case "other block":
                return f"simhash_block({source}, {(block + 1) % blocks}, {blocks})"
            case "other layout":
                other = f"{block % 2}, 2" if blocks == 8 else f"{block}, {blocks + 1}"
                return f"simhash_block({source}, {other})"
            case "other function":
                return f"other.simhash_block({source}, {block}, {blocks})"
        return f"simhash_block({source}, {block}{'' if blocks == 4 else f', {blocks}'})"

    def column(self, block):
        if self.damage_of(block) == "plain":
            return f"{self.name(block)} integer DEFAULT 7"
        return f"{self.name(block)} integer GENERATED ALWAYS AS ({self.expression(block)}) STORED"

    def indexes(self, table, rng):
        for block in range(self.blocks):
            name, damage = f"{table}_{self.name(block)}", self.damage_of(block)
            block_key = self.name(block) if self.are_columns else f"({self.expression(block)})"
            key = f"{'tag, ' if self.is_scoped else ''}{block_key}"
            match damage:
                case "no index":
                    continue
                case "partial":
                    form = f"({key}) WHERE {rng.choice(('tag > 1', 'fp IS NOT NULL', 'id > 5'))}"
                case "second":
                    form = f"(k, {key})"
                case _:
                    forms = [f"({key} DESC, fp)", f"({key} NULLS FIRST, fp)", f"({key})"]
                    forms += [f"({key}) INCLUDE ({columns})" for columns in ("id", "id, fp", "tag, fp, k", *7 * ["fp"])]
                    form = rng.choice(forms + 3 * [f"({key}, fp)"])
            yield f"CREATE INDEX {name} ON {table} {form}"
            if damage == "invalid":
                yield f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{name}'::regclass"


# Defects of the indexes on bands.
BAND_DAMAGES = (
    "no index", "partial", "second", "invalid", "other text", "other band", "other options", "other size",
    "without size", "other fingerprint", "without fingerprint", "one member",
)


@dataclass
class Bands:
    """Indexes on the first bands of a text. They may begin with the column `tag`. Without `damaged_band`, the damage is
    that of all bands."""

    count: int
    text: str
    options: str
    is_scoped: bool
    damage: str
    damaged_band: int | None

    @classmethod
    def random(cls, rng):
        count = rng.choice((2, 6, 6, 6, 7, 12))
        return cls(
            count=count,
            text=rng.choice(TEXTS).format(""),
            options=rng.choice(("", "", "", "", """, '{"ngram": 2}'""", """, '{"tokens": "words"}'""")),
            is_scoped=rng.randrange(4) == 0,
            damage=rng.choice(BAND_DAMAGES) if rng.randrange(4) == 0 else "",
            damaged_band=rng.randrange(count) if rng.randrange(3) > 0 else None,
        )

    def indexes(self, table, name, rng):
        for band in range(self.count):
            text = size = fingerprint = self.text
            options = self.options
            order = rng.choice(("", "", " DESC", " NULLS FIRST"))
            number, size_options = band, options
            damage = self.damage if self.damaged_band in (None, band) else ""
            match damage:
                case "no index":
                    continue
                case "other text":
                    text = size = fingerprint = f"upper({text})"
                case "other size":
                    size = f"upper({text})"
                case "other fingerprint":
                    fingerprint = f"upper({text})"
                case "other band":
                    number = (band + 1) % 64
                case "other options":
                    options = size_options = """, '{"seed": 1}'"""
            key = f"simhash_band({text}, {number}{options}){order}"
            if damage != "without size":
                key += f", simhash_size({size}{size_options}){rng.choice(('', ' DESC'))}"
            if damage != "without fingerprint":
                key += f", simhash({fingerprint}{size_options}){rng.choice(('', ' DESC'))}"
            key = f"{'k, ' if damage == 'second' else ''}{'tag, ' if self.is_scoped else ''}{key}"
            where = f" WHERE {rng.choice(('tag > 1', 'raw IS NOT NULL', 'id > 5'))}" if damage == "partial" else ""
            yield f"CREATE INDEX {name}_{band} ON {table} ({key}){where}"
            if damage == "invalid":
                yield f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{name}_{band}'::regclass"
