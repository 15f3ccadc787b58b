//! Options documents: each is read as its definition says, or refused for the reason that the definition gives.
//!
//! An input is a document.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::agreement::{Same, Words};
use simhash::fingerprint::options::{InvalidOptions, Markup, Options, Tokens, Weight};
use simhash::fingerprint::weight_map::WeightMap;
use simhash::text::ignore::Ignored;

use super::oracle;

pub fn check(input: &[u8]) {
    let document = String::from_utf8_lossy(input);
    let read = Options::from_json(&document);
    assert_eq!(read.as_ref().map_err(reason), by_definition(&document).as_ref().map_err(reason), "{document}");
    if let Ok(options) = read {
        assert_eq!(Options::from_json(&written(&options).to_string()), Ok(options.clone()), "{document}");
        let text = "The cat, the <b>Hat; ein Haus: 天地人和 und the cat. 4 of &amp; 4 http://a.b/ Café";
        let fingerprint = Fingerprinter::default().fingerprint(text, &options, &|| ());
        assert_eq!(fingerprint, Ok(oracle::fingerprint(text, &options)), "{document}");
    }
}

/// Why a document is refused. The definition leaves open how a message shows a wrong value.
fn reason(error: &InvalidOptions) -> (&str, &str) {
    match error {
        InvalidOptions::Failed(error) => panic!("{error}"),
        InvalidOptions::Unreadable(_) | InvalidOptions::UnreadableCriterion(_) => ("unreadable", ""),
        InvalidOptions::NotAnObject | InvalidOptions::NotACriterion => ("not an object", ""),
        InvalidOptions::UnknownKey(key) | InvalidOptions::UnknownInCriterion(key) => ("unknown", key),
        InvalidOptions::Value { key, allowed, .. } => (key, allowed),
    }
}

/// Reads a document as docs/accuracy.md describes it. If several keys are wrong, the error is about the first in byte
/// order.
fn by_definition(document: &str) -> Result<Options, InvalidOptions> {
    let unreadable = |error: serde_json::Error| InvalidOptions::Unreadable(error.to_string());
    let document: &RawValue = serde_json::from_str(document).map_err(unreadable)?;
    if !document.get().starts_with('{') {
        return Err(InvalidOptions::NotAnObject);
    }
    let object: HashMap<String, &RawValue> = serde_json::from_str(document.get()).map_err(unreadable)?;
    let mut keys: Vec<&String> = object.keys().collect();
    keys.sort();
    let mut options = Options::default();
    for key in keys {
        let value = object[key].get();
        let name =
            if value.starts_with('"') { serde_json::from_str(value).map_err(unreadable)? } else { String::new() };
        let number = if value.starts_with('-') { 0 } else { whole(value) };
        let allowed = match key.as_str() {
            "tokens" => "one of \"words\", \"chars\", \"dictionary\"",
            "ngram" => "an integer from 1 to 16",
            "weight" => "one of \"set\", \"log\", \"tf\"",
            "case_fold" => "true or false",
            "top" => "an integer from 1 to 4294967295",
            "seed" => "an integer from 0 to 18446744073709551615",
            "markup" => "\"html\"",
            "ignore" => "an array of \"numbers\", \"urls\", \"accents\"",
            "same" => "an array of \"numbers\" and up to 64 words, each of up to 256 bytes",
            "weights" => "an object of features, each with a number from 0 to 1, and no feature twice",
            _ => return Err(InvalidOptions::UnknownKey(key.clone())),
        };
        match (key.as_str(), name.as_str()) {
            ("tokens", "words") => options.tokens = Tokens::Words,
            ("tokens", "chars") => options.tokens = Tokens::Chars,
            ("tokens", "dictionary") => options.tokens = Tokens::Dictionary,
            ("markup", "html") => options.markup = Some(Markup::Html),
            ("seed", _) if seed(value).is_some() => options.seed = seed(value).unwrap_or_default(),
            ("weights", _) if weights(value, options.case_fold)?.is_some() => {
                let weights = weights(value, options.case_fold)?.unwrap_or_default();
                let map =
                    WeightMap::new(weights.into_iter(), options.case_fold, options.seed).expect("memory suffices");
                let map = map.expect("no feature twice");
                options.weights = Some(map).filter(|map| !map.is_empty()).map(Arc::new);
            }
            ("ignore", _) if ignored(value)?.is_some() => options.ignore = ignored(value)?.unwrap_or_default(),
            ("ngram", _) if (1..=16).contains(&number) => options.ngram = Some(number as u8),
            ("weight", "set") => options.weight = Weight::Set,
            ("weight", "log") => options.weight = Weight::Log,
            ("weight", "tf") => options.weight = Weight::Tf,
            ("same", _) if same(value, &options)?.is_some() => {
                options.same = same(value, &options)?.unwrap_or_default()
            }
            ("case_fold", _) if value == "true" => options.case_fold = true,
            ("case_fold", _) if value == "false" => options.case_fold = false,
            ("top", _) if (1..=u32::MAX.into()).contains(&number) => options.top = NonZeroU32::new(number as u32),
            _ => {
                let (key, value) = (key.clone(), value.to_owned());
                return Err(InvalidOptions::Value { key, value, allowed, in_criterion: false });
            }
        }
    }
    Ok(options)
}

