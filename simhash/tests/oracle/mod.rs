//! The oracle: the algorithm written as it is defined, without tables or fast paths.

pub mod bands;
pub mod markup;

use std::collections::BTreeMap;

use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizer, DecomposingNormalizer};
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, GeneralCategoryGroup, JoiningType, Script};
use icu_properties::script::ScriptWithExtensions;
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed, CodePointSetData, CodePointSetDataBorrowed};
use simhash::fingerprint::options::{Markup, Options, Tokens, Weight};
use simhash::text::ignore::Ignored;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use markup::text_of_html;

const CATEGORY: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const SCRIPT: CodePointMapDataBorrowed<'static, Script> = CodePointMapData::new();
const JOINING: CodePointMapDataBorrowed<'static, JoiningType> = CodePointMapData::new();
const INVISIBLE: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<DefaultIgnorableCodePoint>();

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    pub spaceless: bool,
}

pub fn normalise(text: &str, case_fold: bool) -> String {
    let visible: String = text.chars().filter(|c| !INVISIBLE.contains(*c)).collect();
    let normal = ComposingNormalizer::new_nfkc().normalize(&visible).into_owned();
    let normal = if case_fold { CaseMapper::new().fold_string(&normal).into_owned() } else { normal };
    let normal = if case_fold { without_marks(&normal, &[Script::Greek], is_greek_mark) } else { normal };
    let mut counting = String::new();
    for c in normal.chars().filter(|c| !is_optional(*c)) {
        match c {
            'ı' if case_fold => counting.push('i'),
            '\u{307}' if case_fold && counting.ends_with('i') => (),
            _ => counting.push(c),
        }
    }
    counting
}

/// Arabic and Hebrew points, and what stretches the connection of two letters.
fn is_optional(c: char) -> bool {
    let is_arabic = |c| {
        SCRIPT.get(c) == Script::Arabic
            || SCRIPT.get(c) == Script::Inherited && { ScriptWithExtensions::new().has_script(c, Script::Arabic) }
    };
    JOINING.get(c) == JoiningType::JoinCausing
        || CATEGORY.get(c) == GeneralCategory::NonspacingMark && (is_arabic(c) || SCRIPT.get(c) == Script::Hebrew)
}

/// The marks in decompositions of Greek letters, but for the iota below, which folds to a letter.
fn is_greek_mark(c: char) -> bool {
    "\u{300}\u{301}\u{304}\u{306}\u{308}\u{313}\u{314}\u{342}\u{345}".contains(c)
}

/// The text without marks right after letters of these scripts.
fn without_marks(text: &str, scripts: &[Script], is_left_out: impl Fn(char) -> bool) -> String {
    let is_letter = |c| GeneralCategoryGroup::Letter.contains(CATEGORY.get(c)) && scripts.contains(&SCRIPT.get(c));
    let mut rest = String::new();
    let mut is_after_letter = false;
    for c in text.chars() {
        if is_after_letter && kind(c) == Kind::Mark && is_left_out(c) {
            continue;
        }
        is_after_letter = is_letter(c);
        let decomposed = DecomposingNormalizer::new_nfd().normalize(c.encode_utf8(&mut [0; 4])).into_owned();
        rest.extend(if is_after_letter { decomposed.chars().next() } else { Some(c) });
    }
    rest
}

/// The normal form of a text, without what the options ignore.
fn counting(text: &str, case_fold: bool, ignored: Ignored) -> String {
    let mut normal = normalise(text, case_fold);
    if ignored.accents {
        normal = without_marks(&normal, &[Script::Latin, Script::Greek, Script::Cyrillic], |_| true);
    }
    if ignored.urls {
        normal = without_urls(&normal);
    }
    if ignored.numbers {
        let pieces = pieces(&normal).into_iter();
        normal = pieces.map(|piece| if has_digit(&piece) { " ".to_owned() } else { piece }).collect();
    }
    normal
}

