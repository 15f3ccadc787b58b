//! The arguments of a guard's trigger: `simhash_dedup(action, criterion, source [, mark column [, scope column ...]])`.
//!
//! The criterion is a JSON document, as [`simhash::criterion`] describes it. An empty argument ends the scope columns;
//! the condition `among` comes after it. Another empty argument comes next, and then the condition `unless`:
//! `simhash_dedup('skip', '{}', 'body', '', 'tenant', '', 'live', '', 'confirmed')`.

use postgres::error::{Explain, Result, invalid_parameter};
use postgres::json::{array, string};
use postgres::server_string::server_string_from_bytea;
use postgres::trigger::protocol_violated;
use simhash::error::shorten;

use super::criterion::GuardCriterion;

/// How to create the trigger, shown as a hint to users who create it by hand.
pub const USAGE: &str = "CREATE TRIGGER ... BEFORE INSERT OR UPDATE ... FOR EACH ROW EXECUTE FUNCTION \
    simhash_dedup(action, criterion, source)";

/// The name of the trigger that `simhash_guard` creates. BEFORE triggers fire in the order of their names, so the guard
/// comes last and sees the row as the other triggers leave it.
pub const TRIGGER_NAME: &str = "zzz_simhash_guard";

/// The action of a guard on a near-duplicate: reject it with an error, skip it silently, or store it with a mark, which
/// is the key of the near row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Reject,
    Skip,
    Mark,
}

impl Action {
    pub fn from_name(name: &str) -> Result<Self> {
        let action = [Self::Reject, Self::Skip, Self::Mark].into_iter().find(|action| action.name() == name);
        action.ok_or_else(|| {
            invalid_parameter(format!("unknown action \"{}\"", shorten(name)))
                .with_hint("The actions are reject, skip and mark.")
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Skip => "skip",
            Self::Mark => "mark",
        }
    }
}

/// The parsed arguments of a guard's trigger.
pub struct Arguments {
    pub action: Action,
    pub criterion: GuardCriterion,
    /// The source that the guard compares, as SQL on a row of its table.
    pub source: String,
    /// The mark column, for the action mark only.
    pub mark_column: Option<String>,
    pub scope: Vec<String>,
    /// The condition under which existing rows count, as SQL; None if all rows count.
    pub among: Option<String>,
    /// The condition under which a new row is stored unchecked, as SQL.
    pub unless: Option<String>,
}

impl Arguments {
    pub fn parse(arguments: &[String]) -> Result<Self> {
        let [action, criterion, source, optional @ ..] = arguments else {
            return Err(protocol_violated("simhash_dedup takes at least 3 arguments".to_owned(), USAGE)
                .with_detail(format!("The trigger has {}.", arguments.len())));
        };
        let action = Action::from_name(action)?;
        let criterion = GuardCriterion::parse(criterion)?;
        let (mark_column, following) = optional.split_first().unzip();
        let mark_column = mark_column.filter(|column| !column.is_empty()).cloned();
        let (scope, among, unless) = split_conditions(following.unwrap_or_default())?;
        if (action == Action::Mark) != mark_column.is_some() {
            let message = "simhash_dedup takes a mark column for the action mark, and only for that action";
            return Err(protocol_violated(message.to_owned(), USAGE));
        }
        let (source, scope) = (source.clone(), scope.to_vec());
        Ok(Self { action, criterion, source, mark_column, scope, among, unless })
    }

    /// Reads the arguments as `pg_trigger` stores them: each ends with a NUL.
    pub fn parse_stored(bytes: &[u8]) -> Result<Self> {
        let texts = bytes
            .split_inclusive(|&byte| byte == 0)
            .map(|text| server_string_from_bytea(text.strip_suffix(b"\0").unwrap_or(text)));
        Self::parse(&texts.collect::<Result<Vec<_>>>()?)
    }

    /// The arguments as members of a JSON object, by the names that they have in `simhash_guard`.
    pub fn to_json_members(&self) -> Result<[(&'static str, String); 7]> {
        let string_or_null = |text: &Option<String>| text.as_deref().map_or_else(|| "null".to_owned(), string);
        Ok([
            ("action", string(self.action.name())),
            ("criterion", self.criterion.to_json()?),
            ("source", string(&self.source)),
            ("scope", array(self.scope.iter().map(|column| string(column)))),
            ("mark_column", string_or_null(&self.mark_column)),
            ("among", string_or_null(&self.among)),
            ("unless", string_or_null(&self.unless)),
        ])
    }

    /// The arguments as texts, for CREATE TRIGGER.
    pub fn to_texts(&self) -> Result<Vec<String>> {
        let mut texts = vec![self.action.name().to_owned(), self.criterion.to_json()?, self.source.clone()];
        let has_condition = self.among.is_some() || self.unless.is_some();
        if self.mark_column.is_some() || !self.scope.is_empty() || has_condition {
            texts.push(self.mark_column.clone().unwrap_or_default());
        }
        texts.extend(self.scope.iter().cloned());
        if has_condition {
            texts.push(String::new());
            texts.extend(self.among.clone());
        }
        if let Some(unless) = &self.unless {
            texts.extend([String::new(), unless.clone()]);
        }
        Ok(texts)
    }
}

/// Splits the arguments after the mark column into the scope and the conditions `among` and `unless`, at empty ones.
fn split_conditions(arguments: &[String]) -> Result<(&[String], Option<String>, Option<String>)> {
    let sections: Vec<_> = arguments.split(String::is_empty).collect();
    match sections[..] {
        [scope] => Ok((scope, None, None)),
        [scope, [among]] => Ok((scope, Some(among.clone()), None)),
        [scope, among @ ([] | [_]), [unless]] => Ok((scope, among.first().cloned(), Some(unless.clone()))),
        _ => {
            let message = "simhash_dedup takes two conditions at most, each after an empty argument, behind the columns \
                 of the scope";
            Err(protocol_violated(message.to_owned(), USAGE))
        }
    }
}
