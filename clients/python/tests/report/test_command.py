"""The command: what it counts, what it needs, and its errors."""

import html
import json
import re
import subprocess
import sys

import psycopg
from database import WithDatabase, variants
from psycopg.conninfo import make_conninfo

from pg_simhash.report import sample, summary, table
from pg_simhash.report.command import argument_parser

RAISES = "LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$"


class Counts(WithDatabase):
    """The counts are those of simhash_preview, which looks up rows as guards do."""

    def check(self, name, *arguments):
        given = argument_parser().parse_args(["", f"report.{name}", "body", *arguments])
        with psycopg.connect() as connection:
            found = table.read_table(connection, given)
            result = summary.summarize(sample.look_up_rows(found, 100_000), found.criterion["resemblance"])
        duplicates, others, rows = self.sql(
            """
            SELECT coalesce(sum(rows) FILTER (WHERE duplicate), 0),
                coalesce(sum(rows) FILTER (WHERE NOT duplicate AND resemblance IS NOT NULL), 0), sum(rows)
            FROM simhash_preview(%s, %s, %s, %s, sample => 100000)
            """,
            f"report.{name}",
            json.dumps(found.criterion),
            [column.name for column in found.scope],
            found.among,
        ).fetchone()
        counts = len(result.duplicates), len(result.others), result.rows
        self.assertEqual(counts, (duplicates, others, rows))
        return found.criterion, result

    def test_as_preview(self):
        """The counts are the same also if a text has more copies than are read."""
        texts = variants(300, 14)
        self.create_table("docs", texts + [texts[0]] * 60)
        for criterion in (
            "{}",
            '{"resemblance": 0.95}',
            '{"resemblance": 0.7, "bands": 6}',
            '{"resemblance": 0.4, "bands": 3}',
        ):
            with self.subTest(criterion=criterion):
                _, result = self.check("docs", "--criterion", criterion)
                self.assertGreater(len(result.duplicates), 110)

    def test_guard(self):
        """The limits and the scope of the table's guard, also on partitions."""
        self.sql(
            "CREATE TABLE report.parted (tenant integer DEFAULT 1, id integer, body text) PARTITION BY LIST (tenant)"
        )
        self.sql("CREATE TABLE report.parted_1 PARTITION OF report.parted FOR VALUES IN (1)")
        self.sql("CREATE TABLE report.parted_2 PARTITION OF report.parted FOR VALUES IN (2)")
        self.sql("ALTER TABLE report.parted ADD PRIMARY KEY (tenant, id)")
        for id, text in enumerate(variants(100, 14)):
            self.sql("INSERT INTO report.parted VALUES (%s, %s, %s)", 1 + id % 2, id, text)
        self.sql("SELECT simhash_index('parted', 'body', scope => '{tenant}')")
        self.sql("SELECT simhash_guard('parted', 'skip', %s, '{tenant}')", '{"bands": 5, "resemblance": 0.8}')
        criterion, result = self.check("parted")
        self.assertEqual(criterion, {"bands": 5, "resemblance": 0.8})
        self.assertGreater(len(result.duplicates), 0)
        page = html.unescape(self.report("report.parted"))
        self.assertIn("With the limits of the table's guard", page)
        self.assertIn("among the rows with the same tenant", page)

    def test_criterion_beside_guard(self):
        """A given criterion stands in place of that of the guard. The server says what follows from it."""
        self.create_table("guarded", variants(100, 14))
        self.sql("SELECT simhash_guard('guarded', criterion => %s)", '{"resemblance": 0.8, "bands": 5}')
        given = "--criterion", '{"resemblance": 0.9}'
        for arguments, expected in ([], {"resemblance": 0.8, "bands": 5}), (given, {"resemblance": 0.9, "bands": 6}):
            self.assertEqual(self.check("guarded", *arguments)[0], expected)
        page = self.report("report.guarded", *given)
        self.assertIn("With the limits that were asked for", page)
        self.assertNotIn("SELECT simhash_guard", page)

    def test_options(self):
        """Texts are compared with the options of the guard, or with those that are given, as the preview does."""
        texts = variants(200, 6)
        texts += [f"{text} 17" for text in texts] + [f"{text} 18" for text in texts]
        self.create_table("numbered", texts)
        _, plain = self.check("numbered")
        self.sql("SELECT simhash_guard('numbered', criterion => %s)", '{"same": ["numbers"]}')
        _, guarded = self.check("numbered")
        self.assertTrue(0 < len(guarded.duplicates) < len(plain.duplicates))
        page = self.report("report.numbered")
        self.assertIn("by the options <code>{&#34;same&#34;: [&#34;numbers&#34;]}</code>", page)

    def test_among(self):
        """Only earlier rows for which a given condition holds count. The class Rights tests those of guards."""
        columns = "id integer PRIMARY KEY, body text, note text DEFAULT 'it''s new'"
        self.create_table("windowed", variants(200, 14) + ["late news"] * 3, columns)
        self.sql("UPDATE report.windowed SET note = 'draft' WHERE id % 3 = 0 OR body = 'late news'")
        everything = self.check("windowed")
        for among, least in ("note = 'it''s new' AND id % 5 <> 0 -- ok", 0), ("note = 'draft' -- or not", 2):
            _, result = self.check("windowed", "--among", among)
            self.assertTrue(least <= len(result.duplicates) < len(everything[1].duplicates))
        self.sql("SELECT simhash_guard('windowed', 'skip', among => 'id > 5')")
        self.assertEqual(self.check("windowed", "--among", "true"), everything)

    def test_commands(self):
        """The page's commands delete the duplicates of rows that stay, and mark others, or keep them out."""
        texts = variants(100, 14)
        columns = 'id integer, "order" text DEFAULT 1, body text, PRIMARY KEY ("order", id)'
        self.create_table('"to clean"', texts, columns)
        self.sql("CREATE TABLE report.unnamed (id integer, body text) PARTITION BY HASH (id)")
        for part in 0, 1:
            values = f"WITH (MODULUS 2, REMAINDER {part})"
            self.sql(f"CREATE TABLE report.unnamed_{part} PARTITION OF report.unnamed FOR VALUES {values}")
        self.sql('INSERT INTO report.unnamed SELECT id, body FROM report."to clean"')
        self.sql("SELECT simhash_index('unnamed', 'body')")
        for name, *arguments in (
            ['report."to clean"'],
            ["report.unnamed", "--criterion", '{"resemblance": 0.9}'],
            ['report."to clean"', "--scope", "order"],
        ):
            with self.subTest(name=name, arguments=arguments), self.connection.transaction(force_rollback=True):
                page = html.unescape(self.report(name, *arguments))
                clean_up, guard = re.findall("<pre>(.*?)</pre>", page, re.DOTALL)
                self.sql(f"CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT body FROM {name}")
                deleted = self.sql(clean_up).rowcount
                self.assertGreater(deleted, 0)
                # All that is left fits beside itself: the guard lets a copy of the table in.
                self.sql(f"DELETE FROM {name}")
                self.sql("ALTER TABLE kept ADD id serial")
                self.sql(guard.replace("'reject'", "'skip'"))
                self.sql(f"INSERT INTO {name} (id, body) SELECT id, body FROM kept ORDER BY id")
                unmarked = "" if name == "report.unnamed" else "WHERE copy_of IS NULL"
                (left,) = self.sql(f"SELECT count(*) FROM {name} {unmarked}").fetchone()
                self.assertEqual(left, len(texts) - deleted)

    def test_no_scope(self):
        """Rows without a value of the scope are near none, and stay."""
        self.create_table("scoped", ["a text"] * 4, "id integer PRIMARY KEY, body text, tenant integer")
        self.sql("UPDATE report.scoped SET tenant = 1 WHERE id > 2")
        page = html.unescape(self.report("report.scoped", "--scope", "tenant"))
        self.assertIn("duplicates of an earlier row: 1", page)
        self.assertEqual(self.sql(re.search("<pre>(DELETE.*?)</pre>", page, re.DOTALL)[1]).rowcount, 1)

    def test_sample(self):
        """The report looks up as many rows as asked for, of a table that is not read whole."""
        self.create_table("many", [f"word{number} a b c" for number in range(20_000)] + [None] * 20_000)
        self.sql("ANALYZE report.many")
        page = self.report("report.many", "--sample", "500")
        self.assertRegex(page, r"500 of about (19|20|21),\d\d\d rows with a text were looked up")
        # What the sample says about the table, and how well: none of 500 is up to 0.8 % of it.
        self.assertRegex(page, r"an earlier row: 0 of the sample, about 0 \(0 to 1[456]\d\) of the table\.")
        self.assertIn("Ranges for the table are 95 % confidence intervals", page)
        self.assertRegex(self.progress, "^looked up 200 rows\n(.*\n)*looked up 500 rows; writing the page\n$")


