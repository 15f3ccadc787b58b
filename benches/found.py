"""Draws what share of the copies searches find, over the look-ups of a search, from a record of the benchmark relations.

    python3 benches/found.py benches/records/2026-11-23-relations.txt docs/found.svg

Also prints the shares: those of the last column of the table in docs/accuracy.md, and of simhash/src/search/recall.rs.
"""

import math
import re
import sys

# Look-ups of a search, by its name in the record; the place of its label, right and up of the point.
EXACT = {
    "exactly 3": (4, "within 3 bits", (10, 4)),
    "exactly 6": (52, "within 6", (8, -14)),
    "exactly 8": (188, "within 8", (-14, -18)),
}
FOUR = {
    "0 0 0 0": (4, "{0,0,0,0}", (8, -14)),
    "1 0 0 0": (20, "{1,0,0,0}", (-36, 10)),
    "1 1 0 0": (36, "{1,1,0,0}", (-36, 10)),
    "1 1 1 1": (68, "{1,1,1,1}: the default", (-20, 10)),
}
THREE = {"0 0 0": (3, "{0,0,0}", (8, -12)), "1 1 1": (67, "{1,1,1}", (8, -12))}
FIVE = {"0 0 0 0 0": (5, "{0,0,0,0,0}", (-20, 10))}
LINES = [
    ("#8b949e", "everything within a distance, four blocks", EXACT),
    ("#d9730d", "radii of four blocks, within 10 bits", FOUR),
    ("#8a63d2", "radii of three blocks", THREE),
    ("#2f81f7", "radii of five blocks", FIVE),
]
# Readable on white and on GitHub's dark background.
INK = "#7d8590"
LEFT, RIGHT, TOP, BOTTOM = 60, 640, 30, 310
LOOKUPS, SHARES = (2.5, 300), (0.6, 1.0)
# Shorter texts: the texts themselves confirm few of their copies.
LEAST_FEATURES = 20


def main():
    record, svg = sys.argv[1:]
    found = shares(open(record))
    for name, share in found.items():
        print(f"{name:<12} {share:.3f}")
    with open(svg, "w") as file:
        file.write(draw(found))


def shares(record):
    """The share of the pairs with J >= .9 that each search finds, of all sets together. Of the set of short texts, only
    the classes of length from LEAST_FEATURES on count."""
    pairs, found = 0, {}
    counts, classes = [], []
    for line in record:
        if re.match(r"\S+: \d+ documents", line):
            classes = [0] if not line.startswith("paragraphs") else None
        elif line.startswith("P / R"):
            # The columns: all pairs, then by length from the shortest texts on.
            classes = classes or [1 + i for i, least in enumerate((0, LEAST_FEATURES, 50, 120)) if least >= LEAST_FEATURES]
        elif line.startswith("J >= .9"):
            counts = [int(count) for count in line[7:].split()]
            pairs += sum(counts[i] for i in classes)
        elif row := re.match(r"(exactly \d|[01 ]*[01]) +(\S+ ?/.*)", line):
            recalls = re.findall(r"/ *(\S+)", row[2])
            of_set = sum(round(counts[i] * float(recalls[i])) for i in classes if counts[i])
            found[row[1]] = found.get(row[1], 0) + of_set
    return {name: count / pairs for name, count in found.items()}


def draw(found):
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="680" height="360" viewBox="0 0 680 360"'
        ' font-family="sans-serif" font-size="12">'
    ]
    for share in (0.6, 0.7, 0.8, 0.9, 1.0):
        parts.append(line([(LEFT, up(share)), (RIGHT, up(share))], INK, 0.3))
        parts.append(text(LEFT - 8, up(share) + 4, f"{share:.1f}", INK, "end"))
    for count in (3, 5, 10, 20, 50, 100, 200):
        parts.append(text(across(count), BOTTOM + 18, str(count), INK, "middle"))
    parts.append(text((LEFT + RIGHT) / 2, BOTTOM + 38, "look-ups of a search", INK, "middle"))
    parts.append(text(LEFT - 40, TOP - 12, "share of the copies that is found, confirmed by the texts", INK, "start"))
    for index, (colour, name, points) in enumerate(LINES):
        places = [(across(count), up(found[of])) for of, (count, _, _) in points.items()]
        parts.append(line(places, colour, 1))
        for (x, y), (_, label, (right, above)) in zip(places, points.values()):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>')
            parts.append(text(x + right, y - above, label, colour, "start"))
        parts.append(text(RIGHT, BOTTOM - 16 * (len(LINES) - index), name, colour, "end"))
    return "\n".join([*parts, "</svg>\n"])


def across(count):
    least, most = map(math.log, LOOKUPS)
    return LEFT + (RIGHT - LEFT) * (math.log(count) - least) / (most - least)


def up(share):
    least, most = SHARES
    return BOTTOM - (BOTTOM - TOP) * (share - least) / (most - least)


def line(points, colour, opacity):
    coordinates = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{coordinates}" fill="none" stroke="{colour}" stroke-width="2" opacity="{opacity}"/>'


def text(x, y, what, colour, anchor):
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{what}</text>'


if __name__ == "__main__":
    main()
