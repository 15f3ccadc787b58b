"""Makes a set of HTML documents with their true near-duplicates from packages of two releases of Debian.

    python3 benches/html_sets.py FOLDER [OLD NEW]     the releases are bookworm and trixie by default

The form is that of benches/debian_sets.py. The documents are whole pages with their markup, but the resemblance of a
pair is that of the texts without it. simhash/benches/quality.rs reads the set, with and without the option `markup`.
"""

import html.parser
import sys
import tempfile
import zlib
from pathlib import Path

import debian_sets

PACKAGES = ["apache2-doc", "debian-policy", "exim4-doc-html", "git-doc", "sqlite3-doc"]
# One page in so many is taken, by a hash of its name: the same pages of both releases.
ONE_PAGE_IN = 3
# Fewest and most characters of a page. The reference in one page would take most of the time.
SIZES = range(1_000, 200_000)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    pages = {}
    for release in sys.argv[2:4] or ["bookworm", "trixie"]:
        with tempfile.TemporaryDirectory() as temporary:
            pages.update(read_release(release, Path(temporary)))
    texts = debian_sets.distinct({name: text_of(page) for name, page in pages.items()})
    debian_sets.write(folder, "pages", {name: pages[name] for name in texts}, texts)


def read_release(release, folder):
    debian_sets.Apt(release, folder).download(folder / "packages", PACKAGES)
    for path in sorted((folder / "packages/usr/share").rglob("*.htm*")):
        name = str(path.relative_to(folder / "packages/usr/share"))
        if path.is_symlink() or path.is_dir() or zlib.crc32(name.encode()) % ONE_PAGE_IN:
            continue
        page = path.read_text(errors="replace")
        if len(page) in SIZES:
            yield f"en/{release}/{name}", page


class Text(html.parser.HTMLParser):
    """The text of a page. Python's parser suffices for the pages of these packages."""

    HIDDEN = {"script", "style", "template", "noscript", "iframe"}
    INLINE = set(
        "a abbr acronym b bdi bdo big cite code dfn em font i img ins kbd label mark q s samp small span strike strong "
        "sub sup tt u var".split()
    )

    def __init__(self):
        super().__init__()
        self.parts, self.hidden = [], 0

    def handle_starttag(self, tag, attributes):
        self.hidden += tag in self.HIDDEN
        self.parts.append("" if tag in self.INLINE else "\n")

    def handle_endtag(self, tag):
        self.hidden -= tag in self.HIDDEN and self.hidden > 0
        self.parts.append("" if tag in self.INLINE else "\n")

    def handle_data(self, data):
        if not self.hidden:
            self.parts.append(data)


def text_of(page):
    text = Text()
    text.feed(page)
    text.close()
    return "".join(text.parts)


if __name__ == "__main__":
    main()