class Contents(WithDatabase):
    def words(self, number, count=60):
        return [f"{number}w{place}" for place in range(count)]

    def test_guard(self):
        """The page shows all arguments of the guard. Rows that the guard let in on purpose are in no DELETE."""
        texts = [" ".join(self.words(1)), " ".join([*self.words(1), "once", "more"])]
        for number, (arguments, parts) in enumerate(
            (
                ("'reject', unless => 'id > 1'", {"action": "reject", "unless": "(id &gt; 1)"}),
                ("'skip', among => 'id > 0'", {"action": "skip", "among": "(id &gt; 0)"}),
                ("'mark', mark_column => 'copy_of'", {"action": "mark", "mark_column": "copy_of"}),
                ("'reject', scope => '{id}'", {"action": "reject", "scope": "id"}),
            )
        ):
            with self.subTest(arguments):
                name = f"kept{number}"
                self.create_table(name, texts, "id integer PRIMARY KEY, body text, copy_of integer")
                self.sql(f"SELECT simhash_guard('report.{name}', {arguments})")
                page = self.report(f"report.{name}")
                found = dict(re.findall("<dt>(.*?)</dt><dd><code>(.*?)</code></dd>", page))
                criterion = html.escape('{"bands": 6, "resemblance": 0.84}', quote=True)
                self.assertEqual(found, {"criterion": criterion.replace("&quot;", "&#34;"), **parts})
                self.assertNotIn("SELECT simhash_guard", page)
                self.assertEqual("DELETE FROM" in page, "scope" in parts)

    def test_order(self):
        """Which row is earlier: a given column decides. If a random key decides, the page says so."""
        name = "report.unordered"
        self.sql(
            f"CREATE TABLE {name} AS SELECT md5(n::text)::uuid AS id, 'one text' AS body,"
            " now() - n * interval '1 day' AS created, n AS number FROM generate_series(1, 5) AS n"
        )
        self.sql(f"ALTER TABLE {name} ADD PRIMARY KEY (id)")
        self.sql(f"SELECT simhash_index('{name}', 'body')")
        self.assertIn("UUIDs may be random", self.report(name, "--label", "number"))
        for arguments, first in ((["--order", "created"], 5), (["--order", "number"], 1)):
            with self.subTest(arguments), self.connection.transaction(force_rollback=True):
                page = html.unescape(self.report(name, "--label", "number", *arguments))
                self.assertNotIn("UUID", page)
                self.assertIn(f'first row <span class="key">{first}</span>', page)
                self.sql(re.search("<pre>(DELETE.*?)</pre>", page, re.DOTALL)[1])
                self.assertEqual(self.sql(f"SELECT number FROM {name}").fetchall(), [(first,)])

    def test_inheritance(self):
        """Rows of several tables have the same primary key; only one of them is deleted."""
        self.create_table("parent", ["one text of several words", "another of other words"])
        self.sql("CREATE TABLE report.child () INHERITS (report.parent)")
        self.sql("INSERT INTO report.child SELECT id + 1, upper(body) FROM report.parent WHERE id = 1")
        self.sql(re.search("<pre>(DELETE.*?)</pre>", html.unescape(self.report("report.parent")), re.DOTALL)[1])
        self.assertEqual(self.sql("SELECT tableoid::regclass::text FROM report.parent").fetchall(), 2 * [("parent",)])

    def test_html(self):
        """Texts are shown without their tags."""
        texts = []
        for number in range(4):
            words = " ".join(self.words(number))
            for changed in "one", "two":
                texts.append(
                    f"<html><head><title>t</title><style>p {{}}</style></head><body><div class='page x'>{'<br>' * 999}"
                    f"<h1>Title &amp; {changed}</h1><p class=\"a>b\" data-x='<'>{words}</p><script>1 < 2</script>"
                )
        self.create_table("pages", texts, options="""'{"markup": "html"}'""")
        page = self.report("report.pages")
        bodies = [html.unescape(body) for body in re.findall('<p class="body" dir="auto">(.*?)</p>', page)]
        self.assertEqual(len(bodies), 8)
        for body in bodies:
            self.assertRegex(body, "^t Title & <mark>(one|two)</mark> [0-3]w0 ")
            self.assertNotRegex(re.sub("</?mark>", "", body), "[<>]|class|script")
        # By options without markup, the page says what suits.
        has_tags = "Most texts shown below have tags"
        self.assertNotIn(has_tags, page)
        self.create_table("tagged", texts)
        self.assertIn(has_tags, self.report("report.tagged"))
        # With "main", only what the pages are about.
        pages = [f"<nav>menu of {n}</nav><main><p>{' '.join(self.words(n // 2))}</p></main>" for n in range(4)]
        self.create_table("mains", pages, options="""'{"markup": "main"}'""")
        bodies = re.findall('<p class="body" dir="auto">(.*?)</p>', self.report("report.mains"))
        self.assertEqual([body[:7] for body in sorted(bodies)], ["0w0 0w1"] * 2 + ["1w0 1w1"] * 2)

    def test_groups(self):
        """The largest groups come first. The page says whether they are copies of one text, or rows of a template."""
        words = {number: self.words(number) for number in range(4)}
        texts = [" ".join(words[0])] * 5
        texts += [" ".join([*words[1][:30], f"Name{n}", *words[1][30:]]) for n in range(4)]
        texts += [" ".join(words[2])] * 2 + [" ".join([*words[2], "more"])]
        texts += [" ".join(words[3])] * 2
        self.create_table("grouped", [*texts, "?!"])
        page = self.report("report.grouped")
        # All rows were read, though not all have a word.
        self.assertNotIn("of the sample, about", page)
        groups = re.findall('<article class="group">(.*?)</article>', page, re.DOTALL)
        said = [re.search("<b>(.*?)</b>: (.*?)</p>", group).groups() for group in groups]
        copies, edited = "the same words in all that were compared", "copies of which some are edited"
        template = "perhaps a template: in the same place, each has words of its own"
        self.assertEqual(said, [("5 rows", copies), ("4 rows", template), ("3 rows", edited)])
        marks = [sorted(re.findall("<mark>(.*?)</mark>", group)) for group in groups]
        self.assertEqual(marks, [[], ["Name0", "Name1", "Name2", "Name3"], ["more"]])


