"""The life of a table: attached, indexed, filled, searched, guarded, altered and detached in random order, in
transactions that are partly undone."""

from choice import choose
from values import Values, quote

TEXTS = tuple(" ".join(f"word{(word * 7 + text * 13) % 97}" for word in range(60)) for text in range(8))
COLUMNS = "body", "body", "f", "features", "document", "tenant", "simhash", "p", "mark", "renamed"
PREFIXES = "simhash", "simhash", "p", 'Odd "one"'
CRITERIA = "{}", '{"max_distance": 3, "resemblance": null}', '{"resemblance": 0.7}', '{"bands": 1}', '{"ngram": 1}'
SOURCES = "'body'", "'body'", "'f'", "'simhash'", "NULL"
SCOPES = "'{}'", "'{}'", "'{tenant}'", "'{tenant,id}'"
PARTITIONS = ("MINVALUE", 20), (20, 100), (100, "MAXVALUE")

# {table} is the table. {column} is any column, and {fingerprint_column} one with fingerprints. The other names in
# braces are keys of Table.parts, each with a function that draws a value.
COMMANDS = (
    *2 * ("SELECT simhash_attach('{table}', '{column}', {options}, {blocks}, {scope}, {prefix})",),
    *2 * ("SELECT simhash_index('{table}', {source}, {options}, {bands}, {scope})",),
    *2 * ("SELECT simhash_guard('{table}', {action}, {criterion}, {scope}, source => {source})",),
    "SELECT simhash_guard('{table}', 'mark', {criterion}, {scope}, mark_column => 'mark', source => {source})",
    "SELECT simhash_detach('{table}', {prefix})",
    "SELECT simhash_unguard('{table}')",
    "SELECT * FROM simhash_layouts('{table}', {fingerprint}, {distance}, {scope})",
    "SELECT * FROM simhash_preview('{table}', {criterion}, {scope}, source => {source})",
)
WRITES = (
    *3 * ("INSERT INTO {table} (id, body, f, features, document, tenant) VALUES {row}, {row}, {row}",),
    "INSERT INTO {table} (id, body, f, features, document, tenant) VALUES {row} ON CONFLICT DO NOTHING",
    "INSERT INTO {table} (id, body, f, tenant) SELECT id + 60, body, f, tenant FROM {table}"
    " RETURNING *, tableoid::regclass",
    "UPDATE {table} SET body = {body} WHERE id = {id}",
    "UPDATE {table} SET body = body || '.', f = f # 1 WHERE id % 3 = 0",
    "UPDATE {table} SET id = id + 50, tenant = 'c' WHERE id = {id}",
    "DELETE FROM {table} WHERE id % 5 = {id} % 5",
    "MERGE INTO {table} AS target USING hostile.rows ON target.id = rows.id WHEN MATCHED THEN UPDATE SET"
    " body = left(text_value, 300)",
)
ALTERATIONS = (
    "ADD extra integer DEFAULT 1", "DROP {column}", "DROP {column} CASCADE", "RENAME {column} TO renamed",
    "RENAME renamed TO {column}", "ALTER {column} TYPE text", "ALTER {column} TYPE bigint",
    "ALTER {column} DROP EXPRESSION", "DISABLE TRIGGER ALL", "ENABLE ALWAYS TRIGGER ALL", "ENABLE ROW LEVEL SECURITY",
    "DETACH PARTITION {table}_0", "ATTACH PARTITION {table}_0 FOR VALUES FROM (MINVALUE) TO (20)",
    "OWNER TO hostile_user",
)
CHANGES = (
    *(f"ALTER TABLE {{table}} {alteration}" for alteration in ALTERATIONS),
    "CREATE OR REPLACE VIEW hostile.on_life AS SELECT * FROM {table}",
    "CREATE INDEX ON {table} (simhash_block(f, 0), simhash_block(f, 1, 2))",
    "CREATE INDEX ON {table} (simhash_band(body, 0), simhash_size(body), simhash(body))",
    "CREATE OR REPLACE TRIGGER own {time} INSERT OR UPDATE ON {table} FOR EACH {level} EXECUTE FUNCTION"
    " simhash_dedup({action}, {criterion}, {source})",
    "DROP TRIGGER own ON {table}",
)
MAINTENANCE = "VACUUM FULL {table}", "REINDEX TABLE {table}", "ANALYZE {table}"
SEARCHES = (
    "SELECT id, f FROM {table} WHERE simhash_near({fingerprint_column}, {query}, {distance})",
    "SELECT a.id, b.id FROM {table} AS a JOIN {table} AS b"
    " ON simhash_near(a.{fingerprint_column}, b.{fingerprint_column}, 4) AND a.id < b.id",
    "DELETE FROM {table} WHERE simhash_near({fingerprint_column}, {query}, {distance}) RETURNING id",
    "SELECT id FROM {table} WHERE simhash_near(body, {body}, {criterion})",
    "SELECT a.id, b.id FROM {table} AS a JOIN {table} AS b ON simhash_near(a.body, b.body) AND a.id < b.id",
)


