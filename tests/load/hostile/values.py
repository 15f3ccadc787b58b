"""Hostile values of each type that an argument can have, as SQL, from a generator of random numbers."""

import json
import struct

from choice import choose

INTEGERS = (
    0, 1, -1, 2, 3, 4, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 2**15, 2**16, 10**6, 2**20 + 1, 2**31 - 1,
    -(2**31), -(2**31) + 1, 2**30,
)
# The least and the greatest valid value of arguments, by their names.
VALID_INTEGERS = {"max_distance": (0, 10), "block": (0, 7), "blocks": (2, 8), "band": (0, 63), "bands": (1, 12)}
BIGINTS = (
    0, 1, -1, 2**63 - 1, -(2**63), -(2**63) + 1, 2**31, -(2**31) - 1, 2**32, 2**53 + 1, 0x5555555555555555,
    0x0123456789ABCDEF, 2**62,
)
DOUBLES = (
    "0", "-0", "1", "0.1", "1e9", "1000000000.0001", "1e308", "-1e308", "5e-324", "-5e-324", "2.2e-308", "1e-7", "NaN",
    "Infinity", "-Infinity", "-1", "4294967296", "9007199254740993", "0.00000001",
)
NUMERICS = 0.5, "NaN", "-inf", 5, -(2**63), 2**63, 2**64 - 1, 2**64, 10**99

# Unicode text that a program may not be prepared for: letters that fold to several, marks, Hangul, characters that
# decompose, invisible ones, unassigned ones, controls, emoji, scripts without spaces.
ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz",
    "ABC xyz .,;:!?'\"\\/%_$-0123456789",
    "\u0660\u0966\uff10\u00b2\u2167\u00df\u1e9e\u0130\u0131\u03c2\u1e9b\ufb03\u01c5\u0345\u2d00\u13a0\uab70",
    "\u0301\u0323\u0307\u0345\u05b0\u0e38\u20dd\U0001d165\u00e9e\u0301\u212bA\u030a\ufb2c\u0958",
    "\u1100\u1161\u11a8\uac00\uac01\ud7a3\ufdfa\u3300\u2460\uff21\u01c4\u0149",
    "\u200b\u200d\ufeff\u00ad\u202e\u2066\u0627\u0644\u05d0",
    "\u0378\u2fe0\U0001fbfa\U000e0080\ue000\ufdd0\ufffe\uffff\U0010ffff\ufffd",
    "\u0001\t\n\r\u001f\u007f\u0085\u2028\u00a0\u3000<p></script><!--&#x110000;",
    "\U0001f468\u200d\U0001f469\ufe0f\U0001f3fd\U0001f1e9\U000e0067",
    "\u0e01\u0e32\u0e33\u1780\u17d2\u4e2d\u6587\u3042\u30ab\u3099\uff76\uff9e\ud55c\u3400\U00020000\U0002f800",
)

CONDITIONS = (
    "id > 5", "id IS NULL OR f > 0", "body ~ '^a'", "now() > '2000-01-01'", "true", "false", "NULL", "", "id",
    "1 / (id - id) > 0", "id > 5) OR (true", "*", "id IN (SELECT 1)", "random() > .5", "ctid IS NULL", "$1",
    "(" * 5000 + "true" + ")" * 5000,
)
OPTIONS = {
    "tokens": ("words", "chars", "letters", "WORDS", "", 1, None, ["words"], {}, "\u0000"),
    "ngram": (1, 2, 3, 5, 16, 0, 17, -1, 2.5, 1e308, 10**40, -0.0, "3", None, True, []),
    "weight": ("one", "tf", "log", "none", "", 0, None, {"a": 1}),
    "case_fold": (True, False, "true", 1, None, []),
    "same": (
        [], ["numbers"], ["not", "gpg-agent"], [""], ["a" * 257], [chr(n) for n in range(97, 200)], "no", None, [1],
    ),
    "ignore": (
        [], ["numbers"], ["ids", "hyphenation"], ["urls", "accents"], ["words"], "numbers", None, 1, [["urls"]],
        {"urls": True},
    ),
    "markup": ("html", "main", "HTML", "xml", "", 1, True, None, ["html"], {"html": None}),
    "weights": ({"a": 0.5, "the": 0}, {"\u4e2d": 0.2, "": 0}, {"a": 1.5}, {"A": 0, "a": 1}, {"a": "1"}, ["a"], None),
    "seed": (0, 0.0, -1, 2**64, 0.5, "1", None),
}
UNKNOWN_OPTIONS = {"ngrams": (1,), "": (1,), "Tokens": ("words",), '\u00e9"\\\n': (None,)}
# The keys of a criterion that are not options.
CRITERION_KEYS = {
    "resemblance": (0.84, 0.9, 0.7, 1, 0, 0.5, -1, 1e308, 10**40, "0.9", None, True, []),
    "bands": (6, 1, 2, 12, 64, 65, 0, -1, 2.5, 10**40, "6", None, []),
    "max_distance": (3, 0, 64, 65, -1, 2.5, "3", None),
    "radii": ([1],),
}

