//! Options documents: each is read as its definition says, or refused for the reason that the definition gives.
//!
//! An input is a document.

use std::collections::HashMap;
use std::num::NonZeroU32;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use simhash::fingerprint::Fingerprinter;
use simhash::fingerprint::options::{InvalidOptions, Options, Tokens, Weight};

use super::oracle;

pub fn check(input: &[u8]) {
    let document = String::from_utf8_lossy(input);
    let read = Options::from_json(&document);
    assert_eq!(read.as_ref().map_err(reason), by_definition(&document).as_ref().map_err(reason), "{document}");
    if let Ok(options) = read {
        assert_eq!(Options::from_json(&written(&options).to_string()), Ok(options.clone()), "{document}");
        let text = "The cat, the Hat; ein Haus: 天地人和 und the cat. 4 of 4";
        let fingerprint = Fingerprinter::default().fingerprint(text, &options, &|| ());
        assert_eq!(fingerprint, Ok(oracle::fingerprint(text, &options)), "{document}");
    }
}

/// Why a document is refused. The definition leaves open how a message shows a wrong value.
fn reason(error: &InvalidOptions) -> (&str, &str) {
    match error {
        InvalidOptions::Unreadable(_) => ("unreadable", ""),
        InvalidOptions::NotAnObject => ("not an object", ""),
        InvalidOptions::UnknownKey(key) => ("unknown", key),
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
            "tokens" => "one of \"words\", \"chars\"",
            "ngram" => "an integer from 1 to 16",
            "weight" => "one of \"set\", \"log\", \"tf\"",
            "case_fold" => "true or false",
            "top" => "an integer from 1 to 4294967295",
            _ => return Err(InvalidOptions::UnknownKey(key.clone())),
        };
        match (key.as_str(), name.as_str()) {
            ("tokens", "words") => options.tokens = Tokens::Words,
            ("tokens", "chars") => options.tokens = Tokens::Chars,
            ("ngram", _) if (1..=16).contains(&number) => options.ngram = Some(number as u8),
            ("weight", "set") => options.weight = Weight::Set,
            ("weight", "log") => options.weight = Weight::Log,
            ("weight", "tf") => options.weight = Weight::Tf,
            ("case_fold", _) if value == "true" => options.case_fold = true,
            ("case_fold", _) if value == "false" => options.case_fold = false,
            ("top", _) if (1..=u32::MAX.into()).contains(&number) => options.top = NonZeroU32::new(number as u32),
            _ => return Err(InvalidOptions::Value { key: key.clone(), value: value.to_owned(), allowed }),
        }
    }
    Ok(options)
}

/// A whole number of at most twelve digits, found by moving its point one digit at a time; 0 for anything else.
fn whole(number: &str) -> u64 {
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
    let whole = whole.trim_start_matches('0');
    if fraction.chars().all(|digit| digit == '0') && whole.len() <= 12 { whole.parse().unwrap_or(0) } else { 0 }
}

/// A document that gives these options.
fn written(options: &Options) -> Value {
    let mut document = json!({
        "tokens": match options.tokens { Tokens::Words => "words", Tokens::Chars => "chars" },
        "weight": match options.weight { Weight::Set => "set", Weight::Log => "log", Weight::Tf => "tf" },
        "case_fold": options.case_fold,
    });
    if let Some(ngram) = options.ngram {
        document["ngram"] = ngram.into();
    }
    if let Some(top) = options.top {
        document["top"] = top.get().into();
    }
    document
}
