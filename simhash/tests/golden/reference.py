"""Reference implementation of the pg_simhash text fingerprint.

Written from the definition (docs/accuracy.md) and not from the Rust code, to
be read and judged by eye: it is obvious rather than fast.

    python reference.py check FILE    (golden.jsonl or blocks.jsonl)
    python reference.py write FILE    (prints its lines with their results)

A line of a file has what is computed from, such as a text and options, and the
results. To add a case, add a line without results, and write the file.

Needs Python 3.11 or later and the packages of requirements.txt.

Words of a dictionary ("tokens": "dictionary") are not found here: a line has
them in "words", for each stretch of letters without spaces, as ICU4X found
them. simhash/tests/golden.rs compares them with ICU4X.

Markup ("markup": "html") is taken away by html5lib, which builds the tree of a
document. The Rust code builds none, so golden documents nest their elements
right, except where the standard lets an end tag be omitted.

A line with "wide": N also gets the fingerprint of N words, and one with
"with": TEXT the resemblance of both texts, the containment of the first in the
second, and their difference. One with "passages" gets the passages of the
text, and those with both the coverage of the second by the first.

Unicode versions: normalisation, case folding and the check below use Python
3.11's own tables, which are of Unicode 14. The package `regex` has newer
tables for scripts and categories. Golden texts therefore use only characters
that were assigned in Unicode 14 or before (Unicode's stability policy keeps
their normalisation and case folding for ever), and whose general category is
the same in both tables. `check_characters` refuses every other text. Use
Python 3.11 to `write`, since a later one accepts later characters.
"""

import collections
import decimal
import functools
import itertools
import json
import pathlib
import sys
import unicodedata

import html5lib
import regex
import xxhash

UNICODE_VERSION = "14.0.0"

# ---------------------------------------------------------------- characters

MARK = "mark"
WORD = "word"            # builds words: letters and numbers
SPACELESS = "spaceless"  # a token of its own, as in Chinese
SEPARATOR = "separator"

IS_MARK = regex.compile(r"\p{M}")
IS_DIGIT = regex.compile(r"\p{Nd}")
IS_LETTER_OR_NUMBER = regex.compile(r"[\p{L}\p{N}]")
# U+30FC is a prolonged sound mark, which is written among kana.
IS_SPACELESS = regex.compile(
    r"(?=[\p{L}\p{Nl}])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}"
    r"\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u30FC]"
)


@functools.cache
def kind_of(character):
    if IS_MARK.fullmatch(character):
        return MARK
    if IS_SPACELESS.fullmatch(character):
        return SPACELESS
    return WORD if IS_LETTER_OR_NUMBER.fullmatch(character) else SEPARATOR


def check_characters(name, text):
    """Refuses characters that PostgreSQL cannot hold, or that are not the same in both tables."""
    if unicodedata.unidata_version < UNICODE_VERSION:
        raise SystemExit(f"needs Python 3.11 or later, this one has Unicode {unicodedata.unidata_version}")
    # Check the text, and what normalising and folding make of it.
    for character in sorted(set(text) | set(normalise(text, True)) | set(normalise(text, False))):
        category = unicodedata.category(character)
        if character == "\0" or category in ("Cs", "Cn") or not regex.fullmatch(r"\p{%s}" % category, character):
            raise SystemExit(f"{name}: U+{ord(character):04X}, of category {category}, is not allowed")


# --------------------------------------------------------------- fingerprint

# Nobody sees these characters: soft hyphens, joiners, marks of direction.
INVISIBLE = regex.compile(r"\p{Default_Ignorable_Code_Point}")
# Writing may leave these out: Arabic and Hebrew points, and what stretches the connection of two letters.
OPTIONAL = regex.compile(r"""
    (?=\p{Mn}) (?: \p{Script=Arabic} | \p{Script=Hebrew} | (?=\p{Script=Inherited}) \p{Script_Extensions=Arabic} )
    | \p{Joining_Type=Join_Causing}
""", regex.VERBOSE)
# Letters with marks that may be left out: of Greek in capitals, of all three by the option `ignore`.
IS_GREEK = regex.compile(r"(?=\p{L})\p{Script=Greek}")
IS_ALPHABETIC = regex.compile(r"(?=\p{L})[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]")