# Names that need quotes, are as long as names can be or longer, or mean something.
NAMES = (
    "simhash", "body", "id", "f", "Body", "p", "", " ", "simhash_0", "ctid", "tableoid", "xmin", "select", 'a"b', "a'b",
    "a.b", "a\\b", "\u00e9\u4e2d\U0001f600", "x" * 62, "x" * 63, "x" * 64, "x" * 500, "\u00e9" * 31, "\u00e9" * 32,
    "\n", "%s", "$1", "........pg.dropped.1........", "pg_catalog", "features", "document", "domained", "generated",
    "composed",
)
# The sources of texts and fingerprints, and expressions that are not sources.
SOURCES = (
    "body", '"Body"', "c", "domained", "f", "simhash", "features", "document", "composed", "body || c", "upper(body)",
    "coalesce(body, '') || ' ' || coalesce(c, '')", "simhash(body)", "body || now()::text", "body || random()",
    "t.body", "count(body)", "generate_series(1, 2)", "(SELECT body)", 'body COLLATE "C"', "ctid::text",
    "tableoid::text", "1 / 0", "repeat(body, 20)", "'a constant'", "body || '", "body); DROP TABLE hostile.rows; --",
    "(" * 5000 + "body" + ")" * 5000,
)
ACTIONS = ("reject", "skip", "mark", "REJECT", "", "delete", "mark ", "\u00e9")

# Relations that tables.sql makes, relations of PostgreSQL, and relations that do not exist.
RELATIONS = (
    "hostile.rows", "hostile.plain", "hostile.no_columns", "hostile.no_key", 'hostile."odd "" \'name\'"',
    'hostile."' + "x" * 63 + '"', "hostile.partitioned", "hostile.partition_1", "hostile.partition_2", "hostile.leaf",
    "hostile.parent", "hostile.child", "hostile.viewed", "hostile.materialized", "hostile.sequence",
    "hostile.composite", "hostile.plain_pkey", "hostile.foreign_table", "hostile.dropped_columns",
    "hostile.generated_columns", "hostile.wide", "hostile.secured", "hostile.updatable", "pg_temp.temporary",
    "hostile.attached", "hostile.guarded", "hostile.indexed", "pg_catalog.pg_class", "pg_catalog.pg_class_oid_index",
    "pg_toast.pg_toast_1255", "information_schema.tables",
)
# How characters are written in a literal E'...'.
ESCAPES = str.maketrans({"\\": "\\\\", "'": "''", **{chr(code): f"\\x{code:02x}" for code in range(32)}})


def quote(text):
    """A text as a literal that depends on no setting."""
    if any(character == "\\" or character < " " for character in text):
        return f"E'{text.translate(ESCAPES)}'"
    return "'" + text.replace("'", "''") + "'"


