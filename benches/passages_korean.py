"""Korean clues whose spaces or particles differ: how many find their text, by words and by characters.

    python3 benches/passages_korean.py FOLDER

FOLDER has the HTML of a Korean text, such as /usr/share/doc/installation-guide-amd64/ko of Debian. The texts are its
paragraphs of more than 60 Hangul syllables. A clue is some words in a row of one of 400 of them, in which spaces are
removed or moved, or the particle that a word ends in is another one. A find is wrong if the text does not contain the
clue: wrong finds are counted for 100 unchanged clues. Needs the package pg_simhash.
"""

import html
import random
import re
import sys
from functools import partial
from pathlib import Path

import pg_simhash

MAX_CLUES, MAX_UNCHANGED_CLUES, MIN_SYLLABLES = 400, 100, 60
PARTICLES = "은는이가을를의에로과와도"
TOKENS = "words", "chars"
# The tokens, and the least share of a clue, by which it is looked for.
SEARCHES = [(tokens, least_share) for tokens in TOKENS for least_share in (0.8, 0.6)]


def main():
    texts = read_texts(Path(sys.argv[1]))
    print(f"{len(texts)} texts of {sum(len(text.encode()) for text in texts) // len(texts)} bytes; passages of a text:",
          *(f"{tokens} {sum(len(pg_simhash.passages(text, tokens=tokens)) for text in texts) / len(texts):.1f}"
            for tokens in TOKENS))
    print(f"\n{'clue':<42}", *(f"{tokens} {least_share}" for tokens, least_share in SEARCHES))
    for length in 8, 12, 20:
        report_clues(length, texts)


def read_texts(folder):
    pages = (path.read_text(errors="replace") for path in sorted(folder.glob("*.html")))
    paragraphs = (" ".join(html.unescape(re.sub("<.*?>", "", part, flags=re.S)).split())
                  for page in pages for part in re.findall(r"<p>(.*?)</p>", page, re.S))
    return list(dict.fromkeys(text for text in paragraphs if len(re.findall("[가-힣]", text)) > MIN_SYLLABLES))


def report_clues(length, texts):
    rng = random.Random(7)
    clues = draw_clues(length, texts, rng)
    for label, change in CHANGES.items():
        changed = [(text, change(list(words), rng)) for text, words in clues]
        print_row(f"{length} words, {label}", [f"{share_found(changed, *search):.2f}" for search in SEARCHES])
    unchanged = [" ".join(words) for _, words in clues[:MAX_UNCHANGED_CLUES]]
    print_row(f"{length} words, wrong", [wrong_finds(unchanged, texts, *search) for search in SEARCHES])


def draw_clues(length, texts, rng):
    """Some of the texts that are long enough, each with some of its words in a row."""
    long_texts = [text for text in texts if len(text.split()) >= length]
    clues = []
    for text in rng.sample(long_texts, min(MAX_CLUES, len(long_texts))):
        words = text.split()
        start = rng.randrange(len(words) - length + 1)
        clues.append((text, words[start : start + length]))
    return clues


def share_found(clues, tokens, least_share):
    return sum(pg_simhash.contains(text, clue, least_share, tokens=tokens) for text, clue in clues) / len(clues)


def wrong_finds(clues, texts, tokens, least_share):
    return sum(pg_simhash.contains(text, clue, least_share, tokens=tokens)
               for clue in clues for text in texts if clue not in text)


def print_row(label, figures):
    print(f"{label:<42}", *(f"{figure:>9}" for figure in figures), flush=True)


def remove_spaces(words, rng):
    """Removes every third space."""
    return "".join(word + " " * (index % 3 != 1) for index, word in enumerate(words)).strip()


def move_spaces(words, rng):
    """Moves the last letter of every third word to the next one."""
    for index in range(0, len(words) - 1, 3):
        if len(words[index]) > 1:
            words[index], words[index + 1] = words[index][:-1], words[index][-1] + words[index + 1]
    return " ".join(words)


def replace_particles(words, rng, step):
    """Replaces each particle if `step` is 1, every second one if it is 2."""
    with_particle = [index for index, word in enumerate(words) if len(word) > 1 and word[-1] in PARTICLES]
    for index in with_particle[::step]:
        words[index] = words[index][:-1] + rng.choice(PARTICLES.replace(words[index][-1], ""))
    return " ".join(words)


CHANGES = {
    "unchanged": lambda words, rng: " ".join(words),
    "every third space gone": remove_spaces,
    "a space moved in every third": move_spaces,
    "every second particle": partial(replace_particles, step=2),
    "each particle": partial(replace_particles, step=1),
}

if __name__ == "__main__":
    main()
