"""The package is typed, and so is code that uses it."""

import subprocess
import sys
import unittest
from pathlib import Path


class Types(unittest.TestCase):
    def check(self, *arguments):
        # What mypy knows of SQLAlchemy stays in the environment that has SQLAlchemy.
        cache = str(Path(sys.prefix) / "mypy")
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *arguments]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)

    def test_package(self):
        self.check("-m", "pg_simhash.errors", "-m", "pg_simhash.sqlalchemy", "-m", "pg_simhash.alembic")

    def test_use(self):
        self.check(str(Path(__file__).parent / "typed_use.py"))
