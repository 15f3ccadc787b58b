"""SQLAlchemy with psycopg and asyncpg, and Alembic, with pg_simhash.

Needs the server of psql's environment (PGHOST and so on), with pg_simhash, and the packages of requirements.txt and
pg_simhash. The tests make a database of their own, and empty it for each test. Arguments select tests, as those of
`python -m unittest` do: `test_guard`, `test_guard.Skip.test_add`.
"""

import sys
import unittest
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))  # texts.py is there.

import database  # noqa: E402


def load_tests(names):
    if names:
        return unittest.defaultTestLoader.loadTestsFromNames(names)
    return unittest.defaultTestLoader.discover(str(HERE))


if __name__ == "__main__":
    # A warning of SQLAlchemy, Alembic or a driver is a failure; each test begins with these filters.
    warnings.simplefilter("error")
    database.create()
    try:
        result = unittest.TextTestRunner(warnings=None).run(load_tests(sys.argv[1:]))
    finally:
        database.drop()
    sys.exit(not (result.testsRun and result.wasSuccessful()))
