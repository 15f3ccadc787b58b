"""Bands and sizes in plain Python: a second implementation, written from what simhash/src/fingerprint/bands.rs says.

It computes the golden vectors of bands: `python bands.py` writes size and bands into each line of bands.jsonl. A line
has a text, perhaps options, and "bands": their number in a new line. Needs the package xxhash from PyPI. Its Unicode is
that of Python, and it knows neither the options markup and ignore nor Greek accents and Turkish letters.
"""

import json
import math
import re
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from unicodedata import category, decimal, name, normalize

from xxhash import xxh3_64_intdigest as xxh3

SPACELESS = "CJK ", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"
POINTS = [*range(0x591, 0x5C8), *range(0x610, 0x61B), 0x640, *range(0x64B, 0x660), 0x670, *range(0x6D6, 0x6EE)]
LINE_END = re.compile("[\u00ad\u2010][ \t\f]*(\r\n|\r|\n)[ \t\f]*(?![ \t\f]*[\r\n])")
CHILLUS = {
    f"{base}\u200d": letter
    for base, letter in zip(("ണ്", "ന്", "ര്", "ല്", "ള്", "ക്", "ত্"), ("ൺ", "ൻ", "ർ", "ൽ", "ൾ", "ൿ", "ৎ"))
}
LOOK_ALIKES = str.maketrans("ʻʼʽʾʿꞋꞌىیکȘșȚț", 7 * "'" + "ييكŞşŢţ")
DASHES = "\u2010\u2012\u2013\u2212-"
CURRENCIES = "$\u00a2-\u00a5\u0e3f\u20a0-\u20cf"  # in a class of a regular expression
JOINERS = ".,:/\u2044_'\u2019" + DASHES
M32, M64 = 2**32 - 1, 2**64 - 1


def normal_form(text, options):
    for sequence, letter in CHILLUS.items():
        text = text.replace(sequence, letter)
    text = LINE_END.sub("", text)
    normal = normalize("NFKC", "".join(c for c in text if category(c) != "Cf"))
    normal = normal.casefold() if options.get("case_fold", True) else normal
    return "".join(str(decimal(c, c)) for c in normal.translate(LOOK_ALIKES))


def tokens(text, options):
    """The tokens of a text, each with whether its script is written without spaces."""
    found, touching = [], False
    for c in normal_form(text, options):
        kind = category(c)[0]
        if kind == "M":
            if touching and ord(c) not in POINTS:
                found[-1][0] += c
        elif kind in "LN":
            spaceless = category(c) in ("Lo", "Lm", "Nl") and name(c).startswith(SPACELESS)
            if touching and not spaceless and not found[-1][1]:
                found[-1][0] += c
            elif ord(c) not in POINTS:
                found.append([c, spaceless])
            touching = True
        else:
            touching = False
    return found


def runs(text, options):
    """The features of each run, and whether neighbours are pairs."""
    found = tokens(text, options)
    if options.get("tokens") == "chars":
        return [shingles("".join(token for token, _ in found), options.get("ngram", 4), "")] if found else [], False
    of_runs = []
    for spaceless, run in groupby(found, key=lambda token: token[1]):
        length, joiner = (3, "") if spaceless else (1, " ")
        of_runs.append(shingles([token for token, _ in run], options.get("ngram", length), joiner))
    return of_runs, True


def shingles(tokens, length, joiner):
    return [joiner.join(tokens[at : at + length]) for at in range(max(len(tokens) - length, 0) + 1)]


def join(first, second):
    product = (first ^ 0x9E3779B97F4A7C15) * (second ^ 0xC2B2AE3D27D4EB4F)
    mixed = product & M64 ^ product >> 64 ^ (second << 32 & M64 | second >> 32)
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & M64
    return mixed ^ mixed >> 27


def compared(text, options):
    """Each feature and pair of a text: its hash, its number of occurrences, and its factor by the option weights."""
    weights = {normal_form(feature, options): weight for feature, weight in options.get("weights", {}).items()}

    def hash_of(feature):
        return xxh3(feature.encode(), seed=options.get("seed", 0))

    def id_of(feature):
        feature_bytes = feature.encode()
        return int.from_bytes(feature_bytes, "little") if len(feature_bytes) <= 8 else hash_of(feature)

    def factor_of(feature):
        billionths = Decimal(str(weights.get(feature, 1))) * 10**9
        return Fraction(math.floor(billionths + Decimal("0.5")), 10**9)

    counts = Counter()
    of_runs, has_pairs = runs(text, options)
    for run in of_runs:
        counts.update((hash_of(feature), factor_of(feature)) for feature in run)
        for first, second in zip(run, run[1:] if has_pairs else []):
            counts[join(id_of(first), id_of(second)), min(factor_of(first), factor_of(second))] += 1
    return [(hash, count, factor) for (hash, factor), count in counts.items() if factor > 0]


def weight_of(count, options):
    """The weight of a feature that occurs so many times: one occurrence weighs 256 with "log", and otherwise 1."""
    weight = options.get("weight", "set")
    return {"set": 1, "log": round(256 * (1 + math.log(count or 1))), "tf": count}[weight] if count else 0


def size(text, options):
    total = sum(factor * weight_of(count, options) for _, count, factor in compared(text, options))
    return math.ceil(total) or None