fn without_urls(text: &str) -> String {
    let is_in_url = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    let mut rest = String::new();
    let mut ahead = text;
    while let Some(c) = ahead.chars().next() {
        let is_www = ahead.len() >= 4
            && ahead.as_bytes()[..4].eq_ignore_ascii_case(b"www.")
            && !rest.ends_with(|c: char| c.is_ascii_alphanumeric());
        if !is_www && !ahead.starts_with("://") {
            rest.push(c);
            ahead = &ahead[c.len_utf8()..];
            continue;
        }
        if !is_www {
            let before = rest.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "+-.".contains(c)).len();
            let Some(letter) = rest[before..].find(|c: char| c.is_ascii_alphabetic()) else {
                rest.push(c);
                ahead = &ahead[c.len_utf8()..];
                continue;
            };
            rest.truncate(before + letter);
        }
        rest.push(' ');
        ahead = ahead.trim_start_matches(is_in_url);
    }
    rest
}

/// The words and numbers of a text in normal form, and what stands between them.
fn pieces(normal: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut is_last_word = false;
    for c in normal.chars() {
        let is_word = kind(c) == Kind::Word || is_last_word && kind(c) == Kind::Mark;
        if is_word != is_last_word {
            pieces.push(String::new());
        }
        is_last_word = is_word;
        pieces.last_mut().expect("a piece").push(c);
    }
    pieces
}

fn has_digit(token: &str) -> bool {
    token.chars().any(|c| CATEGORY.get(c) == GeneralCategory::DecimalNumber)
}

pub fn tokens(normal: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    // Whether the current character directly follows the last token.
    let mut touching = false;
    for c in normal.chars() {
        match (kind(c), tokens.last_mut().filter(|_| touching)) {
            (Kind::Separator, _) | (Kind::Mark, None) => (),
            (Kind::Mark, Some(token)) => token.text.push(c),
            (Kind::Word, Some(token)) if !token.spaceless => token.text.push(c),
            (kind, _) => tokens.push(Token { text: c.to_string(), spaceless: kind == Kind::Spaceless }),
        }
        touching = matches!(kind(c), Kind::Word | Kind::Spaceless) || kind(c) == Kind::Mark && touching;
    }
    tokens
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Separator,
    Mark,
    Word,
    Spaceless,
}

fn kind(c: char) -> Kind {
    const SPACELESS: [Script; 7] =
        [Script::Han, Script::Hiragana, Script::Katakana, Script::Thai, Script::Lao, Script::Khmer, Script::Myanmar];
    let category = CATEGORY.get(c);
    let is_letter = GeneralCategoryGroup::Letter.contains(category);
    if GeneralCategoryGroup::Mark.contains(category) {
        Kind::Mark
    } else if (is_letter || category == GeneralCategory::LetterNumber)
        && (c == 'ー' || SPACELESS.contains(&SCRIPT.get(c)))
    {
        Kind::Spaceless
    } else if is_letter || GeneralCategoryGroup::Number.contains(category) {
        Kind::Word
    } else {
        Kind::Separator
    }
}

fn without_markup(text: &str, options: &Options) -> String {
    match options.markup {
        None => text.to_owned(),
        Some(Markup::Html) => text_of_html(text),
    }
}

/// The tokens of a document.
pub fn tokens_of(text: &str, options: &Options) -> Vec<Token> {
    tokens(&counting(&without_markup(text, options), options.case_fold, options.ignore))
}

/// All features of a text, once for each occurrence.
pub fn features(text: &str, options: &Options) -> Vec<String> {
    runs(text, options).concat()
}

/// All features of each run of a text, once for each occurrence.
fn runs(text: &str, options: &Options) -> Vec<Vec<String>> {
    let tokens = tokens_of(text, options);
    let shingles = |run: &[String], n: usize, joiner: &str| -> Vec<String> {
        if run.len() <= n { vec![run.join(joiner)] } else { run.windows(n).map(|window| window.join(joiner)).collect() }
    };
    if options.tokens == Tokens::Chars {
        let text: String = tokens.into_iter().map(|token| token.text).collect();
        let chars: Vec<String> = text.chars().map(String::from).collect();
        return if chars.is_empty() { vec![] } else { vec![shingles(&chars, options.ngram.unwrap_or(4).into(), "")] };
    }
    let runs = tokens.chunk_by(|a, b| a.spaceless == b.spaceless);
    runs.map(|run| {
        let texts: Vec<String> = run.iter().map(|token| token.text.clone()).collect();
        if run[0].spaceless {
            shingles(&texts, options.ngram.unwrap_or(3).into(), "")
        } else {
            shingles(&texts, options.ngram.unwrap_or(1).into(), " ")
        }
    })
    .collect()
}

