//! The oracle: the algorithm written as it is defined, without tables or fast paths.

pub mod bands;
pub mod markup;

use std::collections::{BTreeMap, BTreeSet};

use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizer, DecomposingNormalizer};
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, GeneralCategoryGroup, JoiningType, Script};
use icu_properties::script::ScriptWithExtensions;
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed, CodePointSetData, CodePointSetDataBorrowed};
use simhash::fingerprint::options::{Markup, Options, Tokens, Weight};
use simhash::text::ignore::{Ignored, TLDS, WORD_TLDS};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use markup::{text_of_html, text_of_main};

const CATEGORY: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const SCRIPT: CodePointMapDataBorrowed<'static, Script> = CodePointMapData::new();
const JOINING: CodePointMapDataBorrowed<'static, JoiningType> = CodePointMapData::new();
const INVISIBLE: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<DefaultIgnorableCodePoint>();

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    pub is_spaceless: bool,
}

pub fn normalise(text: &str, case_fold: bool) -> String {
    let sequences = [("ണ്", "ൺ"), ("ന്", "ൻ"), ("ര്", "ർ"), ("ല്", "ൽ"), ("ള്", "ൾ"), ("ക്", "ൿ"), ("ত্", "ৎ")];
    let mut text = text.to_owned();
    for (sequence, letter) in sequences {
        text = text.replace(&format!("{sequence}\u{200d}"), letter);
    }
    let text = join_lines(&text, &['\u{ad}', '\u{2010}'], |_, _| true);
    let mut normal = normalise_once(&text, case_fold);
    while !ComposingNormalizer::new_nfc().is_normalized(&normal) {
        let before = std::mem::take(&mut normal);
        normal = normalise_once(&before, case_fold);
        if normal == before {
            break;
        }
    }
    normal
}

fn normalise_once(text: &str, case_fold: bool) -> String {
    let visible: String = text.chars().filter(|c| !INVISIBLE.contains(*c)).collect();
    let normal = ComposingNormalizer::new_nfkc().normalize(&visible).into_owned();
    let normal = if case_fold { CaseMapper::new().fold_string(&normal).into_owned() } else { normal };
    let normal: String = normal.chars().filter(|c| !is_optional(*c)).collect();
    let normal = if case_fold { without_marks(&normal, &[Script::Greek], is_greek_mark) } else { normal };
    let mut significant = String::new();
    for c in normal.chars() {
        match c {
            'ı' if case_fold => significant.push('i'),
            '\u{307}' if case_fold && significant.ends_with('i') => (),
            'ʻ' | 'ʼ' | 'ʽ' | 'ʾ' | 'ʿ' | 'Ꞌ' | 'ꞌ' => significant.push('\''),
            'ى' | 'ی' => significant.push('ي'),
            'ک' => significant.push('ك'),
            'Ș' | 'ș' | 'Ț' | 'ț' => {
                significant.push("ŞşŢţ".chars().nth(c as usize - 'Ș' as usize).expect("four letters"))
            }
            _ if is_digit(c) => significant.extend(char::from_digit(value(c), 10)),
            _ => significant.push(c),
        }
    }
    significant
}

/// The value of a decimal digit: Unicode has the ten digits of a script one after the other, from 0 on.
fn value(digit: char) -> u32 {
    ('\0'..digit).rev().take_while(|c| is_digit(*c)).count() as u32 % 10
}

fn is_digit(c: char) -> bool {
    CATEGORY.get(c) == GeneralCategory::DecimalNumber
}