class Indexes(WithDatabase):
    """Which bands are indexed, and by which options."""

    def test_options(self):
        """If several options are indexed, the report takes those with the most bands."""
        name = "report.several"
        self.sql(f"CREATE TABLE {name} (body text)")
        weights = """{"weights": {"it's": 0.5, "\\\\": 0}}"""
        for options, bands in ('{"ngram": 2}', 3), ("{}", 4), ('{"ngram": 2}', 6), (weights, 9):
            self.sql("SELECT simhash_index(%s, 'body', %s, bands => %s)", name, options, bands)
            with psycopg.connect() as connection:
                found = table.read_table(connection, argument_parser().parse_args(["", name, "body"]))
            self.assertEqual(found.options(), json.loads("{}" if bands == 4 else options))

    def test_names(self):
        """The names of the table, its column and the extension's schema may have a %."""
        self.sql('CREATE TABLE report."a% b" (id integer PRIMARY KEY, "text%" text)')
        self.sql("""INSERT INTO report."a% b" SELECT id, 'one two three' FROM generate_series(1, 3) AS id""")
        self.sql("""SELECT simhash_index('report."a% b"', '"text%"')""")
        self.sql('CREATE SCHEMA "%s"')
        self.addCleanup(self.sql, 'DROP SCHEMA "%s"')
        self.sql('ALTER EXTENSION pg_simhash SET SCHEMA "%s"')
        self.addCleanup(self.sql, "ALTER EXTENSION pg_simhash SET SCHEMA public")
        self.assertIn("duplicates of an earlier row: 2", self.report('report."a% b"', column="text%"))

    def test_names_in_queries(self):
        """The column has a name that is also in the queries of the report."""
        for name in "content", "is_near", "place", "resemblance":
            with self.subTest(name=name):
                table_name = f"report.named_{name}"
                self.sql(f"CREATE TABLE {table_name} AS SELECT 'one two three' AS {name} FROM generate_series(1, 3)")
                self.sql("SELECT simhash_index(%s, %s)", table_name, name)
                self.assertIn("duplicates of an earlier row: 2", self.report(table_name, column=name))


