//! The oracle: the algorithm written as it is defined, without tables or fast paths.

use std::collections::BTreeMap;

use html5gum::{State, Token as HtmlToken, Tokenizer};
use icu_casemap::CaseMapper;
use icu_normalizer::ComposingNormalizer;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
use icu_segmenter::WordSegmenter;
use icu_segmenter::options::WordBreakInvariantOptions;
use simhash::fingerprint::options::{Markup, Numbers, Options, Tokens, Weight};

const CATEGORY: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const SCRIPT: CodePointMapDataBorrowed<'static, Script> = CodePointMapData::new();

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    pub spaceless: bool,
    /// Whether the token directly follows the one before it.
    pub touching: bool,
}

/// What stands between white space. The text of a document may have any white space where some is due.
pub fn words(text: &str) -> Vec<&str> {
    text.split(|c| c <= ' ').filter(|word| !word.is_empty()).collect()
}

/// The text of an HTML document, from the list of its tokens.
pub fn text_of_html(html: &str) -> String {
    const BOXES: &str = "address article aside blockquote body br button caption center col colgroup dd details dialog \
        dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html \
        input legend li listing main marquee menu meter nav ol optgroup option p plaintext pre progress search section \
        select summary table tbody td text textarea tfoot th thead title tr ul xmp";
    let is_box = |name: &str| BOXES.split(' ').any(|other| other == name);
    let mut text = Vec::new();
    let (mut hidden, mut templates, mut foreign) = (false, 0, 0);
    let mut tokens = Tokenizer::new(html);
    while let Some(Ok(token)) = tokens.next() {
        match token {
            HtmlToken::String(string) if !hidden && templates == 0 => text.extend_from_slice(&string),
            HtmlToken::StartTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name);
                text.extend((is_box(&name) && templates == 0).then_some(b'\n'));
                let is_foreign = ["svg", "math"].contains(&&*name);
                templates += usize::from(name == "template");
                if tag.self_closing && (is_foreign || foreign > 0) {
                    continue;
                }
                foreign += usize::from(is_foreign);
                hidden = ["script", "style", "noscript", "iframe", "noembed", "noframes"].contains(&&*name);
                match &*name {
                    "title" | "textarea" => tokens.set_state(State::RcData),
                    "script" => tokens.set_state(State::ScriptData),
                    "plaintext" => tokens.set_state(State::PlainText),
                    "xmp" => tokens.set_state(State::RawText),
                    _ if hidden => tokens.set_state(State::RawText),
                    _ => {}
                }
            }
            HtmlToken::EndTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name);
                text.extend((is_box(&name) && templates == 0).then_some(b'\n'));
                hidden = false;
                templates -= usize::from(name == "template" && templates > 0);
                foreign -= usize::from(["svg", "math"].contains(&&*name) && foreign > 0);
            }
            _ => {}
        }
    }
    String::from_utf8(text).expect("tokens of UTF-8")
}

pub fn normalise(text: &str, case_fold: bool) -> String {
    let normal = ComposingNormalizer::new_nfkc().normalize(text);
    if case_fold { CaseMapper::new().fold_string(&normal).into_owned() } else { normal.into_owned() }
}

pub fn tokens(normal: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    // Whether the current character directly follows the last token.
    let mut touching = false;
    for c in normal.chars() {
        let category = CATEGORY.get(c);
        let letter = GeneralCategoryGroup::Letter.contains(category);
        let number = GeneralCategoryGroup::Number.contains(category);
        let mark = GeneralCategoryGroup::Mark.contains(category);
        let spaceless = is_spaceless(c) && (letter || category == GeneralCategory::LetterNumber);
        match tokens.last_mut().filter(|_| touching) {
            Some(token) if mark => token.text.push(c),
            Some(token) if !spaceless && (letter || number) && !token.spaceless => token.text.push(c),
            _ if letter || number => tokens.push(Token { text: c.to_string(), spaceless, touching }),
            _ => {}
        }
        touching = letter || number || (mark && touching);
    }
    tokens
}

fn is_spaceless(c: char) -> bool {
    let scripts =
        [Script::Han, Script::Hiragana, Script::Katakana, Script::Thai, Script::Lao, Script::Khmer, Script::Myanmar];
    c == 'ー' || scripts.contains(&SCRIPT.get(c))
}

/// The tokens of a document.
pub fn tokens_of(text: &str, options: &Options) -> Vec<Token> {
    let text = match options.markup {
        None => text.to_owned(),
        Some(Markup::Html) => text_of_html(text),
    };
    tokens(&normalise(&text, options.case_fold))
}