/// The strings of an array; None if the value is nothing else.
fn strings(value: &str) -> Result<Option<Vec<String>>, InvalidOptions> {
    let unreadable = |error: serde_json::Error| InvalidOptions::Unreadable(error.to_string());
    if !value.starts_with('[') {
        return Ok(None);
    }
    let values: Vec<&RawValue> = serde_json::from_str(value).map_err(unreadable)?;
    if values.iter().any(|value| !value.get().starts_with('"')) {
        return Ok(None);
    }
    values.iter().map(|value| serde_json::from_str(value.get()).map_err(unreadable)).collect::<Result<_, _>>().map(Some)
}

/// What texts must agree in; None if the value is no array of words, each of which has a token.
fn same(value: &str, options: &Options) -> Result<Option<Same>, InvalidOptions> {
    let Some(named) = strings(value)? else { return Ok(None) };
    let (numbers, words): (Vec<_>, Vec<_>) = named.into_iter().partition(|word| word == "numbers");
    let mut distinct = BTreeSet::new();
    for word in &words {
        let tokens = oracle::tokens_of_word(word, options);
        if word.len() > 256 || tokens.is_empty() {
            return Ok(None);
        }
        distinct.insert(tokens);
    }
    let words = Words::new(&words, options.case_fold, options.ignore).expect("memory suffices");
    assert_eq!(words.is_some(), distinct.len() <= 64);
    Ok(words.map(|words| Same { numbers: !numbers.is_empty(), words }))
}

/// The classes that an array names; None if it is no array of their names.
fn ignored(value: &str) -> Result<Option<Ignored>, InvalidOptions> {
    let Some(named) = strings(value)? else { return Ok(None) };
    let mut ignored = Ignored::default();
    for name in named {
        match &*name {
            "numbers" => ignored.numbers = true,
            "urls" => ignored.urls = true,
            "accents" => ignored.accents = true,
            _ => return Ok(None),
        }
    }
    Ok(Some(ignored))
}

/// The seed, a whole number of 64 bits.
fn seed(number: &str) -> Option<u64> {
    let (negative, number) = number.strip_prefix('-').map_or((false, number), |number| (true, number));
    let (whole, fraction) = moved(number)?;
    let seed = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    (fraction.chars().all(|digit| digit == '0') && !(negative && seed > 0)).then_some(seed)
}

