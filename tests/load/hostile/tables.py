"""The life of a table: attached, indexed, filled, searched, guarded, altered and detached in random order, in
transactions that are partly undone."""

from values import Values, quote

TEXTS = tuple(" ".join(f"word{(i * 7 + n * 13) % 97}" for i in range(60)) for n in range(8))
COLUMNS = "body", "body", "f", "features", "document", "tenant", "simhash", "p", "mark", "renamed"
PREFIXES = "simhash", "simhash", "p", 'Odd "one"'
CRITERIA = "{}", '{"max_distance": 3, "resemblance": null}', '{"resemblance": 0.7}', '{"bands": 1}', '{"ngram": 1}'
SOURCES = "'body'", "'body'", "'f'", "'simhash'", "NULL"
PARTITIONS = ("MINVALUE", 20), (20, 100), (100, "MAXVALUE")

# {t} is the table, {c} and {d} are columns, {row} is a new row, and the other names are methods of Table.
ATTACH = "SELECT simhash_attach('{t}', '{c}', {options}, {blocks}, {scope}, {prefix})"
INDEX = "SELECT simhash_index('{t}', {source}, {options}, {bands}, {scope})"
GUARD = "SELECT simhash_guard('{t}', {action}, {criterion}, {scope}, source => {source})"
MARK = "SELECT simhash_guard('{t}', 'mark', {criterion}, {scope}, mark_column => 'mark', source => {source})"
COMMANDS = (
    *2 * (ATTACH,),
    *2 * (INDEX,),
    *2 * (GUARD,),
    MARK,
    "SELECT simhash_detach('{t}', {prefix})",
    "SELECT simhash_unguard('{t}')",
    "SELECT * FROM simhash_layouts('{t}', {fingerprint}, {distance}, {scope})",
    "SELECT * FROM simhash_preview('{t}', {criterion}, {scope}, source => {source})",
)
WRITES = (
    *3 * ("INSERT INTO {t} (id, body, f, features, document, tenant) VALUES {row}, {row}, {row}",),
    "INSERT INTO {t} (id, body, f, features, document, tenant) VALUES {row} ON CONFLICT DO NOTHING",
    "INSERT INTO {t} (id, body, f, tenant) SELECT id + 60, body, f, tenant FROM {t} RETURNING *, tableoid::regclass",
    "UPDATE {t} SET body = {body} WHERE id = {id}",
    "UPDATE {t} SET body = body || '.', f = f # 1 WHERE id % 3 = 0",
    "UPDATE {t} SET id = id + 50, tenant = 'c' WHERE id = {id}",
    "DELETE FROM {t} WHERE id % 5 = {id} % 5",
    "MERGE INTO {t} AS t USING hostile.rows AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET body = left(s.t, 300)",
)
CHANGES = (
    "ALTER TABLE {t} ADD extra integer DEFAULT 1",
    "ALTER TABLE {t} DROP {c}",
    "ALTER TABLE {t} DROP {c} CASCADE",
    "ALTER TABLE {t} RENAME {c} TO renamed",
    "ALTER TABLE {t} RENAME renamed TO {c}",
    "ALTER TABLE {t} ALTER {c} TYPE text",
    "ALTER TABLE {t} ALTER {c} TYPE bigint",
    "ALTER TABLE {t} ALTER {c} DROP EXPRESSION",
    "ALTER TABLE {t} DISABLE TRIGGER ALL",
    "ALTER TABLE {t} ENABLE ALWAYS TRIGGER ALL",
    "ALTER TABLE {t} ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE {t} DETACH PARTITION {t}_0",
    "ALTER TABLE {t} ATTACH PARTITION {t}_0 FOR VALUES FROM (MINVALUE) TO (20)",
    "CREATE OR REPLACE VIEW hostile.on_life AS SELECT * FROM {t}",
    "CREATE INDEX ON {t} (simhash_block(f, 0), simhash_block(f, 1, 2))",
    "CREATE INDEX ON {t} (simhash_band(body, 0), simhash_size(body), simhash(body))",
    "ALTER TABLE {t} OWNER TO hostile_user",
    "CREATE OR REPLACE TRIGGER own {time} INSERT OR UPDATE ON {t} FOR EACH {level} EXECUTE FUNCTION"
    " simhash_dedup({action}, {criterion}, {source})",
    "DROP TRIGGER own ON {t}",
    "VACUUM FULL {t}",
    "REINDEX TABLE {t}",
    "ANALYZE {t}",
)
SEARCHES = (
    "SELECT id, f FROM {t} WHERE simhash_near({d}, {query}, {distance})",
    "SELECT a.id, b.id FROM {t} a JOIN {t} b ON simhash_near(a.{d}, b.{d}, 4) AND a.id < b.id",
    "DELETE FROM {t} WHERE simhash_near({d}, {query}, {distance}) RETURNING id",
    "SELECT id FROM {t} WHERE simhash_near(body, {body}, {criterion})",
    "SELECT a.id, b.id FROM {t} a JOIN {t} b ON simhash_near(a.body, b.body) AND a.id < b.id",
)