@functools.cache
def greek_marks():
    """The marks in canonical decompositions of Greek letters."""
    greek = [chr(code) for code in range(0x370, 0x2000) if IS_GREEK.fullmatch(chr(code))]
    return {mark for letter in greek for mark in unicodedata.normalize("NFD", letter)[1:]}


def without_marks(text, is_letter, is_left_out):
    """The text without marks that directly follow a letter, or are part of it."""
    kept, after_letter = "", False
    for character in text:
        if after_letter and IS_MARK.fullmatch(character) and is_left_out(character):
            continue
        after_letter = bool(is_letter.fullmatch(character))
        kept += unicodedata.normalize("NFD", character)[0] if after_letter else character
    return kept


def normalise(text, case_fold):
    """The normal form of a text. str.casefold is Unicode full case folding (C + F)."""
    text = unicodedata.normalize("NFKC", INVISIBLE.sub("", text))
    if case_fold:
        text = without_marks(text.casefold(), IS_GREEK, greek_marks().__contains__)
    text = OPTIONAL.sub("", text)
    if case_fold:
        # The four letters i of Turkish are one.
        text = regex.sub("i\u0307+", "i", text.replace("\u0131", "i"))
    return text


URL = regex.compile(r"""
    (?: [A-Za-z] [A-Za-z0-9+.-]* :// | (?<![A-Za-z0-9]) [Ww]{3}\. ) [A-Za-z0-9._~:/?\#\[\]@!$&'()*+,;=%-]*
""", regex.VERBOSE)


def without_ignored(text, ignored):
    """A text in normal form without what the option `ignore` names."""
    if "accents" in ignored:
        text = without_marks(text, IS_ALPHABETIC, lambda mark: True)
    if "urls" in ignored:
        text = URL.sub(" ", text)
    if "numbers" in ignored:
        text = "".join(" " if IS_DIGIT.search(piece) else piece for piece in pieces_of(text))
    return text


def pieces_of(text):
    """Words and numbers, and what stands between them, in turn; a letter without spaces is no word."""
    pieces = [""]
    for character in text:
        kind = kind_of(character)
        is_word = kind == WORD or kind == MARK and len(pieces) % 2 == 0
        if is_word != (len(pieces) % 2 == 0):
            pieces.append("")
        pieces[-1] += character
    return pieces


def tokenize(text):
    """The tokens of a text: a list of [kind, string, touches], with the kind WORD or SPACELESS.

    `touches` says whether nothing stands between the token and the one before it.
    """
    tokens = []
    # Does the character before the current one belong to the last token?
    adjacent = False
    for character in text:
        kind = kind_of(character)
        if kind == SEPARATOR:
            adjacent = False
        elif kind == MARK:
            if adjacent:
                tokens[-1][1] += character
            # else: it belongs to no token and is dropped
        elif kind == WORD and adjacent and tokens[-1][0] == WORD:
            tokens[-1][1] += character
        else:
            tokens.append([kind, character, adjacent])
            adjacent = True
    return tokens


def every_n(run, n, joiner):
    """Every n consecutive elements, joined; a shorter run is joined as a whole."""
    if len(run) < n:
        return [joiner.join(run)]
    return [joiner.join(run[i:i + n]) for i in range(len(run) - n + 1)]


def dictionary_words(run, words):
    """The words of a run of spaceless tokens. ICU4X found them; `words` has them for each stretch."""
    stretches = []
    for _, string, touches in run:
        if touches and stretches:
            stretches[-1] += string
        else:
            stretches.append(string)
    known = {"".join(stretch): stretch for stretch in words}
    missing = [stretch for stretch in stretches if stretch not in known]
    if missing:
        raise SystemExit(f"no words are stored for {ascii(missing)}")
    return [word for stretch in stretches for word in known[stretch]]


