"""Random queries with conditions wherever a query may have one."""

from conditions import Conditions, FromItem
from tables import views

COLUMNS = "id", "tag", "max_distance", "fp"


def columns_of(*items):
    return ", ".join(f"{item.name}.{column}" for item in items for column in COLUMNS)


class Selects(Conditions):
    """Makes queries of the tables `t` and `u`, and of views of them."""

    def from_item(self, name):
        """An item of FROM, and what a query knows of it."""

        def of(relation):
            return f"{relation} AS {name}", FromItem(name)

        near = self.near(FromItem("sub"))
        derived = (
            "ONLY t",
            f"(SELECT id, tag, max_distance, fp FROM t AS sub WHERE {near} ORDER BY id LIMIT 20)",
            "(SELECT DISTINCT id, tag, max_distance, fp FROM t)",
            f"(SELECT id, max_distance, tag, fp FROM t AS sub WHERE {near} OFFSET 0)",
            "(SELECT id, max_distance, fp, row_number() OVER (PARTITION BY fp ORDER BY id) AS tag FROM t)",
            "(SELECT id, tag, max_distance, fp FROM t UNION"
            f" SELECT id, tag, max_distance, fp FROM u AS sub WHERE {near})",
        )
        return self.choose(
            (10, lambda: (f"t AS {name}", FromItem.of(self.searched, name))),
            (3, lambda: (f"u AS {name}", FromItem.of(self.other, name))),
            (6, lambda: of(self.rng.choice(derived))),
            (5, lambda: of(self.one_of(*views(self.searched)))),
        )

    def from_items(self):
        """FROM with one to three items, and what a query knows of them."""
        source, first = self.from_item("a")
        items = [first]
        while len(items) < 3 and self.one_in(2 * len(items)):
            name = "abc"[len(items)]
            relation, item = self.from_item(name)
            join = self.one_of("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
            near, equal = self.condition(items[-1], item), f"{items[-1].name}.id = {name}.id"
            both = f"{equal} AND {near}"
            if join == "FULL JOIN":  # PostgreSQL requires an equality.
                condition = self.one_of(equal, equal, both)
            else:
                condition = self.one_of(equal, *2 * (near if name == "b" else both,))
            items.append(item)
            source += f" {join} {relation} ON {condition}"
        return source, items

    def select(self):
        source, items = self.from_items()
        columns, name = columns_of(*items), self.rng.choice(items).name
        condition = self.condition(*items, depth=self.one_of(0, 0, 1, 2))
        where = f"FROM {source} WHERE {condition}"
        inner, of_inner = self.from_item("sub")
        inside = *items, of_inner
        inner_where = f"FROM {inner} WHERE {self.condition(*inside)}"
        negated, near = self.one_of("", "NOT "), self.near(*items)
        exists = f"{negated}EXISTS (SELECT {inner_where}"
        order = f"{name}.fp <~> {self.values.fingerprint()}, {columns} LIMIT {self.rng.randrange(10)}"
        return self.choose(
            (5, lambda: f"SELECT {columns} {where}"),
            (1, lambda: f"SELECT {columns}, {near}, {condition} FROM {source}"),
            (1, lambda: f"SELECT {columns} {where} ORDER BY {order}"),
            (2, lambda: f"SELECT {columns} FROM {source} WHERE {exists})"),
            (1, lambda: f"SELECT {columns} FROM {source} WHERE {name}.id {negated}IN (SELECT sub.id {inner_where})"),
            (1, lambda: f"SELECT {columns}, {exists} AND sub.id = {name}.id) FROM {source}"),
            (1, lambda: f"SELECT {columns}, (SELECT count(*) FROM {inner} WHERE {self.near(*inside)}) FROM {source}"),
            (1, lambda: self.select_lateral(source, items, name, inner)),
            (1, lambda: self.select_groups(source, name)),
            (1, lambda: self.select_with(name, where)),
            (1, self.select_set_operation),
            (1, lambda: self.select_recursive(inner)),
            (1, lambda: self.select_exists_in_set_operation(source, items, name)),
        )

    def select_lateral(self, source, items, name, inner):
        condition = self.condition(*items, FromItem("sub"))
        order = f"sub.fp <~> {name}.fp, {columns_of(FromItem('sub'))} LIMIT {self.rng.randrange(4)}"
        return (
            f"SELECT {columns_of(*items)}, found.* FROM {source} {self.one_of('LEFT JOIN', 'JOIN')} LATERAL"
            f" (SELECT sub.* FROM (SELECT {', '.join(COLUMNS)} FROM {inner}) AS sub WHERE {condition} ORDER BY {order})"
            " AS found ON true"
        )

    def select_groups(self, source, name):
        sets = self.one_of(
            "{0}.fp, {0}.max_distance, {0}.tag, {0}.id",
            "ROLLUP ({0}.fp, {0}.tag, {0}.max_distance, {0}.id)",
            "GROUPING SETS (({0}.fp, {0}.id), ({0}.tag), ({0}.max_distance, {0}.fp), ())",
            "CUBE ({0}.fp, {0}.max_distance), {0}.id, {0}.tag",
        ).format(name)
        having = self.condition(FromItem(name)) + self.one_of("", " OR count(*) > 1", " AND count(*) < 3")
        columns = f"{name}.fp, {name}.tag, count(*), {self.near(FromItem(name))}"
        return f"SELECT {columns} FROM {source} GROUP BY {sets} HAVING {having}"

    def select_with(self, name, where):
        materialized = self.one_of("", "MATERIALIZED", "NOT MATERIALIZED")
        return (
            f"WITH found AS {materialized} (SELECT {columns_of(FromItem(name))} {where}) SELECT * FROM found"
            f" WHERE {self.near(FromItem('found'))} AND found.id NOT IN (SELECT id FROM found WHERE tag = 2)"
        )

    def select_set_operation(self):
        operation = self.one_of("UNION", "UNION ALL", "EXCEPT", "INTERSECT")
        (a, of_a), (b, of_b) = self.from_item("a"), self.from_item("b")
        first = f"SELECT {columns_of(of_a)} FROM {a} WHERE {self.near(of_a)}"
        return f"{first} {operation} SELECT {columns_of(of_b)} FROM {b} WHERE {self.near(of_b)}"

    def select_recursive(self, inner):
        return (
            "WITH RECURSIVE found AS (SELECT a.id, a.fp FROM t AS a WHERE a.id = 1 UNION"
            f" SELECT b.id, b.fp FROM found JOIN {inner} ON «sub.fp¦found.fp¦{self.constant_distance()}»"
            " JOIN t AS b ON b.id = sub.id) SELECT * FROM found"
        )

    def select_exists_in_set_operation(self, source, items, name):
        """A sub-select that an arm of a set operation returns."""
        (first, _), (second, of_second) = self.from_item("arm"), self.from_item("existing")
        if self.one_in(2):
            second, of_second = "alike AS existing", FromItem("existing")
        other = self.one_of("SELECT id, false FROM u", "SELECT id, tag = 1 FROM t", "SELECT 1, NULL")
        return (
            f"SELECT {columns_of(*items)}, arms.found FROM {source}, (SELECT arm.id, EXISTS (SELECT FROM {second}"
            f" WHERE existing.id = arm.id AND {self.near(of_second)}) AS found FROM {first}"
            f" {self.one_of('UNION ALL', 'UNION ALL', 'UNION')} {other}) AS arms"
            f" WHERE arms.id = {name}.id AND ({self.near(*items)} OR {name}.id < 20)"
        )

    def query_by_distance(self):
        """A query with an order by distance. Rows at the same distance may come in any order, so only distances are
        returned in order."""
        source, item = self.from_item("a")
        fingerprint, query = item.expression or "a.fp", self.query([])

        def distance_from(query):
            forms = "hamming({0}, {1})", "{0} <~> {1}", "{1} <~> {0}", "{1} <~> {0}"
            return self.one_of(*forms).format(query, fingerprint)

        def ordered(order):
            rows = f"SELECT {distance} AS distance FROM {source} {where} ORDER BY {order}"
            return f"SELECT array_agg(nearest.distance) FROM ({rows}) AS nearest"

        def nearest_of_each():
            others, other = self.from_item("b")
            rows = f"SELECT {distance_from(f'{other.name}.fp')} AS distance FROM {source} {where}"
            return (
                f"SELECT b.id, b.fp, nearest.distance FROM {others} CROSS JOIN LATERAL ({rows} ORDER BY distance"
                f" LIMIT {self.rng.randrange(4)}) AS nearest WHERE b.id < 30"
            )

        where = self.choose(
            (3, lambda: ""),
            (1, lambda: f"WHERE «{fingerprint}¦{query}¦{self.constant_distance()}»"),
            (1 if self.parameters is None else 0, lambda: f"WHERE {self.condition(item)}"),
            (1, lambda: "WHERE a.tag < 3"),
        )
        distance, limit = distance_from(query), self.one_of("", *2 * (f"LIMIT {self.rng.randrange(40)}",))
        rows = f"{distance} AS distance FROM {source} {where} ORDER BY distance"
        return self.choose(
            (5, lambda: ordered(f"distance {limit}")),
            (1, lambda: ordered(f"distance {self.one_of('DESC', 'NULLS FIRST', 'DESC NULLS LAST')} {limit}")),
            (2, lambda: f"SELECT min({distance}), max({distance}), count(*) FROM {source} {where}"),
            (1, lambda: f"SELECT DISTINCT ON (distance) {rows}"),
            (1, lambda: f"SELECT a.id, a.tag, a.fp, {rows}, a.id"),
            (2, nearest_of_each),
        )
