"""Writes the code of a section of a Markdown file into files, so that tests run what the page shows.

    python3 tests/documents/blocks.py DOCUMENT SECTION DIRECTORY

SECTION is a heading of the second level. A block whose first line is a comment with a path (`// pg/search.js`,
`# models/doc.rb`) becomes the file of this path in DIRECTORY. A path that occurs twice is an error, and so is a section
without such a block.
"""

import pathlib
import re
import sys

NAME = re.compile(r"(?://|#|--) (\S+\.\w+)$")


def blocks(text, section):
    """The language and the lines of each block of the section."""
    inside = False
    language = None
    for line in text.splitlines():
        if language is None:
            if line.startswith("## "):
                inside = line == f"## {section}"
            elif inside and line.startswith("```"):
                language, block = line.removeprefix("```"), []
        elif line == "```":
            yield language, block
            language = None
        else:
            block.append(line)


def named_blocks(text, section):
    """The path and the lines of each block of the section that has a path."""
    for _, block in blocks(text, section):
        found = NAME.match(block[0]) if block else None
        if found:
            yield found[1], block


def main():
    document, section, directory = sys.argv[1:]
    written = set()
    for path, lines in named_blocks(pathlib.Path(document).read_text(encoding="utf-8"), section):
        if path in written:
            sys.exit(f"{document} has {path} twice in the section {section}")
        written.add(path)
        file = pathlib.Path(directory, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if not written:
        sys.exit(f"{document} has no named code in a section {section}")


if __name__ == "__main__":
    main()