# Elements whose content is not shown.
HIDDEN = set("script style template noscript iframe noembed noframes".split())
# Elements whose tags separate words: br, those that are not inline by the
# style sheet of the HTML standard (section 15.3), and text in SVG.
BOXES = set("""
    address article aside blockquote body br button caption center col colgroup
    dd details dialog dir div dl dt fieldset figcaption figure footer form
    frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html input legend li
    listing main marquee menu meter nav ol optgroup option p plaintext pre
    progress search section select summary table tbody td text textarea tfoot
    th thead title tr ul xmp
""".split())


def text_of_html(document):
    """The text of an HTML document, from the tree that a browser would build (with scripts)."""
    tree = html5lib.parse(document, treebuilder="etree", namespaceHTMLElements=False, scripting=True)

    def text_of(element):
        if callable(element.tag):  # a comment
            return ""
        name = element.tag.rpartition("}")[2]
        if name in HIDDEN:
            return ""
        text = (element.text or "") + "".join(text_of(child) + (child.tail or "") for child in element)
        return "\n" + text + "\n" if name in BOXES else text

    return text_of(tree)


def runs_of(tokens, options, words):
    """A list of the features of each run, repeated ones included."""
    if not tokens:
        return []

    if options["tokens"] == "chars":
        characters = "".join(string for _, string, _ in tokens)
        return [every_n(characters, options["ngram"] or 4, "")]

    runs = []
    # A run: consecutive tokens of one kind, whatever separates them.
    for kind, group in itertools.groupby(tokens, key=lambda token: token[0]):
        group = list(group)
        run = [string for _, string, _ in group]
        if kind == WORD:
            runs.append(every_n(run, options["ngram"] or 1, " "))
        elif options["tokens"] == "dictionary":
            runs.append(every_n(dictionary_words(group, words), options["ngram"] or 1, ""))
        else:
            runs.append(every_n(run, options["ngram"] or 3, ""))
    return runs


@functools.cache
def log_weight(count):
    """round(256 * (1 + ln count)), computed with 60 digits, so that rounding is exact."""
    with decimal.localcontext() as context:
        context.prec = 60
        exact = 256 * (1 + decimal.Decimal(count).ln())
        return int(exact.to_integral_value(decimal.ROUND_HALF_UP))


BILLION = 10**9


def billionths(weight):
    """A weight of the option `weights` as an integer; half a billionth is rounded up."""
    exact = decimal.Decimal(str(weight)) * BILLION
    return int(exact.to_integral_value(decimal.ROUND_HALF_UP))


def multiply(weights, given, case_fold):
    """Each feature's weight times what the option `weights` gives it, or 1, in billionths.

    A feature of weight 0 is left where it is until `top` has counted it.
    """
    factors = {normalise(feature, case_fold): billionths(weight) for feature, weight in given.items()}
    if len(factors) < len(given):
        raise SystemExit(f"a feature has two weights: {given}")
    return {feature: weight * factors.get(feature, BILLION) for feature, weight in weights.items()}


def weigh(features, weight):
    """A dictionary from each distinct feature to its integer weight."""
    by_count = {"set": lambda count: 1, "tf": lambda count: count, "log": log_weight}[weight]
    return {feature: by_count(count) for feature, count in collections.Counter(features).items()}


def hash_of(feature, seed):
    """The hash of a feature: an unsigned 64-bit number."""
    return xxhash.xxh3_64_intdigest(feature.encode("utf-8"), seed=seed)


def keep_heaviest(weights, top, seed):
    """The `top` heaviest features, in their order; among equally heavy ones, those with the smallest hash."""
    order = sorted(weights, key=lambda feature: (-weights[feature], hash_of(feature, seed)))
    return {feature: weight for feature, weight in weights.items() if feature in order[:top]}


def sum_bits(weights, seed):
    """The vote: the fingerprint as a signed number; None without features."""
    if not weights:
        return None
    hashes = [(hash_of(feature, seed), weight) for feature, weight in weights.items()]
    fingerprint = 0
    for bit in range(64):
        total = sum(weight if hashed >> bit & 1 else -weight for hashed, weight in hashes)
        if total > 0:
            fingerprint |= 1 << bit
    return signed(fingerprint, 64)


def signed(number, bits):
    """An unsigned number, read as two's complement."""
    return number - (1 << bits) if number >> (bits - 1) else number


