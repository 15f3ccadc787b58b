"""Tables for the tests of the report, in a schema of their own, and the command.

Needs the server of psql's environment (PGHOST and so on), with pg_simhash.
"""

import random
import subprocess
import sys
import unittest

import psycopg


class WithDatabase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.connection = psycopg.connect(autocommit=True)
        cls.addClassCleanup(cls.connection.close)
        cls.sql("SET client_min_messages = warning")
        cls.sql("CREATE EXTENSION IF NOT EXISTS pg_simhash")
        cls.sql("DROP SCHEMA IF EXISTS report CASCADE")
        cls.sql("CREATE SCHEMA report")
        cls.sql("SET search_path = report, public")
        cls.addClassCleanup(cls.sql, "DROP SCHEMA report CASCADE")

    @classmethod
    def sql(cls, statement, *parameters):
        return cls.connection.execute(statement, parameters or None)

    @classmethod
    def create_table(cls, name, texts, columns="id integer PRIMARY KEY, body text", **index):
        """Creates a table with these texts, and indexes on their bands; `index` has arguments of simhash_index."""
        cls.sql(f"CREATE TABLE report.{name} ({columns})")
        with cls.connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO report.{name} (id, body) VALUES (%s, %s)", enumerate(texts, 1))
        arguments = "".join(f", {argument} => {value}" for argument, value in index.items())
        cls.sql(f"SELECT simhash_index(%s, 'body'{arguments})", f"report.{name}")

    def report(self, table, *arguments, column="body", database="", fails=False):
        """Runs the command, and returns what it writes: the page, or the error."""
        command = [sys.executable, "-m", "pg_simhash", "report", database, table, column, *arguments]
        run = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        self.assertEqual(run.returncode, 1 if fails else 0, run.stderr)
        self.progress = run.stderr
        self.assertNotIn("Traceback", run.stderr)
        if fails:
            self.assertEqual(run.stdout, "")
            return run.stderr
        return run.stdout


def variants(originals, max_changed):
    """Texts of 60 words, each followed by up to 3 variants, in which at most max_changed words are replaced."""
    rng = random.Random(1)
    texts = []
    for number in range(originals):
        words = [f"{number}w{rng.randrange(10**9)}" for _ in range(60)]
        texts.append(" ".join(words))
        for _ in range(rng.randrange(4)):
            changed = list(words)
            for _ in range(rng.randrange(max_changed + 1)):
                changed[rng.randrange(60)] = f"x{rng.randrange(10**9)}"
            texts.append(" ".join(changed))
    return texts