/// The features in normal form with their weights in billionths; None if the value is no map of weights.
fn weights(value: &str, case_fold: bool) -> Result<Option<BTreeMap<String, u32>>, InvalidOptions> {
    if !value.starts_with('{') {
        return Ok(None);
    }
    let members: HashMap<String, &RawValue> =
        serde_json::from_str(value).map_err(|error| InvalidOptions::Unreadable(error.to_string()))?;
    let mut weights = BTreeMap::new();
    for (feature, weight) in &members {
        let Some(weight) = billionths(weight.get()) else { return Ok(None) };
        if weights.insert(oracle::normalise(feature, case_fold), weight).is_some() {
            return Ok(None);
        }
    }
    Ok(Some(weights))
}

/// A number from 0 to 1 in billionths, from its first ten decimal places.
fn billionths(number: &str) -> Option<u32> {
    let (negative, number) = number.strip_prefix('-').map_or((false, number), |number| (true, number));
    let (whole, fraction) = moved(number)?;
    let zero = |digits: &str| digits.chars().all(|digit| digit == '0');
    match &*whole {
        "" if negative && !zero(&fraction) => None,
        "" => {
            let places: u64 = format!("{fraction:0<10}")[..10].parse().expect("ten digits");
            Some(((places + 5) / 10) as u32)
        }
        "1" => (zero(&fraction) && !negative).then_some(1_000_000_000),
        _ => None,
    }
}

/// A whole number of at most twelve digits; 0 for anything else.
fn whole(number: &str) -> u64 {
    let Some((whole, fraction)) = moved(number) else { return 0 };
    if fraction.chars().all(|digit| digit == '0') && whole.len() <= 12 { whole.parse().unwrap_or(0) } else { 0 }
}

/// The digits of a number before its point, without leading zeroes, and behind it, after its point is moved one digit
/// at a time; None if it is no number.
fn moved(number: &str) -> Option<(String, String)> {
    if !number.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (mut whole, mut fraction) = (whole.to_owned(), fraction.to_owned());
    // With a larger exponent, all digits of an input are on one side of the point.
    let exponent = exponent.parse().unwrap_or(if exponent.starts_with('-') { i64::MIN } else { i64::MAX });
    let furthest = number.len() as i64 + 20;
    for _ in 0..exponent.clamp(-furthest, furthest).abs() {
        if exponent > 0 {
            whole.push(if fraction.is_empty() { '0' } else { fraction.remove(0) });
        } else {
            fraction.insert(0, whole.pop().unwrap_or('0'));
        }
    }
    Some((whole.trim_start_matches('0').to_owned(), fraction))
}

/// A document that gives these options.
fn written(options: &Options) -> Value {
    let mut document = json!({
        "tokens": match options.tokens { Tokens::Words => "words", Tokens::Chars => "chars", Tokens::Dictionary => "dictionary" },
        "weight": match options.weight { Weight::Set => "set", Weight::Log => "log", Weight::Tf => "tf" },
        "case_fold": options.case_fold,
        "seed": options.seed,
        "same": options.same.words.iter().map(|word| word.join(" "))
            .chain(options.same.numbers.then(|| "numbers".to_owned())).collect::<Vec<_>>(),
    });
    if let Some(weights) = &options.weights {
        let decimal = |billionths: u32| serde_json::from_str::<Value>(&format!("0.{billionths:09}")).expect("a number");
        let weights = weights.iter().map(|(feature, weight)| (feature.to_owned(), decimal(weight)));
        document["weights"] = Value::Object(weights.collect());
    }
    let Ignored { numbers, urls, accents } = options.ignore;
    let classes = [(numbers, "numbers"), (urls, "urls"), (accents, "accents")];
    document["ignore"] = classes.iter().filter(|(ignored, _)| *ignored).map(|(_, name)| *name).collect();
    if let Some(Markup::Html) = options.markup {
        document["markup"] = "html".into();
    }
    if let Some(ngram) = options.ngram {
        document["ngram"] = ngram.into();
    }
    if let Some(top) = options.top {
        document["top"] = top.get().into();
    }
    document
}