/// Removes hyphens with the one line break after them, and the blanks around it, between two characters that may be
/// joined.
fn join_lines(text: &str, hyphens: &[char], may_join: impl Fn(Option<char>, Option<char>) -> bool) -> String {
    let blanks = [' ', '\t', '\x0c'];
    let mut joined = String::new();
    for piece in text.split_inclusive(hyphens) {
        let hyphen = joined.pop();
        let rest = piece.trim_start_matches(blanks);
        let line = rest.strip_prefix("\r\n").or(rest.strip_prefix('\r')).or(rest.strip_prefix('\n'));
        let next = line.map(|line| line.trim_start_matches(blanks)).filter(|next| !next.starts_with(['\r', '\n']));
        match next {
            Some(line) if hyphen.is_some() && may_join(joined.chars().next_back(), line.chars().next()) => {
                joined.push_str(line);
            }
            _ => joined.extend(hyphen.into_iter().chain(piece.chars())),
        }
    }
    joined
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
fn normal_form(text: &str, case_fold: bool, ignored: Ignored) -> String {
    let mut normal = normalise(text, case_fold);
    if ignored.hyphenation {
        let is_letter = |c: char| kind(c) == Kind::Word && !is_digit(c);
        let may_join = |before: Option<char>, after: Option<char>| {
            before.is_some_and(|c| is_letter(c) || kind(c) == Kind::Mark) && after.is_some_and(is_letter)
        };
        normal = join_lines(&normal, &['-'], may_join);
    }
    if ignored.accents {
        normal = without_marks(&normal, &[Script::Latin, Script::Greek, Script::Cyrillic], |_| true);
    }
    if ignored.urls {
        normal = without_urls(&normal);
    }
    if ignored.ids {
        normal = without_ids(&normal);
    }
    if ignored.numbers {
        let pieces = pieces(&normal).into_iter();
        normal = pieces.map(|piece| if has_digit(&piece) { " ".to_owned() } else { piece }).collect();
    }
    normal
}

fn without_urls(text: &str) -> String {
    let is_in_url = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    let is_in_word = |c: char| matches!(kind(c), Kind::Word | Kind::Mark);
    let is_in_label = |c: char| is_in_word(c) || c == '-';
    let is_in_mailbox = |c: char| is_in_word(c) || "._%+-'".contains(c);
    let is_in_name = |c: char| is_in_word(c) || "._-@".contains(c);
    let mut rest = String::new();
    let mut ahead = text;
    // Bytes ahead in which a domain may start.
    let mut unchecked = text.len();
    while let Some(c) = ahead.chars().next() {
        let before = |is: &dyn Fn(char) -> bool| rest.trim_end_matches(is).len();
        let found = if ahead.starts_with("://") {
            let scheme = before(&|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
            let letter = rest[scheme..].find(|c: char| c.is_ascii_alphabetic());
            letter.map(|letter| (scheme + letter, ahead.trim_start_matches(is_in_url)))
        } else if ahead.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("www.")) {
            let is_inside = rest.ends_with(|c: char| c.is_ascii_alphanumeric());
            (!is_inside).then(|| (rest.len(), ahead.trim_start_matches(is_in_url)))
        } else if let Some(name) = ahead.strip_prefix('@') {
            name.starts_with(|c| kind(c) == Kind::Word)
                .then(|| (before(&is_in_mailbox), name.trim_start_matches(is_in_name)))
        } else if c == '.' && ahead.len() <= unchecked {
            let start = before(&is_in_label).max(rest.len().saturating_sub(unchecked - ahead.len()));
            let (mut after, mut last) = (ahead, "");
            while let Some(labels) = after.strip_prefix('.')
                && labels.starts_with(is_in_label)
            {
                after = labels.trim_start_matches(is_in_label);
                last = &labels[..labels.len() - after.len()];
            }
            unchecked = after.len().min(ahead.len() - 1);
            let is_one_of = |tlds: &str| tlds.split_whitespace().any(|tld| last.eq_ignore_ascii_case(tld));
            let has_points = ahead[..ahead.len() - after.len()].matches('.').count() > 1;
            let is_top = is_one_of(TLDS)
                || has_points && is_one_of(WORD_TLDS)
                || last.len() > 1 && last.chars().all(|c| c.is_ascii_alphabetic()) && after.starts_with(['/', '?']);
            let is_domain = start < rest.len() && !rest[..start].ends_with(['.', '/', '\\', '_']) && is_top;
            let path =
                if after.starts_with(['/', '?', '#', ':']) { after.trim_start_matches(is_in_url) } else { after };
            is_domain.then_some((start, path))
        } else {
            None
        };
        match found {
            Some((start, after)) => {
                rest.truncate(start);
                rest.push(' ');
                ahead = after;
            }
            None => {
                rest.push(c);
                ahead = &ahead[c.len_utf8()..];
            }
        }
    }
    rest
}

fn without_ids(normal: &str) -> String {
    let mut pieces = pieces(normal);
    let is_hex = |token: &str| token.chars().all(|c| c.is_ascii_hexdigit());
    let is_generated = |token: &str| token.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c));
    let mut ids = BTreeSet::new();
    // Words have odd numbers.
    for at in (1..pieces.len()).step_by(2) {
        let token = &*pieces[at];
        let digits = token.strip_prefix("0x").unwrap_or(token);
        let is_id =
            is_hex(digits) && digits.len() >= 8 || digits.len() >= 6 && digits.chars().all(|c| c.is_ascii_digit());
        let before = pieces[at.saturating_sub(2)..at].concat();
        let is_joined = before.ends_with('-')
            && before.chars().nth_back(1).is_some_and(|c| matches!(kind(c), Kind::Word | Kind::Mark));
        let is_suffix = is_joined
            && is_generated(token)
            && match token.len() {
                5 => ids.contains(&at.wrapping_sub(2)) || has_digit(token),
                length => (8..=10).contains(&length),
            };
        ids.extend((is_id || is_suffix).then_some(at));
        if at >= 9 {
            let parts: Vec<&str> = pieces[at - 8..=at].iter().map(|piece| &**piece).collect();
            let lengths = parts.iter().map(|part| part.len());
            let are_joined = parts.iter().skip(1).step_by(2).all(|joiner| *joiner == "-");
            let are_hex = parts.iter().step_by(2).all(|part| is_hex(part));
            if are_joined && are_hex && lengths.eq([8, 1, 4, 1, 4, 1, 4, 1, 12]) {
                ids.extend(at - 8..=at);
            }
        }
    }
    for id in ids {
        pieces[id] = " ".to_owned();
    }
    pieces.concat()
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
    token.chars().any(is_digit)
}