class Table:
    """The table `life` of a schema. Methods fill templates with random parts, and run them by the client."""

    def __init__(self, rng, client, schema):
        self.rng, self.client, self.values = rng, client, Values(rng, 100)
        self.name = f"{schema}.life"
        self.last_id = 0
        one_of = rng.choice
        self.parts = {
            "table": lambda: self.name,
            "column": lambda: one_of(COLUMNS),
            "fingerprint_column": lambda: one_of(("f", "simhash", "p")),
            "id": lambda: str(rng.randint(1, self.last_id + 1)),
            "row": self.row,
            "body": self.body,
            "query": lambda: one_of((self.random_fingerprint(), f"simhash({self.body()})", "NULL::bigint")),
            "distance": lambda: str(one_of((0, 1, 3, 3, 5, 8, 64))),
            "options": lambda: one_of(("NULL", "NULL", "'{\"ngram\": 1}'", self.values.jsonb())),
            "blocks": lambda: one_of("23448"),
            "bands": lambda: one_of(("1", "6", "6", "12", self.values.value_or_null("integer", "bands"))),
            "scope": lambda: one_of((*SCOPES, self.values.value_or_null("text[]"))),
            "prefix": lambda: quote(one_of(PREFIXES)),
            "fingerprint": lambda: quote(one_of(("f", "f", *PREFIXES))),
            "action": lambda: one_of(("'reject'", "'skip'")),
            "source": lambda: one_of((*SOURCES, self.values.value_or_null("text", "source"))),
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

    def run_random_steps(self, count):
        self.create()
        for _ in range(count):
            choose(self.rng, (85, self.run_one), (10, self.run_in_transaction), (5, self.run_index_commands))
        self.run("DROP TABLE IF EXISTS {table} CASCADE")

    def create(self):
        rng = self.rng
        self.run("DROP TABLE IF EXISTS {table} CASCADE")
        partition_by, dropped = rng.choice(("", "", " PARTITION BY RANGE (id)")), rng.choice(("", "gone text, "))
        key, type = rng.choice(("", ", PRIMARY KEY (id)")), rng.choice(("text", "varchar(300)", "char(300)"))
        self.client.run(
            f"CREATE TABLE {self.name} ({dropped}id bigint, body {type}, f bigint, features text[], document tsvector,"
            f" tenant text, mark bigint{key}){partition_by}"
        )
        if dropped:
            self.run("ALTER TABLE {table} DROP gone")
        for number, (low, high) in enumerate(PARTITIONS if partition_by else ()):
            self.run(f"CREATE TABLE {{table}}_{number} PARTITION OF {{table}} FOR VALUES FROM ({low}) TO ({high})")
        for _ in range(rng.randint(0, 3)):
            self.run(WRITES[0])
        calls = "attach('{table}', 'f')", "attach('{table}', 'body')", "index('{table}', 'body')"
        for call in rng.sample(calls, rng.randint(0, 3)):
            self.run(f"SELECT simhash_{call}")

    def body(self):
        rng = self.rng
        if rng.random() < 0.1:
            return self.values.value_or_null("text")
        words = rng.choice(TEXTS).split()
        for _ in range(rng.choice((0, 0, 1, 1, 2, 9))):
            words[rng.randrange(len(words))] = f"other{rng.randint(1, 9)}"
        return quote(" ".join(words))

    def random_fingerprint(self):
        first = self.rng.choice((0, -1, 0x0123456789ABCDEF, 0x5555555555555555))
        bits = self.rng.sample(range(63), self.rng.choice((0, 1, 3, 6)))
        return f"({first} # {sum(1 << bit for bit in bits)})::bigint"

    def row(self):
        self.last_id += 1
        tenant = self.rng.choice(("'a'", "'b'", "NULL"))
        document = f"to_tsvector('simple', {self.body()})"
        row = self.body(), self.random_fingerprint(), self.values.value_or_null("text[]"), document, tenant
        return f"({self.last_id}, {', '.join(row)})"

    def run_one(self):
        statements = self.rng.choice((COMMANDS, COMMANDS, WRITES, WRITES, (*CHANGES, *MAINTENANCE), SEARCHES))
        self.run(self.rng.choice(statements))

    def run_index_commands(self):
        commands = self.run("SELECT simhash_index_commands('{table}', {source}, {options}, {bands})")
        for (command,) in commands or ():
            self.client.run(command)

    def run_in_transaction(self):
        isolation = self.rng.choice(("", " ISOLATION LEVEL REPEATABLE READ", " ISOLATION LEVEL SERIALIZABLE"))
        statements = ["BEGIN" + isolation]
        for _ in range(self.rng.randint(1, 4)):
            # PostgreSQL refuses some of the commands of MAINTENANCE in a transaction.
            statement = self.rng.choice((*COMMANDS, *WRITES, *CHANGES))
            statements += ["SAVEPOINT s", self.fill(statement), self.rng.choice(("ROLLBACK TO s", "RELEASE s"))]
        self.client.run_all([*statements, self.rng.choice(("COMMIT", "ROLLBACK"))])
