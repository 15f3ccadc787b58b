"""Finds pages of one document that two templates have rendered: near-duplicates in other markup.

    python3 benches/pages WORK FOLDER ...

Each FOLDER has Markdown files. Each template renders it as a site in the folder WORK, unless that has the site. Of each
document of 30 words or more, two pages by templates that are drawn at random are compared with all others, by the
Python package pg_simhash. A near pair is right if its pages are of one document. It is wrong if they are of two, unless
the Markdown of these is near: such pairs do not count. Licences, which are copies of each other, are left out.
"""

import random
import re
import sys
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import pg_simhash
from generators import GENERATORS, TEMPLATES, Job

MIN_WORDS = 30
MARKUP = {"none": {}, "html": {"markup": "html"}, "main": {"markup": "main"}}
# What marks the main part of a page in HTML.
MAIN_MARK = re.compile(r"<main\b|role=.?main\b|<article\b", re.I)


def main():
    rng = random.Random(65)
    sources = {}
    pages = {}
    for folder in map(Path, sys.argv[2:]):
        site = read_documents(folder)
        sources |= {(folder.name, name): body for name, (_, body) in site.items()}
        for template, rendered, names in render(folder.name, site, Path(sys.argv[1]), rng):
            pages |= {((folder.name, name), template): page for name, page in read_pages(rendered, names)}
    # Of the documents with both pages, the pages are next to each other.
    page_counts = Counter(document for document, _ in pages)
    pages = {key: page for key, page in sorted(pages.items()) if page_counts[key[0]] == 2}
    expected = set(zip(list(pages)[::2], list(pages)[1::2]))
    marking = {template for (_, template), page in pages.items() if MAIN_MARK.search(page)}
    print(f"{len(expected)} documents, {len(pages)} pages")
    near_by_markup = {markup: near_pairs(pages, **options) for markup, options in MARKUP.items()}
    near_sources = near_pairs({document: sources[document] for document, _ in pages})
    report_by_markup(near_by_markup, near_sources, expected, marking)
    report_by_template(near_by_markup["main"], expected, marking)


def render(site_name, site, work, rng):
    """Renders each document by two templates. Yields each template, its folder, and the names of its documents."""
    chosen = {name: rng.sample(TEMPLATES, 2) for name in site}
    for template in TEMPLATES:
        generator, _, theme = template.partition(" ")
        folder = work / site_name / template.replace(" ", "-")
        names = [name for name, templates in chosen.items() if template in templates]
        try:
            if names and not folder.exists():
                folder.mkdir(parents=True)
                GENERATORS[generator](Job(site, names, folder, theme))
        except (ChildProcessError, FileNotFoundError) as error:
            print(f"{site_name}, {template}: {error}", flush=True)
        yield template, folder, names


def read_pages(folder, names):
    """Yields the name and the HTML of each of these documents, but of no licence."""
    for path in folder.glob("**/*.html"):
        name = path.parent.name if path.name == "index.html" else path.stem
        if name in names and "license" not in name:
            yield name, path.read_text(errors="replace")


def report_by_markup(near_by_markup, near_sources, expected, marking):
    pairs_by_marks = [{pair for pair in expected if sum(template in marking for _, template in pair) == marks}
                      for marks in (2, 1, 0)]
    print(f"\n{'markup':<8}{'right':>8}{'wrong':>8}{'recall':>8}{'precision':>11}",
          "  pairs of which both, one, neither mark it")
    for markup, near_pages in near_by_markup.items():
        wrong = sum(a != b and tuple(sorted((a, b))) not in near_sources for (a, _), (b, _) in near_pages)
        right = len(expected & near_pages)
        print(f"{markup:<8}{right:>8}{wrong:>8}{right / len(expected):>8.3f}{right / max(right + wrong, 1):>11.3f}  ",
              *(f"{len(pairs & near_pages):>5} of {len(pairs)}" for pairs in pairs_by_marks))


def near_pairs(texts, **options):
    """The pairs of keys whose texts are near, each in order."""
    keys_by_band = defaultdict(set)
    for key, text in texts.items():
        for number, band in enumerate(pg_simhash.bands(text, **options) or []):
            keys_by_band[number, band].add(key)
    pairs = {pair for keys in keys_by_band.values() for pair in combinations(sorted(keys), 2)}
    return {(a, b) for a, b in pairs if pg_simhash.near(texts[a], texts[b], **options)}


def report_by_template(near_pages, expected, marking):
    print("\nby main")
    for template in TEMPLATES:
        pairs = {pair for pair in expected if template in (pair[0][1], pair[1][1])}
        if pairs:
            mark = "" if template in marking else "  does not mark its main part"
            print(f"{template:<20}{len(pairs):>5} pages {len(pairs & near_pages) / len(pairs):.3f}{mark}")


def read_documents(folder):
    """The title and the Markdown of each document, by a name of its own."""
    site = {}
    for path in sorted(path for path in folder.glob("**/*.md*") if path.suffix in (".md", ".mdx")):
        text = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(), flags=re.S).strip()
        heading = re.match(r"# (.+)\n", text)
        title = re.sub(r"[^\w ]+", " ", heading[1] if heading else path.stem).strip()
        text = text[heading.end():].strip() if heading else text
        if len(text.split()) >= MIN_WORDS:
            name = re.sub(r"[^a-z0-9]+", "-", f"d{len(site)}-{title.lower()}")[:60].strip("-")
            site[name] = title, text
    return site


if __name__ == "__main__":
    main()