pub fn tokens(normal: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    // Whether the current character directly follows the last token.
    let mut touching = false;
    for c in normal.chars() {
        match (kind(c), tokens.last_mut().filter(|_| touching)) {
            (Kind::Separator, _) | (Kind::Mark, None) => (),
            (Kind::Mark, Some(token)) => token.text.push(c),
            (Kind::Word, Some(token)) if !token.is_spaceless => token.text.push(c),
            (kind, _) => tokens.push(Token { text: c.to_string(), is_spaceless: kind == Kind::Spaceless }),
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
        Some(Markup::Main) => text_of_main(text),
    }
}

/// The tokens of a document, or their characters if the options say so.
pub fn tokens_of(text: &str, options: &Options) -> Vec<Token> {
    let tokens = tokens(&normal_form(&without_markup(text, options), options.case_fold, options.ignore));
    if options.tokens == Tokens::Words {
        return tokens;
    }
    let letters = tokens.iter().flat_map(|token| token.text.chars());
    letters.map(|c| Token { text: c.to_string(), is_spaceless: true }).collect()
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
        let chars: Vec<String> = tokens.into_iter().map(|token| token.text).collect();
        return if chars.is_empty() { vec![] } else { vec![shingles(&chars, options.ngram.unwrap_or(4).into(), "")] };
    }
    let runs = tokens.chunk_by(|a, b| a.is_spaceless == b.is_spaceless);
    runs.map(|run| {
        let texts: Vec<String> = run.iter().map(|token| token.text.clone()).collect();
        if run[0].is_spaceless {
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
    let weigh = |(feature, count): (String, u64)| {
        let weight = weight_of(count, options) * factor_of(&feature, options);
        (xxh3_64_with_seed(feature.as_bytes(), options.seed), weight)
    };
    let mut weighted: Vec<(u64, u64)> = counts.into_iter().map(weigh).collect();
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
    let normal = normal_form(word, options.case_fold, Ignored { numbers: false, ..options.ignore });
    tokens(&normal).into_iter().map(|token| token.text).collect()
}

/// What the option `same` names: the numbers of a text, and whether it has each of the words.
pub fn same(text: &str, options: &Options) -> (Vec<String>, Vec<bool>) {
    let ignored = Ignored { numbers: false, ..options.ignore };
    let normal = normal_form(&without_markup(text, options), options.case_fold, ignored);
    let tokens: Vec<String> = tokens(&normal).into_iter().map(|token| token.text).collect();
    let has = |word: Vec<String>| tokens.windows(word.len()).any(|tokens| tokens == word);
    let numbers = if options.same.numbers { numbers(&normal) } else { Vec::new() };
    (numbers, options.same.words.iter().map(has).collect())
}

/// A part of a text: digits, the other characters of a word, or what stands between words.
#[derive(PartialEq, Eq)]
enum Part {
    Digits(String),
    Letters(String),
    Between(String),
}

fn parts(normal: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for (index, piece) in pieces(normal).into_iter().enumerate() {
        if index % 2 == 0 {
            parts.push(Part::Between(piece));
            continue;
        }
        let chars: Vec<char> = piece.chars().collect();
        let runs = chars.chunk_by(|a, b| is_digit(*a) == is_digit(*b));
        let part = |run: &[char]| if is_digit(run[0]) { Part::Digits } else { Part::Letters }(run.iter().collect());
        parts.extend(runs.map(part));
    }
    parts
}

/// The numbers of a text in normal form in their order, whole numbers in groups of three digits.
fn numbers(normal: &str) -> Vec<String> {
    let normal = &normal.replace('\u{66b}', ".").replace('\u{66c}', ",");
    let is_dash = |c| "-\u{2010}\u{2012}\u{2013}\u{2212}".contains(c);
    let is_line_end = |text: &str| ["\n", "\r", "\r\n"].contains(&text.trim_matches([' ', '\t', '\x0c']));
    let is_joiner = |text: &str| {
        let after = text.strip_prefix(|c| is_dash(c) || ".,:/\u{2044}_'\u{2019}".contains(c));
        after.is_some_and(|after| after.is_empty() || text.starts_with(is_dash) && is_line_end(after))
    };
    let parts = parts(normal);
    let mut numbers: Vec<String> = Vec::new();
    let (mut at, mut last_end) = (0, None);
    while at < parts.len() {
        let Part::Digits(digits) = &parts[at] else {
            at += 1;
            continue;
        };
        let (mut groups, mut joiners) = (vec![&**digits], Vec::new());
        let mut end = at;
        while let Some([Part::Between(joiner), Part::Digits(digits)]) = parts.get(end + 1..end + 3)
            && is_joiner(joiner)
        {
            joiners.push(match &**joiner {
                dash if dash.starts_with(is_dash) => "-",
                "\u{2044}" => "/",
                other => other,
            });
            groups.push(digits);
            end += 2;
        }
        let (before, between, letters) = match &parts[..at] {
            [before @ .., Part::Between(between), Part::Letters(letters)] => (before, &**between, &**letters),
            [before @ .., Part::Between(between)] => (before, &**between, ""),
            before => (before, "", ""),
        };
        let is_currency = |c| "$\u{a2}\u{a3}\u{a4}\u{a5}\u{e3f}".contains(c) || ('\u{20a0}'..='\u{20cf}').contains(&c);
        let may_precede = |c| " \t\n\r\x0c([{<>=~+*/±×≈≤≥".contains(c) || is_dash(c) || is_currency(c);
        let before_point = between.strip_suffix(['.', ',']).filter(|_| letters.is_empty());
        let before_point = before_point.filter(|text| text.chars().next_back().map_or(before.is_empty(), may_precede));
        if before_point.is_some() {
            groups.insert(0, "0");
            joiners.insert(0, ".");
        }
        let between = before_point.unwrap_or(between);
        let mut last = between.strip_suffix(is_currency).unwrap_or(between).chars().rev();
        let is_negative = last.next().is_some_and(is_dash)
            && last.next().map_or(before.is_empty(), |c| kind(c) == Kind::Separator && !is_dash(c));
        let own = usize::from(!letters.is_empty());
        let has_word = |part: &Part| match part {
            Part::Between(text) | Part::Letters(text) => {
                text.chars().any(|c| [Kind::Word, Kind::Spaceless].contains(&kind(c)))
            }
            Part::Digits(_) => false,
        };
        let is_apart = last_end.replace(end + 1).is_some_and(|last: usize| parts[last..at - own].iter().any(has_word));
        let has_point = joiners.iter().any(|joiner| [".", ","].contains(joiner));
        let sign = if is_negative { "-" } else { "" };
        let letters = if has_point { "" } else { letters };
        let number = format!("{sign}{letters}{}", canonical(&groups, &joiners));
        let is_group = number.chars().take_while(|c| is_digit(*c)).count() == 3;
        let number = if is_apart && is_group { format!("|{number}") } else { number };
        numbers.extend(number.split(' ').map(str::to_owned));
        at = end + 1;
    }
    numbers
}

/// A number in one form, from its groups of digits and what separates them.
fn canonical(groups: &[&str], joiners: &[&str]) -> String {
    let are_thousands = |groups: &[&str], joiners: &[&str]| {
        !joiners.is_empty()
            && joiners.iter().all(|joiner| *joiner == joiners[0] && [",", ".", "'", "\u{2019}", "_"].contains(joiner))
            && groups[0].len() <= 3
            && groups[1..].iter().all(|group| group.len() == 3)
    };
    let whole = |groups: &[&str]| {
        let digits: Vec<u8> = groups.concat().into_bytes();
        let by_thousands: Vec<&[u8]> = digits.rchunks(3).rev().collect();
        String::from_utf8(by_thousands.join(&b' ')).expect("digits")
    };
    let last = groups.len() - 1;
    let has_point = joiners.last().is_some_and(|joiner| [".", ","].contains(joiner));
    match joiners {
        [] => whole(groups),
        _ if are_thousands(groups, joiners) && joiners != ["."] => whole(groups),
        [_] if has_point => format!("{}.{}", whole(&groups[..1]), groups[1]),
        [before @ .., point] if has_point && are_thousands(&groups[..last], before) && before[0] != *point => {
            format!("{}.{}", whole(&groups[..last]), groups[last])
        }
        _ => {
            let rest = joiners.iter().zip(&groups[1..]).map(|(joiner, group)| format!("{joiner}{group}"));
            groups[0].to_owned() + &rest.collect::<String>()
        }
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
    let share = if same(a, options) == same(b, options) { smaller as f64 / (both - smaller) as f64 } else { 0.0 };
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
