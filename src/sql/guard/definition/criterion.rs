//! The criterion of near-duplicates: as a user asks for it, and complete, as an argument of a guard's trigger.

use std::collections::BTreeMap;

use postgres::error::{ErrorReport, Explain, Result, invalid_parameter};
use postgres::json::{RawJsonb, to_json_text};
use postgres::server_string::to_server_cstring;
use serde_json::Value;
use simhash::criterion::{CriterionDocument, TextCriterion};
use simhash::error::shorten;
use simhash::fingerprint::invalid_options::OPTION_KEYS;
use simhash::fingerprint::options::Options;

use crate::sql::fingerprint::options::{
    JsonDocument, merged, read_criterion, reject_weights_of_table, unfit_criterion,
};

/// The criterion of a guard: what it compares, and which rows are near.
#[derive(Clone, Debug, PartialEq)]
pub enum GuardCriterion {
    Texts(GuardedTexts),
    /// Fingerprints that differ in at most this number of bits.
    Distance(i32),
}

/// The criterion of a guard that compares texts. Two are equal if they mean the same, however they are written.
#[derive(Clone, Debug)]
pub struct GuardedTexts {
    pub criterion: TextCriterion,
    /// The options of the bands, and of comparing texts.
    pub options: Options,
    /// The criterion as JSON, with the options among its keys. `resemblance` and `bands` may be missing.
    json: String,
}

impl GuardCriterion {
    pub fn parse(json: &str) -> Result<Self> {
        let document = parse_document(json).and_then(reject_weights_of_table)?;
        Ok(match document.texts() {
            Some(criterion) => {
                Self::Texts(GuardedTexts { criterion, options: document.options, json: json.to_owned() })
            }
            None => Self::Distance(document.max_distance()),
        })
    }

    /// The criterion as JSON. Options that it omits have the defaults of `simhash_band`.
    pub fn to_json(&self) -> Result<String> {
        match self {
            Self::Texts(GuardedTexts { criterion: TextCriterion { resemblance, bands }, json, .. }) => {
                merged(&format!(r#"{{"resemblance": {resemblance}, "bands": {bands}}}"#), json)
            }
            Self::Distance(max_distance) => Ok(format!(r#"{{"resemblance": null, "max_distance": {max_distance}}}"#)),
        }
    }
}

impl PartialEq for GuardedTexts {
    fn eq(&self, other: &Self) -> bool {
        (self.criterion, &self.options) == (other.criterion, &other.options)
    }
}

impl GuardedTexts {
    /// The options as JSON, for users.
    pub fn options_json(&self) -> String {
        let mut options = serde_json::from_str::<BTreeMap<&str, Value>>(&self.json).unwrap_or_default();
        // {"weights": "table"} asks to learn weights once. It is no option: only the learnt weights are.
        options.retain(|key, value| OPTION_KEYS.contains(key) && *value != "table");
        Value::from_iter(options).to_string()
    }
}

fn parse_document(json: &str) -> Result<CriterionDocument> {
    read_criterion(JsonDocument::Text(to_server_cstring(json)?.to_bytes()))
}

/// The criterion argument of a command. Keys that it omits take their defaults from the indexes.
pub struct AskedCriterion {
    json: String,
    document: CriterionDocument,
}

impl AskedCriterion {
    pub fn read(document: RawJsonb<'_>) -> Result<Self> {
        // SAFETY: the argument is of type jsonb.
        let json = unsafe { to_json_text(document) }?;
        Ok(Self { json, document: read_criterion(JsonDocument::Jsonb(document))? })
    }

    pub fn from_json(json: String) -> Result<Self> {
        Ok(Self { document: parse_document(&json)?, json })
    }

    /// Whether the criterion is for fingerprints.
    pub fn is_for_fingerprints(&self) -> bool {
        self.document.texts().is_none()
    }

    /// Whether the criterion asks for weights that are learnt from the table.
    pub fn asks_for_weights(&self) -> bool {
        self.document.weights_of_table
    }

    /// The criterion for texts, with these options, as JSON, by default. An error if a key is for fingerprints.
    pub fn for_texts(&self, options: &str) -> Result<GuardedTexts> {
        if let Some(key) = self.unexpected_key(|key| key != "max_distance") {
            return Err(wrong_key(&key, "fingerprints", "texts").with_hint(
                "Texts are compared by their resemblance. For fingerprints, give {\"resemblance\": null} too.",
            ));
        }
        let json = merged(&self.json, options)?;
        let document = parse_document(&json)?;
        let criterion = document.for_texts().map_err(unfit_criterion)?;
        Ok(GuardedTexts { criterion, options: document.options, json })
    }

    /// The largest distance of fingerprints. An error if a key is for texts.
    pub fn for_fingerprints(&self) -> Result<i32> {
        let is_for_distances = |key: &str| key == "max_distance" || key == "resemblance" && self.is_for_fingerprints();
        if let Some(key) = self.unexpected_key(is_for_distances) {
            return Err(wrong_key(&key, "texts", "fingerprints")
                .with_hint("The distance decides about fingerprints: {\"resemblance\": null, \"max_distance\": 3}."));
        }
        Ok(self.document.max_distance())
    }

    /// A key of the criterion that is not expected; None if all keys are.
    fn unexpected_key(&self, is_expected: impl Fn(&str) -> bool) -> Option<String> {
        let keys = serde_json::from_str::<BTreeMap<String, Value>>(&self.json);
        keys.unwrap_or_default().into_keys().find(|key| !is_expected(key))
    }
}

fn wrong_key(key: &str, meant_for: &str, compared: &str) -> ErrorReport {
    let key = shorten(key);
    invalid_parameter(format!("key \"{key}\" of a criterion is for {meant_for}, and this guard compares {compared}"))
}
