//! Why the documents of options and criteria are refused, for messages.

use std::fmt;

use crate::error::{Error, shorten};

pub const OPTION_KEYS: [&str; 9] =
    ["tokens", "ngram", "weight", "weights", "case_fold", "seed", "markup", "ignore", "same"];

/// The keys of a criterion that are not options.
pub const CRITERION_KEYS: [&str; 3] = ["resemblance", "bands", "max_distance"];

/// Why the document of options, or of a criterion, is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidOptions {
    pub reason: Reason,
    /// Whether the document is a criterion.
    in_criterion: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Memory was refused, or a limit was exceeded.
    Failed(Error),
    /// The document is not valid JSON, for this reason.
    Unreadable(String),
    /// The document is JSON, but not an object.
    NotAnObject,
    /// The object has this key, which it may not have.
    UnknownKey(String),
    /// A key has a wrong value.
    WrongValue {
        key: String,
        /// The start of the value, as the document has it.
        value: String,
        /// The allowed values: the end of a sentence that begins with "It must be".
        allowed: &'static str,
    },
}

impl From<Error> for InvalidOptions {
    fn from(error: Error) -> Self {
        Reason::Failed(error).into()
    }
}

impl From<Reason> for InvalidOptions {
    fn from(reason: Reason) -> Self {
        Self { reason, in_criterion: false }
    }
}

impl InvalidOptions {
    pub(crate) fn wrong_value(key: String, value: &str, allowed: &'static str) -> Self {
        Reason::WrongValue { key, value: shorten(value), allowed }.into()
    }

    /// This error for options that are part of a criterion.
    pub(crate) fn in_criterion(self) -> Self {
        Self { in_criterion: true, ..self }
    }

    /// Further information, as a sentence.
    pub fn detail(&self) -> Option<String> {
        if let Reason::Unreadable(reason) = &self.reason { Some(format!("{reason}.")) } else { None }
    }

    /// Advice, as a sentence.
    pub fn hint(&self) -> Option<String> {
        Some(match &self.reason {
            Reason::Failed(_) => return None,
            Reason::Unreadable(_) => "A JSON object is expected, such as {\"markup\": \"html\"}.".to_owned(),
            Reason::WrongValue { allowed, .. } => format!("It must be {allowed}."),
            _ if self.in_criterion => {
                format!("The keys of a criterion are {}.", quoted(&[&CRITERION_KEYS[..], &OPTION_KEYS].concat()))
            }
            Reason::UnknownKey(key) if CRITERION_KEYS.contains(&key.as_str()) => {
                "It is a key of a criterion, such as that of simhash_near(text, text, criterion) and simhash_guard."
                    .to_owned()
            }
            _ => format!("The options are {}.", quoted(&OPTION_KEYS)),
        })
    }
}

/// The message, without [`InvalidOptions::detail`] and [`InvalidOptions::hint`].
impl fmt::Display for InvalidOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let document = if self.in_criterion { "the criterion" } else { "simhash options" };
        let named = |key: &str| match (self.in_criterion, shorten(key)) {
            (true, key) => format!("key \"{key}\" of a criterion"),
            (false, key) => format!("simhash option \"{key}\""),
        };
        match &self.reason {
            Reason::Failed(error) => write!(f, "{error}"),
            Reason::Unreadable(_) => write!(f, "{document} cannot be read"),
            Reason::NotAnObject => write!(f, "{document} must be a JSON object"),
            Reason::UnknownKey(key) => write!(f, "unknown {}", named(key)),
            Reason::WrongValue { key, value, .. } => write!(f, "invalid value for {}: {value}", named(key)),
        }
    }
}

impl std::error::Error for InvalidOptions {}

fn quoted(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("\"{key}\"")).collect::<Vec<_>>().join(", ")
}
