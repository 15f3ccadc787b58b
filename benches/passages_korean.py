"""Korean clues whose spaces or particles differ: how many find their text, by words and by characters.

    python3 benches/passages_korean.py FOLDER

FOLDER has the HTML of a Korean text, such as /usr/share/doc/installation-guide-amd64/ko of Debian. The texts are its
paragraphs of more than 60 Hangul syllables. A clue is a row of words of one of 400 of them, in which spaces are removed
or moved, or the particle that a word ends in is another one. A wrong find is a text that has not the
clue as it stood, of 100 clues without changes. Needs the package pg_simhash.
"""

import html
import random
import re
import sys
from pathlib import Path

import pg_simhash

TEXTS, WRONG, SYLLABLES = 400, 100, 60
PARTICLES = "은는이가을를의에로과와도"
TOKENS = "words", "chars"
SHARES = 0.8, 0.6


def main():
    pages = (path.read_text(errors="replace") for path in sorted(Path(sys.argv[1]).glob("*.html")))
    found = (" ".join(html.unescape(re.sub("<.*?>", "", part, flags=re.S)).split())
             for page in pages for part in re.findall(r"<p>(.*?)</p>", page, re.S))
    texts = list(dict.fromkeys(text for text in found if len(re.findall("[가-힣]", text)) > SYLLABLES))
    print(f"{len(texts)} texts of {sum(len(text.encode()) for text in texts) // len(texts)} bytes; passages of a text:",
          *(f"{tokens} {sum(len(pg_simhash.passages(text, tokens=tokens)) for text in texts) / len(texts):.1f}"
            for tokens in TOKENS))
    print(f"\n{'clue':<42}", *(f"{tokens} {share}" for tokens in TOKENS for share in SHARES))
    for count in 8, 12, 20:
        rng = random.Random(7)
        long = [text for text in texts if len(text.split()) >= count]
        clues = []
        for text in rng.sample(long, min(TEXTS, len(long))):
            words = text.split()
            start = rng.randrange(len(words) - count + 1)
            clues.append((text, words[start : start + count]))
        for name, change in CHANGES.items():
            changed = [(text, change(list(words), rng)) for text, words in clues]
            show(f"{count} words, {name}", [sum(finds(text, clue, tokens, share) for text, clue in changed) / len(clues)
                                            for tokens in TOKENS for share in SHARES])
        whole = [" ".join(words) for _, words in clues[:WRONG]]
        show(f"{count} words, wrong", [sum(finds(text, clue, tokens, share) for clue in whole for text in texts
                                          if clue not in text) for tokens in TOKENS for share in SHARES])


def show(name, figures):
    print(f"{name:<42}", *(f"{figure:>9.2f}" if isinstance(figure, float) else f"{figure:>9}" for figure in figures),
          flush=True)


def finds(text, clue, tokens, share):
    return pg_simhash.contains(text, clue, share, tokens=tokens)


def without_spaces(words, rng):
    """Every third space is gone."""
    return "".join(word + " " * (number % 3 != 1) for number, word in enumerate(words)).strip()


def moved_spaces(words, rng):
    """The last letter of every third word is in the next one."""
    for number in range(0, len(words) - 1, 3):
        if len(words[number]) > 1:
            words[number], words[number + 1] = words[number][:-1], words[number][-1] + words[number + 1]
    return " ".join(words)


def other_particles(step):
    def change(words, rng):
        ending = [number for number, word in enumerate(words) if len(word) > 1 and word[-1] in PARTICLES]
        for number in ending[::step]:
            words[number] = words[number][:-1] + rng.choice(PARTICLES.replace(words[number][-1], ""))
        return " ".join(words)
    return change


CHANGES = {
    "unchanged": lambda words, rng: " ".join(words), "every third space gone": without_spaces,
    "a space moved in every third": moved_spaces, "every second particle": other_particles(2),
    "each particle": other_particles(1),
}

main()
