"""Indexes on the blocks of fingerprints and on the bands of texts: whole layouts, and damaged ones."""

from dataclasses import dataclass
from typing import NamedTuple


class Source(NamedTuple):
    """How a table gets its fingerprints."""

    raw_type: str | None  # of the column `raw`; None if the table has none
    expression: str
    stored: str | None  # for a fingerprint; None if a text is stored


SOURCES = {
    "column": Source(None, "{}fp", "{}"),
    "domain": Source(None, "{}fp", "{}"),
    "not": Source("bigint", "(~{}raw)", "~{}"),
    "coalesce": Source("bigint", "coalesce({}raw, bigint '0')", "{}"),
    "text": Source("text", "simhash({}raw)", None),
}
# The texts of a table: the column that is inserted, and its lower-case form, computed and stored.
TEXTS = "{}raw", "lower({}raw)", "{}lowered"

# Defects of the blocks of a layout: of its indexes (`second`: another column comes first; `one member`: only one
# partition or inheritor has them), or of its columns (`plain`: one has the right name, but is not generated).
BLOCK_DAMAGES = (
    "no index", "partial", "second", "invalid", "other fingerprint", "other block", "other layout", "other function",
    "plain", "one member",
)
# Defects of the indexes on bands.
BAND_DAMAGES = (
    "no index", "partial", "second", "invalid", "other text", "other band", "other options", "other size",
    "without size", "other fingerprint", "without fingerprint", "one member",
)


@dataclass
class Indexes:
    """Indexes on the numbered blocks or bands of a table. They may begin with the column `tag`, for searches within one
    value of it. If `damaged_number` is None, all of them are damaged."""

    count: int
    is_scoped: bool
    damage: str
    damaged_number: int | None
    source_column = "fp"

    @classmethod
    def random(cls, rng, counts, damages, **others):
        count, is_scoped = rng.choice(counts), rng.randrange(4) == 0
        damage = rng.choice(damages) if rng.randrange(4) == 0 else ""
        return cls(count, is_scoped, damage, rng.randrange(count) if rng.randrange(3) > 0 else None, **others)

    def damage_of(self, number):
        return self.damage if self.damaged_number in (None, number) else ""

    def create(self, rng, table, name, number, key, more=""):
        """The statements that make the index `name` on this key and `more`, with the damage of this number."""
        damage, where = self.damage_of(number), ""
        if damage == "no index":
            return
        if damage == "partial":
            where = f" WHERE {rng.choice(('tag > 1', f'{self.source_column} IS NOT NULL', 'id > 5'))}"
        first = f"{'max_distance, ' if damage == 'second' else ''}{'tag, ' if self.is_scoped else ''}"
        yield f"CREATE INDEX {name} ON {table} ({first}{key}){more}{where}"
        if damage == "invalid":
            yield f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{name}'::regclass"


@dataclass
class Layout(Indexes):
    """The blocks of one layout in a table. They are generated columns, or expressions in indexes, of the fingerprint
    column or of what that is computed from."""

    source: str
    are_columns: bool
    is_of_source: bool

    @classmethod
    def random(cls, rng, source):
        are_columns = rng.randrange(3) > 0
        # Generated columns cannot be of a column that is itself generated.
        is_of_source = source not in ("column", "domain") and (are_columns or rng.random() < 0.5)
        others = {"source": source, "are_columns": are_columns, "is_of_source": is_of_source}
        return super().random(rng, (2, 3, 4, 4, 4, 5, 6, 7, 8), BLOCK_DAMAGES, **others)

    def name(self, block):
        return f"b{self.count}_{block}"

    def expression(self, block):
        source = SOURCES[self.source].expression.format("") if self.is_of_source else "fp"
        blocks = self.count
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
        for block in range(self.count):
            key = self.name(block) if self.are_columns else f"({self.expression(block)})"
            forms = *3 * [(", fp", "")], (" DESC, fp", ""), (" NULLS FIRST, fp", ""), ("", "")
            included = "id", "id, fp", "tag, fp, max_distance", *7 * ["fp"]
            order, more = rng.choice((*forms, *(("", f" INCLUDE ({columns})") for columns in included)))
            yield from self.create(rng, table, f"{table}_{self.name(block)}", block, key + order, more)


@dataclass
class Bands(Indexes):
    """Indexes on the first bands of one of TEXTS."""

    text: str
    options: str
    source_column = "raw"

    @classmethod
    def random(cls, rng):
        options = rng.choice(("", "", "", "", """, '{"ngram": 2}'""", """, '{"tokens": "words"}'"""))
        text = rng.choice(TEXTS)
        return super().random(rng, (2, 6, 6, 6, 7, 12), BAND_DAMAGES, text=text, options=options)

    def indexes(self, table, name, rng):
        for band in range(self.count):
            text = size = fingerprint = self.text.format("")
            number, options = band, self.options
            damage = self.damage_of(band)
            match damage:
                case "other text":
                    text = size = fingerprint = f"upper({text})"
                case "other size":
                    size = f"upper({text})"
                case "other fingerprint":
                    fingerprint = f"upper({text})"
                case "other band":
                    number = (band + 1) % 64
                case "other options":
                    options = """, '{"seed": 1}'"""
            key = f"simhash_band({text}, {number}{options}){rng.choice(('', '', ' DESC', ' NULLS FIRST'))}"
            if damage != "without size":
                key += f", simhash_size({size}{options}){rng.choice(('', ' DESC'))}"
            if damage != "without fingerprint":
                key += f", simhash({fingerprint}{options}){rng.choice(('', ' DESC'))}"
            yield from self.create(rng, table, f"{name}_{band}", band, key)
