"""Random tables with fingerprints and texts, their indexes, and views of them."""

import random
from dataclasses import replace

from choice import choose
from indexes import SOURCES, TEXTS, Bands, Layout

# The number of words of a text. One text in three has fewer.
TEXT_WORDS = 40


class Values:
    """The fingerprints of one test, near the centres of a few clusters. They are written as numbers or as texts."""

    def __init__(self, rng):
        self.rng = rng
        self.centres = [rng.getrandbits(64) for _ in range(rng.randint(1, 5))]
        # Often 0, which stands for a missing value, so that rows that an outer join fills with NULLs may be near.
        if rng.random() < 0.5:
            self.centres[0] = 0
        self.are_texts = rng.randrange(2) == 0

    def fingerprint(self):
        """A fingerprint near the centre of a cluster, or a special one, as an SQL expression."""
        if self.are_texts:
            return f"simhash({self.text()})"
        number = self.number()  # bigint is signed
        return f"bigint '{number - (number >> 63 << 64)}'"

    def number(self):
        rng, special = self.rng, (0, 1, 2**64 - 1, 2**63, 2**63 - 1)
        others = (1, lambda: rng.choice(special)), (1, lambda: rng.getrandbits(64))
        return choose(rng, (28, self.near_a_centre), *others)

    def near_a_centre(self):
        rng, number = self.rng, self.rng.choice(self.centres)
        # Differing bits are scattered, or all within a few bits, which is the worst case of a layout.
        start, width = rng.choice(((0, 64), (0, 64), (0, 64), (0, 8), (16, 16), (32, 32), (42, 22)))
        for _ in range(rng.randrange(rng.choice((1, 4, 6, 9, 22)))):
            number ^= 1 << start + rng.randrange(width)
        return number

    def text(self):
        """A text, as an SQL literal."""
        rng = self.rng
        if rng.randrange(30) == 0:
            return "''"
        words = random.Random(rng.choice(self.centres)).choices(range(1000), k=TEXT_WORDS)
        for _ in range(rng.randrange(4)):
            words[rng.randrange(TEXT_WORDS)] = rng.randrange(1000)
        if rng.randrange(3) == 0:
            del words[TEXT_WORDS - rng.randrange(TEXT_WORDS // 2) :]
        return f"'{' '.join(f'w{word}' for word in words)}'"


# The sources to choose from, if the values of the test are numbers, and if they are texts.
SOURCES_OF_NUMBERS = ("column", "column", "domain", "not", "coalesce", "coalesce")
SOURCES_OF_TEXTS = ("text", "text", "text", "text", "column")

# The clause of a partitioned table, and the bounds of its partitions. Inheritors have no bounds.
TABLE_KINDS = {
    "plain": ("", ()),
    "hash": (" PARTITION BY HASH (id)", tuple(f"FOR VALUES WITH (MODULUS 3, REMAINDER {n})" for n in range(3))),
    "list": (" PARTITION BY LIST (tag)", ("FOR VALUES IN (0, 1)", "FOR VALUES IN (2, NULL)", "DEFAULT")),
    "range": (" PARTITION BY RANGE (id)", ("FOR VALUES FROM (1) TO (30)", "FOR VALUES FROM (30) TO (MAXVALUE)")),
    "inherited": ("", ("", "")),
}


class Table:
    """A table with the columns `id`, `tag`, `max_distance`, `fp` and others. `setup` makes it."""

    def __init__(self, rng, name, max_rows, values):
        self.rng, self.name, self.values = rng, name, values
        self.kind = rng.choice(("plain", "plain", "plain", "hash", "list", "range", "inherited", "inherited"))
        self.source = rng.choice(SOURCES_OF_TEXTS if values.are_texts else SOURCES_OF_NUMBERS)
        layouts = {}
        for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3))):
            layout = Layout.random(rng, self.source)
            layouts.setdefault(layout.count, layout)
        self.layouts = layouts.values()
        self.bands = [Bands.random(rng) for _ in range(rng.choice((0, 1, 1, 2)))] if self.source == "text" else []
        self.setup = [*self.create(), *self.fill(rng.randrange(max_rows)), *self.index(), *self.attach()]

    def expression(self, prefix=""):
        """The expression that computes the fingerprint."""
        return SOURCES[self.source].expression.format(prefix)

    def texts(self, prefix):
        """The texts to compare: mostly those that have band indexes."""
        if self.source != "text":
            return ()
        return tuple(text.format(prefix) for text in (*TEXTS, *3 * [bands.text for bands in self.bands]))

    def columns(self, *more):
        """The column definitions, in random order. Often the fingerprint stays the second one, so that attnums of
        several tables are easily confused."""
        columns = ["tag integer", "max_distance integer", "n0 integer DEFAULT 0", "n1 integer DEFAULT 7"]
        if raw_type := SOURCES[self.source].raw_type:
            fingerprint = [f"fp bigint GENERATED ALWAYS AS ({self.expression()}) STORED"]
            columns.append(f"raw {raw_type}")
            if raw_type == "text":
                columns.append("lowered text GENERATED ALWAYS AS (lower(raw)) STORED")
        else:
            fingerprint = ["fp fingerprint" if self.source == "domain" else "fp bigint"]
        for layout in self.layouts:
            if layout.are_columns:
                columns += map(layout.column, range(layout.count))
        if self.rng.random() < 0.5:
            columns, fingerprint = columns + fingerprint, []
        self.rng.shuffle(columns)
        columns = ["id integer", *fingerprint, *columns]
        for column in more:
            columns.insert(self.rng.randrange(len(columns) + 1), column)
        return ", ".join(columns)

    def create(self):
        rng, name = self.rng, self.name
        by, bounds = TABLE_KINDS[self.kind]
        # Dropped columns leave gaps in the attnums.
        dropped = [f"dropped{number}" for number in range(rng.randrange(3))]
        persistence = rng.choice(("", "", "", "UNLOGGED ")) if not by else ""
        yield f"CREATE {persistence}TABLE {name} ({self.columns(*(f'{column} text' for column in dropped))}){by}"
        yield from (f"ALTER TABLE {name} DROP COLUMN {column}" for column in dropped)
        for number, bound in enumerate(bounds):
            member = f"{name}_{number}"
            if self.kind == "inherited" and rng.random() < 0.5:
                yield f"CREATE TABLE {member} (more integer) INHERITS ({name})"
            elif self.kind == "inherited":
                yield f"CREATE TABLE {member} ({self.columns('more integer')})"
                yield f"ALTER TABLE {member} INHERIT {name}"
            elif rng.random() < 0.5:
                yield f"CREATE TABLE {member} PARTITION OF {name} {bound}"
            else:
                yield f"CREATE TABLE {member} (dropped integer, {self.columns()})"
                yield f"ALTER TABLE {member} DROP COLUMN dropped"
                yield f"ALTER TABLE {name} ATTACH PARTITION {member} {bound}"

    def value(self):
        """A value for the column that is inserted."""
        if self.rng.randrange(15) == 0:
            return "NULL"
        stored = SOURCES[self.source].stored
        return stored.format(self.values.fingerprint()) if stored else self.values.text()

    def fill(self, count):
        rng = self.rng
        members = [self.name, f"{self.name}_0", f"{self.name}_1"] if self.kind == "inherited" else [self.name]
        rows = {member: [] for member in members}
        last = "NULL"
        for id in range(1, count + 1):
            # One row in four repeats the last value, so that duplicates are common.
            if rng.randrange(4) > 0:
                last = self.value()
            # Distances that differ by row are small, since the probes are made for each row.
            tag, max_distance = rng.choice(("0", "1", "2", "3", "NULL")), rng.choice("0 1 2 3 3 4 5 -1 NULL".split())
            rows[rng.choice(members)].append(f"({id}, {tag}, {max_distance}, {last})")
        column = "raw" if SOURCES[self.source].raw_type else "fp"
        for member, member_rows in rows.items():
            if member_rows:
                yield f"INSERT INTO {member} (id, tag, max_distance, {column}) VALUES {', '.join(member_rows)}"
        if rng.randrange(4) > 0:
            yield f"ANALYZE {self.name}"

    def index(self):
        # An index on the parent covers partitions, but not inherited tables.
        members = [f"{self.name}_0", f"{self.name}_1"] if self.kind in ("inherited", "hash", "list") else []
        for number, bands in enumerate(self.bands):
            only_one_member = bands.damage == "one member" and members
            tables = members[:1] if only_one_member else [self.name, *(members if self.kind == "inherited" else [])]
            for table in tables:
                yield from bands.indexes(table, f"{table}_bands{number}", self.rng)
        for layout in self.layouts:
            only_one_member = layout.damage == "one member" and members
            if not only_one_member:
                yield from layout.indexes(self.name, self.rng)
            if only_one_member or self.kind == "inherited":
                for member in members[:1] if only_one_member else members:
                    member_layout = layout
                    # A child may have an index that only looks alike.
                    if not layout.are_columns and self.rng.randrange(4) == 0:
                        member_layout = replace(layout, damage="other fingerprint", damaged_number=0)
                    yield from member_layout.indexes(member, self.rng)

    def attach(self):
        """Sometimes simhash_attach indexes the fingerprint too, within a scope or not."""
        rng = self.rng
        if rng.randrange(3) == 0:
            scope = rng.choice(("{}", "{tag}", "{tag}", "{n0}", "{tag,n0}", "{max_distance,tag}"))
            yield (
                f"SELECT simhash_attach('{self.name}', '{'raw' if self.source == 'text' else 'fp'}',"
                f" blocks => {rng.choice((2, 3, 4, 4, 5))}, prefix => 'attached', scope => '{scope}')"
            )


