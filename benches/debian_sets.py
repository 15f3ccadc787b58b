"""Makes sets of documents with their true near-duplicates from the packages of two releases of Debian.

    python3 benches/debian_sets.py FOLDER [OLD NEW]     the releases are bookworm and trixie by default

Editions of one document differ between the releases as people edit. The sets are `manuals` (manual pages in several
languages), `paragraphs` (the first paragraphs of each page), `copyrights` (what packages of priority standard or above
say on their copyright) and `descriptions` (of packages). benches/dedup reads them; their form is that of
simhash/benches/quality.rs, but with the pairs of resemblance .8 or more only. An id begins with the language. Of equal
texts only one is kept.
"""

import gzip
import json
import re
import sys
import tempfile
import zlib
from pathlib import Path

from debian_packages import Apt
from resembling import SHINGLE_LENGTH, normalised, resembling_pairs

LANGUAGES = ["de", "es", "fr", "ja", "pl", "ru", "zh"]
MANUALS = ["manpages", "manpages-dev", *(f"manpages-{language}" for language in LANGUAGES)]
# The share of the pages and of the descriptions of packages that is taken: one in so many.
ONE_NAME_IN = 4
# The paragraphs at the beginning of a page that are documents of their own, and their least length.
MAX_PARAGRAPHS, MIN_PARAGRAPH_LENGTH = 4, 30
# The largest package that is downloaded for its copyright.
MAX_PACKAGE_BYTES = 2_000_000
# How the escapes of manual pages are replaced.
ESCAPE_REPLACEMENTS = [
    (r"\\f(\(..|\[[^]]*\]|.)", ""),  # fonts
    (r"\\s[-+]?\d+", ""),  # sizes
    (r"\\\*?(\(..|\[[^]]*\])", " "),  # characters and strings by name
    (r"\\[&|^/,:%c]", ""),  # of little width or none
    (r"\\[-~ 0]", lambda escape: "-" if escape[0] == r"\-" else " "),  # hyphens and spaces
    (r"\\e", r"\\"),  # backslashes
]
# Requests whose arguments are text.
TEXT_REQUESTS = set("SH SS B I BR RB BI IB IR RI SM SB Nm Nd Fl Ar Sh Ss IP".split())
# Requests that begin a paragraph.
PARAGRAPH_REQUESTS = set("SH SS PP P LP TP IP Sh Ss Pp TQ sp HP".split())


def main():
    folder = Path(sys.argv[1])
    releases = sys.argv[2:4] or ["bookworm", "trixie"]
    folder.mkdir(parents=True, exist_ok=True)
    sets = {"manuals": {}, "paragraphs": {}, "copyrights": {}, "descriptions": {}}
    for release in releases:
        with tempfile.TemporaryDirectory() as temporary:
            read_release(release, Path(temporary), sets)
    for name, documents in sets.items():
        write_set(folder, name, without_equal_texts(documents))


def read_release(release, folder, sets):
    """Adds the documents of a release to the sets."""
    apt = Apt(release, folder)
    for language, name, page in read_manuals(apt, folder / "manuals"):
        name = f"{language}/{release}/{name}"
        sets["manuals"][name] = "\n".join(page)
        long_paragraphs = [paragraph for paragraph in page if len(paragraph) >= MIN_PARAGRAPH_LENGTH]
        for number, paragraph in enumerate(long_paragraphs[:MAX_PARAGRAPHS]):
            sets["paragraphs"][f"{name}/{number}"] = paragraph
    for package, copyright in read_copyrights(apt, folder / "packages"):
        sets["copyrights"][f"en/{release}/{package}"] = copyright
    for package, description in apt.descriptions(is_taken):
        sets["descriptions"][f"en/{release}/{package}"] = description


def read_manuals(apt, folder):
    """Yields the language, the name and the paragraphs of each manual page that is taken."""
    apt.download(folder, MANUALS)
    for path in sorted((folder / "usr/share/man").rglob("*.gz")):
        if is_taken(path.name) and not path.is_symlink():
            parts = path.relative_to(folder / "usr/share/man").parts  # man1/ls.1.gz, or de/man1/ls.1.gz
            language = "en" if len(parts) == 2 else parts[0]
            yield language, path.stem, paragraphs(gzip.decompress(path.read_bytes()).decode(errors="replace"))


def read_copyrights(apt, folder):
    """Yields packages, and what they say on their copyright."""
    apt.download(folder, apt.standard_packages(MAX_PACKAGE_BYTES))
    for path in sorted((folder / "usr/share/doc").glob("*/copyright")):
        if not path.is_symlink():
            yield path.parent.name, path.read_text(errors="replace")


def is_taken(name):
    """Whether a page or a package is taken, by a hash of its name: the same ones of both releases."""
    return zlib.crc32(name.encode()) % ONE_NAME_IN == 0


def paragraphs(source):
    """The paragraphs of a manual page, without its markup."""
    finished, current = [], []
    for line in source.splitlines():
        if line.startswith((".", "'")):
            request, _, arguments = line[1:].strip().partition(" ")
            if request in PARAGRAPH_REQUESTS:
                finished.append(" ".join(current))
                current = []
            if request not in TEXT_REQUESTS:
                continue
            line = arguments.replace('"', "")
        for pattern, replacement in ESCAPE_REPLACEMENTS:
            line = re.sub(pattern, replacement, line)
        current.append(line)
    finished.append(" ".join(current))
    return [paragraph for paragraph in finished if paragraph.strip()]


def without_equal_texts(documents):
    """The documents, but of equal texts only the first, and none that is shorter than a shingle."""
    seen = {}
    for name, text in documents.items():
        if len(normalised(text)) >= SHINGLE_LENGTH:
            seen.setdefault(normalised(text), (name, text))
    return dict(seen.values())


def write_set(folder, name, documents):
    """Writes a set: its documents, and the pairs that resemble each other. Prints the number of documents."""
    with gzip.open(folder / f"{name}.jsonl.gz", "wt") as file:
        for document, text in documents.items():
            file.write(json.dumps({"id": document, "text": text}, ensure_ascii=False) + "\n")
    with gzip.open(folder / f"{name}.pairs.tsv.gz", "wt") as file:
        for one, other, resemblance in resembling_pairs(documents):
            file.write(f"{one}\t{other}\t{resemblance:.4f}\n")
    print(f"{name}: {len(documents)} documents", flush=True)


if __name__ == "__main__":
    main()