class Errors(WithDatabase):
    def test_usage(self):
        """Asked for, the usage of the package is output. Without a command, it is an error."""
        for arguments, status in (["--help"], 0), (["-h"], 0), ([], 2), (["nope"], 2):
            with self.subTest(arguments=arguments):
                command = [sys.executable, "-m", "pg_simhash", *arguments]
                run = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
                output, empty = (run.stdout, run.stderr) if status == 0 else (run.stderr, run.stdout)
                self.assertEqual((run.returncode, empty), (status, ""))
                self.assertTrue(output.startswith("usage: python -m pg_simhash report DATABASE TABLE COLUMN"), output)

    def test_without_packages(self):
        """The packages of the extra are needed for the page, and not for --help."""
        without = (
            "import sys; sys.modules['jinja2'] = None; from pg_simhash.__main__ import main;"
            " sys.exit(main(sys.argv[1:]))"
        )
        for arguments, status, expected in (
            (["--help"], 0, "usage: python -m pg_simhash report"),
            (["", "docs", "body"], 1, "error: the report needs the package jinja2\nhint: install pg_simhash with"),
        ):
            command = [sys.executable, "-c", without, "report", *arguments]
            run = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
            self.assertEqual((run.returncode, (run.stdout + run.stderr)[: len(expected)]), (status, expected))

    def test_errors(self):
        self.create_table("docs", ["a text"], columns="id integer PRIMARY KEY, body text, terms tsvector, other text")
        self.sql('CREATE TABLE report.plain ("the text" text)')
        self.sql("CREATE TABLE report.titled (title text, body text)")
        self.sql("SELECT simhash_index('titled', 'title || body')")
        # Options that were never read.
        self.sql("CREATE TABLE report.nested (body text)")
        self.sql(f"CREATE INDEX ON report.nested (simhash_band(body, 0, '{'[' * 1000}{']' * 1000}'::jsonb))")
        no_index = 'no index of table report.{} has bands of column "{}"\nhint: '
        for name, column, arguments, error in (
            ("none", "body", [], 'table "report.none" does not exist\nhint: Name a table as in SQL'),
            ("plain", "the text", [], no_index.format("plain", "the text") + "Make them first: SELECT simhash_index("),
            ("docs", "other", [], no_index.format("docs", "other") + "There are bands of body: name a column of it."),
            ("titled", "body", [], no_index.format("titled", "body") + "There are bands of (title || body): name "),
            (
                "nested",
                "body",
                [],
                "the options of the indexes of table report.nested cannot be read\nhint: Drop these",
            ),
            ("docs", "nope", [], 'column "nope" of table report.docs does not exist\nhint: It has: id, body, terms, '),
            ("docs", "body", ["--order", "nope"], 'column "nope" of table report.docs does not exist\nhint: It has: '),
            ("docs", "terms", [], 'column "terms" is of type tsvector\nhint: The report compares texts.'),
            ("docs", "body", ["--among", "nope"], 'column "nope" does not exist'),
            (
                "docs",
                "body",
                ["--criterion", '{"radius": 1}'],
                'unknown key "radius" of a criterion\nhint: The keys of ',
            ),
            (
                "docs",
                "body",
                ["--criterion", '{"resemblance": null}'],
                'invalid value for key "resemblance" of a criterion: null\nhint: It must be a number above 0 ',
            ),
            ("docs\udcff", "body", [], "an argument is no text: "),
        ):
            with self.subTest(error):
                found = self.report(f"report.{name}", *arguments, column=column, fails=True)
                self.assertTrue(found.startswith(f"error: {error}"), found)
        found = self.report("docs", database="dbname=template1", fails=True)
        self.assertIn("error: this database does not have the extension pg_simhash\nhint: Create it: ", found)

    def test_foreign_rows(self):
        """The rows of a program have no ctid."""
        self.sql("CREATE TABLE report.split (id integer, body text) PARTITION BY LIST (id)")
        self.sql("CREATE TABLE report.part PARTITION OF report.split FOR VALUES IN (1)")
        self.sql("INSERT INTO report.split VALUES (1, 'one two three')")
        self.sql("SELECT simhash_index('split', 'body')")
        self.sql("CREATE EXTENSION file_fdw")
        self.sql("CREATE SERVER programs FOREIGN DATA WRAPPER file_fdw")
        self.sql(
            "CREATE FOREIGN TABLE report.output PARTITION OF report.split FOR VALUES IN (2) SERVER programs"
            " OPTIONS (program 'yes 2,one two three | head -n 2', format 'csv')"
        )
        error = "error: table report.split has foreign rows, which have no ctid\nhint: Name a partition "
        self.assertIn(error, self.report("report.split", fails=True))


