"""Calls of the extension's functions, with hostile arguments, in unusual statements."""

import templates
from values import MAKERS, Values

# Columns of hostile.rows by their type.
COLUMNS = {
    "text": ("t", "t_external", "t_main"),
    "jsonb": ("j",),
    "integer": ("i", "id"),
    "bigint": ("i8",),
    "double precision": ("f8",),
    "boolean": ("b",),
    "name": ("n",),
    "text[]": ("ta",),
    "double precision[]": ("f8a",),
    "bigint[]": ("i8a",),
    "anyarray": ("ta", "f8a", "i8a"),
    "anyelement": ("t", "i", "i8", "f8", "b", "n", "ta", "v", "r"),
    "tsvector": ("v",),
    "regclass": ("r",),
    "bytea": ('"by"',),
}


def without_values(functions):
    """The functions with an argument of a type without hostile values."""
    return [f.signature for f in functions if f.result != "trigger" and not set(f.types) <= set(MAKERS)]


class Calls:
    def __init__(self, rng, size):
        self.rng, self.values = rng, Values(rng, size)

    def arguments(self, function, columns=0.0, only_columns=False):
        count = len(function.types)
        if function.defaults and self.rng.random() < 0.3:
            count -= self.rng.randint(0, function.defaults)
        arguments = [
            self.argument(type, name, columns, only_columns)
            for type, name in list(zip(function.types, function.names))[:count]
        ]
        # Two arrays must have the same type, which two hostile ones seldom have.
        if list(function.types[:2]) == ["anyarray", "anyarray"] and self.rng.random() < 0.7:
            arguments[1] = arguments[0]
        return arguments

    def argument(self, type, name, columns, only_columns):
        if type in COLUMNS and self.rng.random() < columns:
            return "rows." + self.rng.choice(COLUMNS[type])
        # What is stored in the catalogue must be immutable, as few hostile values are not.
        return self.values.one(type, name) if not only_columns else self.values.not_null(type, name)

    def statements(self, function):
        """Statements that call the function, by a random template."""
        if function.result == "trigger":
            return [f"SELECT {function.call([])}"]
        if function.kind in "fw" and not function.is_set and not function.takes_internal() and self.rng.random() < 0.1:
            return self.prepared(function)
        arguments = lambda *how: self.arguments(function, *how)
        forms = {
            "e": lambda: function.call(arguments()),
            "r": lambda: function.call(arguments(0.7)),
            "f": lambda: function.call(arguments(0.7, True)),
            "d": lambda: function.call(["DISTINCT " + (a := arguments(0.7))[0], *a[1:]]),
            "o": lambda: function.call([*(a := arguments(0.7))[:-1], a[-1] + f" ORDER BY {a[0]} DESC"]),
            "t": lambda: function.result,
        }
        return templates.statements(templates.choose(self.rng, function), forms)

    def prepared(self, function):
        """A statement that is planned without its arguments, or planned anew for each of them."""
        types = [{"anyarray": "integer[]", "anyelement": "text"}.get(type, type) for type in function.types]
        call = function.call([f"${n}" for n in range(1, len(types) + 1)])
        over = " OVER ()" if function.kind == "w" else ""
        mode = self.rng.choice(("auto", "force_generic_plan", "force_custom_plan"))
        execute = [
            (
                f"EXECUTE p ({', '.join(self.values.one(t, n) for t, n in zip(types, function.names))})"
                if types
                else "EXECUTE p"
            )
            for _ in range(6)
        ]
        declared = f"({', '.join(types)})" if types else ""
        query = self.rng.choice((f"SELECT {call}{over}", f"SELECT {call}{over} FROM hostile.rows"))
        return [
            "DEALLOCATE ALL",
            f"SET plan_cache_mode = {mode}",
            f"PREPARE p{declared} AS {query}",
            *execute,
            "RESET plan_cache_mode",
        ]


def long_options(rng):
    """A call with a long options document, most of which are wrong."""
    name = f"repeat('x', {rng.randint(10_000, 120_000)})"
    document = rng.choice(
        (
            f"""'{{"' || {name} || '": 1}}'""",
            f"""'{{"top": "' || {name} || '"}}'""",
            f"""'{{"weights": {{"' || {name} || '": 7}}}}'""",
            f"""'{{"weights": {{"' || {name} || '": 0.5}}}}'""",
        )
    )
    return f"SELECT simhash('a', ({document}){rng.choice(('', '::jsonb'))})"


