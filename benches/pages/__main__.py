"""Two templates of one text: near-duplicates among pages of real documents that several generators have rendered.

    python3 benches/pages WORK FOLDER ...

Each FOLDER has Markdown files, and becomes a site by each template, in the folder WORK, if it is not there. Of each
document of 30 words or more, two pages by templates that are drawn at random are compared with all others, by the
Python package pg_simhash (PYTHONPATH=benches). A pair is right if it is of one document, and wrong if it is of two,
unless these are near as they were written: such pairs do not count. Licences, which are copies of each other, are left
out.
"""

import random
import re
import subprocess
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
        chosen = {name: rng.sample(TEMPLATES, 2) for name in site}
        for template in TEMPLATES:
            generator, _, theme = template.partition(" ")
            out = work / folder.name / template.replace(" ", "-")
            wanted = {name for name, templates in chosen.items() if template in templates}
            try:
                if wanted and not out.exists():
                    out.mkdir(parents=True)
                    GENERATORS[generator](site, wanted, out, theme)
            except (subprocess.CalledProcessError, FileNotFoundError) as error:
                print(f"{folder.name}: {template} ended with {error}", flush=True)
            for page in out.glob("**/*.html"):
                name = page.parent.name if page.name == "index.html" else page.stem
                if name in wanted and "license" not in name:
                    pages[(folder.name, name), template] = page.read_text(errors="replace")
        sources |= {(folder.name, name): body for name, (_, body) in site.items()}
    rendered = Counter(document for document, _ in pages)
    pages = {key: page for key, page in sorted(pages.items()) if rendered[key[0]] == 2}
    ours = set(zip(list(pages)[::2], list(pages)[1::2]))
    same = near({document: sources[document] for document, _ in pages})
    marked = {template for (_, template), page in pages.items() if MARKS.search(page)}
    print(f"{len(ours)} documents, {len(pages)} pages")
    print(f"\n{'markup':<8}{'right':>8}{'wrong':>8}{'recall':>8}{'precision':>11}",
          "  pairs of which both, one, neither mark it")
    for markup, options in MARKUP.items():
        found = near(pages, **options)
        wrong = sum(a[0] != b[0] and tuple(sorted((a[0], b[0]))) not in same for a, b in found)
        right = len(ours & found)
        of = [{pair for pair in ours if sum(page[1] in marked for page in pair) == count} for count in (2, 1, 0)]
        print(f"{markup:<8}{right:>8}{wrong:>8}{right / len(ours):>8.3f}{right / max(right + wrong, 1):>11.3f}  ",
              *(f"{len(pairs & found):>5} of {len(pairs)}" for pairs in of))
    print("\nby main")
    for template in TEMPLATES:
        pairs = {pair for pair in ours if template in (pair[0][1], pair[1][1])}
        if pairs:
            mark = "" if template in marked else "  does not mark its main part"
            print(f"{template:<20}{len(pairs):>5} pages {len(pairs & found) / len(pairs):.3f}{mark}")


def documents(folder):
    """The title and the Markdown of each document, by a name of its own."""
    found = {}
    for path in sorted(path for path in folder.glob("**/*.md*") if path.suffix in (".md", ".mdx")):
        text = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(), flags=re.S).strip()
        heading = re.match(r"# (.+)\n", text)
        title = re.sub(r"[^\w ]+", " ", heading[1] if heading else path.stem).strip()
        text = text[heading.end():].strip() if heading else text
        if len(text.split()) >= WORDS:
            name = re.sub(r"[^a-z0-9]+", "-", f"d{len(found)}-{title.lower()}")[:60].strip("-")
            found[name] = title, text
    return found


main()
