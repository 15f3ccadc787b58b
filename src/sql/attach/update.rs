//! The trigger `simhash_update(fingerprint column, source column [, options])`, which maintains a plain column.
//!
//! It is for tables that cannot be rewritten, and works like PostgreSQL's `tsvector_update_trigger`: BEFORE INSERT OR
//! UPDATE, FOR EACH ROW. Unlike a generated column it can be bypassed: it does not change the fingerprint of a row that
//! is stored while the trigger is disabled.

use std::ffi::CStr;
use std::iter;

use pgrx::datum::Internal;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::{AnyArray, FromDatum, IntoDatum};
use postgres::call::Call;
use postgres::catalog::column::{Column, no_such_column};
use postgres::error::user_error;
use postgres::heap::row::Row;
use postgres::raised::forward_errors;
use postgres::text::{TextArgument, from_server};
use postgres::trigger::{RowEvent, protocol_violated};
use simhash::fingerprint::options::Options;

use crate::sql::fingerprint::fingerprint_cache;
use crate::sql::fingerprint::options::{OptionsDocument, read_options};
use crate::sql::fingerprint::simhash::{simhash_features_array, to_bigint};
use crate::sql::fingerprint::tsvector::simhash_tsvector;
use crate::sql::indexed::source::SourceKind;
use crate::sql::indexed::update_trigger::kind_of_stored;

const USAGE: &str = "CREATE TRIGGER ... BEFORE INSERT OR UPDATE ... FOR EACH ROW EXECUTE FUNCTION simhash_update(...)";

const NO_FINGERPRINT_HINT: &str = "If the column was dropped, simhash_attach_online adds it again, and simhash_detach \
                                   removes the trigger. If it was renamed, rename it back.";
const NO_SOURCE_HINT: &str = "If the column was renamed, drop the trigger and call simhash_attach_online with the new \
                              name. If it was dropped, call simhash_detach.";

#[pg_extern(sql = false)]
fn simhash_update(fcinfo: pg_sys::FunctionCallInfo) -> Result<Internal, ErrorReport> {
    forward_errors(|| {
        // SAFETY: `fcinfo` belongs to the running call.
        let event = RowEvent::from_call(unsafe { Call::new(fcinfo) }, "simhash_update", USAGE)?;
        let call = TriggerCall::new(event)?;
        // SAFETY: the fingerprint column belongs to the trigger's table and is a bigint, as `TriggerCall::new` has
        // checked.
        let row = unsafe {
            match call.event.old_row() {
                Some(old) if call.is_unchanged(old) => call.event.new_tuple(),
                _ => call
                    .event
                    .with_value(call.fingerprint.attnum.into(), call.fingerprint()?.and_then(IntoDatum::into_datum)),
            }
        };
        Ok(Internal::from(Some(row.into())))
    })
}

/// A call of the trigger with checked arguments: the table has both columns, of types that fit.
struct TriggerCall<'a> {
    event: RowEvent<'a>,
    fingerprint: Column,
    source: Column,
    kind: SourceKind,
    options: Options,
}

impl<'a> TriggerCall<'a> {
    fn new(event: RowEvent<'a>) -> Result<Self, ErrorReport> {
        let arguments = event.arguments();
        let (fingerprint_name, source_name, options) = match arguments[..] {
            [fingerprint, source] => (fingerprint, source, None),
            [fingerprint, source, options] => (fingerprint, source, Some(options)),
            _ => {
                return Err(protocol_violated("simhash_update takes 2 or 3 arguments".to_owned(), USAGE)
                    .set_detail(format!("The trigger has {}.", arguments.len()))
                    .set_hint("They are the fingerprint column, the source column, and options."));
            }
        };
        let fingerprint = column(&event, fingerprint_name, NO_FINGERPRINT_HINT)?;
        let source = column(&event, source_name, NO_SOURCE_HINT)?;
        if fingerprint.data_type != pg_sys::INT8OID {
            return Err(
                wrong_type(&fingerprint)?.set_hint("The fingerprint column of simhash_update is of type bigint.")
            );
        }
        for column in [&fingerprint, &source] {
            if column.is_generated {
                return Err(user_error(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    format!("simhash_update cannot work with the generated column \"{}\"", column.name()?),
                )
                .set_detail("Generated columns are computed after BEFORE triggers."));
            }
        }
        let kind = kind_of_stored(source.data_type).ok_or(()).or_else(|()| {
            Err(wrong_type(&source)?.set_hint(
                "The source column of simhash_update is text, character varying, character, text[] or tsvector.",
            ))
        })?;
        let options = match options {
            None => Options::default(),
            Some(_) if kind != SourceKind::Text => {
                let error = wrong_type(&source)?;
                return Err(error.set_detail("Options say how the features of a text are made."));
            }
            Some(options) => read_options(OptionsDocument::Text(options.to_bytes()))?,
        };
        drop(arguments);
        Ok(Self { event, fingerprint, source, kind, options })
    }

    /// Whether an UPDATE leaves the fingerprint and the value of the source unchanged.
    fn is_unchanged(&self, old: Row<'_>) -> bool {
        let new = self.event.new_row();
        let fingerprint = |row: Row<'_>| row.value(self.fingerprint.attnum);
        fingerprint(new).is_some_and(|new| fingerprint(old) == Some(new))
            && new.value(self.source.attnum).is_some()
            && new.has_same_values(old, iter::once(self.source.attnum))
    }

    /// The fingerprint of the new row's source.
    fn fingerprint(&self) -> Result<Option<i64>, ErrorReport> {
        let Some(source) = self.event.new_row().value(self.source.attnum) else {
            return Ok(None);
        };
        // SAFETY: `kind_of_stored` has derived the kind from the source's type, so the value is stored as that kind is.
        unsafe {
            match self.kind {
                SourceKind::Features => match AnyArray::from_polymorphic_datum(source, false, pg_sys::TEXTARRAYOID) {
                    Some(features) => simhash_features_array(features),
                    None => Ok(None),
                },
                SourceKind::Tsvector => match <&[u8]>::from_datum(source, false) {
                    Some(document) => simhash_tsvector(document),
                    None => Ok(None),
                },
                SourceKind::Text | SourceKind::Fingerprints | SourceKind::BitStrings | SourceKind::Hex => {
                    Ok(fingerprint_cache::fingerprint(TextArgument::new(source), &self.options)?.map(to_bigint))
                }
            }
        }
    }
}

fn column(event: &RowEvent, name: &CStr, hint: &str) -> Result<Column, ErrorReport> {
    let table = event.table();
    if let Some(column) = Column::find_raw(&table, name) {
        return Ok(column);
    }
    // SAFETY: trigger arguments and names are NUL-terminated.
    let (name, trigger) = unsafe { (from_server(name.as_ptr())?, from_server((*event.data.tg_trigger).tgname)?) };
    Err(no_such_column(&table, &name)?
        .set_detail(format!("It is an argument of the trigger \"{trigger}\"."))
        .set_hint(hint))
}

fn wrong_type(column: &Column) -> Result<ErrorReport, ErrorReport> {
    let message = format!("column \"{}\" is of type {}", column.name()?, column.type_name());
    Ok(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message))
}
