"""The life of a table: attached, filled, guarded, altered and detached in random order, with rows that are near each
other. At times its searches are compared with scans, and its fingerprints with those computed anew."""

from client import Failure
from values import Values, quote

TEXTS = tuple(" ".join(f"word{(i * 7 + n * 13) % 97}" for i in range(60)) for n in range(8))


class Table:
    """`client` runs the statements; the table is in `schema`."""

    def __init__(self, rng, client, schema):
        self.rng, self.client = rng, client
        self.values = Values(rng, 100)
        self.name = f"{schema}.{rng.choice(('life', chr(34) + 'a life' + chr(34), chr(34) + 'L' + 'x' * 60 + chr(34)))}"
        self.id = 0
        # Prefix to source, options and blocks, as they were attached.
        self.attached = {}
        self.guard = None

    def run(self, statement):
        return self.client.run(statement)

    def live(self, steps):
        self.create()
        ways = (
            [self.attach] * 3
            + [self.index] * 2
            + [self.detach]
            + [self.write] * 5
            + [self.put_guard] * 2
            + [self.unguard]
            + [self.alter] * 2
            + [self.search] * 5
            + [self.check] * 2
            + [self.layouts, self.in_transaction, self.maintain]
        )
        for _ in range(steps):
            self.rng.choice(ways)()
        self.check()
        self.run(f"DROP TABLE IF EXISTS {self.name} CASCADE")

    def create(self):
        rng = self.rng
        self.partitioned = rng.random() < 0.3
        self.run(f"DROP TABLE IF EXISTS {self.name} CASCADE")
        kind = rng.choice(("", "", "UNLOGGED "))
        key = ", PRIMARY KEY (id)" if rng.random() < 0.7 else ""
        by = " PARTITION BY RANGE (id)" if self.partitioned else ""
        options = (
            f" WITH (fillfactor = {rng.choice((10, 50, 100))})" if rng.random() < 0.2 and not self.partitioned else ""
        )
        gone = "gone text, " if rng.random() < 0.3 else ""
        self.run(
            f"CREATE {kind}TABLE {self.name} ({gone}id bigint, body"
            f" {rng.choice(('text', 'varchar', 'varchar(300)', 'char(300)'))},"
            f" f bigint, features text[], document tsvector, tenant text, mark bigint{key}){by}{options}"
        )
        if gone:
            self.run(f"ALTER TABLE {self.name} DROP gone")
        if self.partitioned:
            for n, (low, high) in enumerate((("MINVALUE", 20), (20, 100), (100, "MAXVALUE"))):
                self.run(f"CREATE TABLE {self.piece(n)} PARTITION OF {self.name} FOR VALUES FROM ({low}) TO ({high})")
        for _ in range(rng.randint(0, 3)):
            self.write()

    def piece(self, n):
        return self.name[:-1][:50] + f' {n}"' if self.name.endswith('"') else f"{self.name}_{n}"

    def body(self):
        rng = self.rng
        if rng.random() < 0.1:
            return self.values.one("text")
        words = rng.choice(TEXTS).split()
        for _ in range(rng.choice((0, 0, 1, 1, 2, 9))):
            words[rng.randrange(len(words))] = f"other{rng.randint(1, 9)}"
        return quote(" ".join(words))

    def fingerprint(self):
        base = self.rng.choice((0, -1, 0x0123456789ABCDEF, 0x5555555555555555))
        return (
            f"({base} # {sum(1 << bit for bit in self.rng.sample(range(63), self.rng.choice((0, 1, 3, 6))))})::bigint"
        )

    def row(self):
        self.id += 1
        id = self.id if self.rng.random() < 0.95 else self.rng.randint(-5, 200)
        tenant = self.rng.choice(("'a'", "'b'", "NULL"))
        fingerprint = self.fingerprint() if self.rng.random() < 0.9 else "NULL"
        document = f"to_tsvector('simple', {self.body()})"
        return f"({id}, {self.body()}, {fingerprint}, {self.values.one('text[]')}, {document}, {tenant})"

    def write(self):
        rng = self.rng
        id = rng.randint(1, max(self.id, 1))
        columns = "(id, body, f, features, document, tenant)"
        self.run(
            rng.choice(
                (
                    f"INSERT INTO {self.name} {columns} VALUES"
                    f" {', '.join(self.row() for _ in range(rng.randint(1, 8)))}",
                    f"INSERT INTO {self.name} {columns} VALUES {self.row()} ON CONFLICT DO NOTHING",
                    f"INSERT INTO {self.name} {columns} VALUES {self.row()} RETURNING *, tableoid::regclass",
                    f"INSERT INTO {self.name} {columns} SELECT id + {self.id + 1}, body, f, features, document,"
                    f" tenant FROM {self.name}",
                    f"UPDATE {self.name} SET body = {self.body()} WHERE id = {id}",
                    f"UPDATE {self.name} SET body = body || '.', f = f # 1 WHERE id % 3 = 0",
                    f"UPDATE {self.name} SET id = id + 50, tenant = 'c' WHERE id = {id}",
                    f"UPDATE {self.name} SET tenant = 'd' WHERE id < {id}",
                    f"DELETE FROM {self.name} WHERE id % 5 = {id % 5}",
                    f"TRUNCATE {self.name}" if rng.random() < 0.2 else f"DELETE FROM {self.name} WHERE id = {id}",
                )
            )
        )

    def options(self):
        return self.rng.choice(
            ("NULL", "NULL", "'{}'", "'{\"ngram\": 1}'", '\'{"tokens": "chars", "top": 20}\'', self.values.jsonb())
        )

    def prefix(self):
        return self.rng.choice(("simhash", "simhash", "p", 'Odd "one"', self.rng.choice(list(self.attached) or ["q"])))

    def source(self):
        return self.rng.choice(("body", "body", "body", "f", "features", "document", "tenant"))

    def scope(self):
        return self.rng.choice(("'{}'", "'{}'", "'{tenant}'", "'{tenant,id}'", "'{document}'", self.values.one("text[]")))

    def attach(self):
        source, options, prefix, blocks = self.source(), self.options(), self.prefix(), self.rng.choice((2, 3, 4, 4, 8))
        columns = self.rng.choice(("true", "true", "false", "NULL"))
        done = self.run(
            f"SELECT simhash_attach('{self.name}', '{source}', {options}, {blocks}, {self.scope()},"
            f" {columns}, {quote(prefix)})"
        )
        if done:
            if columns == "false":
                # Indexes on expressions: block columns with this prefix, if any, still have the source they had.
                self.attached.setdefault(prefix, (source, options, 0))
            else:
                self.attached[prefix] = (source, options, blocks)

    def index(self):
        commands = self.run(
            f"SELECT simhash_index_commands('{self.name}', '{self.source()}', {self.options()},"
            f" {self.rng.choice((2, 4, 5))}, {self.scope()}, {quote(self.prefix())})"
        )
        for (command,) in commands or ():
            self.run(command)

    def detach(self):
        prefix = self.prefix()
        if self.run(f"SELECT simhash_detach('{self.name}', {quote(prefix)})"):
            self.attached.pop(prefix, None)
            self.guard = None

    def put_guard(self):
        rng = self.rng
        action = rng.choice(("reject", "skip", "mark"))
        scope = rng.choice(("{}", "{}", "{tenant}", "{tenant,id}"))
        mark = "'mark'" if action == "mark" else "NULL"
        distance = rng.choice((0, 1, 3, 3, 6))
        column = rng.choice(("f", self.prefix()))
        resemblance = rng.choice(("null", "null", None, "0.84", "0", "1"))
        criterion = f'{{"max_distance": {distance}' + (f', "resemblance": {resemblance}}}' if resemblance else "}")
        if rng.random() < 0.5:
            self.run(f"TRUNCATE {self.name}")
        # Nothing is promised of the rows that are there.
        empty = self.run(f"SELECT 1 FROM {self.name} LIMIT 1") == []
        self.guard = None
        if (
            self.run(
                f"SELECT simhash_guard('{self.name}', '{action}', '{criterion}', '{scope}', mark_column => {mark},"
                f" fingerprint => {quote(column)})"
            )
            and empty
        ):
            # Of what a column is made, and so how its texts resemble each other, is not known here.
            if action != "mark" and scope == "{}" and (resemblance == "null" or column == "f"):
                self.guard = (column, distance)

    def unguard(self):
        self.guard = None
        self.run(f"SELECT simhash_unguard('{self.name}')")

    def alter(self):
        rng = self.rng
        self.guard = None
        table, column = self.name, rng.choice(("body", "f", "simhash", "simhash_0", "p", "tenant", "mark", "features"))
        statement = rng.choice(
            (
                f"ALTER TABLE {table} ADD extra integer DEFAULT 1",
                f"ALTER TABLE {table} DROP {column}",
                f"ALTER TABLE {table} DROP {column} CASCADE",
                f"ALTER TABLE {table} RENAME {column} TO renamed",
                f"ALTER TABLE {table} RENAME renamed TO {column}",
                f"ALTER TABLE {table} ALTER {column} TYPE {rng.choice(('text', 'bigint', 'varchar(500)', 'name'))}",
                f"ALTER TABLE {table} ALTER {column} DROP EXPRESSION",
                f"ALTER TABLE {table} DISABLE TRIGGER ALL",
                f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER ALL",
                f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
                f"ALTER TABLE {table} SET {rng.choice(('LOGGED', 'UNLOGGED'))}",
                f"ALTER TABLE {table} DETACH PARTITION {self.piece(0)}",
                f"ALTER TABLE {table} ATTACH PARTITION {self.piece(0)} FOR VALUES FROM (MINVALUE) TO (20)",
                f"ALTER TABLE {self.piece(1)} INHERIT {table}",
                f"CREATE TABLE {self.piece(5)} (LIKE {table} INCLUDING ALL)",
                f"DROP TABLE {self.piece(5)}",
                f"CREATE OR REPLACE VIEW hostile.on_life AS SELECT * FROM {table}",
                f"CREATE INDEX ON {table} ({column})",
                f"CREATE INDEX ON {table} (simhash_block(f, 0), simhash_block(f, 1, 2))",
                f"ALTER TABLE {table} OWNER TO hostile_user",
                f"CREATE TRIGGER own BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION"
                f" suppress_redundant_updates_trigger()",
                f"DROP TRIGGER own ON {table}",
            )
        )
        if self.run(statement) is not None:
            # Which column is what, and which rows have what the trigger would give them, is not known any more.
            self.attached.clear()

    def search(self):
        rng = self.rng
        column = rng.choice((*self.attached, "f", "simhash"))
        quoted = '"' + column.replace('"', '""') + '"'
        query = rng.choice((self.fingerprint(), f"simhash({self.body()})", "NULL::bigint", self.values.bigint()))
        distance = rng.choice((0, 1, 3, 3, 5, 8, 64))
        select = rng.choice(
            (
                f"SELECT id, f, {quoted} FROM {self.name} WHERE simhash_near({quoted}, {query}, {distance})",
                f"SELECT count(*) FROM {self.name} WHERE simhash_near({quoted}, {query}, {distance}) AND id > 3",
                f"SELECT a.id, b.id FROM {self.name} a JOIN {self.name} b ON simhash_near(a.{quoted}, b.{quoted},"
                f" {min(distance, 8)}) AND a.id < b.id",
                f"SELECT q.n, t.id FROM (VALUES (1, {query}), (2, {self.fingerprint()})) AS q (n, f) LEFT JOIN LATERAL"
                f" (SELECT id FROM {self.name} WHERE simhash_near({quoted}, q.f, {distance})) AS t ON true",
                f"DELETE FROM {self.name} WHERE simhash_near({quoted}, {query}, {distance}) RETURNING id",
                f"UPDATE {self.name} SET tenant = 'near' WHERE simhash_near({quoted}, {query}, {distance})"
                f" RETURNING id",
            )
        )
        found = []
        for scan in ("off", "on"):
            if self.run("BEGIN") is None:
                return
            self.run(f"SET LOCAL enable_seqscan = {scan}")
            if scan == "on":
                self.run("SET LOCAL enable_indexscan = off")
                self.run("SET LOCAL enable_bitmapscan = off")
            elif rng.random() < 0.5:
                self.run("SET LOCAL plan_cache_mode = force_generic_plan")
            found.append(self.run(select))
            self.run("ROLLBACK")
        # An error may come in one plan and not in the other: a time limit.
        if None not in found and sorted(found[0], key=repr) != sorted(found[1], key=repr):
            raise Failure(f"an index finds {len(found[0])} rows, a scan {len(found[1])}: {select}")

    def check(self):
        for prefix, (source, options, blocks) in self.attached.items():
            prefix = prefix.replace('"', '""')
            call = {"f": "f", "features": "simhash(features)", "document": "simhash(document)"}.get(source)
            if call is None:
                call = (
                    f"simhash({source}::text)" if options == "NULL" else f"simhash({source}::text, ({options})::jsonb)"
                )
            right = [] if source == "f" else [f'"{prefix}" IS NOT DISTINCT FROM {call}']
            for block in range(blocks):
                right.append(f'"{prefix}_block{block}" IS NOT DISTINCT FROM simhash_block({call}, {block}, {blocks})')
            self.client.hold(f"SELECT coalesce(bool_and({' AND '.join(right)}), true) FROM {self.name}", "table")
        if self.guard:
            column, distance = self.guard
            column = '"' + column.replace('"', '""') + '"'
            self.client.hold(
                f"SELECT NOT EXISTS (SELECT FROM {self.name} a, {self.name} b WHERE a.id < b.id"
                f" AND hamming(a.{column}, b.{column}) <= {distance})",
                "guard",
            )

    def layouts(self):
        self.run(
            f"SELECT * FROM simhash_layouts('{self.name}', {quote(self.rng.choice(('f', 'simhash', 'body')))},"
            f" {self.values.integer('max_distance')}, {self.scope()})"
        )

    def maintain(self):
        self.run(
            self.rng.choice(
                (
                    f"VACUUM {self.name}",
                    f"ANALYZE {self.name}",
                    f"VACUUM FULL {self.name}",
                    f"REINDEX TABLE {self.name}",
                    f"CLUSTER {self.name} USING {self.name.split('.')[1].strip(chr(34))}_pkey",
                    "DISCARD PLANS",
                    f"LOCK TABLE {self.name}",
                )
            )
        )

    def in_transaction(self):
        """Some of it is undone, and so is what is known of the table."""
        rng = self.rng
        before = dict(self.attached), self.guard
        isolation = rng.choice(("", " ISOLATION LEVEL REPEATABLE READ", " ISOLATION LEVEL SERIALIZABLE"))
        if self.run("BEGIN" + isolation) is None:
            return
        for _ in range(rng.randint(1, 4)):
            self.run("SAVEPOINT s")
            rng.choice((self.attach, self.detach, self.put_guard, self.write, self.write, self.index))()
            self.run("ROLLBACK TO s" if rng.random() < 0.4 else "RELEASE s")
        self.run("ROLLBACK")
        self.attached, self.guard = before