/// The features that the fingerprint is made of, as hashes and weights, the smallest hash first. With the option
/// `weights`, weights are in billionths.
pub fn weighted_features(text: &str, options: &Options) -> Vec<(u64, u64)> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for feature in features(text, options) {
        *counts.entry(feature).or_default() += 1;
    }
    let mut weighted: Vec<(u64, u64)> = counts
        .into_iter()
        .map(|(feature, count)| {
            let weight = weight_of(count, options) * factor_of(&feature, options);
            (xxh3_64_with_seed(feature.as_bytes(), options.seed), weight)
        })
        .collect();
    weighted.sort_unstable();
    weighted.retain(|(_, weight)| *weight > 0);
    weighted
}

/// The weight of a feature by its number of occurrences.
fn weight_of(count: u64, options: &Options) -> u64 {
    match options.weight {
        Weight::Set => 1,
        Weight::Log => (256.0 * (1.0 + (count as f64).ln())).round() as u64,
        Weight::Tf => count,
    }
}

/// The weight of a feature by the option `weights`, in billionths; 1 without the option.
fn factor_of(feature: &str, options: &Options) -> u64 {
    options.weights.as_ref().map_or(1, |weights| {
        let given = weights.iter().find(|given| given.0 == feature);
        given.map_or(1_000_000_000, |(_, billionths)| billionths.into())
    })
}

pub fn fingerprint(text: &str, options: &Options) -> Option<u64> {
    fingerprint_of(&weighted_features(text, options))
}

/// The tokens of a word of the option `same`.
pub fn tokens_of_word(word: &str, options: &Options) -> Vec<String> {
    let normal = counting(word, options.case_fold, Ignored { numbers: false, ..options.ignore });
    tokens(&normal).into_iter().map(|token| token.text).collect()
}

/// Whether two texts agree in what the options name.
fn agree(a: &str, b: &str, options: &Options) -> bool {
    let ignored = Ignored { numbers: false, ..options.ignore };
    let [a, b] = [a, b].map(|text| counting(&without_markup(text, options), options.case_fold, ignored));
    let has = |text: &str, word: &Vec<String>| {
        let tokens: Vec<String> = tokens(text).into_iter().map(|token| token.text).collect();
        tokens.windows(word.len()).any(|tokens| tokens == word)
    };
    options.same.words.iter().all(|word| has(&a, &word) == has(&b, &word))
        && (!options.same.numbers || numbers(&a) == numbers(&b))
}

/// The numbers of a text in normal form in their order, each in one form.
fn numbers(normal: &str) -> Vec<String> {
    let pieces = pieces(normal);
    let is_dash = |c| "-\u{2010}\u{2012}\u{2013}\u{2212}".contains(c);
    let is_joiner = |c| is_dash(c) || ".,:/_'\u{2019}".contains(c);
    let mut numbers: Vec<String> = Vec::new();
    let mut at = 0;
    while at < pieces.len() {
        if !has_digit(&pieces[at]) {
            at += 1;
            continue;
        }
        let first = at;
        while at + 2 < pieces.len()
            && pieces[at + 1].chars().count() == 1
            && pieces[at + 1].starts_with(is_joiner)
            && has_digit(&pieces[at + 2])
        {
            at += 2;
        }
        let before = pieces[..first].concat();
        let mut before = before.chars().rev();
        let is_negative = before.next().is_some_and(is_dash)
            && before.next().is_none_or(|c| kind(c) == Kind::Separator && !is_dash(c));
        let number = canonical(&pieces[first..=at]);
        numbers.push(if is_negative { format!("-{number}") } else { number });
        at += 1;
    }
    numbers
}

