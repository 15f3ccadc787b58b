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
from collections import defaultdict
from math import ceil
from pathlib import Path

LANGUAGES = ["de", "es", "fr", "ja", "pl", "ru", "zh"]
MANUALS = ["manpages", "manpages-dev", *(f"manpages-{language}" for language in LANGUAGES)]
# One in ONE_IN pages and descriptions of packages is taken, by a hash of its name: the same ones of both releases.
ONE_IN = 4
# The number of paragraphs at the beginning of a page that are documents of their own, and their least length.
PARAGRAPHS, PARAGRAPH = 4, 30
# Largest package, in bytes, that is downloaded for its copyright.
LARGEST = 2_000_000
RESEMBLANCE = 0.8
SHINGLE = 5


def main():
    folder = Path(sys.argv[1])
    releases = sys.argv[2:4] or ["bookworm", "trixie"]
    folder.mkdir(parents=True, exist_ok=True)
    sets = {"manuals": {}, "paragraphs": {}, "copyrights": {}, "descriptions": {}}
    for release in releases:
        with tempfile.TemporaryDirectory() as temporary:
            read_release(release, Path(temporary), sets)
    for name, documents in sets.items():
        write(folder, name, distinct(documents))


def read_release(release, folder, sets):
    apt = Apt(release, folder)
    apt.download(folder / "manuals", MANUALS)
    for path in sorted((folder / "manuals/usr/share/man").rglob("*.gz")):
        if path.is_symlink() or zlib.crc32(path.name.encode()) % ONE_IN:
            continue
        parts = path.relative_to(folder / "manuals/usr/share/man").parts
        language = "en" if len(parts) == 2 else parts[0]
        page = paragraphs(gzip.open(path, "rt", errors="replace").read())
        name = f"{language}/{release}/{path.stem}"
        sets["manuals"][name] = "\n".join(page)
        long = [paragraph for paragraph in page if len(paragraph) >= PARAGRAPH][:PARAGRAPHS]
        for number, paragraph in enumerate(long):
            sets["paragraphs"][f"{name}/{number}"] = paragraph
    apt.download(folder / "packages", apt.standard())
    for path in sorted((folder / "packages/usr/share/doc").glob("*/copyright")):
        if not path.is_symlink():
            sets["copyrights"][f"en/{release}/{path.parent.name}"] = path.read_text(errors="replace")
    for package, description in apt.descriptions():
        sets["descriptions"][f"en/{release}/{package}"] = description


class Apt:
    """The packages of a release, in a directory of their own."""

    def __init__(self, release, folder):
        mirror = os.environ.get("DEBIAN_MIRROR") or subprocess.run(
            ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Origin: Debian", "Label: Debian"],
            check=True, capture_output=True, text=True,
        ).stdout.split()[0]
        self.folder = folder
        for name in "state/lists/partial", "cache/archives/partial":
            (folder / name).mkdir(parents=True)
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
        (folder / "sources.list").write_text(f"deb [signed-by={keys}] {mirror} {release} main\n")
        options = {
            "Dir::State": folder / "state", "Dir::State::status": "/dev/null", "Dir::Cache": folder / "cache",
            "Dir::Etc::sourcelist": folder / "sources.list", "Dir::Etc::sourceparts": "-",
            "Acquire::Check-Valid-Until": "false", "APT::Sandbox::User": "root",
            "Acquire::Languages": "en",
        }
        self.options = [word for option in options.items() for word in ("-o", "{}={}".format(*option))]
        self.run("apt-get", "--quiet=2", "update")

    def run(self, command, *arguments, **options):
        return subprocess.run([command, *self.options, *arguments], check=True, **options)

    def standard(self):
        """The packages of priority standard or above."""
        listed = self.run("apt-cache", "dumpavail", capture_output=True, text=True).stdout
        packages = []
        for entry in listed.split("\n\n"):
            fields = dict(re.findall(r"^(Package|Priority|Size): (.*)$", entry, re.MULTILINE))
            if fields.get("Priority") in ("required", "important", "standard") and int(fields["Size"]) <= LARGEST:
                packages.append(fields["Package"])
        return packages

    def descriptions(self):
        """Some of the packages, one in ONE_IN, and their descriptions."""
        names = self.run("apt-cache", "pkgnames", capture_output=True, text=True).stdout.split()
        names = sorted(name for name in names if zlib.crc32(name.encode()) % ONE_IN == 0)
        shown = self.run("apt-cache", "show", "--no-all-versions", *names, capture_output=True, text=True).stdout
        for entry in shown.split("\n\n"):
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