def triggers(rng, values, functions):
    """A trigger with arguments, on a table and at a time, that are hardly ever right; and what fires it."""
    function = rng.choice([f for f in functions if f.result == "trigger"])
    relation = rng.choice(
        (
            "hostile.plain", "hostile.no_key", "hostile.partitioned", "hostile.partition_1", "hostile.viewed",
            "hostile.attached", "hostile.guarded", "hostile.foreign_table", "hostile.dropped_columns", "hostile.child",
            "hostile.secured", "hostile.generated_columns", "hostile.no_columns", 'hostile."odd "" \'name\'"',
            "hostile.updatable", "hostile.wide",
        )
    )
    time = rng.choice(("BEFORE", "BEFORE", "BEFORE", "AFTER", "INSTEAD OF"))
    event = rng.choice(
        ("INSERT", "INSERT OR UPDATE", "INSERT OR UPDATE", "UPDATE OF body", "DELETE", "TRUNCATE", "INSERT OR DELETE")
    )
    level = rng.choice(("ROW", "ROW", "ROW", "STATEMENT"))
    right = ("reject", "3", "simhash", "", "f") if function.name == "simhash_dedup" else ()
    arguments = [
        (
            quote(right[n])
            if n < len(right) and rng.random() < 0.8
            else quote(values.characters()[:70].replace("\x00", ""))
        )
        for n in range(rng.choice((0, 1, 2, 3, 3, 3, 4, 5, 9)))
    ]
    constraint = rng.random() < 0.1
    transitions = " REFERENCING NEW TABLE AS new_rows" if rng.random() < 0.1 and not constraint else ""
    when = rng.choice(("", "", "", " WHEN (pg_trigger_depth() < 3)"))
    create = (
        f"CREATE {'CONSTRAINT ' if constraint else ''}TRIGGER aaa {time} {event} ON {relation}"
        f"{' DEFERRABLE INITIALLY DEFERRED' if constraint else ''}{transitions} FOR EACH {level}{when}"
        f" EXECUTE FUNCTION {function.schema}.{function.name}({', '.join(arguments)})"
    )
    n = rng.randint(1, 29)
    fire = (
        f"INSERT INTO {relation} (id, body) VALUES ({n + 1000}, {values.one('text')})",
        f"UPDATE {relation} SET body = {values.one('text')}",
        f"UPDATE {relation} SET id = id + 1",
        f"DELETE FROM {relation} WHERE id = {n}",
        f"TRUNCATE {relation} CASCADE",
        f"INSERT INTO {relation} DEFAULT VALUES",
        f"COPY {relation} TO STDOUT",
        f"INSERT INTO {relation} SELECT * FROM {relation} ON CONFLICT DO NOTHING",
        f"ALTER TABLE {relation} DROP {rng.choice(('f', 'body', 'simhash'))}, ADD again bigint",
        f"MERGE INTO {relation} AS t USING hostile.rows AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET body = s.t",
    )
    statements = ["BEGIN", create]
    for _ in range(rng.randint(1, 4)):
        statements += ["SAVEPOINT s", rng.choice(fire), rng.choice(("RELEASE s", "ROLLBACK TO s"))]
    return [*statements, "SET CONSTRAINTS ALL IMMEDIATE", "ROLLBACK"]