def bands(text, options, number):
    """The first bands of a text; None if it has no feature that weighs anything."""
    parts = []
    for feature, count, factor in compared(text, options):
        for n in range(1, count + 1 if options.get("weight", "set") != "set" else 2):
            weight = factor * (weight_of(n, options) - weight_of(n - 1, options)) / weight_of(1, options)
            if weight > 0:
                parts.append((feature if n == 1 else join(feature, n), math.ceil(weight * 2**32)))
    key = key_of_same(text, options)
    return [signed(band(parts, i) ^ key) for i in range(number)] if parts else None


def key_of_same(text, options):
    """What is XORed with each band by the option same."""
    same, digest = options.get("same", []), 0
    if "numbers" in same:
        groups = [group for number in numbers(normal_form(text, options)) for group in number.split(" ")]
        for group in groups:
            digest = (((digest << 5 | digest >> 59) & M64) ^ xxh3(group.encode())) * 0x9E3779B97F4A7C15 & M64
        digest ^= len(groups)
    found = [token for token, _ in tokens(text, options)]
    words = [[token for token, _ in tokens(word, options)] for word in same if word != "numbers"]
    for bit, word in enumerate(sorted(words, key=lambda word: word[::-1])):
        has = any(found[at : at + len(word)] == word for at in range(len(found)))
        digest ^= has << bit
    return digest * 0x9E3779B97F4A7C15 >> 32 & M32


def numbers(normal):
    """The numbers of a text in normal form, each in its canonical form."""
    normal = normal.replace("\u066b", ".").replace("\u066c", ",")
    kinds = "".join("D" if c in "0123456789" else "L" if category(c)[0] in "LNM" else c for c in normal)
    last = None
    line_end = r"[ \t\f]*(?:\r\n|\r|\n)[ \t\f]*"
    for number in re.finditer(f"D+(?:(?:[{JOINERS}]|[{DASHES}]{line_end})D+)*", kinds):
        before = re.search(r"(?<![DL])L*\Z", kinds[: number.start()])
        letters = normal[before.start() : number.start()] if before else ""
        at = before.start() if before else number.start()
        written = re.sub(r"\s", "", normal[number.start() : number.end()])
        if not letters and re.search(rf"(?:\A|[ \t\n\r\f(\[{{<>=~+*/±×≈≤≥{CURRENCIES}{DASHES}])[.,]\Z", normal[:at]):
            at, written = at - 1, "0." + written
        sign_at = at - bool(re.search(rf"[{CURRENCIES}]\Z", normal[:at])) - 1
        is_negative = kinds[max(sign_at, 0) : sign_at + 1] in [*DASHES] and not re.search(
            rf"[DL{DASHES}]\Z", kinds[:sign_at]
        )
        found = "-" * is_negative + letters * (not re.search("[.,]", written)) + canonical(written)
        has_word = last is not None and any(category(c)[0] in "LN" for c in normal[last:at])
        is_apart = has_word and re.match(r"\d{3}(?!\d)", found)
        yield "|" * bool(is_apart) + found
        last = number.end()


def canonical(written):
    whole, point, fraction = re.fullmatch("(.*?)(?:([.,])([0-9]+))?", written).groups()
    is_grouped = re.fullmatch(r"\d{1,3}(?:([,.'’_])\d{3})(?:\1\d{3})*", written)
    whole_is_grouped = re.fullmatch(r"\d{1,3}(?:([,.'’_])\d{3})(?:\1\d{3})*", whole)
    if is_grouped and (is_grouped[1] != "." or written.count(".") > 1):
        whole, fraction = written, None
    elif not (whole_is_grouped and point and point != whole_is_grouped[1] or whole.isdecimal()):
        return re.sub(f"[{DASHES}]", "-", written).replace("\u2044", "/")
    digits = re.sub("[^0-9]", "", whole)
    return grouped(digits) + (f".{fraction}" if fraction else "")


def grouped(digits):
    first = len(digits) % 3
    return " ".join(filter(None, [digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3))]))


def random_number(j):
    """Number j, from 0 on, of SplitMix64 from seed 0 on."""
    z = 0x9E3779B97F4A7C15 * (j + 1) & M64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & M64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & M64
    return z ^ z >> 31


def band(parts, i):
    factors = [random_number(48 * (i // 6) + r) | 1 for r in range(48)]
    minima = b"".join(minimum(parts, factors, j).to_bytes(4, "little") for j in range(i % 6 * 4, i % 6 * 4 + 4))
    return xxh3(minima) & M32


def minimum(parts, factors, j):
    """The least value of the first round in which a part stands at minimum j."""
    taking_part = [feature for feature, threshold in parts if (feature * factors[24 + j] & M64) >> 32 < threshold]
    for features in taking_part, [feature for feature, _ in parts]:
        for r, factor in enumerate(factors):
            products = {feature: feature * factor & M64 for feature in features}
            in_place = [feature for feature, product in products.items()
                        if r - 24 == j or r < 24 and (product >> 32) * 24 >> 32 == j]
            if in_place:
                return min(products[feature] & M32 ^ feature >> 32 for feature in in_place)


def signed(key):
    return key - (key >> 31 << 32)


def text_of(entry):
    if "repeat" in entry:
        piece, count = entry["repeat"]
        return piece * count
    if "numbered" in entry:
        piece, count = entry["numbered"]
        return "".join(piece.replace("{}", str(number)) for number in range(count))
    return entry["text"]


def computed(entry):
    """The entry with its size and its bands."""
    text, options, number = text_of(entry), entry.get("options", {}), entry["bands"]
    number = number if isinstance(number, int) else len(number or [0] * 6)
    return entry | {"size": size(text, options), "bands": bands(text, options, number)}


if __name__ == "__main__":
    file = Path(__file__).with_suffix(".jsonl")
    entries = [computed(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