DEFAULTS = {"tokens": "words", "ngram": None, "weight": "set", "case_fold": True, "top": None,
            "seed": 0, "weights": None, "markup": None, "ignore": (), "same": ()}


def complete_options(given):
    """All options. Their values are valid: the Rust tests read the same lines."""
    if given.keys() - DEFAULTS.keys():
        raise SystemExit(f"bad options {given}")
    return DEFAULTS | given


def text_that_counts(text, options):
    if options["markup"] == "html":
        text = text_of_html(text)
    return without_ignored(normalise(text, options["case_fold"]), options["ignore"])


def weighted_features(text, options, words=()):
    """A counter of the features of a text that count: their weights."""
    runs = runs_of(tokenize(text_that_counts(text, options)), options, words)
    weights = weigh(itertools.chain.from_iterable(runs), options["weight"])
    if options["weights"] is not None:
        weights = multiply(weights, options["weights"], options["case_fold"])
    if options["top"] is not None:
        weights = keep_heaviest(weights, options["top"], options["seed"])
    return collections.Counter({feature: weight for feature, weight in weights.items() if weight > 0})


def fingerprint_of(text, options, words=()):
    return sum_bits(weighted_features(text, options, words), options["seed"])


def wide_fingerprint(text, options, words, count):
    """Fingerprints with consecutive seeds; None without features."""
    seeds = [(options["seed"] + number) % 2**64 for number in range(count)]
    wide = [fingerprint_of(text, {**options, "seed": seed}, words) for seed in seeds]
    return None if None in wide else wide


# -------------------------------------------------------- blocks and probes

