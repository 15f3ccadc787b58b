"""The error of a guard as values, from each driver, and through each wrapper."""

import asyncio
from dataclasses import replace

import asyncpg
import database
import psycopg
from database import Document, GuardedTest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError
from texts import NEAR, NEAR_RESEMBLANCE

from pg_simhash.errors import NearDuplicate, near_duplicate

EXPECTED = NearDuplicate({"id": 1}, None, NEAR_RESEMBLANCE, "zzz_simhash_guard", "public", "documents")


class NearDuplicates(GuardedTest):
    def error_of(self, statement, *parameters):
        """The error that psycopg raises."""
        with self.assertRaises(psycopg.Error) as caught:
            self.execute(statement, *parameters)
        return caught.exception

    def test_psycopg(self):
        self.assertEqual(near_duplicate(self.error_of("INSERT INTO documents (body) VALUES (%s)", NEAR)), EXPECTED)

    def test_sqlalchemy(self):
        with self.engine.connect() as connection, self.assertRaises(IntegrityError) as caught:
            connection.execute(insert(Document).values(body=NEAR))
        self.assertEqual(near_duplicate(caught.exception), EXPECTED)

    def test_sqlalchemy_with_asyncpg(self):
        """The errors of asyncpg are wrapped twice."""

        async def use(connection):
            with self.assertRaises(IntegrityError) as caught:
                await connection.execute(insert(Document).values(body=NEAR))
            self.assertEqual(near_duplicate(caught.exception), EXPECTED)

        database.run_with_asyncpg(use)

    def test_asyncpg(self):
        async def run():
            connection = await asyncpg.connect(database=database.NAME)
            try:
                with self.assertRaises(asyncpg.ExclusionViolationError) as caught:
                    await connection.execute("INSERT INTO documents (body) VALUES ($1)", NEAR)
                self.assertEqual(near_duplicate(caught.exception), EXPECTED)
                with self.assertRaises(asyncpg.UniqueViolationError) as caught:
                    await connection.execute("INSERT INTO documents (id, body) OVERRIDING SYSTEM VALUE VALUES (1, 'x')")
                self.assertIsNone(near_duplicate(caught.exception))
            finally:
                await connection.close()

        asyncio.run(run())

    def test_what_the_user_may_not_read(self):
        """For a user who may only insert, the error has no key and no resemblance. It has the new name of the guard."""
        self.execute("DROP ROLE IF EXISTS frameworks_writer")
        self.execute("CREATE ROLE frameworks_writer")
        self.addCleanup(self.execute, "DROP ROLE frameworks_writer")
        self.addCleanup(self.execute, "DROP OWNED BY frameworks_writer")
        self.execute("GRANT USAGE ON SCHEMA public TO frameworks_writer")
        self.execute("GRANT INSERT ON documents TO frameworks_writer")
        self.execute("ALTER TRIGGER zzz_simhash_guard ON documents RENAME TO once")
        with database.connect() as connection, self.assertRaises(psycopg.Error) as caught:
            connection.execute("SET ROLE frameworks_writer")
            connection.execute("INSERT INTO documents (body) VALUES (%s)", (NEAR,))
        found = replace(EXPECTED, key={}, resemblance=None, guard="once")
        self.assertEqual(near_duplicate(caught.exception), found)

    def test_other_errors(self):
        self.execute("CREATE TABLE stay (days int4range, EXCLUDE USING gist (days WITH &&))")
        for statement in "INSERT INTO stay VALUES ('[1,3]'), ('[3,4]')", "SELECT 1/0":
            self.assertIsNone(near_duplicate(self.error_of(statement)))
        self.assertIsNone(near_duplicate(ValueError("no error of a server")))
