//! The options of a fingerprint and of comparing texts: what counts as a feature and how much it weighs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::agreement::{Same, Words};
use super::invalid_options::{InvalidOptions, Reason};
use super::json_number::{billionths, integer};
use super::weight_map::WeightMap;
use super::weights::log_weight;
use crate::memory::with_capacity;
use crate::text::ignore::Ignored;
use crate::text::shingle::MAX_NGRAM;

/// The kind of tokens from which features are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokens {
    /// Words, and single letters of scripts written without spaces.
    #[default]
    Words,
    /// Single characters of the text, without its separators.
    Chars,
}

/// The weight of a feature that occurs tf times.
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

/// The part of a text with markup that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Markup {
    /// The text of an HTML document or of a part of one, without its markup.
    Html,
    /// The main content of an HTML page, without its template's parts.
    Main,
}

/// How a fingerprint is made, and how texts are compared. The default makes the fingerprints of `simhash(text)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub tokens: Tokens,
    /// The number of tokens in a feature, 1 to 16. None stands for 1 word, 3 spaceless tokens or 4 characters.
    pub ngram: Option<u8>,
    pub weight: Weight,
    /// Whether letters that differ only in case are the same.
    pub case_fold: bool,
    /// The seed of the features' hashes.
    pub seed: u64,
    /// The weights of single features; None if each weighs 1. They multiply the result of `weight`.
    pub weights: Option<Arc<WeightMap>>,
    /// The markup that is removed before the text is read; None if all of it is text.
    pub markup: Option<Markup>,
    /// The parts of a text that do not count, in fingerprints and in comparing.
    pub ignore: Ignored,
    /// The properties in which two texts must agree; otherwise they have resemblance 0, and no band in common. Without
    /// effect on fingerprints.
    pub same: Same,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tokens: Tokens::Words,
            ngram: None,
            weight: Weight::Set,
            case_fold: true,
            seed: 0,
            weights: None,
            markup: None,
            ignore: Ignored::default(),
            same: Same::default(),
        }
    }
}

impl Options {
    /// Whether bands by these options find all texts that are near by `compared`: they are the same bands, or those
    /// without the option `same`.
    pub fn has_bands_for(&self, compared: &Self) -> bool {
        self.makes_same_fingerprints(compared) && (self.same.is_nothing() || self.same == compared.same)
    }

    /// Whether each text has the same fingerprint by both options. They may differ in `same`, which fingerprints do not
    /// depend on.
    pub fn makes_same_fingerprints(&self, other: &Self) -> bool {
        let Self { tokens, ngram, weight, case_fold, seed, weights, markup, ignore, same: _ } = self;
        (tokens, ngram, weight, case_fold, seed)
            == (&other.tokens, &other.ngram, &other.weight, &other.case_fold, &other.seed)
            && (weights, markup, ignore) == (&other.weights, &other.markup, &other.ignore)
    }

    /// Whether texts are compared by pairs of neighbouring features too. Sequences of characters have order in them.
    pub(super) fn has_pairs(&self) -> bool {
        self.tokens != Tokens::Chars
    }

    /// Whether all features weigh the same. Then it does not matter how often each occurs.
    pub(super) fn is_plain_set(&self) -> bool {
        self.weight == Weight::Set && self.weights.is_none()
    }

    /// The weight of the feature with this hash that occurs `count` times in a text, in units of which
    /// [`Options::one`] make a weight of 1. It fits in 62 bits.
    #[inline]
    pub(super) fn weigh(&self, hash: u64, count: u32) -> u64 {
        match &self.weights {
            None => self.weigh_count(count),
            Some(weights) => self.weigh_count(count) * weights.weight(hash),
        }
    }

    /// The weight of a feature that occurs `count` times, without the option `weights`.
    #[inline]
    pub(super) fn weigh_count(&self, count: u32) -> u64 {
        u64::from(match self.weight {
            Weight::Set => 1,
            Weight::Log => log_weight(count),
            Weight::Tf => count,
        })
    }

    /// The result of [`Options::weigh`] for a weight of 1. With the option `weights`, it may be more than 1, so that
    /// all weights are whole numbers.
    pub(super) fn unit_weight(&self) -> u64 {
        self.weights.as_ref().map_or(1, |weights| weights.unit_weight())
    }

    /// The number of tokens in a feature: the option `ngram`, or the default for this kind of tokens.
    pub(super) fn tokens_per_feature(&self, by_default: u8) -> usize {
        self.ngram.unwrap_or(by_default).into()
    }

    /// Reads an options document: a JSON object with any of its keys. If a key is given twice, the last value
    /// counts. Numbers are compared by value: 2 and 2.0 are the same. PostgreSQL's `jsonb` does the same.
    pub fn from_json(document: &str) -> Result<Self, InvalidOptions> {
        let mut options = Self::default();
        for (key, value) in members(document)? {
            options.set(key, value.get())?;
        }
        Ok(options)
    }

    /// These options with the value of `weights` replaced by this JSON.
    pub fn with_weights(&self, weights: &str) -> Result<Self, InvalidOptions> {
        let mut options = self.clone();
        options.set("weights".to_owned(), weights)?;
        Ok(options)
    }

