//! The options of a fingerprint: what counts as a feature and how much it weighs.

use std::num::NonZeroU32;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IntoDeserializer, value};
use serde_json::Value;

use super::shingle::MAX_NGRAM;

/// What features are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokens {
    /// Words, and the letters of scripts written without spaces.
    #[default]
    Words,
    /// The single characters of these.
    Chars,
}

/// What a feature weighs that occurs tf times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// 1.
    #[default]
    Set,
    /// round(256 * (1 + ln tf)).
    Log,
    /// tf.
    Tf,
}

/// How a fingerprint is made. The default is what `simhash(text)` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub tokens: Tokens,
    /// Tokens in a feature, 1 to 16. None: 1 word, 3 spaceless tokens, 4 characters.
    pub ngram: Option<u8>,
    pub weight: Weight,
    /// Whether letters that differ in case only are the same.
    pub case_fold: bool,
    /// Keep only this many of the heaviest features; of equally heavy ones those with the smallest hash, unsigned.
    pub top: Option<NonZeroU32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { tokens: Tokens::Words, ngram: None, weight: Weight::Set, case_fold: true, top: None }
    }
}

impl Options {
    pub(super) fn words_per_feature(&self) -> usize {
        self.ngram.unwrap_or(1).into()
    }

    pub(super) fn spaceless_per_feature(&self) -> usize {
        self.ngram.unwrap_or(3).into()
    }

    pub(super) fn chars_per_feature(&self) -> usize {
        self.ngram.unwrap_or(4).into()
    }

    /// Reads the options document: a JSON object with any of these keys.
    pub fn from_json(document: &Value) -> Result<Self, InvalidOptions> {
        let Value::Object(object) = document else {
            return Err(InvalidOptions::NotAnObject);
        };
        let mut options = Self::default();
        for (key, value) in object {
            match key.as_str() {
                "tokens" => options.tokens = read_name(key, value, "one of \"words\", \"chars\"")?,
                "ngram" => {
                    let allowed = "an integer from 1 to 16";
                    let n: u8 = read(key, value, allowed)?;
                    if !(1..=MAX_NGRAM).contains(&n.into()) {
                        return Err(InvalidOptions::value(key, value, allowed));
                    }
                    options.ngram = Some(n);
                }
                "weight" => options.weight = read_name(key, value, "one of \"set\", \"log\", \"tf\"")?,
                "case_fold" => options.case_fold = read(key, value, "true or false")?,
                "top" => options.top = Some(read(key, value, "an integer from 1 to 4294967295")?),
                _ => return Err(InvalidOptions::UnknownKey(key.clone())),
            }
        }
        Ok(options)
    }
}

/// One of an enum's names: a string. In general, serde also takes `{"tf": null}` for "tf".
fn read_name<T: DeserializeOwned>(key: &str, value: &Value, allowed: &'static str) -> Result<T, InvalidOptions> {
    let read = |name: &str| T::deserialize(IntoDeserializer::<value::Error>::into_deserializer(name)).ok();
    value.as_str().and_then(read).ok_or_else(|| InvalidOptions::value(key, value, allowed))
}

fn read<T: DeserializeOwned>(key: &str, value: &Value, allowed: &'static str) -> Result<T, InvalidOptions> {
    T::deserialize(value).map_err(|_| InvalidOptions::value(key, value, allowed))
}

/// What is wrong with an options document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidOptions {
    NotAnObject,
    UnknownKey(String),
    Value { key: String, value: String, allowed: &'static str },
}

impl InvalidOptions {
    /// The keys, as a hint may list them.
    pub const KEYS: &str = "\"tokens\", \"ngram\", \"weight\", \"case_fold\", \"top\"";

    fn value(key: &str, value: &Value, allowed: &'static str) -> Self {
        Self::Value { key: key.to_owned(), value: value.to_string(), allowed }
    }
}
