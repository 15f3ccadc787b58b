"""Random conditions with `simhash_near`. A condition is written `«fingerprint¦query¦distance»`, so that one text gives
several queries, with conditions that are written differently and mean the same."""

from dataclasses import dataclass

from choice import choose

# The greatest constant distances: the default, one that blocks serve, that of near texts, and more than 64 bits.
MAX_DISTANCES = 3, 8, 8, 8, 20, 20, 70


@dataclass
class FromItem:
    """A name in FROM with the columns `id`, `tag`, `max_distance` and `fp`; and the expression that computes the
    fingerprint, if the query may use it."""

    name: str
    expression: str = None
    # The expressions of its texts, if the fingerprints are made from a text.
    texts: tuple = ()

    @classmethod
    def of(cls, table, name):
        return cls(name, table.expression(f"{name}."), table.texts(f"{name}."))


class Conditions:
    """Makes conditions on the tables `t`, which is searched, and `u`, the other one."""

    def __init__(self, rng, values, searched, other):
        self.rng, self.values, self.searched, self.other = rng, values, searched, other
        # The types and the values of the parameters of a statement that is to be prepared.
        self.parameters = None
        # Whether sub-selects may read `t`: not in a policy of `t`.
        self.may_read_t = True

    def one_of(self, *choices):
        return self.rng.choice(choices)

    def choose(self, *choices):
        return choose(self.rng, *choices)

    def one_in(self, count):
        return self.rng.randrange(count) == 0

    def parameter(self, type, value):
        if self.parameters is None:
            return value
        self.parameters.append((type, value))
        return f"${len(self.parameters)}"

    def constant_distance(self):
        if self.one_in(30):
            return self.one_of("-1", "-2147483648", "2147483647", "NULL::integer")
        return str(self.rng.randint(0, self.one_of(*MAX_DISTANCES)))

    def distance(self, others):
        if others and self.one_in(8):
            return f"{self.rng.choice(others).name}.max_distance{self.one_of('', '', ' + 1')}"
        if self.parameters is None and self.one_in(20):
            return f"(SELECT max_distance FROM u WHERE id = {self.rng.randint(1, 30)} AND tag = 1 LIMIT 1)"
        this_year = "extract(year FROM now())::integer"
        return self.choose(
            (20, self.constant_distance),
            (6, lambda: "3"),
            # A stable function: the planner estimates its value.
            (2, lambda: f"({this_year} - {this_year} + {self.rng.randrange(6)})"),
            (5, lambda: self.parameter("integer", self.one_of("0", "1", "2", "3", "5", "6", "-1", "12", "NULL"))),
            (1, lambda: self.parameter("integer", str(self.rng.randint(1, 30) * 2))),
        )

    def query(self, others):
        other, id = self.rng.choice(others).name if others else None, self.rng.randint(1, 30)
        if others and self.rng.random() < 0.6:
            return self.one_of(*4 * (f"{other}.fp",), f"coalesce({other}.fp, bigint '0')", f"({other}.fp # bigint '3')")
        if others and self.one_in(12):
            return f"(SELECT fp FROM u AS same WHERE same.id = {other}.id LIMIT 1)"
        if self.may_read_t and self.one_in(12):
            return f"(SELECT max(fp) FROM t WHERE id <= {id} AND tag = 2)"
        return self.choose(
            (34, lambda: self.parameter("bigint", self.values.fingerprint())),
            (4, lambda: f"(SELECT fp FROM u WHERE id = {id} LIMIT 1)"),
            (1, lambda: "NULL::bigint"),
            (1, lambda: f"({self.values.fingerprint()} + (random() * 0)::bigint)"),
        )

    def near(self, *items):
        item = self.rng.choice(items)
        others = [other for other in items if other is not item]
        fingerprint = f"{item.name}.fp"
        if item.expression and self.one_in(4):
            fingerprint = item.expression
        elif self.one_in(12):
            fingerprint = f"coalesce({fingerprint}, bigint '7')"
        sides = [fingerprint, self.query(others)]
        if self.one_in(4):
            sides.reverse()
        near = f"«{sides[0]}¦{sides[1]}¦{self.distance(others)}»"
        is_of_texts = item.texts and not self.one_in(4)
        return self.near_texts(near, self.one_of(*item.texts), others) if is_of_texts else near

    def near_texts(self, near, text, others):
        """A condition that compares texts, alone or together with the condition `near`."""
        other_texts = [other_text for other in others for other_text in other.texts]
        if other_texts and self.one_in(2):
            other_text = self.one_of(*other_texts)
        elif self.one_in(9):
            tables = (self.searched, self.other) if self.may_read_t else (self.other,)
            names = [table.name for table in tables if table.source == "text"]
            texts_of_rows = [f"(SELECT raw FROM {name} WHERE id = {self.rng.randint(1, 30)} LIMIT 1)" for name in names]
            other_text = self.one_of("NULL", *3 * texts_of_rows)
        else:
            other_text = self.parameter("text", self.values.text())
        least = self.parameter("double precision", self.one_of("0.84", "0.5", "0.3", "1", "0", "2", "NULL::float8"))
        options = self.one_of("", "", """, '{"same": ["numbers"]}'""", """, '{"ngram": 2}'""")
        criterion = self.one_of(
            *3 * ("",), ", '{}'", """, '{"bands": 2}'""", """, '{"resemblance": 0.7}'::jsonb""",
            *3 * (""", '{"resemblance": 0.3, "bands": 6}'""",), """, '{"resemblance": 0.9, "same": ["numbers"]}'""",
            """, '{"ngram": 2, "resemblance": 0.2, "bands": 6}'""",
            """, '{"ngram": 2, "bands": 1, "resemblance": 0.01}'""",
        )
        pair = f"{text}, {other_text}" if self.one_in(2) else f"{other_text}, {text}"
        call = f"simhash_near({pair}{criterion})"
        return self.one_of(
            *6 * (call,),
            f"({near} AND {call})",
            f"({near} AND {least} < simhash_resemblance({pair}{options}))",
            f"({near} AND simhash_resemblance({pair}{options}) >= {least})",
        )

    def condition(self, *items, depth=1):
        if depth == 0 or self.one_in(2):
            return self.near(*items)

        def another_condition():
            return self.condition(*items, depth=depth - 1)

        def exists():
            relation = self.one_of("u", "alike", "alike", *(("t", "plain") if self.may_read_t else ()))
            condition = f"same.id = {name}.id AND {self.near(FromItem('same'))}"
            return f"({name}.id < 0 OR {negated}EXISTS (SELECT FROM {relation} AS same WHERE {condition}))"

        def semi_join():
            """A semi-join or an anti-join with another equality, which may be a hash join."""
            return (
                f"{negated}EXISTS (SELECT FROM {self.one_of('u', 'alike')} AS earlier WHERE earlier.tag = {name}.tag"
                f" AND earlier.id < {name}.id AND {self.near(FromItem('earlier'), item)})"
            )

        item = self.rng.choice(items)
        name, other, negated = item.name, self.rng.choice(items).name, self.one_of("", "NOT ")
        value = self.one_of("1", "ANY ('{1}')", "ANY (ARRAY[NULL, 1])", "ANY (ARRAY[1 + (SELECT 1)])")
        same_tag = f"{name}.tag = {other}.tag"
        first = another_condition()
        return self.choose(
            (1, lambda: f"({first} AND {another_condition()})"),
            (1, lambda: f"({first} OR {another_condition()})"),
            (1, lambda: f"(NOT {first})"),
            (1, lambda: f"({first} IS {negated}{self.one_of('TRUE', 'FALSE', 'NULL', 'UNKNOWN')})"),
            (1, lambda: f"CASE WHEN {first} THEN {name}.tag > 0 ELSE {name}.id % 5 = 0 END"),
            (1, lambda: f"({name}.tag = {value} AND {first})"),
            (1, lambda: f"({name}.id < 4 OR {first})"),
            (1, lambda: f"({first} OR {name}.fp IS NULL)"),
            (1, lambda: f"({name}.id <= 40 AND {first})"),
            # A scope whose value comes from a join.
            (1, lambda: f"({same_tag} AND {first})"),
            (1, lambda: f"({same_tag} AND {name}.max_distance = {other}.max_distance + 1 AND {first})"),
            (1, exists),
            (2, semi_join),
        )