/// A number in one form, from its groups and what separates them.
fn canonical(pieces: &[String]) -> String {
    let is_digits = |group: &str| group.chars().all(|c| CATEGORY.get(c) == GeneralCategory::DecimalNumber);
    let groups: Vec<&str> = pieces.iter().step_by(2).map(|group| &**group).collect();
    let separators: Vec<&str> = pieces.iter().skip(1).step_by(2).map(|separator| &**separator).collect();
    let are_groups = |groups: &[&str], separators: &[&str]| {
        !separators.is_empty()
            && separators.iter().all(|separator| *separator == separators[0] && ",.'\u{2019}_".contains(separator))
            && (1..=3).contains(&groups[0].chars().count())
            && groups[1..].iter().all(|group| group.chars().count() == 3)
            && groups.iter().all(|group| is_digits(group))
    };
    let last = groups.len() - 1;
    let has_point = separators.last().is_some_and(|separator| [".", ","].contains(separator));
    if are_groups(&groups, &separators) && (separators[0] != "." || separators.len() > 1) {
        groups.concat()
    } else if has_point
        && separators.len() > 1
        && are_groups(&groups[..last], &separators[..last - 1])
        && separators[0] != separators[last - 1]
    {
        format!("{}.{}", groups[..last].concat(), groups[last])
    } else if has_point && separators.len() == 1 {
        format!("{}.{}", groups[0], groups[1])
    } else {
        pieces.concat().chars().map(|c| if "\u{2010}\u{2012}\u{2013}\u{2212}".contains(c) { '-' } else { c }).collect()
    }
}

/// What two texts are compared by: features and pairs of neighbours, each with its number of occurrences.
fn counted(text: &str, options: &Options) -> BTreeMap<[String; 2], u64> {
    let mut counts: BTreeMap<[String; 2], u64> = BTreeMap::new();
    for run in runs(text, options) {
        for feature in &run {
            *counts.entry([feature.clone(), String::new()]).or_default() += 1;
        }
        for pair in run.windows(2).filter(|_| options.tokens != Tokens::Chars) {
            *counts.entry([pair[0].clone(), pair[1].clone()]).or_default() += 1;
        }
    }
    counts
}

/// The weight of a feature or a pair by the option `weights`, as [`factor_of`].
fn factor_of_either([first, second]: &[String; 2], options: &Options) -> u64 {
    let factor = factor_of(first, options);
    if second.is_empty() { factor } else { factor.min(factor_of(second, options)) }
}

/// What two texts are compared by, each with its weight.
pub fn compared(text: &str, options: &Options) -> BTreeMap<[String; 2], u64> {
    let weight = |(feature, count): ([String; 2], u64)| {
        let weight = weight_of(count, options) * factor_of_either(&feature, options);
        (feature, weight)
    };
    counted(text, options).into_iter().map(weight).filter(|(_, weight)| *weight > 0).collect()
}

/// The resemblance of two texts: the sum of the smaller weights of what is compared divided by the sum of the larger; 0
/// if they do not agree.
pub fn resemblance(a: &str, b: &str, options: &Options) -> Option<f64> {
    let [of_a, of_b] = [a, b].map(|text| compared(text, options));
    let smaller = common(&of_a, &of_b);
    let both: u64 = of_a.values().chain(of_b.values()).sum();
    let share = if agree(a, b, options) { smaller as f64 / (both - smaller) as f64 } else { 0.0 };
    (!of_a.is_empty() && !of_b.is_empty()).then_some(share)
}

/// The sum of the smaller weights.
pub fn common(a: &BTreeMap<[String; 2], u64>, b: &BTreeMap<[String; 2], u64>) -> u64 {
    a.iter().map(|(feature, weight)| b.get(feature).map_or(0, |in_b| *in_b.min(weight))).sum()
}

/// The fingerprint by a majority vote on each bit.
pub fn fingerprint_of(weighted: &[(u64, u64)]) -> Option<u64> {
    if weighted.iter().all(|&(_, weight)| weight == 0) {
        return None;
    }
    let vote = |bit: u32, (hash, weight): (u64, u64)| i128::from(weight) * if hash >> bit & 1 == 1 { 1 } else { -1 };
    let sum = |bit| weighted.iter().map(|&feature| vote(bit, feature)).sum::<i128>();
    Some((0..64).fold(0, |fingerprint, bit| fingerprint | u64::from(sum(bit) > 0) << bit))
}
