"""Random queries with `simhash_near` wherever a query may have a condition.

A condition is written `«fingerprint¦query¦distance»`, so that one text gives several queries, with conditions that
are written differently and mean the same.
"""

import re
from dataclasses import dataclass

from tables import views

CALL = re.compile("«(.*?)¦(.*?)¦(.*?)»")
SETTINGS = {
    "enable_bitmapscan = off": 5, "enable_indexscan = off": 8, "enable_nestloop = off": 6, "enable_hashjoin = off": 3,
    "enable_mergejoin = off": 3, "enable_material = off": 5, "enable_memoize = off": 3, "enable_hashagg = off": 3,
    "enable_sort = off": 6, "enable_partition_pruning = off": 5, "enable_partitionwise_join = on": 3,
    "enable_partitionwise_aggregate = on": 3, "constraint_exclusion = on": 3, "join_collapse_limit = 1": 5,
    "from_collapse_limit = 1": 5,
}

# How a statement runs: prepared, within an object, on a table with something more, or plainly.
KINDS = (
    *5 * ("prepared",), "cursor", "view", "function", *2 * ("row security",), "forced row security", "check",
    "partial index", *6 * ("plain",),
)


@dataclass
class Case:
    """A statement, the statements before it, and a query that shows what it did if it does not return that itself."""

    before: list
    statement: str
    after: str

    def spelled(self, call):
        """The statements before, the statement, and the query, with each condition written by `call` from its three
        arguments."""
        spell = lambda text: CALL.sub(lambda found: call(*found.groups()), text)
        return [spell(text) for text in self.before], spell(self.statement), self.after


@dataclass
class Alias:
    """A name in FROM with the columns `id`, `tag`, `k` and `fp`; and the expression that computes the fingerprint, if
    the query may use it."""

    name: str
    expression: str = None
    # Its texts, if the fingerprints are made from one.
    texts: tuple = ()

    @classmethod
    def of(cls, table, name):
        return cls(name, table.expression(f"{name}."), table.texts(f"{name}."))


