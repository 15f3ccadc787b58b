//! The options of a fingerprint: what counts as a feature and how much it weighs.

use std::num::NonZeroU32;

use serde_json::Value;

use super::shingle::MAX_NGRAM;

/// What features are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tokens {
    /// Words, and the letters of scripts written without spaces.
    #[default]
    Words,
    /// The single characters of these.
    Chars,
}

/// What a feature weighs that occurs tf times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
            let refused = |allowed| InvalidOptions::Value { key: key.clone(), value: value.to_string(), allowed };
            match key.as_str() {
                "tokens" => {
                    options.tokens = match value.as_str() {
                        Some("words") => Tokens::Words,
                        Some("chars") => Tokens::Chars,
                        _ => return Err(refused("one of \"words\", \"chars\"")),
                    }
                }
                "ngram" => {
                    let n = value.as_u64().filter(|n| (1..=MAX_NGRAM as u64).contains(n));
                    options.ngram = Some(n.ok_or_else(|| refused("an integer from 1 to 16"))? as u8);
                }
                "weight" => {
                    options.weight = match value.as_str() {
                        Some("set") => Weight::Set,
                        Some("log") => Weight::Log,
                        Some("tf") => Weight::Tf,
                        _ => return Err(refused("one of \"set\", \"log\", \"tf\"")),
                    }
                }
                "case_fold" => options.case_fold = value.as_bool().ok_or_else(|| refused("true or false"))?,
                "top" => {
                    let top = value.as_u64().and_then(|top| NonZeroU32::new(u32::try_from(top).ok()?));
                    options.top = Some(top.ok_or_else(|| refused("an integer from 1 to 4294967295"))?);
                }
                _ => return Err(InvalidOptions::UnknownKey(key.clone())),
            }
        }
        Ok(options)
    }
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
}