# A table whose columns have the attnums of those of `t`, but with -1 in its block columns, and in `n0` and `n1`: if a
# column of one table is mistaken for a column of the other, a query gives wrong rows.
ALIKE = (
    "CREATE TABLE alike AS SELECT * FROM t",
    """DO $$
    DECLARE
        changed name;
    BEGIN
        FOR changed IN
            SELECT attname FROM pg_attribute
            WHERE attrelid = 'alike'::regclass AND attnum > 0 AND atttypid = 'integer'::regtype
                AND attname NOT IN ('id', 'tag', 'max_distance')
        LOOP
            EXECUTE format('UPDATE alike SET %I = -1', changed);
        END LOOP;
    END $$""",
)


def views(searched):
    """Views of `t` and `u` with the columns of a table: what follows the name in CREATE VIEW, by the name."""
    columns = "id, tag, max_distance"
    joined = "u.id, u.tag, u.max_distance"
    return {
        "plain": "AS SELECT fp, id, max_distance, tag FROM t",
        "barrier": "WITH (security_barrier) AS SELECT id, max_distance, tag, fp FROM t WHERE tag < 3",
        "renamed": "(max_distance, id, tag, fp) AS SELECT max_distance, id, n0, fp FROM t WHERE id % 3 > 0",
        "two": f"AS SELECT {columns}, fp FROM t UNION ALL SELECT {columns}, fp FROM u",
        "outer_joined": f"AS SELECT {joined}, t.fp FROM u LEFT JOIN t ON t.id = u.id",
        "grouped": f"({columns}, fp) AS SELECT min(id), min(tag), max(max_distance), fp FROM t GROUP BY fp",
        "changed": f"AS SELECT {columns}, coalesce(fp, bigint '0') AS fp FROM t",
        "computed": f"AS SELECT {columns}, {searched.expression()} AS fp FROM t",
        "outer_computed": f"AS SELECT {joined}, {searched.expression('t.')} AS fp FROM u LEFT JOIN t ON t.id = u.id",
    }