class Table:
    """The table `life` of a schema. Methods fill templates with random parts, and run them by the client."""

    def __init__(self, rng, client, schema):
        self.rng, self.client, self.values = rng, client, Values(rng, 100)
        self.t = f"{schema}.life"
        self.last = 0
        one_of = rng.choice
        self.parts = {
            "t": lambda: self.t,
            "c": lambda: one_of(COLUMNS),
            "d": lambda: one_of(("f", "simhash", "p")),
            "id": lambda: str(rng.randint(1, self.last + 1)),
            "row": self.row,
            "body": self.body,
            "query": lambda: one_of((self.random_fingerprint(), f"simhash({self.body()})", "NULL::bigint")),
            "distance": lambda: str(one_of((0, 1, 3, 3, 5, 8, 64))),
            "options": lambda: one_of(("NULL", "NULL", "'{\"ngram\": 1}'", self.values.jsonb())),
            "blocks": lambda: one_of("23448"),
            "bands": lambda: one_of(("1", "6", "6", "12", self.values.one("integer", "bands"))),
            "scope": lambda: one_of(("'{}'", "'{}'", "'{tenant}'", "'{tenant,id}'", self.values.one("text[]"))),
            "prefix": lambda: quote(one_of(PREFIXES)),
            "fingerprint": lambda: quote(one_of(("f", "f", *PREFIXES))),
            "action": lambda: one_of(("'reject'", "'skip'")),
            "source": lambda: one_of((*SOURCES, self.values.one("text", "source"))),
            "criterion": lambda: quote(one_of(CRITERIA)),
            "time": lambda: one_of(("BEFORE", "BEFORE", "AFTER")),
            "level": lambda: one_of(("ROW", "ROW", "STATEMENT")),
        }

    def fill(self, template):
        for name, part in self.parts.items():
            while "{" + name + "}" in template:
                template = template.replace("{" + name + "}", part(), 1)
        return template

    def run(self, template):
        return self.client.run(self.fill(template))

    def live(self, steps):
        self.create()
        for _ in range(steps):
            statements = self.rng.choice((COMMANDS, COMMANDS, WRITES, WRITES, CHANGES, SEARCHES))
            way = self.rng.random()
            if way < 0.1:
                self.in_transaction()
            elif way < 0.15:
                for (command,) in self.run("SELECT simhash_index_commands('{t}', {source}, {options}, {bands})") or ():
                    self.client.run(command)
            else:
                self.run(self.rng.choice(statements))
        self.run("DROP TABLE IF EXISTS {t} CASCADE")

    def create(self):
        rng = self.rng
        self.run("DROP TABLE IF EXISTS {t} CASCADE")
        partition_by, dropped = rng.choice(("", "", " PARTITION BY RANGE (id)")), rng.choice(("", "gone text, "))
        key, type = rng.choice(("", ", PRIMARY KEY (id)")), rng.choice(("text", "varchar(300)", "char(300)"))
        self.client.run(
            f"CREATE TABLE {self.t} ({dropped}id bigint, body {type}, f bigint, features text[], document tsvector,"
            f" tenant text, mark bigint{key}){partition_by}"
        )
        if dropped:
            self.run("ALTER TABLE {t} DROP gone")
        for n, (low, high) in enumerate(PARTITIONS if partition_by else ()):
            self.run(f"CREATE TABLE {{t}}_{n} PARTITION OF {{t}} FOR VALUES FROM ({low}) TO ({high})")
        for _ in range(rng.randint(0, 3)):
            self.run(WRITES[0])
        calls = "attach('{t}', 'f')", "attach('{t}', 'body')", "index('{t}', 'body')"
        for call in rng.sample(calls, rng.randint(0, 3)):
            self.run(f"SELECT simhash_{call}")

    def body(self):
        rng = self.rng
        if rng.random() < 0.1:
            return self.values.one("text")
        words = rng.choice(TEXTS).split()
        for _ in range(rng.choice((0, 0, 1, 1, 2, 9))):
            words[rng.randrange(len(words))] = f"other{rng.randint(1, 9)}"
        return quote(" ".join(words))

    def random_fingerprint(self):
        base = self.rng.choice((0, -1, 0x0123456789ABCDEF, 0x5555555555555555))
        bits = self.rng.sample(range(63), self.rng.choice((0, 1, 3, 6)))
        return f"({base} # {sum(1 << bit for bit in bits)})::bigint"

    def row(self):
        self.last += 1
        tenant = self.rng.choice(("'a'", "'b'", "NULL"))
        document = f"to_tsvector('simple', {self.body()})"
        row = self.body(), self.random_fingerprint(), self.values.one("text[]"), document, tenant
        return f"({self.last}, {', '.join(row)})"

    def in_transaction(self):
        isolation = self.rng.choice(("", " ISOLATION LEVEL REPEATABLE READ", " ISOLATION LEVEL SERIALIZABLE"))
        statements = ["BEGIN" + isolation]
        for _ in range(self.rng.randint(1, 4)):
            statement = self.rng.choice((*COMMANDS, *WRITES, *CHANGES[:-3]))
            statements += ["SAVEPOINT s", self.fill(statement), self.rng.choice(("ROLLBACK TO s", "RELEASE s"))]
        self.client.run_all([*statements, self.rng.choice(("COMMIT", "ROLLBACK"))])