ESCAPES = [
    (r"\\f(\(..|\[[^]]*\]|.)", ""),  # fonts
    (r"\\s[-+]?\d+", ""),  # sizes
    (r"\\\*?(\((..)|\[([^]]*)\])", " "),  # characters and strings by name
    (r"\\[&|^/,:%c]", ""),
    (r"\\[-~ 0]", lambda escape: "-" if escape[0] == r"\-" else " "),
    (r"\\e", r"\\"),
]
# Requests whose arguments are text.
TEXT = {"SH", "SS", "B", "I", "BR", "RB", "BI", "IB", "IR", "RI", "SM", "SB", "Nm", "Nd", "Fl", "Ar", "Sh", "Ss", "IP"}
# Requests that begin a paragraph.
BREAKS = {"SH", "SS", "PP", "P", "LP", "TP", "IP", "Sh", "Ss", "Pp", "TQ", "sp", "HP"}


def paragraphs(source):
    """The paragraphs of a manual page, without its markup."""
    found, current = [], []
    for line in source.splitlines():
        if line.startswith((".", "'")):
            request, _, arguments = line[1:].strip().partition(" ")
            if request in BREAKS:
                found.append(" ".join(current))
                current = []
            if request not in TEXT:
                continue
            line = arguments.replace('"', "")
        for pattern, text in ESCAPES:
            line = re.sub(pattern, text, line)
        current.append(line)
    found.append(" ".join(current))
    return [paragraph for paragraph in found if paragraph.strip()]


def normalised(text):
    return re.sub(r"\W+", " ", unicodedata.normalize("NFKC", text).casefold()).strip()


def shingles(text):
    text = normalised(text)
    return {text[start:start + SHINGLE] for start in range(len(text) - SHINGLE + 1)}


def distinct(documents):
    seen = {}
    for name, text in documents.items():
        if len(normalised(text)) >= SHINGLE:
            seen.setdefault(normalised(text), (name, text))
    return dict(seen.values())


def write(folder, name, documents):
    """Writes documents, and the pairs that resemble each other."""
    with gzip.open(folder / f"{name}.jsonl.gz", "wt") as file:
        for document, text in documents.items():
            file.write(json.dumps({"id": document, "text": text}, ensure_ascii=False) + "\n")
    with gzip.open(folder / f"{name}.pairs.tsv.gz", "wt") as file:
        for pair in resembling(documents):
            file.write("{}\t{}\t{:.4f}\n".format(*pair))
    print(f"{name}: {len(documents)} documents", flush=True)


def jaccard(a, b):
    common = len(a & b)
    return common / (len(a) + len(b) - common)


def resembling(documents):
    """Every pair whose sets of shingles resemble each other.

    Sets that resemble each other share one of their rarest shingles (Chaudhuri, Ganti, Kaushik, ICDE 2006).
    """
    shingles_of, numbers, frequency = {}, {}, []
    for name, text in documents.items():
        shingles_of[name] = own = {numbers.setdefault(shingle, len(numbers)) for shingle in shingles(text)}
        frequency += [0] * (len(numbers) - len(frequency))
        for shingle in own:
            frequency[shingle] += 1
    names_by_rare_shingle = defaultdict(list)
    for name, own in sorted(shingles_of.items(), key=lambda item: len(item[1])):
        rarest = sorted(own, key=lambda shingle: (frequency[shingle], shingle))
        rarest = rarest[:len(own) - ceil(RESEMBLANCE * len(own)) + 1]
        for other in sorted({other for shingle in rarest for other in names_by_rare_shingle[shingle]}):
            if len(shingles_of[other]) >= RESEMBLANCE * len(own):
                resemblance = jaccard(own, shingles_of[other])
                if resemblance >= RESEMBLANCE:
                    yield other, name, resemblance
        for shingle in rarest:
            names_by_rare_shingle[shingle].append(name)


if __name__ == "__main__":
    main()