def huge(rng, digits):
    """A call with a text of up to 10 ^ digits bytes, or an array of that size. Results are short."""
    bytes = int(10 ** rng.uniform(6, digits))
    piece = rng.choice(
        (
            "a", "a ", "word ", "x\u0301", "\u4e2d", "\ufdfa", "\u0301", "\u0130 ", "\uac00", "\u1100\u1161",
            "\U0001f600 ", "1 2 3 ",
        )
    )
    text = f"repeat('{piece}', {min(bytes, 1_073_741_800) // len(piece.encode())})"
    random_words = f"(SELECT string_agg(md5(i::text), ' ') FROM generate_series(1, {bytes // 200}) AS i)"
    n = min(bytes // 100, 5_000_000)
    return rng.choice(
        (
            f"SELECT simhash({text})",
            f'SELECT simhash({text}, \'{{"ngram": 16, "weight": "tf"}}\')',
            f'SELECT simhash({text}, \'{{"tokens": "chars"}}\')',
            f'SELECT simhash({text}, \'{{"tokens": "dictionary"}}\')',
            f"SELECT simhash_wide({text}, 3)",
            f"SELECT simhash_weights({text}, '{{}}') FROM generate_series(1, 2)",
            f"SELECT hamming(array_fill(0::bigint, ARRAY[{n}]), array_fill(-1::bigint, ARRAY[{n}]))",
            f'SELECT simhash({random_words}, \'{{"top": 5, "weight": "log"}}\')',
            f"SELECT count(*), max(length(feature)) FROM simhash_features({text}, '{{\"ngram\": 3}}')",
            f"SELECT count(*) FROM simhash_features({random_words})",
            f"SELECT simhash_resemblance({text}, {text})",
            f"SELECT simhash(ARRAY[{text}, 'a'])",
            f"SELECT simhash(array_fill('a'::text, ARRAY[{n}]), array_fill(1e9::float8, ARRAY[{n}]))",
            f"SELECT simhash_agg({text}, n) FROM generate_series(1, 2) AS n",
            f"SELECT simhash('a', {text})",
            f"SELECT simhash('a', ('[' || repeat('1,', {n}) || '1]')::jsonb)",
            f"SELECT simhash('a', ('{{\"' || repeat('x', {n * 10}) || '\": 1}}')::jsonb)",
            f"SELECT simhash(to_tsvector('simple', left({random_words}, 900000)))",
            f"SELECT count(*) FROM simhash_pairs(ARRAY(SELECT generate_series(1, {n})), ARRAY(SELECT i::bigint *"
            f" 2654435761 FROM generate_series(1, {n}) AS i), 1)",
            f"SELECT * FROM simhash_pairs(array_fill({text}, ARRAY[1]), '{{1}}') LIMIT 1",
            f"SELECT count(*) FROM simhash_components(ARRAY(SELECT generate_series(1, {n})), ARRAY(SELECT i / 3"
            f" FROM generate_series({n}, 1, -1) AS i))",
            f"SELECT count(*) FROM simhash_components(ARRAY(SELECT i % 7 || {text} FROM generate_series(1, 9) AS i),"
            f" ARRAY(SELECT {text} || i FROM generate_series(1, 9) AS i))",
            f"SELECT max(c) FROM (SELECT simhash_cluster(i, i::bigint, 1) OVER () AS c FROM generate_series(1, {n}) AS"
            f" i) AS s",
            f"SELECT max(c), max(d) FROM (SELECT simhash_cluster(i, {text} || i % 5) OVER () AS c,"
            f" simhash_duplicate_of(i, {text} || i % 5) OVER (ORDER BY i) AS d FROM generate_series(1, {n}) AS i) AS s",
            f"INSERT INTO hostile.guarded (id, body) SELECT {rng.randint(1, 10**9)}, {text}",
            f"INSERT INTO hostile.attached (id, body) SELECT {rng.randint(1, 10**9)}, {random_words}",
        )
    )
