//! Options documents: each is read as its definition says, or refused for the reason that it gives.
//!
//! An input is the document.

use std::num::NonZeroU32;

use pg_simhash::simhash::fingerprint::Fingerprinter;
use pg_simhash::simhash::options::{InvalidOptions, Options, Tokens, Weight};
use serde_json::{Value, json};

use super::oracle;

pub fn check(input: &[u8]) {
    let Ok(document) = serde_json::from_str(&String::from_utf8_lossy(input)) else { return };
    let read = Options::from_json(&document);
    assert_eq!(read, by_definition(&document), "{document}");
    if let Ok(options) = read {
        assert_eq!(Options::from_json(&written(&options)), Ok(options.clone()), "{document}");
        let text = "The cat, the Hat; ein Haus: 天地人和 und the cat. 4 of 4";
        let fingerprint = Fingerprinter::default().fingerprint(text, &options, &|| ());
        assert_eq!(fingerprint, Ok(oracle::fingerprint(text, &options)), "{document}");
    }
}

/// As the README describes the keys; of several errors that of the first key in the order of their bytes.
fn by_definition(document: &Value) -> Result<Options, InvalidOptions> {
    let object = document.as_object().ok_or(InvalidOptions::NotAnObject)?;
    let mut keys: Vec<&String> = object.keys().collect();
    keys.sort();
    let mut options = Options::default();
    for key in keys {
        let value = &object[key];
        // A whole number, written as one.
        let from_1_to = |most: u64| value.as_u64().filter(|number| (1..=most).contains(number));
        let allowed = match key.as_str() {
            "tokens" => "one of \"words\", \"chars\"",
            "ngram" => "an integer from 1 to 16",
            "weight" => "one of \"set\", \"log\", \"tf\"",
            "case_fold" => "true or false",
            "top" => "an integer from 1 to 4294967295",
            _ => return Err(InvalidOptions::UnknownKey(key.clone())),
        };
        match (key.as_str(), value) {
            ("tokens", Value::String(name)) if name == "words" => options.tokens = Tokens::Words,
            ("tokens", Value::String(name)) if name == "chars" => options.tokens = Tokens::Chars,
            ("ngram", _) if from_1_to(16).is_some() => options.ngram = from_1_to(16).map(|n| n as u8),
            ("weight", Value::String(name)) if name == "set" => options.weight = Weight::Set,
            ("weight", Value::String(name)) if name == "log" => options.weight = Weight::Log,
            ("weight", Value::String(name)) if name == "tf" => options.weight = Weight::Tf,
            ("case_fold", Value::Bool(fold)) => options.case_fold = *fold,
            ("top", _) if from_1_to(u32::MAX.into()).is_some() => {
                options.top = from_1_to(u32::MAX.into()).and_then(|top| NonZeroU32::new(top as u32));
            }
            _ => return Err(InvalidOptions::Value { key: key.clone(), value: value.to_string(), allowed }),
        }
    }
    Ok(options)
}

/// A document that asks for these options.
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