class Values:
    """Makes hostile values. `size` bounds the length of texts and arrays."""

    def __init__(self, rng, size=300):
        self.rng, self.size = rng, size

    def value_or_null(self, type, name=""):
        """A value for an argument of that type and name, as SQL; sometimes NULL."""
        return f"NULL::{type}" if self.rng.random() < 0.05 else self.value(type, name)

    def value(self, type, name=""):
        return MAKERS[type](self, name)

    def random_length(self):
        """Mostly short, now and then as long as is allowed."""
        return int(self.size ** self.rng.random()) if self.rng.random() < 0.9 else self.rng.choice((0, 1, self.size))

    def characters(self):
        rng = self.rng
        alphabets = rng.sample(ALPHABETS, rng.randint(1, 3))
        words = [
            "".join(rng.choice(rng.choice(alphabets)) for _ in range(rng.randint(1, 12)))
            for _ in range(rng.randint(1, 8))
        ]
        separators = " ", " ", "", ". ", "\n"
        return "".join(rng.choice(separators) + rng.choice(words) for _ in range(self.random_length() // 4))

    def text(self, name=""):
        text = self.named_text(name)
        return self.random_text() if text is None else quote(text)

    def named_text(self, name):
        """A text of the kind that the argument with this name takes; None if it takes any text, and now and then."""
        rng = self.rng
        if name == "action":
            return rng.choice(ACTIONS)
        if name in ("options", "criterion"):
            return self.options(name)
        if name in ("among", "unless"):
            return rng.choice(CONDITIONS)
        if name == "source" and rng.random() < 0.8:
            return "body" if rng.random() < 0.5 else rng.choice(SOURCES)
        if name == "digits" and rng.random() < 0.75:
            return "".join(rng.choices("0123456789abcdefABCDEF", k=rng.randint(0, 20)))
        return None

    def random_text(self):
        rng, first = self.rng, self.rng.randint(1, 0xD000)
        return choose(
            rng,
            (68, lambda: quote(self.characters()) + "::text"),
            (10, lambda: "''"),
            (10, self.flood),
            (5, lambda: f"repeat({quote(self.characters())}, {rng.randint(0, self.size)})"),
            (5, lambda: f"(SELECT string_agg(chr(i), ' ') FROM generate_series({first}, 55000, 97) AS i)"),
            (2, lambda: f"convert_from('\\x{rng.choice(('eda080', 'c0af', 'f8888080', 'ff', 'e282'))}', 'UTF8')"),
        )

    def flood(self):
        """A flood of marks on one letter, or one word without an end."""
        character = self.rng.choice(self.rng.choice(ALPHABETS))
        return f"({quote('a')} || repeat({quote(character)}, {self.random_length() * 50}))"

    def boolean(self, name=""):
        return self.rng.choice(("true", "false"))

    def number(self, specials, bits):
        rng, least = self.rng, -(2 ** (bits - 1))
        number = rng.choice(specials) if rng.random() < 0.6 else rng.getrandbits(bits) + least
        return f"({number})" if number > least else f"({least + 1} - 1)"

    def integer(self, name=""):
        # Mostly a valid value. Most other values fail in the first check of a function, and its rest would not run.
        if name in VALID_INTEGERS and self.rng.random() < 0.75:
            return str(self.rng.randint(*VALID_INTEGERS[name]))
        return self.number(INTEGERS, 32)

    def bigint(self, name=""):
        return self.number(BIGINTS, 64) + "::bigint"

    def double(self, name=""):
        rng = self.rng
        if rng.random() < 0.7:
            return f"'{rng.choice(DOUBLES)}'::float8"
        return f"'{struct.unpack('d', rng.randbytes(8))[0]!r}'::float8"

    def identifier(self, name=""):
        rng = self.rng
        if name in ("source", "prefix", "fingerprint") and rng.random() < 0.6:
            return quote(rng.choice(("body", "body", "features", "document", "f", "simhash", "p"))) + "::name"
        return quote(rng.choice(NAMES)) + "::name"

    def regclass(self, name=""):
        rng = self.rng
        return choose(
            rng,
            (92, lambda: f"to_regclass({quote(rng.choice(RELATIONS))})"),
            (5, lambda: f"{rng.choice((0, 1, 1259, 2**31, 2**32 - 1, rng.getrandbits(32)))}::oid::regclass"),
            (3, lambda: f"(SELECT oid::regclass FROM pg_class ORDER BY oid OFFSET {rng.randint(0, 400)} LIMIT 1)"),
        )

    def options(self, name):
        """The JSON of options or, by the name, of a criterion."""
        rng = self.rng
        if rng.random() < 0.15:
            depth = rng.choice((10, 127, 128, 129, 5000))
            wrong = (
                "", "{", '{"ngram": 2,}', '{"ngram": 1e400}', "'", "\ufeff{}", "[]", "1", "null", '"words"', "1e999999",
                '{"ngram": 2, "ngram": 3}', "[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth,
                json.dumps({self.characters(): 1, "x" * self.random_length(): list(range(self.random_length()))}),
            )
            return rng.choice(wrong)
        keys = rng.sample(list(OPTIONS), rng.randint(0, 3)) if rng.random() < 0.9 else [*OPTIONS, *UNKNOWN_OPTIONS]
        if name == "criterion":
            keys = rng.sample(keys, min(len(keys), rng.randint(0, 1)))
            keys += rng.sample(list(CRITERION_KEYS), rng.choice((0, 1, 1, 2)))
        values_of = OPTIONS | UNKNOWN_OPTIONS | CRITERION_KEYS
        # Each key begins with a valid value, which is chosen most often.
        chosen = {key: values_of[key][0] if rng.random() < 0.6 else rng.choice(values_of[key]) for key in keys}
        return json.dumps(chosen, ensure_ascii=rng.random() < 0.5)

    def jsonb(self, name=""):
        return quote(self.options(name)) + "::jsonb"

    def array(self, type):
        """An array of any bounds and dimensions, with and without NULLs."""
        rng = self.rng

        def element():
            if type == "text":
                return f"{quote(self.characters()[:20])}::text" if rng.random() < 0.95 else "NULL"
            return self.value_or_null(type)

        def with_bound():
            bound = rng.choice((-(2**31), -1, 0, 2, 10**9, 2**31 - 20))
            return f"array_fill({element()}, ARRAY[{rng.randint(0, 9)}], ARRAY[({bound})])"

        return choose(
            rng,
            (60, lambda: f"ARRAY[{', '.join(element() for _ in range(rng.randint(0, 12)))}]::{type}[]"),
            (8, lambda: f"'{{}}'::{type}[]"),
            (4, lambda: f"ARRAY[[{element()}, {element()}], [{element()}, {element()}]]::{type}[]"),
            (3, lambda: f"array_fill({element()}, ARRAY[{rng.randint(0, 3)}, 1, 2, 1, 1, 2])"),
            (10, with_bound),
            (10, lambda: f"array_fill({element()}, ARRAY[{self.random_length()}])"),
            (5, lambda: f"(SELECT array_agg({element()}) FROM generate_series(1, {self.random_length()}))"),
        )

    def text_array(self, name=""):
        if name == "scope" and self.rng.random() < 0.8:
            names = [quote(self.rng.choice(NAMES)) for _ in range(self.rng.randint(0, 3))]
            return f"ARRAY[{', '.join(names)}]::text[]"
        return self.array("text")

    def any_array(self, name=""):
        count = self.rng.randint(0, 5)
        special = (
            f"ARRAY(SELECT 10::numeric ^ i FROM generate_series(1, {count}) AS i)",
            f"ARRAY(SELECT point(i, 'NaN') FROM generate_series(1, {count}) AS i)",
            f"ARRAY(SELECT to_jsonb(i) FROM generate_series(1, {count}) AS i)",
            f"ARRAY(SELECT relname FROM pg_class LIMIT {count})", "'{a,b,\"\"}'::\"char\"[]", "'{t,f,NULL}'::boolean[]",
            "ARRAY['a'::cstring, ''::cstring]", "'{\"[1,2)\",empty}'::int4range[]",
            "ARRAY(SELECT proargtypes FROM pg_proc LIMIT 5)", "'{\"(1,a)\",\"(,)\"}'::hostile.composite[]",
            "'{1,2}'::hostile.positive[]", "NULL::void", "'{1,2}'", "ARRAY[ROW(1, 'a'), ROW(2, 'b')]",
        )
        if self.rng.random() < 0.5:
            return self.rng.choice(special)
        return self.array(self.rng.choice(("integer", "text", "bigint", "double precision")))

    def any_element(self, name=""):
        makers = self.text, self.integer, self.bigint, self.double, self.jsonb, self.bytea, self.any_array
        return self.rng.choice(makers)(name)

    def tsvector(self, name=""):
        rng = self.rng
        lexemes = " ".join(
            f"{''.join(rng.choices('abcdefgh', k=rng.randint(1, 9)))}:{rng.randint(1, 20000)}{rng.choice('ABCD')}"
            for _ in range(self.random_length())
        )
        longest = min(self.random_length(), 50)
        return rng.choice(
            (
                "''::tsvector",
                f"{quote(lexemes)}::tsvector",
                f"(SELECT array_to_tsvector(array_agg(repeat('x', i * 40))) FROM generate_series(1, {longest}) AS i)",
                f"setweight(to_tsvector('simple', {self.random_text()}), '{rng.choice('ABCD')}')",
            )
        )

    def bytea(self, name=""):
        return f"'\\x{self.rng.randbytes(self.random_length()).hex()}'::bytea"

    def internal(self, name=""):
        return self.rng.choice(("NULL", "NULL::internal", "'1'", "1", "''::internal", "0::oid", "'x'::bytea"))


MAKERS = {
    "text": Values.text,
    "boolean": Values.boolean,
    # pg_trigger.tgtype: 23 is BEFORE INSERT OR UPDATE FOR EACH ROW; and pg_trigger.tgenabled.
    "smallint": lambda self, name: f"'{self.rng.choice((23, 0, -1, 7, -(2**15), 2**15 - 1))}'::smallint",
    '"char"': lambda self, name: f"{quote(self.rng.choice('ODRAx'))}::\"char\"",
    "integer": Values.integer,
    "bigint": Values.bigint,
    "numeric": lambda self, name: f"{self.rng.choice(NUMERICS)!r}::numeric",
    "double precision": Values.double,
    "name": Values.identifier,
    "regclass": Values.regclass,
    "jsonb": Values.jsonb,
    "text[]": Values.text_array,
    "double precision[]": lambda self, name: self.array("double precision"),
    "bigint[]": lambda self, name: self.array("bigint"),
    "anyarray": Values.any_array,
    "anyelement": Values.any_element,
    "tsvector": Values.tsvector,
    "bytea": Values.bytea,
    "internal": Values.internal,
}
