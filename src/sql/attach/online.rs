//! `simhash_attach_online`: attaches to tables that cannot be locked for a rewrite.
//!
//! Adding a plain column needs no rewrite. A trigger maintains it ([`super::update`]), a procedure fills it a few pages
//! at a time ([`super::fill`]), and indexes on block expressions are built concurrently ([`super::index_commands`]).
//! Searches use these as they use indexes on block columns.

use std::ffi::CStr;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal};
use postgres::call::Call;
use postgres::catalog::citus::check_has_rows;
use postgres::catalog::column::Column;
use postgres::catalog::generation::definition;
use postgres::catalog::target::{Lock, Target};
use postgres::error::{notice, sendable, user_error};
use postgres::json::RawJsonb;
use postgres::spi::execute;
use postgres::text::to_server;

use super::command::{self, Command};
use super::foreign;
use super::prefix::Prefix;
use super::provenance::{Maker, is_labelled_relation};
use super::table::one_by_one;
use crate::sql::arguments::{name, required};
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::source::{Source, SourceKind};
use crate::sql::indexed::update_trigger::{UpdateTrigger, kind_of_stored};

#[pg_extern(sql = false)]
fn simhash_attach_online(
    target: Option<pg_sys::Oid>,
    source: Option<&CStr>,
    options: Option<RawJsonb<'_>>,
    prefix: Option<&CStr>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<(), ErrorReport> {
    let target = required(target, "target")?;
    let source = name(source, "source")?;
    // SAFETY: `fcinfo` belongs to the running call.
    let call = unsafe { Call::new(fcinfo) };
    command::run(call, target, prefix, pg_sys::AccessExclusiveLock as Lock, |command| {
        let Command { schema, prefix, table, family } = command;
        table.check_has_own_columns()?;
        foreign::check_has_none(family)?;
        check_has_rows(&table.open())
            .map_err(|error| error.set_hint("Call simhash_attach, which Citus runs on all servers."))?;
        let source = Source::read(table, source, options)?;
        Online { schema, source, prefix }.complete(table, family)
    })
}

/// What the user asks to attach.
struct Online {
    schema: ExtensionSchema,
    source: Source,
    prefix: Prefix,
}

impl Online {
    fn complete(&self, table: &Target, family: &[Target]) -> Result<(), ErrorReport> {
        self.check_source(table)?;
        let mut without_trigger = Vec::new();
        for member in one_by_one(table, family) {
            if !self.has_trigger(member)? {
                without_trigger.push(member);
            }
        }
        for member in family {
            let has_trigger = !without_trigger.iter().any(|without| without.oid == member.oid);
            self.check_column(member, has_trigger)?;
        }
        let column = self.prefix.fingerprint();
        let has_column = Column::find(&table.open(), column)?.is_some();
        if has_column && without_trigger.is_empty() {
            notice(format!("table \"{}\" is already attached, skipping", table.name));
            return Ok(());
        }
        if !has_column {
            notice(format!("adding column \"{column}\" to table \"{}\"", table.name));
            let quoted = quote_identifier(column);
            execute(&format!("ALTER TABLE {} ADD COLUMN {quoted} bigint", table.sql()))?;
            let object = format!("COLUMN {}.{quoted}", table.sql());
            let description = format!("fingerprint of {}", quote_identifier(&self.source.column));
            execute(&Maker::Online.comment(&object, &description))?;
        }
        let trigger = quote_identifier(self.prefix.trigger());
        let function = self.schema.locked_name(c"simhash_update", &[])?;
        let mut arguments = vec![quote_literal(column), quote_literal(&self.source.column)];
        arguments.extend(self.source.options_json().map(quote_literal));
        let arguments = arguments.join(", ");
        for member in without_trigger {
            notice(format!("creating trigger \"{}\" on table \"{}\"", self.prefix.trigger(), member.name));
            execute(&format!(
                "CREATE TRIGGER {trigger} BEFORE INSERT OR UPDATE ON {} FOR EACH ROW EXECUTE FUNCTION \
                 {function}({arguments})",
                member.sql()
            ))?;
            let object = format!("TRIGGER {trigger} ON {}", member.sql());
            execute(&Maker::Online.comment(&object, &format!("keeps {} up to date", quote_identifier(column))))?;
        }
        Ok(())
    }

    /// Refuses a source column that a trigger cannot fingerprint.
    fn check_source(&self, table: &Target) -> Result<(), ErrorReport> {
        let Source { column, .. } = &self.source;
        if self.source.kind == SourceKind::Fingerprints {
            let message = format!("column \"{column}\" already holds fingerprints");
            return Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message)
                .set_detail("It is a bigint column.")
                .set_hint("simhash_index_commands, with its name as the prefix, makes the indexes."));
        }
        if self.source.is_generated {
            let message = format!("column \"{column}\" is generated");
            return Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
                .set_detail("Generated columns are computed after BEFORE triggers.")
                .set_hint("Name a column that it is computed from, or use simhash_attach."));
        }
        let source = Column::find(&table.open(), column)?;
        let stored = source.as_ref().and_then(|source| kind_of_stored(source.data_type));
        if stored != Some(self.source.kind) {
            let of_type = source.map(|source| source.type_name()).unwrap_or_default();
            let message = format!("a trigger cannot fingerprint column \"{column}\" of type {of_type}");
            return Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message)
                .set_detail("The trigger takes text, character varying, character, text[] or tsvector.")
                .set_hint("Use simhash_attach, or keep the column up to date with a trigger of your own."));
        }
        Ok(())
    }

    /// Whether the table has the trigger. An error if another trigger has its name or computes that column.
    fn has_trigger(&self, table: &Target) -> Result<bool, ErrorReport> {
        let name = self.prefix.trigger();
        let mut found = false;
        for trigger in UpdateTrigger::all_of(self.schema, &table.open())? {
            if trigger.fingerprint != self.prefix.fingerprint() {
                continue;
            }
            let is_same = trigger.source == self.source.column
                && trigger.options()? == *self.source.options()
                && trigger.fires_for_each_row;
            if !is_same {
                return Err(self.trigger_clash(table, &trigger.name));
            }
            found = true;
        }
        if !found && has_trigger_named(table, &name)? {
            return Err(self.trigger_clash(table, &name));
        }
        Ok(found)
    }

    fn trigger_clash(&self, table: &Target, trigger: &str) -> ErrorReport {
        let message =
            format!("trigger \"{trigger}\" for relation \"{}\" already exists with a different definition", table.name);
        user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT, message)
            .set_detail(sendable(format!(
                "It must be enabled, fire before each row that is inserted or updated, and compute the fingerprint of \
                 {} with the same options.",
                quote_identifier(&self.source.column)
            )))
            .set_hint(
                "Choose another prefix, or drop the trigger. simhash_detach removes what simhash_attach_online made.",
            )
    }

    /// Refuses an existing column of that name with another definition.
    fn check_column(&self, table: &Target, has_trigger: bool) -> Result<(), ErrorReport> {
        let column = self.prefix.fingerprint();
        let Some(found) = Column::find(&table.open(), column)? else {
            return Ok(());
        };
        // A plain bigint may have any values, unless the trigger computes it, or our comment shows that an earlier call
        // made it.
        let is_plain = found.data_type == pg_sys::INT8OID && !found.is_generated;
        if is_plain && (has_trigger || is_labelled_relation(table.oid, found.attnum)?) {
            return Ok(());
        }
        let message =
            format!("column \"{column}\" of relation \"{}\" already exists with a different definition", table.name);
        Err(user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_COLUMN, message)
            .set_detail(sendable(format!(
                "It is {}, but must be bigint, kept up to date by simhash_update.",
                definition(table, &found)?
            )))
            .set_hint("Choose another prefix, or drop the column. simhash_detach removes what simhash_attach made."))
    }
}

fn has_trigger_named(table: &Target, name: &str) -> Result<bool, ErrorReport> {
    let name = to_server(name)?;
    // SAFETY: reads the catalog; the name is NUL-terminated.
    Ok(unsafe { pg_sys::get_trigger_oid(table.oid, name.as_ptr(), true) } != pg_sys::InvalidOid)
}
