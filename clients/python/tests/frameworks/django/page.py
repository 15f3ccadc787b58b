"""docs/frameworks/django.md as a program.

A `python` block is a file, whose name is the comment on its first line. A `sh` block has commands of manage.py. A
`pycon` block is a session, which must print what the page says. There is no block that is not run.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[5]
PAGE = ROOT / "docs/frameworks/django.md"

sys.path.append(str(ROOT / "tests/documents"))

from blocks import blocks  # noqa: E402

BLOCKS = [(kind, "".join(f"{line}\n" for line in lines)) for kind, lines in blocks(PAGE.read_text())]
