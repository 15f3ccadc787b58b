"""Writes the code of Markdown files into files, so that tests run what the pages show.

    python3 tests/documents/blocks.py DIRECTORY DOCUMENT...

A block whose first line is a comment with a path (`// pg/search.js`, `# models/doc.rb`) becomes the file of this path
in DIRECTORY. A path that occurs twice is an error, and so is a document without such a block.
"""

import pathlib
import re
import sys

NAME = re.compile(r"(?://|#|--) (\S+\.\w+)$")


def blocks(text, section=None):
    """The language and the lines of each block of the text or, if one is named, of a section of the second level."""
    inside = section is None
    language = None
    for line in text.splitlines():
        if language is None:
            if section and line.startswith("## "):
                inside = line == f"## {section}"
            elif inside and line.startswith("```"):
                language, block = line.removeprefix("```"), []
        elif line == "```":
            yield language, block
            language = None
        else:
            block.append(line)


def main():
    directory, *documents = sys.argv[1:]
    written = set()
    for document in documents:
        for _, lines in blocks(pathlib.Path(document).read_text(encoding="utf-8")):
            found = NAME.match(lines[0]) if lines else None
            if not found:
                continue
            if found[1] in written:
                sys.exit(f"{document} has {found[1]}, which is there already")
            written.add(found[1])
            file = pathlib.Path(directory, found[1])
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        if not written:
            sys.exit(f"{document} has no code with a path")


if __name__ == "__main__":
    main()
