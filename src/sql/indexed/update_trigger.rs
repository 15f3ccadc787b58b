//! The triggers of a table that call `simhash_update`, which maintains a plain column of fingerprints.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use postgres::catalog::relation::Relation;
use postgres::text::{from_server, to_server};
use postgres::trigger::{arguments, is_before_each_row, triggers};
use simhash::fingerprint::options::Options;

use super::source::SourceKind;
use crate::sql::fingerprint::options::{OptionsDocument, read_options};
use crate::sql::functions::ExtensionSchema;

/// A trigger of a table that calls `simhash_update`.
pub struct UpdateTrigger {
    pub oid: pg_sys::Oid,
    pub name: String,
    pub fingerprint: String,
    pub source: String,
    /// The options as the trigger was created with them; None if it has none.
    pub options_json: Option<String>,
    /// Whether it was cloned from a trigger of the partitioned table.
    pub is_clone: bool,
    /// Whether, in a normal session, it fires before each insert or update of a row, without a condition or column
    /// list.
    pub fires_for_each_row: bool,
}

impl UpdateTrigger {
    /// The options among its arguments; an error if they are invalid.
    pub fn options(&self) -> Result<Options, ErrorReport> {
        match &self.options_json {
            Some(json) => read_options(OptionsDocument::Text(to_server(json)?.to_bytes())),
            None => Ok(Options::default()),
        }
    }

    /// The first trigger that maintains this fingerprint column, whether attach or a user created it.
    pub fn of_column(schema: ExtensionSchema, table: &Relation, column: &str) -> Result<Option<Self>, ErrorReport> {
        Ok(Self::all_of(schema, table)?.into_iter().find(|trigger| trigger.fingerprint == column))
    }

    /// The triggers of a table that name both columns. Other triggers raise an error when they fire.
    pub fn all_of(schema: ExtensionSchema, table: &Relation) -> Result<Vec<Self>, ErrorReport> {
        let function = schema.function(c"simhash_update", &[]);
        let mut found = Vec::new();
        for trigger in triggers(table).iter().filter(|trigger| Some(trigger.tgfoid) == function) {
            // SAFETY: a trigger in the relation cache has a name and `tgnargs` arguments, all NUL-terminated.
            unsafe {
                let arguments = arguments(trigger)
                    .iter()
                    .map(|argument| from_server(argument.as_ptr()))
                    .collect::<Result<Vec<_>, _>>()?;
                let mut arguments = arguments.into_iter();
                let (Some(fingerprint), Some(source)) = (arguments.next(), arguments.next()) else {
                    continue;
                };
                found.push(Self {
                    oid: trigger.tgoid,
                    name: from_server(trigger.tgname)?,
                    fingerprint,
                    source,
                    options_json: arguments.next(),
                    is_clone: trigger.tgisclone,
                    fires_for_each_row: is_before_each_row(trigger) && matches!(trigger.tgenabled as u8, b'O' | b'A'),
                });
            }
        }
        Ok(found)
    }
}

/// The kind of source that a trigger can read without a cast from stored values of a type; None for other types.
pub fn kind_of_stored(of_type: pg_sys::Oid) -> Option<SourceKind> {
    // SAFETY: look-ups in system caches.
    unsafe {
        let base = pg_sys::getBaseType(of_type);
        let is_text = |of_type| of_type == pg_sys::BPCHAROID || pg_sys::IsBinaryCoercible(of_type, pg_sys::TEXTOID);
        match base {
            pg_sys::TSVECTOROID => Some(SourceKind::Tsvector),
            // A character(n) differs from its text only in trailing spaces, which are in no feature.
            _ if is_text(base) => Some(SourceKind::Text),
            _ => {
                let element = pg_sys::get_element_type(base);
                let is_features = element != pg_sys::InvalidOid && is_text(pg_sys::getBaseType(element));
                is_features.then_some(SourceKind::Features)
            }
        }
    }
}
