"""docs/frameworks/django.md as a program.

A `python` block is a file, whose name is the comment on its first line. A `sh` block has commands of manage.py. A
`pycon` block is a session, which must print what the page says. There is no block that is not run.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[5] / "docs/frameworks/django.md"


class Block(NamedTuple):
    line: int
    kind: str
    text: str

    @property
    def file(self) -> str:
        """The name of the file that a python block is."""
        return self.text.split("\n", 1)[0].removeprefix("# ")

    @property
    def commands(self) -> Iterator[list[str]]:
        """The arguments of manage.py in a sh block."""
        for line in self.text.splitlines():
            python, manage, *arguments = line.split()
            if (python, manage) != ("python", "manage.py"):
                raise ValueError(f"{PAGE.name}:{self.line}: not a command of manage.py: {line}")
            yield arguments


def blocks(page: Path = PAGE) -> list[Block]:
    """The code blocks of the page."""
    found = []
    kind, start, lines = None, 0, []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            if kind is None:
                kind, start, lines = line[3:], number + 1, []
                continue
            block = Block(start, kind, "".join(f"{line}\n" for line in lines))
            known = kind in ("sh", "pycon") or kind == "python" and re.fullmatch(r"[\w/]+\.py", block.file)
            if not known:
                raise ValueError(f"{page.name}:{start}: a block that the tests cannot run: {kind}")
            found.append(block)
            kind = None
        elif kind is not None:
            lines.append(line)
    return found
