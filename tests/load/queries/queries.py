"""Random statements, each in a context: the statements before it, and a query of what it has changed."""

import re
from dataclasses import dataclass

from conditions import FromItem
from selects import Selects

CONDITION = re.compile("«(.*?)¦(.*?)¦(.*?)»")
# Settings of the planner, each with the number of statements of which one has it.
SETTINGS = {
    "enable_bitmapscan = off": 5, "enable_indexscan = off": 8, "enable_nestloop = off": 6, "enable_hashjoin = off": 3,
    "enable_mergejoin = off": 3, "enable_material = off": 5, "enable_memoize = off": 3, "enable_hashagg = off": 3,
    "enable_sort = off": 6, "enable_partition_pruning = off": 5, "enable_partitionwise_join = on": 3,
    "enable_partitionwise_aggregate = on": 3, "constraint_exclusion = on": 3, "join_collapse_limit = 1": 5,
    "from_collapse_limit = 1": 5,
}
# How a statement runs: prepared, within an object, on a table with something more, or plainly; with weights.
CONTEXTS = {
    "prepared": 5, "cursor": 1, "view": 1, "function": 1, "row security": 2, "forced row security": 1, "check": 1,
    "partial index": 1, "plain": 6,
}


@dataclass
class Case:
    """A statement, the statements before it, and a query that shows what it did if it does not return that itself."""

    before: list
    statement: str
    after: str

    def spelled(self, write_condition):
        """The statements before, the statement, and the query, with each condition written by a function of its three
        arguments."""

        def spell(text):
            return CONDITION.sub(lambda found: write_condition(*found.groups()), text)

        return [spell(text) for text in self.before], spell(self.statement), self.after


class Queries(Selects):
    def settings(self):
        """Random settings of the planner, as statements."""
        return [f"SET LOCAL {setting}" for setting, share in SETTINGS.items() if self.one_in(share)]

    def change_of_t(self):
        """A statement that changes `t`, and a query that shows what it did if it does not return that itself."""
        this, one_row = FromItem.of(self.searched, "this"), FromItem("b")
        source, other = self.from_item("b")
        column = "fp" if self.searched.expression() == "fp" else "raw"  # What the fingerprint comes from.
        assignment = self.one_of(
            "tag = 1", "tag = this.tag + 1", f"{column} = NULL", f"{column} = DEFAULT", "max_distance = 2, tag = NULL"
        )
        returning = f"RETURNING this.id, this.tag, this.fp, {self.near(this)}"

        def merge(using, condition, when):
            update = f"WHEN MATCHED AND {when} THEN UPDATE SET {assignment}"
            return f"MERGE INTO t AS this USING {using} ON {condition} {update}"

        def merge_one_row():
            row = f"(SELECT {self.values.fingerprint()} AS fp, 3 AS max_distance, 2 AS id, 2 AS tag) AS b"
            return (
                f"{merge(row, self.condition(this, one_row), self.near(this, one_row))}"
                " WHEN MATCHED AND this.tag = 1 THEN DELETE"
                " WHEN NOT MATCHED THEN INSERT (id, tag) VALUES (b.id + 1000, b.tag)"
            )

        def merge_rows():
            condition = f"this.id = b.id AND {self.condition(this, other)}"
            return (
                f"{merge(source, condition, self.near(this, other))} WHEN MATCHED THEN DELETE"
                f" WHEN NOT MATCHED AND {self.near(other)} THEN INSERT (id, tag) VALUES (b.id + 1000, b.tag)"
            )

        where = f"WHERE {self.condition(this)} {returning}"
        where_joined = f"WHERE {self.condition(this, other)} RETURNING this.id, this.tag, this.max_distance, this.fp"
        insert = f"INSERT INTO t AS this (id, tag, {column}) SELECT id + 1000, tag, {column} FROM t AS this"
        statement = self.choose(
            (1, lambda: f"DELETE FROM t AS this {where}"),
            (1, lambda: f"DELETE FROM t AS this USING {source} {where_joined}"),
            (2, lambda: f"UPDATE t AS this SET {assignment} {where}"),
            (1, lambda: f"UPDATE t AS this SET {assignment} FROM {source} {where_joined}"),
            (1, lambda: f"{insert} {where}"),
            (1, merge_one_row),
            (2, merge_rows),
        )
        return statement, "SELECT id, tag, max_distance, fp FROM t" if statement.startswith("MERGE") else None

    def select_near(self):
        source, item = self.from_item("a")
        return f"SELECT a.id FROM {source} WHERE {self.near(item)}"

    def random_case(self):
        [context] = self.rng.choices(list(CONTEXTS), CONTEXTS.values())
        is_inside = context in ("cursor", "view", "function")
        self.parameters = [] if context == "prepared" else None
        statement, after = self.choose(
            (0 if is_inside else 1, self.change_of_t),
            (0 if is_inside else 2, lambda: (self.select_near(), None)),
            (2, lambda: (self.query_by_distance(), None)),
            (7 if is_inside else 4, lambda: (self.select(), None)),
        )
        before, statement = self.in_context(context, statement)
        return Case(before, statement, after)

    def in_context(self, context, statement):
        """The statements that make the context, and the one that runs the statement in it."""
        count_query = f"SELECT count(*) FROM ({statement}) AS all_rows"
        constant_condition = f"«fp¦{self.values.fingerprint()}¦{self.constant_distance()}»"
        match context:
            case "prepared":
                return self.prepare_and_execute(statement)
            case "cursor":
                return [f"DECLARE c SCROLL CURSOR FOR {statement}"], "FETCH ALL FROM c"
            case "view":
                return [f"CREATE VIEW last AS {count_query}"], "SELECT * FROM last"
            case "function":
                body = self.one_of(
                    f"STABLE LANGUAGE sql AS $${count_query}$$",
                    f"LANGUAGE plpgsql AS $$BEGIN RETURN QUERY {count_query}; END$$",
                )
                return [f"CREATE FUNCTION last() RETURNS SETOF bigint {body}"], "SELECT * FROM last()"
            case "row security" | "forced row security":
                before = self.row_security(is_forced=context == "forced row security")
            case "check":
                before = ["SET LOCAL constraint_exclusion = on", f"DELETE FROM t WHERE NOT {constant_condition}"]
                before.append(f"ALTER TABLE t ADD CHECK ({constant_condition})")
            case "partial index":
                before = [f"CREATE INDEX ON t (tag) WHERE {constant_condition}"]
            case "plain":
                before = []
        return before, statement

    def prepare_and_execute(self, statement):
        """The statements that prepare it, and the one that executes it."""
        types, values = (", ".join(parameter[n] for parameter in self.parameters) for n in (0, 1))
        if types:
            types, values = f"({types})", f"({values})"
        self.parameters = None
        mode = self.one_of("force_generic_plan", "force_generic_plan", "force_custom_plan")
        before = [f"SET LOCAL plan_cache_mode = {mode}", f"PREPARE prepared {types} AS {statement}"]
        return before, f"EXECUTE prepared {values}"

    def row_security(self, is_forced):
        self.may_read_t = False
        using, check = self.condition(FromItem("t")), self.near(FromItem("t"))
        self.may_read_t = True
        forced = "ALTER TABLE t FORCE ROW LEVEL SECURITY", "ALTER TABLE t OWNER TO queries_reader"
        return [
            "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
            f"CREATE POLICY p ON t USING ({using}) WITH CHECK ({check} OR t.id > 0)",
            *(forced if is_forced else ()),
            "SET LOCAL ROLE queries_reader",
        ]
