"""pg_simhash.django with real Django: first the page docs/frameworks/django.md, then the tests beside this file.

Needs the server of psql's environment (PGHOST and so on), with pg_simhash, and the packages of requirements.txt.
Arguments are names of tests (test_guards, test_guards.Skip) and options of `manage.py test`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import page
import psycopg
from psycopg import sql

HERE = Path(__file__).parent
DATABASE = "django"


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as project, psycopg.connect("dbname=postgres", autocommit=True) as server:
        for database in DATABASE, f"test_{DATABASE}":
            server.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(database)))
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
        shutil.copytree(HERE / "archive", f"{project}/archive")
        follow_page(Path(project))
        return manage(Path(project), "test", "--verbosity=1", *(arguments or [str(HERE)])).returncode


def follow_page(project: Path) -> None:
    """Writes the files of the page, and runs its commands, in their order."""
    # The application of the page, as `manage.py startapp` makes it.
    write(project / "articles/models.py", "")
    write(project / "articles/migrations/__init__.py", "")
    for kind, text in page.BLOCKS:
        if kind == "python":
            write(project / text.split("\n", 1)[0].removeprefix("# "), text)
        elif kind == "sh":
            for command in text.splitlines():
                if manage(project, *command.removeprefix("python manage.py ").split()).returncode:
                    raise SystemExit(f"{page.PAGE.name}: failed: {command}")
        elif kind != "pycon":
            raise SystemExit(f"{page.PAGE.name}: a block that the tests cannot run: {kind}")


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    (file.parent / "__init__.py").touch()
    file.write_text(text)


def manage(project: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    # The project is first: its application `archive`, which has migrations, is a copy of the one in HERE.
    path = os.pathsep.join([str(project), str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "settings",
        "PYTHONPATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run([sys.executable, "-m", "django", *arguments], env=environment, check=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
