"""Two templates of one text: near-duplicates among pages of real documents that several generators have rendered.

    python3 benches/pages WORK FOLDER ...

Each FOLDER has Markdown files, and becomes a site by each template, in the folder WORK, if it is not there. Of each
document of 30 words or more, two pages by templates that are drawn at random are compared with all others, by the
Python package pg_simhash. A pair is right if it is of one document, and wrong if it is of two, unless these are near as
they were written: such pairs do not count. Licences, which are copies of each other, are left out.
"""

import random
import re
import sys
from collections import Counter
from pathlib import Path

from generators import GENERATORS, TEMPLATES
from near import near

WORDS = 30
MARKUP = {"none": {}, "html": {"markup": "html"}, "main": {"markup": "main"}}
MARKS = re.compile(r"<main\b|role=.?main\b|<article\b", re.I)


def main():
    work, folders = Path(sys.argv[1]), map(Path, sys.argv[2:])
    rng, sources, pages = random.Random(65), {}, {}
    for folder in folders:
        site = documents(folder)
        sources |= {(folder.name, name): body for name, (_, body) in site.items()}
        for template, out, wanted in render(folder.name, site, work, rng):
            pages |= {((folder.name, name), template): page for name, page in read_pages(out, wanted)}
    rendered = Counter(document for document, _ in pages)
    pages = {key: page for key, page in sorted(pages.items()) if rendered[key[0]] == 2}
    expected = set(zip(list(pages)[::2], list(pages)[1::2]))
    marking = {template for (_, template), page in pages.items() if MARKS.search(page)}
    print(f"{len(expected)} documents, {len(pages)} pages")
    found = report_by_markup(pages, sources, expected, marking)
    report_by_template(found["main"], expected, marking)


def render(folder, site, work, rng):
    """Renders each document by two templates. Yields each template, its folder, and the names of its documents."""
    chosen = {name: rng.sample(TEMPLATES, 2) for name in site}
    for template in TEMPLATES:
        generator, _, theme = template.partition(" ")
        out = work / folder / template.replace(" ", "-")
        wanted = {name for name, templates in chosen.items() if template in templates}
        try:
            if wanted and not out.exists():
                out.mkdir(parents=True)
                GENERATORS[generator](site, wanted, out, theme)
        except (ChildProcessError, FileNotFoundError) as error:
            print(f"{folder}, {template}: {error}", flush=True)
        yield template, out, wanted


def read_pages(out, wanted):
    """The names and the HTML of the documents."""
    for path in out.glob("**/*.html"):
        name = path.parent.name if path.name == "index.html" else path.stem
        if name in wanted and "license" not in name:
            yield name, path.read_text(errors="replace")


def report_by_markup(pages, sources, expected, marking):
    """Prints a line, and returns the near pairs, for each option `markup`."""
    near_sources = near({document: sources[document] for document, _ in pages})
    pairs_by_marks = [{pair for pair in expected if sum(template in marking for _, template in pair) == count}
                      for count in (2, 1, 0)]
    print(f"\n{'markup':<8}{'right':>8}{'wrong':>8}{'recall':>8}{'precision':>11}",
          "  pairs of which both, one, neither mark it")
    all_found = {}
    for markup, options in MARKUP.items():
        all_found[markup] = found = near(pages, **options)
        wrong = sum(a != b and tuple(sorted((a, b))) not in near_sources for (a, _), (b, _) in found)
        right = len(expected & found)
        print(f"{markup:<8}{right:>8}{wrong:>8}{right / len(expected):>8.3f}{right / max(right + wrong, 1):>11.3f}  ",
              *(f"{len(pairs & found):>5} of {len(pairs)}" for pairs in pairs_by_marks))
    return all_found


def report_by_template(found, expected, marking):
    print("\nby main")
    for template in TEMPLATES:
        pairs = {pair for pair in expected if template in (pair[0][1], pair[1][1])}
        if pairs:
            mark = "" if template in marking else "  does not mark its main part"
            print(f"{template:<20}{len(pairs):>5} pages {len(pairs & found) / len(pairs):.3f}{mark}")


def documents(folder):
    """The title and the Markdown of each document, by a name of its own."""
    site = {}
    for path in sorted(path for path in folder.glob("**/*.md*") if path.suffix in (".md", ".mdx")):
        text = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(), flags=re.S).strip()
        heading = re.match(r"# (.+)\n", text)
        title = re.sub(r"[^\w ]+", " ", heading[1] if heading else path.stem).strip()
        text = text[heading.end():].strip() if heading else text
        if len(text.split()) >= WORDS:
            name = re.sub(r"[^a-z0-9]+", "-", f"d{len(site)}-{title.lower()}")[:60].strip("-")
            site[name] = title, text
    return site


main()
