//! The arguments of a guard's trigger: `simhash_dedup(action, criterion, fingerprint column [, mark column [, scope
//! column ...]])`.
//!
//! A log may follow: an empty argument, the log's schema and name, and the columns whose values are logged. A condition
//! may follow: another empty argument, and the condition. Without a log, it follows two empty arguments.

use pgrx::pg_sys::panic::ErrorReport;
use postgres::trigger::protocol_violated;

use super::action::Action;
use super::criterion::GuardCriterion;
use super::log::Log;

/// How to create the trigger, shown as a hint to users who create it by hand.
pub const USAGE: &str = "CREATE TRIGGER ... BEFORE INSERT OR UPDATE ... FOR EACH ROW EXECUTE FUNCTION \
    simhash_dedup(action, max_distance, fingerprint_column)";

pub struct Arguments {
    pub action: Action,
    pub criterion: GuardCriterion,
    pub fingerprint: String,
    /// The mark column; given for the action mark only.
    pub mark_column: Option<String>,
    pub scope: Vec<String>,
    pub log: Option<Log>,
    /// The condition under which existing rows count, as SQL; None if all rows count.
    pub among: Option<String>,
}

impl Arguments {
    pub fn parse(arguments: &[String]) -> Result<Self, ErrorReport> {
        let [action, criterion, fingerprint, columns @ ..] = arguments else {
            return Err(protocol_violated("simhash_dedup takes at least 3 arguments".to_owned(), USAGE)
                .set_detail(format!("The trigger has {}.", arguments.len())));
        };
        let action = Action::named(action)?;
        let criterion = GuardCriterion::parse(criterion)?;
        let (mark_column, following) = match columns {
            [] => (None, &[][..]),
            [mark, following @ ..] => (Some(mark.clone()).filter(|mark| !mark.is_empty()), following),
        };
        let (scope, log, among) = split(following)?;
        if (action == Action::Mark) != mark_column.is_some() {
            let message = "simhash_dedup takes a mark column for the action mark, and only for that action";
            return Err(protocol_violated(message.to_owned(), USAGE));
        }
        if log.is_some() && action == Action::Reject {
            return Err(wrong_log());
        }
        let (fingerprint, scope) = (fingerprint.clone(), scope.to_vec());
        Ok(Self { action, criterion, fingerprint, mark_column, scope, log, among })
    }

    /// The arguments as texts, for CREATE TRIGGER.
    pub fn to_texts(&self) -> Vec<String> {
        let mut texts = vec![self.action.name().to_owned(), self.criterion.to_string(), self.fingerprint.clone()];
        let goes_on = self.log.is_some() || self.among.is_some();
        if self.mark_column.is_some() || !self.scope.is_empty() || goes_on {
            texts.push(self.mark_column.clone().unwrap_or_default());
        }
        texts.extend(self.scope.iter().cloned());
        if goes_on {
            texts.push(String::new());
            texts.extend(self.log.iter().flat_map(Log::arguments));
        }
        if let Some(among) = &self.among {
            texts.extend([String::new(), among.clone()]);
        }
        texts
    }

    /// The columns of the guarded table that the arguments name, except the condition's columns.
    pub fn columns(&self) -> impl Iterator<Item = &String> {
        let logged = self.log.iter().flat_map(|log| &log.columns);
        std::iter::once(&self.fingerprint).chain(&self.mark_column).chain(&self.scope).chain(logged)
    }
}

/// The scope, the log and the condition.
type Sections<'a> = (&'a [String], Option<Log>, Option<String>);

/// Splits the arguments after the mark column.
fn split(arguments: &[String]) -> Result<Sections<'_>, ErrorReport> {
    let sections: Vec<_> = arguments.split(String::is_empty).collect();
    let (scope, log, among) = match sections[..] {
        [scope] => (scope, None, None),
        [scope, log] => (scope, Some(log), None),
        [scope, log, [among]] => (scope, Some(log).filter(|log| !log.is_empty()), Some(among.clone())),
        _ => return Err(wrong_log()),
    };
    let log = match log {
        None => None,
        Some([schema, name, columns @ ..]) => {
            Some(Log { schema: schema.clone(), name: name.clone(), columns: columns.to_vec() })
        }
        Some(_) => return Err(wrong_log()),
    };
    Ok((scope, log, among))
}

fn wrong_log() -> ErrorReport {
    let message = "simhash_dedup takes the schema and the name of a log, for the actions skip and mark";
    protocol_violated(message.to_owned(), USAGE)
}