/// All features of a text, once for each occurrence.
pub fn features(text: &str, options: &Options) -> Vec<String> {
    let tokens = tokens_of(text, options);
    let shingles = |run: &[String], n: usize, joiner: &str| -> Vec<String> {
        if run.len() <= n { vec![run.join(joiner)] } else { run.windows(n).map(|window| window.join(joiner)).collect() }
    };
    if options.tokens == Tokens::Chars {
        let text: String = tokens.into_iter().map(|token| token.text).collect();
        let chars: Vec<String> = text.chars().map(String::from).collect();
        return if chars.is_empty() { vec![] } else { shingles(&chars, options.ngram.unwrap_or(4).into(), "") };
    }
    let runs = tokens.chunk_by(|a, b| a.spaceless == b.spaceless);
    runs.flat_map(|run| {
        let texts: Vec<String> = run.iter().map(|token| token.text.clone()).collect();
        if run[0].spaceless && options.tokens == Tokens::Dictionary {
            let stretches = run.chunk_by(|_, next| next.touching);
            let words: Vec<String> = stretches.flat_map(dictionary_words).collect();
            shingles(&words, options.ngram.unwrap_or(1).into(), "")
        } else if run[0].spaceless {
            shingles(&texts, options.ngram.unwrap_or(3).into(), "")
        } else {
            shingles(&texts, options.ngram.unwrap_or(1).into(), " ")
        }
    })
    .collect()
}

/// The words that ICU4X finds in spaceless tokens next to each other.
fn dictionary_words(tokens: &[Token]) -> Vec<String> {
    let text: String = tokens.iter().map(|token| &*token.text).collect();
    let ends = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()).segment_str(&text);
    let starts: Vec<usize> = tokens
        .iter()
        .scan(0, |end, token| {
            *end += token.text.len();
            Some(*end)
        })
        .collect();
    let ends: Vec<usize> = ends.filter(|end| starts.contains(end)).collect();
    let mut start = 0;
    ends.into_iter().map(|end| text[std::mem::replace(&mut start, end)..end].to_owned()).collect()
}

/// The features that the fingerprint is made of, as hashes and weights, the heaviest first. With the option `weights`,
/// weights are in billionths.
pub fn weighted_features(text: &str, options: &Options) -> Vec<(u64, u64)> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for feature in features(text, options) {
        *counts.entry(feature).or_default() += 1;
    }
    let mut weighted: Vec<(u64, u64)> = counts
        .into_iter()
        .map(|(feature, count)| {
            let weight = match options.weight {
                Weight::Set => 1,
                Weight::Log => (256.0 * (1.0 + (count as f64).ln())).round() as u64,
                Weight::Tf => count,
            };
            let factor = options.weights.as_ref().map_or(1, |weights| {
                let given = weights.iter().find(|given| given.0 == feature);
                given.map_or(1_000_000_000, |(_, billionths)| billionths.into())
            });
            (xxhash_rust::xxh3::xxh3_64_with_seed(feature.as_bytes(), options.seed), weight * factor)
        })
        .collect();
    weighted.sort_by_key(|&(hash, weight)| (std::cmp::Reverse(weight), hash));
    weighted.truncate(options.top.map_or(usize::MAX, |top| top.get() as usize));
    weighted.retain(|(_, weight)| *weight > 0);
    weighted
}

pub fn fingerprint(text: &str, options: &Options) -> Option<u64> {
    fingerprint_of(&weighted_features(text, options))
}

/// The tokens of a text that have a digit, in order of their bytes.
fn numbers(text: &str, options: &Options) -> Vec<String> {
    let is_digit = |c| CATEGORY.get(c) == GeneralCategory::DecimalNumber;
    let tokens = tokens_of(text, options).into_iter().map(|token| token.text);
    let mut numbers: Vec<_> = tokens.filter(|token| token.chars().any(is_digit)).collect();
    numbers.sort();
    numbers
}

/// The resemblance of two texts: the sum of the smaller weights of their features divided by the sum of the larger; 0
/// if they must have the same numbers and do not.
pub fn resemblance(a: &str, b: &str, options: &Options) -> Option<f64> {
    let [of_a, of_b] = [a, b].map(|text| weighted_features(text, options));
    let has_wrong_numbers = options.numbers == Numbers::Same && numbers(a, options) != numbers(b, options);
    of_features(&of_a, &of_b).map(|found| if has_wrong_numbers { 0.0 } else { found })
}

fn of_features(a: &[(u64, u64)], b: &[(u64, u64)]) -> Option<f64> {
    let weights_in_b: BTreeMap<u64, u64> = b.iter().copied().collect();
    let smaller: u64 = a.iter().map(|(hash, weight)| weights_in_b.get(hash).map_or(0, |in_b| *in_b.min(weight))).sum();
    let both: u64 = a.iter().chain(b).map(|feature| feature.1).sum();
    (!a.is_empty() && !b.is_empty()).then(|| smaller as f64 / (both - smaller) as f64)
}

/// The fingerprint by a majority vote on each bit.
pub fn fingerprint_of(weighted: &[(u64, u64)]) -> Option<u64> {
    if weighted.iter().all(|&(_, weight)| weight == 0) {
        return None;
    }
    let mut fingerprint = 0;
    for bit in 0..64 {
        let sum: i128 = weighted
            .iter()
            .map(|&(hash, weight)| if hash >> bit & 1 == 1 { i128::from(weight) } else { -i128::from(weight) })
            .sum();
        if sum > 0 {
            fingerprint |= 1 << bit;
        }
    }
    Some(fingerprint)
}