    /// Sets the option of this key, whose value is JSON. Must be called in the byte order of the keys: "same" comes
    /// after "case_fold" and "ignore", by which its words are normalised; "weights" comes after these and "seed", by
    /// which its features are hashed.
    pub(crate) fn set(&mut self, key: String, value: &str) -> Result<(), InvalidOptions> {
        let wrong = |allowed| InvalidOptions::wrong_value(key.clone(), value, allowed);
        let ngram = || integer(value).filter(|n| (1..=MAX_NGRAM as u64).contains(n)).map(|n| n as u8);
        match key.as_str() {
            "tokens" => self.tokens = read_name(value)?.ok_or("\"words\" or \"chars\"").map_err(wrong)?,
            "ngram" => self.ngram = Some(ngram().ok_or("an integer from 1 to 16").map_err(wrong)?),
            "weight" => self.weight = read_name(value)?.ok_or("one of \"set\", \"log\", \"tf\"").map_err(wrong)?,
            "case_fold" => self.case_fold = serde_json::from_str(value).or(Err("true or false")).map_err(wrong)?,
            "seed" => self.seed = integer(value).ok_or("an integer from 0 to 18446744073709551615").map_err(wrong)?,
            "markup" => self.markup = Some(read_name(value)?.ok_or("\"html\" or \"main\"").map_err(wrong)?),
            "ignore" => self.ignore = read_ignored(value)?.ok_or(ALLOWED_IGNORE).map_err(wrong)?,
            "same" => self.same = read_same(value, self)?.map_err(wrong)?,
            "weights" => self.weights = read_weights(key, value, self)?.map(Arc::new),
            _ => return Err(Reason::UnknownKey(key).into()),
        }
        Ok(())
    }
}

/// The members of the JSON object that a document is, in the byte order of their keys.
pub(crate) fn members(document: &str) -> Result<BTreeMap<String, &RawValue>, InvalidOptions> {
    let value: &RawValue = read_json(document)?;
    if !value.get().starts_with('{') {
        return Err(Reason::NotAnObject.into());
    }
    read_json(document)
}

// The allowed values of some options, as the ends of hints.
const ALLOWED_IGNORE: &str = "an array of \"numbers\", \"ids\", \"urls\", \"accents\", \"hyphenation\"";
const ALLOWED_SAME: &str = "an array of \"numbers\" and up to 64 words, each of up to 256 bytes";
const MEANT_NUMBERS: &str =
    "\"numbers\" if all numbers are meant; \"number\", \"digits\" and \"ids\" are no words of \"same\"";
const ALLOWED_WEIGHTS: &str = "an object of features, each with a number from 0 to 1, and no feature twice";

/// The value of the option `weights`, whose key is `key`; None if all features weigh 1. The error has only the wrong
/// part of the value.
fn read_weights(key: String, value: &str, options: &Options) -> Result<Option<WeightMap>, InvalidOptions> {
    let wrong = |value: &str| InvalidOptions::wrong_value(key, value, ALLOWED_WEIGHTS);
    if !value.starts_with('{') {
        return Err(wrong(value));
    }
    let members: BTreeMap<String, &RawValue> = read_json(value)?;
    let mut weights = with_capacity(members.len())?;
    for (feature, weight) in members {
        let Some(billionths) = billionths(weight.get()) else {
            return Err(wrong(&format!("{}: {}", Value::from(feature), weight.get())));
        };
        weights.push((feature, billionths));
    }
    match WeightMap::new(weights, options.case_fold, options.ignore, options.seed)? {
        Ok(map) => Ok(Some(map).filter(|map| !map.is_empty())),
        Err(repeated) => Err(wrong(&format!("{} twice", Value::from(repeated)))),
    }
}

/// The value of the option `ignore`; None if it is not an array of the names of classes.
fn read_ignored(value: &str) -> Result<Option<Ignored>, InvalidOptions> {
    let mut ignored = Ignored::default();
    let Some(names) = read_strings(value)? else { return Ok(None) };
    for name in names {
        match &*name {
            "numbers" => ignored.numbers = true,
            "ids" => ignored.ids = true,
            "urls" => ignored.urls = true,
            "accents" => ignored.accents = true,
            "hyphenation" => ignored.hyphenation = true,
            _ => return Ok(None),
        }
    }
    Ok(Some(ignored))
}

/// The value of the option `same`; an inner error with the allowed values if it is wrong. Words such as "number" are
/// refused, because the user probably means "numbers".
fn read_same(value: &str, options: &Options) -> Result<Result<Same, &'static str>, InvalidOptions> {
    let Some(mut words) = read_strings(value)? else { return Ok(Err(ALLOWED_SAME)) };
    let numbers = words.iter().any(|word| word == "numbers");
    words.retain(|word| word != "numbers");
    if words.iter().any(|word| ["number", "numbers", "digits", "ids"].contains(&&*word.to_ascii_lowercase())) {
        return Ok(Err(MEANT_NUMBERS));
    }
    let words = Words::new(&words, options.case_fold, options.ignore)?;
    Ok(words.map(|words| Same { numbers, words }).ok_or(ALLOWED_SAME))
}

/// The strings of an array; None if the value is not an array of strings.
fn read_strings(value: &str) -> Result<Option<Vec<String>>, InvalidOptions> {
    if !value.starts_with('[') {
        return Ok(None);
    }
    let values = read_json::<Vec<&RawValue>>(value)?;
    if !values.iter().all(|value| value.get().starts_with('"')) {
        return Ok(None);
    }
    values.into_iter().map(|value| read_json(value.get())).collect::<Result<_, _>>().map(Some)
}

fn read_json<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, InvalidOptions> {
    serde_json::from_str(json).map_err(|error| Reason::Unreadable(error.to_string()).into())
}

/// Reads the name of an enum's value. Only a string will do: serde would also take `{"tf": null}` for "tf".
fn read_name<T: DeserializeOwned>(value: &str) -> Result<Option<T>, InvalidOptions> {
    if !value.starts_with('"') {
        return Ok(None);
    }
    let name: String = read_json(value)?;
    Ok(T::deserialize(Value::String(name)).ok())
}