class Rights(WithDatabase):
    def setUp(self):
        self.sql("DROP ROLE IF EXISTS report_reader")
        self.sql("CREATE ROLE report_reader LOGIN")
        self.addCleanup(self.sql, "DROP ROLE report_reader")
        self.addCleanup(self.sql, "DROP OWNED BY report_reader CASCADE")
        self.create_table("docs", ["one two three"] * 5)
        self.addCleanup(self.sql, "DROP TABLE report.docs")
        self.sql("GRANT USAGE, CREATE ON SCHEMA report TO report_reader")

    def report_as_reader(self, *arguments, fails=False):
        return self.report("report.docs", *arguments, database=make_conninfo(user="report_reader"), fails=fails)

    def assertDuplicates(self, page, share, rows):
        self.assertIn(f"<b>{share} %</b> of the rows are duplicates of an earlier row: {rows}", page)

    def guard_by_hand(self, name, arguments):
        self.sql(
            f"CREATE TRIGGER {name} BEFORE INSERT OR UPDATE ON report.docs"
            f" FOR EACH ROW EXECUTE FUNCTION simhash_dedup({arguments})"
        )

    def test_select(self):
        """SELECT suffices, and is needed."""
        self.assertEqual(
            self.report_as_reader(fails=True),
            "error: permission denied for table docs\n"
            "hint: The report needs SELECT on the table: rights on some of its columns do not suffice.\n",
        )
        self.sql("GRANT SELECT ON report.docs TO report_reader")
        self.assertDuplicates(self.report_as_reader(), "80.0", 4)

    def test_row_security(self):
        """Nobody sees more than their rows."""
        self.sql("GRANT SELECT ON report.docs TO report_reader")
        self.sql("ALTER TABLE report.docs ENABLE ROW LEVEL SECURITY")
        self.sql("CREATE POLICY two ON report.docs TO report_reader USING (id <= 2)")
        self.assertDuplicates(self.report_as_reader(), "50.0", 1)

    def test_condition_of_another_user(self):
        """The conditions of a guard may call code of others: they are shown, not run, and in no command."""
        self.sql("GRANT SELECT ON report.docs TO report_reader")
        counts = "CREATE OR REPLACE FUNCTION report.counts(integer) RETURNS boolean STABLE LANGUAGE plpgsql AS "
        self.sql(counts + "$$ BEGIN RETURN true; END $$")
        self.addCleanup(self.sql, "DROP FUNCTION report.counts CASCADE")
        conditions = "'report.counts(id) AND id > 2', '', 'id = 7'"
        self.guard_by_hand("zzz_simhash_guard", f"'skip', '{{}}', 'body', '', '', {conditions}")
        self.sql(counts + "$$ BEGIN RAISE 'called'; END $$")
        page = self.report_as_reader()
        self.assertIn("<dt>among</dt><dd><code>report.counts(id) AND id &gt; 2</code></dd>", page)
        self.assertIn("<dt>unless</dt><dd><code>id = 7</code></dd>", page)
        self.assertDuplicates(page, "80.0", 4)
        self.assertNotIn("<pre>", page)
        self.assertDuplicates(self.report_as_reader("--among", "id > 2"), "40.0", 2)
        # Nor does it run for the owner: somebody else may have written the function.
        self.assertDuplicates(self.report("report.docs"), "80.0", 4)

    def test_code_of_the_owner(self):
        """A superuser who looks at somebody's table runs no code of the table's owner: casts, views, types."""
        with psycopg.connect(user="report_reader", autocommit=True) as owner:
            owner.execute("SET search_path = report, public")
            owner.execute("CREATE TYPE kind AS ENUM ('k1', 'k2')")
            owner.execute("CREATE TYPE pair AS (a integer, b text)")
            # The operators on enums are none on this domain.
            owner.execute("CREATE DOMAIN level AS kind")
            for data_type in "kind", "pair", "level":
                if data_type != "level":
                    owner.execute(f"CREATE FUNCTION as_text({data_type}) RETURNS text {RAISES}")
                    owner.execute(f"CREATE CAST ({data_type} AS text) WITH FUNCTION as_text({data_type}) AS IMPLICIT")
                # The name of the key is one that the report might give to something.
                owner.execute(f'CREATE TABLE of_{data_type} (r {data_type} PRIMARY KEY, "at%" timestamp, body text)')
                owner.execute(f"SELECT simhash_index('of_{data_type}', 'body')")
            rows = "'4000-01-01 BC', 'one two' FROM generate_series(1, 2) AS n"
            for data_type, value in (
                ("kind", "('k' || n)::kind"),
                ("level", "('k' || n)::kind"),
                ("pair", "(n, 'x')::pair"),
            ):
                owner.execute(f"INSERT INTO of_{data_type} SELECT {value}, {rows}")
            owner.execute(f"CREATE FUNCTION of_view() RETURNS bigint {RAISES}")
            owner.execute("CREATE VIEW viewed AS SELECT body, of_view() AS other FROM of_kind")
        for data_type in "kind", "pair", "level":
            name = f"report.of_{data_type}"
            self.assertIn("are duplicates of an earlier row: 1", self.report(name))
            labels = "--label", "at%", "--label", "r"
            page = self.report(name, *labels, "--criterion", '{"resemblance": 0.01, "bands": 6}')
            self.assertIn("4000-01-01 00:00:00 BC, ", page)
            self.assertIn("are duplicates of an earlier row: 0", self.report(name, "--scope", "r"))
        self.assertIn('error: table "report.viewed" does not exist\n', self.report("report.viewed", fails=True))

    def test_code_of_another_user(self):
        """The owner does not run code of somebody who may create triggers either."""
        with psycopg.connect(user="report_reader") as reader:
            reader.execute(f"CREATE FUNCTION report.mine() RETURNS boolean STABLE {RAISES}")
        self.guard_by_hand("zzz_simhash_guard", "'reject', '{}', 'body', '', '', 'report.mine()'")
        page = self.report("report.docs")
        self.assertIn("<dt>among</dt><dd><code>report.mine()</code></dd>", page)
        self.assertIn("It cannot decide about rows: cannot use function report.mine() in among.", page)
        self.sql("DROP TRIGGER zzz_simhash_guard ON report.docs")
        self.guard_by_hand("aaa", "'skip', 'x', 'body'")
        self.assertEqual(
            self.report("report.docs", fails=True),
            'error: guard "aaa" cannot be read: the criterion cannot be read\n'
            "hint: Drop this trigger, or create it anew.\n",
        )

    def test_search_path(self):
        """Nothing of the search path is called that others have made for the database."""
        self.sql("CREATE SCHEMA hostile")
        self.addCleanup(self.sql, "DROP SCHEMA hostile CASCADE")
        self.sql(f"CREATE FUNCTION hostile.quote_ident(name) RETURNS text {RAISES}")
        self.sql(f"CREATE FUNCTION hostile.to_regclass(text) RETURNS regclass {RAISES}")
        self.sql(f"CREATE FUNCTION hostile.equal(oid, regclass) RETURNS boolean {RAISES}")
        self.sql("CREATE OPERATOR hostile.= (FUNCTION = hostile.equal, LEFTARG = oid, RIGHTARG = regclass)")
        path = make_conninfo(options="-c search_path=hostile,pg_catalog,public")
        self.assertIn("duplicates of an earlier row: 4", self.report("report.docs", database=path))

    def test_terminal(self):
        """Names of others do not control the terminal."""
        self.sql('ALTER TABLE report.docs ADD "\x1b[31m" text')
        self.assertIn("It has: id, body, \ufffd[31m.", self.report("report.docs", column="nope", fails=True))

    def test_read_only(self):
        """Code that a query calls cannot write."""
        self.sql("GRANT SELECT ON report.docs TO report_reader")
        self.sql("ALTER TABLE report.docs ENABLE ROW LEVEL SECURITY")
        self.sql("CREATE TABLE report.written (at timestamptz)")
        self.addCleanup(self.sql, "DROP TABLE report.written")
        self.sql(
            "CREATE FUNCTION report.writes() RETURNS boolean SECURITY DEFINER LANGUAGE plpgsql"
            " AS $$ BEGIN INSERT INTO report.written VALUES (now()); RETURN true; END $$"
        )
        self.addCleanup(self.sql, "DROP FUNCTION report.writes CASCADE")
        self.sql("CREATE POLICY writes ON report.docs TO report_reader USING (report.writes())")
        self.assertEqual(self.report_as_reader(fails=True), "error: cannot execute INSERT in a read-only transaction\n")