def block_bits(block, blocks):
    """(lowest bit, width) of a block; block 0 is the most significant."""
    widths = [64 // blocks + (1 if i < 64 % blocks else 0) for i in range(blocks)]
    lowest = 64 - sum(widths[:block + 1])
    return lowest, widths[block]


def block_unsigned(fingerprint, block, blocks):
    lowest, width = block_bits(block, blocks)
    return (fingerprint & (2**64 - 1)) >> lowest & (2**width - 1)


def simhash_block(fingerprint, block, blocks):
    """A 32-bit block is read as signed; a narrower one never reaches bit 31."""
    return signed(block_unsigned(fingerprint, block, blocks), 32)


def radius(block, blocks, max_distance):
    """How many bits of this block may differ; -1 if the block is not probed."""
    extra = 1 if block < (max_distance + 1) % blocks else 0
    return (max_distance + 1) // blocks - 1 + extra


def simhash_probes(fingerprint, block, blocks, max_distance):
    """The values of the block with up to `radius` bits flipped, sorted."""
    _, width = block_bits(block, blocks)
    value = block_unsigned(fingerprint, block, blocks)
    flips = range(radius(block, blocks, max_distance) + 1)
    flipped = [positions for count in flips for positions in itertools.combinations(range(width), count)]
    return sorted(signed(value ^ sum(1 << position for position in positions), 32) for positions in flipped)


def complete_block_line(line):
    """The line with its expected result added or replaced."""
    fingerprint, block, blocks = line["fingerprint"], line["block"], line["blocks"]
    if "max_distance" in line:
        return {**line, "probes": simhash_probes(fingerprint, block, blocks, line["max_distance"])}
    return {**line, "value": simhash_block(fingerprint, block, blocks)}


def compared_features(text, options, words=()):
    """A counter of what texts are compared by: the weights of features, and of pairs of neighbours in a run."""
    features = weighted_features(text, options, words)
    if options["top"] is not None or options["tokens"] == "chars":
        return features
    runs = runs_of(tokenize(text_that_counts(text, options)), options, words)
    pairs = weigh([pair for run in runs for pair in itertools.pairwise(run)], options["weight"])
    if options["weights"] is not None:
        factors = multiply({feature: 1 for run in runs for feature in run}, options["weights"], options["case_fold"])
        pairs = {pair: weight * min(factors[feature] for feature in pair) for pair, weight in pairs.items()}
    return features | collections.Counter({pair: weight for pair, weight in pairs.items() if weight > 0})


def size_of(text, options, words=()):
    """The weight of all that a text is compared by, rounded up; None if nothing weighs anything."""
    unit = BILLION if options["weights"] is not None else 1
    return -(-compared_features(text, options, words).total() // unit) or None


DASHES = "-\u2010\u2012\u2013\u2212"
JOINERS = DASHES + ".,:/_'\u2019"


def agreement_of(text, options):
    """What of a text must be the same in another: its numbers, and which words it has."""
    options = {**options, "ignore": set(options["ignore"]) - {"numbers"}}
    normal = text_that_counts(text, options)
    has = []
    for word in set(options["same"]) - {"numbers"}:
        words = text_that_counts(word, {**options, "markup": None})
        wanted, tokens = ([token for _, token, _ in tokenize(text)] for text in (words, normal))
        has.append(any(tokens[start:start + len(wanted)] == wanted for start in range(len(tokens))))
    return has, numbers_of(normal) if "numbers" in options["same"] else []


def numbers_of(normal):
    """The numbers of a text in their order, each in one form: a sign, and tokens with a digit and what joins them."""
    # Words and numbers have odd positions.
    pieces = pieces_of(normal) + [""]
    numbers, before = [], ""
    while len(pieces) > 1:
        between, token, *pieces = pieces
        before += between
        if IS_DIGIT.search(token):
            negative = before[-1:] and before[-1] in DASHES and (
                not before[:-1] or kind_of(before[-2]) == SEPARATOR and before[-2] not in DASHES)
            number = token
            while len(pieces) > 1 and len(pieces[0]) == 1 and pieces[0] in JOINERS and IS_DIGIT.search(pieces[1]):
                number += pieces.pop(0) + pieces.pop(0)
            numbers.append("-" * bool(negative) + one_form(number))
            token = number
        before += token
    return numbers


def one_form(number):
    """A number without separators of groups of three digits, and with a point before decimals."""
    if regex.fullmatch(r"\d{1,3}(?:([,'\u2019_])\d{3}(?:\1\d{3})*|(\.)\d{3}(?:\2\d{3})+)", number):
        return regex.sub(r"\D", "", number)
    decimals = regex.fullmatch(rf"(\d{{1,3}}(?:([,'\u2019_.])\d{{3}}(?:\2\d{{3}})*)|[^{regex.escape(JOINERS)}]+)"
                               rf"([.,])([^{regex.escape(JOINERS)}]+)", number)
    if decimals and decimals[2] != decimals[3]:
        return regex.sub(r"[,'\u2019_.]", "", decimals[1]) + "." + decimals[4]
    return regex.sub(f"[{regex.escape(DASHES)}]", "-", number)


def resemblance_of(a, b, options):
    """The weight of the features and pairs that two texts have in common, divided by that of all they have.

    None if a text has no feature; 0 if the texts do not agree in what the option `same` names.
    """
    of_a, of_b = compared_features(a, options), compared_features(b, options)
    if not of_a or not of_b:
        return None
    if agreement_of(a, options) != agreement_of(b, options):
        return 0.0
    # Counters have the smaller weights of both, and the larger ones.
    return (of_a & of_b).total() / (of_a | of_b).total()


def containment_of(a, b, options):
    """The weight of the features and pairs of a text that another text has too, as a share of all of its weight.

    None if the text has no feature. The option `same` has no effect.
    """
    of_a, of_b = compared_features(a, options), compared_features(b, options)
    return (of_a & of_b).total() / of_a.total() if of_a else None


def difference_of(a, b, options):
    """[side, feature, weight] for each feature that weighs more in one text than in the other, with the difference.

    First those of the text a, in the order in which they first end in it. A weight is a number as `weights` has it.
    """
    unit = BILLION if options["weights"] is not None else 1
    of_a, of_b = weighted_features(a, options), weighted_features(b, options)
    more = [("a", of_a - of_b), ("b", of_b - of_a)]
    return [[side, feature, weight / unit] for side, weights in more for feature, weight in weights.items()]


# --------------------------------------------------------------- passages

WORDS_IN_A_RUN, LETTERS_IN_A_RUN, RUNS_IN_A_WINDOW = 4, 6, 8
WORDS_COVERED, LETTERS_COVERED = 3, 5


def passage_runs(tokens, words, letters):
    """(start, end, hash) of the runs of a text: one starts at each token, if enough tokens follow."""
    hashes = [xxhash.xxh3_64_intdigest(token.encode()).to_bytes(8, "little") for _, token, _ in tokens]
    runs = []
    for start, (kind, _, _) in enumerate(tokens):
        end = start + (letters if kind == SPACELESS else words)
        if end <= len(tokens):
            runs.append((start, end))
    if tokens and not runs:
        runs = [(0, len(tokens))]
    return [(start, end, xxhash.xxh3_64_intdigest(b"".join(hashes[start:end]))) for start, end in runs]


def passages_of(text, options):
    tokens = tokenize(text_that_counts(text, options))
    hashes = [hash for _, _, hash in passage_runs(tokens, WORDS_IN_A_RUN, LETTERS_IN_A_RUN)]
    windows = [hashes[start:start + RUNS_IN_A_WINDOW] for start in range(max(1, len(hashes) - RUNS_IN_A_WINDOW + 1))]
    return sorted({signed(min(window), 64) for window in windows if window})


def coverage_of(clue, text, options):
    clue, text = tokenize(text_that_counts(clue, options)), tokenize(text_that_counts(text, options))
    if not clue:
        return None
    words, letters = min(WORDS_COVERED, len(clue)), min(LETTERS_COVERED, len(clue))
    in_text = {hash for _, _, hash in passage_runs(text, words, letters)}
    runs = passage_runs(clue, WORDS_COVERED, LETTERS_COVERED)
    covered = {place for start, end, hash in runs if hash in in_text for place in range(start, end)}
    return len(covered) / len({place for start, end, _ in runs for place in range(start, end)})


# -------------------------------------------------------------- golden files

def text_of(line):
    """The text of a line, which is literal or in one of two generator forms."""
    if "text" in line:
        return line["text"]
    piece, count = line["repeat"] if "repeat" in line else line["numbered"]
    # A repeated piece has no braces.
    return "".join(piece.replace("{}", str(i)) for i in range(count))


def complete_text_line(line):
    """The line with its expected results added or replaced."""
    text = text_of(line)
    options, words = complete_options(line.get("options", {})), line.get("words", ())
    check_characters(line["name"], text + line.get("with", "") + (text_of_html(text) if options["markup"] else ""))
    weights = weighted_features(text, options, words)
    line = {**line, "fingerprint": sum_bits(weights, options["seed"]), "features": len(weights),
            "size": size_of(text, options, words)}
    if "wide" in line:
        line["wide_fingerprint"] = wide_fingerprint(text, options, words, line["wide"])
    if "with" in line:
        line["resemblance"] = resemblance_of(text, line["with"], options)
        line["containment"] = containment_of(text, line["with"], options)
        line["difference"] = difference_of(text, line["with"], options)
    if "passages" in line:
        line["passages"] = passages_of(text, options)
        if "with" in line:
            line["coverage"] = coverage_of(text, line["with"], options)
    return line


def read_lines(path):
    with open(path, encoding="ascii") as file:  # everything else is \u-escaped
        return [json.loads(line) for line in file]


def check(lines, complete):
    failed = 0
    for line in lines:
        expected = complete(line)
        failed += expected != line
        for key in expected:
            if line.get(key, "missing") != expected[key]:
                print(f"{line.get('name', line)}: {key} is {line.get(key, 'missing')}, should be {expected[key]}")
    print(f"{len(lines) - failed} passed, {failed} failed")
    return 1 if failed or not lines else 0


COMPLETE = {"golden": complete_text_line, "blocks": complete_block_line}


def main(arguments):
    match arguments:
        case ["write" | "check" as command, path]:
            lines, complete = read_lines(path), COMPLETE[pathlib.Path(path).stem]
            names = [line["name"] for line in lines if "name" in line]
            if len(set(names)) < len(names):
                raise SystemExit("names are not unique")
            if command == "check":
                return check(lines, complete)
            print(*(json.dumps(complete(line)) for line in lines), sep="\n")
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
