"""Makes sets of documents with their true near-duplicates from the packages of two releases of Debian.

    python3 benches/debian_sets.py FOLDER [OLD NEW]     the releases are bookworm and trixie by default

Editions of one document differ between the releases as people edit. The sets are `manuals` (manual pages in several
languages), `paragraphs` (the first paragraphs of each page), `copyrights` (what packages of priority standard or above
say on their copyright) and `descriptions` (of packages). benches/dedup reads them; their form is that of
simhash/benches/quality.rs, but with the pairs of resemblance .8 or more only. An id begins with the language. Of equal
texts only one is kept.

apt downloads the packages from the machine's mirror, or from DEBIAN_MIRROR.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import unicodedata
import zlib
from collections import Counter, defaultdict
from itertools import chain
from math import ceil
from pathlib import Path

LANGUAGES = ["de", "es", "fr", "ja", "pl", "ru", "zh"]
MANUALS = ["manpages", "manpages-dev", *(f"manpages-{language}" for language in LANGUAGES)]
# One in NAMES_PER_SAMPLE pages and descriptions of packages is taken.
NAMES_PER_SAMPLE = 4
# The paragraphs at the beginning of a page that are documents of their own, and their least length.
MAX_PARAGRAPHS, MIN_PARAGRAPH_LENGTH = 4, 30
# The largest package that is downloaded for its copyright.
MAX_PACKAGE_BYTES = 2_000_000
MIN_RESEMBLANCE = 0.8
SHINGLE_LENGTH = 5
# How the escapes of manual pages are replaced.
ESCAPE_REPLACEMENTS = [
    (r"\\f(\(..|\[[^]]*\]|.)", ""),  # fonts
    (r"\\s[-+]?\d+", ""),  # sizes
    (r"\\\*?(\((..)|\[([^]]*)\])", " "),  # characters and strings by name
    (r"\\[&|^/,:%c]", ""),
    (r"\\[-~ 0]", lambda escape: "-" if escape[0] == r"\-" else " "),
    (r"\\e", r"\\"),
]
# Requests whose arguments are text.
TEXT_REQUESTS = {"SH", "SS", "B", "I", "BR", "RB", "BI", "IB", "IR", "RI", "SM", "SB", "Nm", "Nd", "Fl", "Ar", "Sh",
                 "Ss", "IP"}
# Requests that begin a paragraph.
PARAGRAPH_REQUESTS = {"SH", "SS", "PP", "P", "LP", "TP", "IP", "Sh", "Ss", "Pp", "TQ", "sp", "HP"}


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
    apt = Apt(release, folder)
    apt.download(folder / "manuals", MANUALS)
    for path in sorted((folder / "manuals/usr/share/man").rglob("*.gz")):
        if path.is_symlink() or not is_taken(path.name):
            continue
        parts = path.relative_to(folder / "manuals/usr/share/man").parts
        language = "en" if len(parts) == 2 else parts[0]
        page = paragraphs(gzip.open(path, "rt", errors="replace").read())
        name = f"{language}/{release}/{path.stem}"
        sets["manuals"][name] = "\n".join(page)
        long_paragraphs = [paragraph for paragraph in page if len(paragraph) >= MIN_PARAGRAPH_LENGTH]
        for number, paragraph in enumerate(long_paragraphs[:MAX_PARAGRAPHS]):
            sets["paragraphs"][f"{name}/{number}"] = paragraph
    apt.download(folder / "packages", apt.standard_packages())
    for path in sorted((folder / "packages/usr/share/doc").glob("*/copyright")):
        if not path.is_symlink():
            sets["copyrights"][f"en/{release}/{path.parent.name}"] = path.read_text(errors="replace")
    for package, description in apt.descriptions():
        sets["descriptions"][f"en/{release}/{package}"] = description


def is_taken(name):
    """Whether a page or a package is taken, by a hash of its name: the same ones of both releases."""
    return zlib.crc32(name.encode()) % NAMES_PER_SAMPLE == 0


class Apt:
    """The packages of a release, in a directory of their own."""

    def __init__(self, release, folder):
        mirror = os.environ.get("DEBIAN_MIRROR") or subprocess.run(
            ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Origin: Debian", "Label: Debian"],
            check=True, capture_output=True, text=True,
        ).stdout.split()[0]
        for name in "state/lists/partial", "cache/archives/partial":
            (folder / name).mkdir(parents=True)
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
        (folder / "sources.list").write_text(f"deb [signed-by={keys}] {mirror} {release} main\n")
        options = (
            f"Dir::State={folder}/state", "Dir::State::status=/dev/null", f"Dir::Cache={folder}/cache",
            f"Dir::Etc::sourcelist={folder}/sources.list", "Dir::Etc::sourceparts=-",
            "Acquire::Check-Valid-Until=false", "Acquire::Languages=en", "APT::Sandbox::User=root",
        )
        self.options = [f"--option={option}" for option in options]
        self.run("apt-get", "--quiet=2", "update")

    def run(self, command, *arguments, **options):
        return subprocess.run([command, *self.options, *arguments], check=True, **options)

    def ask_cache(self, *arguments):
        """What apt-cache prints."""
        return self.run("apt-cache", *arguments, capture_output=True, text=True).stdout

    def standard_packages(self):
        """The packages of priority standard or above."""
        packages = []
        for entry in self.ask_cache("dumpavail").split("\n\n"):
            fields = dict(re.findall(r"^(Package|Priority|Size): (.*)$", entry, re.MULTILINE))
            is_standard = fields.get("Priority") in ("required", "important", "standard")
            if is_standard and int(fields["Size"]) <= MAX_PACKAGE_BYTES:
                packages.append(fields["Package"])
        return packages

    def descriptions(self):
        """The packages that are taken, and their descriptions."""
        names = sorted(filter(is_taken, self.ask_cache("pkgnames").split()))
        for entry in self.ask_cache("show", "--no-all-versions", *names).split("\n\n"):
            package = re.search(r"^Package: (.*)$", entry, re.MULTILINE)
            description = re.search(r"^Description-en: (.*(\n .*)*)", entry, re.MULTILINE)
            if package and description:
                yield package[1], re.sub(r"\n \.?", "\n", description[1])

    def download(self, folder, packages):
        """Downloads packages, and unpacks them into a folder."""
        folder.mkdir()
        self.run("apt-get", "--quiet=2", "download", *packages, cwd=folder)
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
            package.unlink()


def paragraphs(source):
    """The paragraphs of a manual page, without its markup."""
    found, current = [], []
    for line in source.splitlines():
        if line.startswith((".", "'")):
            request, _, arguments = line[1:].strip().partition(" ")
            if request in PARAGRAPH_REQUESTS:
                found.append(" ".join(current))
                current = []
            if request not in TEXT_REQUESTS:
                continue
            line = arguments.replace('"', "")
        for pattern, replacement in ESCAPE_REPLACEMENTS:
            line = re.sub(pattern, replacement, line)
        current.append(line)
    found.append(" ".join(current))
    return [paragraph for paragraph in found if paragraph.strip()]


def normalised(text):
    return re.sub(r"\W+", " ", unicodedata.normalize("NFKC", text).casefold()).strip()


def shingles(text):
    text = normalised(text)
    return {text[start:start + SHINGLE_LENGTH] for start in range(len(text) - SHINGLE_LENGTH + 1)}


def without_equal_texts(documents):
    """The documents, but of equal texts only the first, and none that is shorter than a shingle."""
    seen = {}
    for name, text in documents.items():
        if len(normalised(text)) >= SHINGLE_LENGTH:
            seen.setdefault(normalised(text), (name, text))
    return dict(seen.values())


def write_set(folder, name, documents):
    """Writes documents, and the pairs that resemble each other."""
    with gzip.open(folder / f"{name}.jsonl.gz", "wt") as file:
        for document, text in documents.items():
            file.write(json.dumps({"id": document, "text": text}, ensure_ascii=False) + "\n")
    with gzip.open(folder / f"{name}.pairs.tsv.gz", "wt") as file:
        for pair in resembling_pairs(documents):
            file.write("{}\t{}\t{:.4f}\n".format(*pair))
    print(f"{name}: {len(documents)} documents", flush=True)


def jaccard(one, other):
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def resembling_pairs(documents):
    """Every pair whose sets of shingles resemble each other.

    Sets that resemble each other share one of their rarest shingles (Chaudhuri, Ganti, Kaushik, ICDE 2006).
    """
    # Equal shingles are one object, to save memory.
    known = {}
    shingles_of = {name: {known.setdefault(shingle, shingle) for shingle in shingles(text)}
                   for name, text in documents.items()}
    frequencies = Counter(chain.from_iterable(shingles_of.values()))
    names_by_rare_shingle = defaultdict(list)
    for name, own in sorted(shingles_of.items(), key=lambda item: len(item[1])):
        rarest = sorted(own, key=lambda shingle: (frequencies[shingle], shingle))
        rarest = rarest[:len(own) - ceil(MIN_RESEMBLANCE * len(own)) + 1]
        for other in sorted({other for shingle in rarest for other in names_by_rare_shingle[shingle]}):
            if len(shingles_of[other]) >= MIN_RESEMBLANCE * len(own):
                resemblance = jaccard(own, shingles_of[other])
                if resemblance >= MIN_RESEMBLANCE:
                    yield other, name, resemblance
        for shingle in rarest:
            names_by_rare_shingle[shingle].append(name)


if __name__ == "__main__":
    main()