class Queries:
    """Makes queries of the tables `t` and `u`, and of views of them."""

    def __init__(self, rng, values, t, u):
        self.rng, self.values, self.t, self.u = rng, values, t, u
        self.views = [*views(t)]
        # The types and the values of the parameters of a statement that is to be prepared.
        self.parameters = None
        # Sub-selects may not read `t` in a policy of `t`.
        self.t_is_known = True

    def one_of(self, *choices):
        return self.rng.choice(choices)

    def one_in(self, n):
        return self.rng.randrange(n) == 0

    def settings(self):
        """Random settings of the planner, as statements."""
        return [f"SET LOCAL {setting}" for setting, n in SETTINGS.items() if self.one_in(n)]

    def parameter(self, type, value):
        if self.parameters is None:
            return value
        self.parameters.append((type, value))
        return f"${len(self.parameters)}"

    def known_distance(self):
        if self.one_in(30):
            return self.one_of("-1", "-2147483648", "2147483647", "NULL::integer")
        return str(self.rng.randrange(self.one_of(4, 9, 9, 9, 21, 21, 71)))

    def distance(self, others):
        way, id = self.rng.randrange(20), self.rng.randint(1, 30)
        if way < 10:
            return self.known_distance()
        if way == 13 and self.parameters is None:
            return f"(SELECT k FROM u WHERE id = {id} AND tag = 1 LIMIT 1)"
        if way in (14, 15) and others:
            return self.one_of("{}.k", "{}.k", "{}.k + 1").format(self.rng.choice(others).name)
        if way == 16:
            # A stable function: the planner estimates its value.
            return f"(extract(year FROM now())::integer - extract(year FROM now())::integer + {id % 6})"
        if way == 17 and self.one_in(40):
            return self.parameter("integer", str(id * 2))
        if way >= 17:
            return self.parameter("integer", self.one_of("0", "1", "2", "3", "5", "6", "-1", "12", "NULL"))
        return "3"

    def query(self, others):
        id = self.rng.randint(1, 30)
        if others and self.rng.random() < 0.6:
            forms = (*4 * ("{}.fp",), "coalesce({}.fp, bigint '0')", "({}.fp # bigint '3')")
            return self.one_of(*forms).format(self.rng.choice(others).name)
        way = self.rng.randrange(12)
        if way == 0:
            return f"(SELECT fp FROM u WHERE id = {id} LIMIT 1)"
        if way == 1 and self.t_is_known:
            return f"(SELECT max(fp) FROM t WHERE id <= {id} AND tag = 2)"
        if way == 2 and self.one_in(4):
            return "NULL::bigint"
        if way == 3 and self.one_in(4):
            return f"({self.values.fingerprint()} + (random() * 0)::bigint)"
        if way == 4 and others:
            return f"(SELECT fp FROM u AS correlated WHERE correlated.id = {self.rng.choice(others).name}.id LIMIT 1)"
        return self.parameter("bigint", self.values.fingerprint())

    def near(self, *aliases):
        alias = self.rng.choice(aliases)
        others = [other for other in aliases if other is not alias]
        fingerprint = f"{alias.name}.fp"
        if alias.expression and self.one_in(4):
            fingerprint = alias.expression
        elif self.one_in(12):
            fingerprint = f"coalesce({fingerprint}, bigint '7')"
        sides = [fingerprint, self.query(others)]
        if self.one_in(4):
            sides.reverse()
        near = f"«{sides[0]}¦{sides[1]}¦{self.distance(others)}»"
        is_compared = alias.texts and self.rng.randrange(4) > 0
        return self.compared(near, self.one_of(*alias.texts), others) if is_compared else near

    def compared(self, near, text, others):
        """A condition that compares texts, alone or together with another one."""
        other_texts = [text for other in others for text in other.texts]
        if other_texts and self.one_in(2):
            other = self.one_of(*other_texts)
        elif self.one_in(9):
            known = (self.t, self.u) if self.t_is_known else (self.u,)
            tables = [table.name for table in known if table.source == "text"]
            row_texts = [f"(SELECT raw FROM {table} WHERE id = {self.rng.randint(1, 30)} LIMIT 1)" for table in tables]
            other = self.one_of("NULL", *3 * row_texts)
        else:
            other = self.parameter("text", self.values.text())
        least = self.parameter("double precision", self.one_of("0.84", "0.5", "0.3", "1", "0", "2", "NULL::float8"))
        options = self.one_of("", "", """, '{"same": ["numbers"]}'""", """, '{"ngram": 2}'""")
        criterion = self.one_of(
            *3 * ("",), "'{}'", "'{\"bands\": 2}'", "'{\"resemblance\": 0.7}'::jsonb",
            *3 * ("'{\"resemblance\": 0.3, \"bands\": 6}'",), "'{\"resemblance\": 0.9, \"same\": [\"numbers\"]}'",
            "'{\"ngram\": 2, \"resemblance\": 0.2, \"bands\": 6}'",
            "'{\"ngram\": 2, \"bands\": 1, \"resemblance\": 0.01}'",
        )
        a, b = (text, other) if self.one_in(2) else (other, text)
        call = f"simhash_near({a}, {b}{criterion and f', {criterion}'})"
        return self.one_of(
            *6 * (call,),
            f"({near} AND {call})",
            f"({near} AND {least} < simhash_resemblance({a}, {b}{options}))",
            f"({near} AND simhash_resemblance({a}, {b}{options}) >= {least})",
        )

    def condition(self, *aliases, depth=1):
        if depth == 0 or self.one_in(2):
            return self.near(*aliases)
        alias = self.rng.choice(aliases)
        name, other = alias.name, self.rng.choice(aliases).name
        more = lambda: self.condition(*aliases, depth=depth - 1)
        first, negated = more(), self.one_of("", "NOT ")
        match self.rng.randrange(14):
            case 0:
                return f"({first} AND {more()})"
            case 1:
                return f"({first} OR {more()})"
            case 2:
                return f"(NOT {first})"
            case 3:
                return f"({first} IS {negated}{self.one_of('TRUE', 'FALSE', 'NULL', 'UNKNOWN')})"
            case 4:
                return f"CASE WHEN {first} THEN {name}.tag > 0 ELSE {name}.id % 5 = 0 END"
            case 5:
                value = self.one_of("1", "ANY ('{1}')", "ANY (ARRAY[NULL, 1])", "ANY (ARRAY[1 + (SELECT 1)])")
                return f"({name}.tag = {value} AND {first})"
            case 6:
                return f"({name}.id < 4 OR {first})"
            case 7:
                return f"({first} OR {name}.fp IS NULL)"
            case 8:
                relation = self.one_of("u", "alike", "alike", *(("t", "plain") if self.t_is_known else ()))
                exists = f"EXISTS (SELECT FROM {relation} AS e WHERE e.id = {name}.id AND {self.near(Alias('e'))})"
                return f"({name}.id < 0 OR {negated}{exists})"
            # A scope whose value comes from a join.
            case 9:
                return f"({name}.tag = {other}.tag AND {first})"
            case 10:
                return f"({name}.tag = {other}.tag AND {name}.k = {other}.k + 1 AND {first})"
            # A semi-join or an anti-join with another equality, which may be a hash join.
            case 11 | 12:
                return (
                    f"{negated}EXISTS (SELECT FROM {self.one_of('u', 'alike')} AS e WHERE e.tag = {name}.tag"
                    f" AND e.id < {name}.id AND {self.near(Alias('e'), alias)})"
                )
        return f"({name}.id <= 40 AND {first})"

    def alias(self, name):
        """An item of FROM, and what a query knows of it."""
        way = self.rng.randrange(24)
        if way < 13:
            table = self.t if way < 10 else self.u
            return f"{table.name} AS {name}", Alias.of(table, name)
        near = self.near(Alias("s"))
        derived = (
            "ONLY t",
            f"(SELECT id, tag, k, fp FROM t AS s WHERE {near} ORDER BY id LIMIT 20)",
            "(SELECT DISTINCT id, tag, k, fp FROM t)",
            f"(SELECT id, k, tag, fp FROM t AS s WHERE {near} OFFSET 0)",
            "(SELECT id, k, fp, row_number() OVER (PARTITION BY fp ORDER BY id) AS tag FROM t)",
            f"(SELECT id, tag, k, fp FROM t UNION SELECT id, tag, k, fp FROM u AS s WHERE {near})",
        )
        return f"{derived[way - 13] if way < 19 else self.rng.choice(self.views)} AS {name}", Alias(name)

    def items(self):
        """FROM with one to three items, and what a query knows of them."""
        source, first = self.alias("a")
        aliases = [first]
        while len(aliases) < 3 and self.one_in(2 * len(aliases)):
            name = "abc"[len(aliases)]
            relation, alias = self.alias(name)
            join = self.one_of("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
            near, equal = self.condition(aliases[-1], alias), f"{aliases[-1].name}.id = {name}.id"
            way = self.rng.randrange(3)
            if way == 0 and join == "FULL JOIN" or way == 1:
                condition = equal
            elif join == "FULL JOIN" or name == "c":
                condition = f"{equal} AND {near}"
            else:
                condition = near
            aliases.append(alias)
            source += f" {join} {relation} ON {condition}"
        return source, aliases

    def select(self):
        source, aliases = self.items()
        columns = ", ".join(f"{alias.name}.{column}" for alias in aliases for column in ("id", "tag", "k", "fp"))
        condition = self.condition(*aliases, depth=self.one_of(0, 0, 1, 2))
        name = self.rng.choice(aliases).name
        inner, of_inner = self.alias("s")
        inside = (*aliases, of_inner)
        negated, near = self.one_of("", "NOT "), self.near(*aliases)
        match self.rng.randrange(18):
            case 5:
                return f"SELECT {columns}, {near}, {condition} FROM {source}"
            case 6:
                return (
                    f"SELECT {columns} FROM {source} WHERE {condition}"
                    f" ORDER BY {name}.fp <~> {self.values.fingerprint()}, {columns} LIMIT {self.rng.randrange(10)}"
                )
            case 7 | 8:
                found = f"EXISTS (SELECT FROM {inner} WHERE {self.condition(*inside)})"
                return f"SELECT {columns} FROM {source} WHERE {negated}{found}"
            case 9:
                found = f"(SELECT s.id FROM {inner} WHERE {self.condition(*inside)})"
                return f"SELECT {columns} FROM {source} WHERE {name}.id {negated}IN {found}"
            case 10:
                return f"SELECT {columns}, (SELECT count(*) FROM {inner} WHERE {self.near(*inside)}) FROM {source}"
            case 11:
                return (
                    f"SELECT {columns}, found.* FROM {source} {self.one_of('LEFT JOIN', 'JOIN')} LATERAL"
                    f" (SELECT s.* FROM (SELECT id, tag, k, fp FROM {inner}) AS s"
                    f" WHERE {self.condition(*aliases, Alias('s'))}"
                    f" ORDER BY s.fp <~> {name}.fp, s.id, s.tag, s.k, s.fp LIMIT {self.rng.randrange(4)})"
                    " AS found ON true"
                )
            case 12:
                sets = self.one_of(
                    "{0}.fp, {0}.k, {0}.tag, {0}.id",
                    "ROLLUP ({0}.fp, {0}.tag, {0}.k, {0}.id)",
                    "GROUPING SETS (({0}.fp, {0}.id), ({0}.tag), ({0}.k, {0}.fp), ())",
                    "CUBE ({0}.fp, {0}.k), {0}.id, {0}.tag",
                ).format(name)
                having = self.condition(Alias(name)) + self.one_of("", " OR count(*) > 1", " AND count(*) < 3")
                return (
                    f"SELECT {name}.fp, {name}.tag, count(*), {self.near(Alias(name))} FROM {source} GROUP BY {sets}"
                    f" HAVING {having}"
                )
            case 13:
                return (
                    f"WITH found AS {self.one_of('', 'MATERIALIZED', 'NOT MATERIALIZED')} (SELECT {name}.id,"
                    f" {name}.tag, {name}.k, {name}.fp FROM {source} WHERE {condition})"
                    f" SELECT * FROM found WHERE {self.near(Alias('found'))}"
                    " AND found.id NOT IN (SELECT id FROM found WHERE tag = 2)"
                )
            case 14:
                (a, of_a), (b, of_b) = self.alias("a"), self.alias("b")
                return (
                    f"SELECT a.id, a.tag, a.k, a.fp FROM {a} WHERE {self.near(of_a)}"
                    f" {self.one_of('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT')}"
                    f" SELECT b.id, b.tag, b.k, b.fp FROM {b} WHERE {self.near(of_b)}"
                )
            case 15:
                return (
                    "WITH RECURSIVE found AS (SELECT a.id, a.fp FROM t AS a WHERE a.id = 1 UNION"
                    f" SELECT b.id, b.fp FROM found AS f JOIN {inner} ON «s.fp¦f.fp¦{self.known_distance()}»"
                    " JOIN t AS b ON b.id = s.id) SELECT * FROM found"
                )
            case 16:
                found = f"EXISTS (SELECT FROM {inner} WHERE s.id = {name}.id AND {self.condition(*inside)})"
                return f"SELECT {columns}, {negated}{found} FROM {source}"
            # A sub-select that an arm of a set operation returns.
            case 17:
                (first, _), (second, of_second) = self.alias("e"), self.alias("f")
                if self.one_in(2):
                    second, of_second = "alike AS f", Alias("f")
                other = self.one_of("SELECT id, false FROM u", "SELECT id, tag = 1 FROM t", "SELECT 1, NULL")
                return (
                    f"SELECT {columns}, arms.found FROM {source}, (SELECT e.id, EXISTS (SELECT FROM {second}"
                    f" WHERE f.id = e.id AND {self.near(of_second)}) AS found FROM {first}"
                    f" {self.one_of('UNION ALL', 'UNION ALL', 'UNION')} {other}) AS arms"
                    f" WHERE arms.id = {name}.id AND ({near} OR {name}.id < 20)"
                )
        return f"SELECT {columns} FROM {source} WHERE {condition}"

    def ordered(self):
        """A query with an order by distance. Rows at the same distance may come in any order, so only distances are
        returned in order."""
        source, alias = self.alias("a")
        fingerprint, query = alias.expression or "a.fp", self.query([])
        conditions = ""
        match self.rng.randrange(6):
            case 0:
                conditions = f"WHERE «{fingerprint}¦{query}¦{self.known_distance()}»"
            case 1 if self.parameters is None:
                conditions = f"WHERE {self.condition(alias)}"
            case 2:
                conditions = "WHERE a.tag < 3"
        forms = "hamming({0}, {1})", "{0} <~> {1}", "{1} <~> {0}", "{1} <~> {0}"
        distance = lambda query: self.one_of(*forms).format(query, fingerprint)
        shown = distance(query)
        limit = self.one_of("", *2 * (f"LIMIT {self.rng.randrange(40)}",))
        match self.rng.randrange(12):
            case 0 | 1:
                return f"SELECT min({shown}), max({shown}), count(*) FROM {source} {conditions}"
            case 2:
                return f"SELECT DISTINCT ON (d) {shown} AS d FROM {source} {conditions} ORDER BY d"
            case 3:
                return f"SELECT a.id, a.tag, a.fp, {shown} AS d FROM {source} {conditions} ORDER BY d, a.id"
            case 4:
                order = f"d {self.one_of('DESC', 'NULLS FIRST', 'DESC NULLS LAST')} {limit}"
            case 5 | 6:
                others, other = self.alias("b")
                nearest = distance(f"{other.name}.fp")
                return (
                    f"SELECT b.id, b.fp, s.d FROM {others} CROSS JOIN LATERAL (SELECT {nearest} AS d FROM {source}"
                    f" {conditions} ORDER BY d LIMIT {self.rng.randrange(4)}) AS s WHERE b.id < 30"
                )
            case _:
                order = f"d {limit}"
        return f"SELECT array_agg(s.d) FROM (SELECT {shown} AS d FROM {source} {conditions} ORDER BY {order}) AS s"

    def change(self):
        """A statement that changes `t`, and a query that shows what it did if it does not return that itself."""
        t, one_row = Alias.of(self.t, "x"), Alias("b")
        source, other = self.alias("b")
        condition, shown = self.condition(t), self.near(t)
        fp = "fp" if self.t.expression() == "fp" else "raw"
        changes = "tag = 1", "tag = x.tag + 1", f"{fp} = NULL", f"{fp} = DEFAULT", "k = 2, tag = NULL"
        set_, rows = self.one_of(*changes), "SELECT id, tag, k, fp FROM t"
        match self.rng.randrange(9):
            case 0:
                return f"DELETE FROM t AS x WHERE {condition} RETURNING x.id, x.tag, x.fp, {shown}", None
            case 1:
                joined = self.condition(t, other)
                return f"DELETE FROM t AS x USING {source} WHERE {joined} RETURNING x.id, x.tag, x.fp", None
            case 2 | 3:
                return f"UPDATE t AS x SET {set_} WHERE {condition} RETURNING x.id, x.tag, x.fp, {shown}", None
            case 4:
                joined = self.condition(t, other)
                return f"UPDATE t AS x SET {set_} FROM {source} WHERE {joined} RETURNING x.id, x.tag, x.k, x.fp", None
            case 5:
                return (
                    f"INSERT INTO t AS x (id, tag, {fp}) SELECT id + 1000, tag, {fp} FROM t AS x WHERE {condition}"
                    f" RETURNING x.id, x.tag, x.fp, {shown}"
                ), None
            case 6:
                one = f"(SELECT {self.values.fingerprint()} AS fp, 3 AS k, 2 AS id, 2 AS tag)"
                return (
                    f"MERGE INTO t AS x USING {one} AS b ON {self.condition(t, one_row)}"
                    f" WHEN MATCHED AND {self.near(t, one_row)} THEN UPDATE SET {set_}"
                    " WHEN MATCHED AND x.tag = 1 THEN DELETE"
                    " WHEN NOT MATCHED THEN INSERT (id, tag) VALUES (b.id + 1000, b.tag)"
                ), rows
        return (
            f"MERGE INTO t AS x USING {source} ON x.id = b.id AND {self.condition(t, other)}"
            f" WHEN MATCHED AND {self.near(t, other)} THEN UPDATE SET {set_} WHEN MATCHED THEN DELETE"
            f" WHEN NOT MATCHED AND {self.near(other)} THEN INSERT (id, tag) VALUES (b.id + 1000, b.tag)"
        ), rows

    def case(self):
        before, after = [], None
        kind, way = self.rng.choice(KINDS), self.rng.randrange(9)
        is_inside = kind in ("cursor", "view", "function")
        self.parameters = [] if kind == "prepared" else None
        if way == 0 and not is_inside:
            statement, after = self.change()
        elif way in (1, 2) and not is_inside:
            source, alias = self.alias("a")
            statement = f"SELECT a.id FROM {source} WHERE {self.near(alias)}"
        elif way in (3, 4):
            statement = self.ordered()
        else:
            statement = self.select()
        if kind == "prepared":
            before, statement = self.prepared(statement)
        counted = f"SELECT count(*) FROM ({statement}) AS all_rows"
        known = f"«fp¦{self.values.fingerprint()}¦{self.known_distance()}»"
        match kind:
            case "cursor":
                before, statement = [f"DECLARE c SCROLL CURSOR FOR {statement}"], "FETCH ALL FROM c"
            case "view":
                before, statement = [f"CREATE VIEW last AS {counted}"], "SELECT * FROM last"
            case "function":
                body = self.one_of(
                    f"STABLE LANGUAGE sql AS $${counted}$$",
                    f"LANGUAGE plpgsql AS $$BEGIN RETURN QUERY {counted}; END$$",
                )
                before, statement = [f"CREATE FUNCTION last() RETURNS SETOF bigint {body}"], "SELECT * FROM last()"
            case "row security" | "forced row security":
                before = self.row_security(is_forced=kind == "forced row security")
            case "check":
                before = ["SET LOCAL constraint_exclusion = on", f"DELETE FROM t WHERE NOT {known}",
                          f"ALTER TABLE t ADD CHECK ({known})"]
            case "partial index":
                before = [f"CREATE INDEX ON t (tag) WHERE {known}"]
        return Case(before, statement, after)

    def prepared(self, statement):
        """The statements that prepare it, and the one that executes it."""
        types, values = (", ".join(parameter[n] for parameter in self.parameters) for n in (0, 1))
        if types:
            types, values = f"({types})", f"({values})"
        self.parameters = None
        mode = self.one_of("force_generic_plan", "force_generic_plan", "force_custom_plan")
        before = [f"SET LOCAL plan_cache_mode = {mode}", f"PREPARE prepared {types} AS {statement}"]
        return before, f"EXECUTE prepared {values}"

    def row_security(self, is_forced):
        self.t_is_known = False
        using, check = self.condition(Alias("t")), self.near(Alias("t"))
        self.t_is_known = True
        forced = "ALTER TABLE t FORCE ROW LEVEL SECURITY", "ALTER TABLE t OWNER TO queries_reader"
        return [
            "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
            f"CREATE POLICY p ON t USING ({using}) WITH CHECK ({check} OR t.id > 0)",
            *(forced if is_forced else ()),
            "SET LOCAL ROLE queries_reader",
        ]
