//! Rows that lack the fingerprint that the trigger `simhash_update` would store. `simhash_fill` stores it; other
//! commands warn about such rows.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal, quote_qualified_identifier};
use postgres::catalog::column::Column;
use postgres::catalog::index::{Index, KeyKind};
use postgres::catalog::names::schema_name;
use postgres::catalog::relation::{Relation, hides_rows};
use postgres::catalog::target::Target;
use postgres::error::{sendable, user_error, warn};
use postgres::settings::{set_locally, with_settings};
use postgres::spi::execute;

use super::layouts::{BlockKey, block_keys};
use super::source::{Source, block_sql};
use super::update_trigger::UpdateTrigger;
use crate::sql::functions::{ExtensionSchema, SIMHASH_BLOCK};

/// A fingerprint column that the trigger `simhash_update` maintains.
pub struct MaintainedColumn {
    /// The quoted column name.
    pub column: String,
    /// The expression that the trigger computes, as SQL for statements of this transaction.
    pub fingerprint: String,
}

impl MaintainedColumn {
    /// Reads the first trigger that maintains a column, whether attach or a user created it. None if there is no such
    /// trigger; an error if its arguments are wrong.
    pub fn read(schema: ExtensionSchema, table: &Target, column: &str) -> Result<Option<Self>, ErrorReport> {
        let Some(trigger) = UpdateTrigger::of_column(schema, &table.open(), column)? else { return Ok(None) };
        let source = Source::read(table, trigger.source.clone(), None)?;
        trigger.options()?;
        let fingerprint = match &trigger.options_json {
            Some(json) => {
                let function = schema.locked_name(c"simhash", &[pg_sys::TEXTOID, pg_sys::TEXTOID])?;
                format!("{function}({}, {}::pg_catalog.text)", source.argument(), quote_literal(json))
            }
            None => source.fingerprint_sql(schema)?,
        };
        Ok(Some(Self { column: quote_identifier(column), fingerprint }))
    }

    /// The condition that selects the rows that lack their fingerprint.
    pub fn unfilled_condition(&self) -> String {
        format!("{} IS NULL AND {} IS NOT NULL", self.column, self.fingerprint)
    }
}

/// How [`warn_of_unfilled`] looks for rows that lack their fingerprint.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// In the whole table.
    Everywhere,
    /// By an index on a block, if there is one: a row without a fingerprint has no blocks either.
    ByIndex,
}

/// Warns if a table or one that inherits from it has rows that lack their fingerprint. Must run as the owner.
pub fn warn_of_unfilled(
    schema: ExtensionSchema,
    column: &str,
    table: &Target,
    family: &[Target],
    look: Look,
) -> Result<(), ErrorReport> {
    // Without inheritors, ONLY is not needed. For a distributed table, it would select only the local part, which has
    // no rows.
    let only = if table.is_partitioned() || family.len() == 1 { "" } else { "ONLY " };
    for member in family.iter().filter(|member| member.is_ordinary()) {
        if !can_be_read(member) {
            continue;
        }
        let member = member.with_locked_names()?;
        // Skip a trigger that cannot compute, for example because its source was dropped: it raises an error when it
        // fires.
        let Ok(Some(maintained)) = MaintainedColumn::read(schema, &member, column) else { continue };
        let mut condition = maintained.unfilled_condition();
        if look == Look::ByIndex
            && let Some(block) = indexed_block(schema, &member, column)?
        {
            condition = format!("{block} IS NULL AND {condition}");
        }
        let found = with_settings(|| {
            set_locally(c"row_security", c"off");
            execute(&format!("SELECT FROM {only}{} WHERE {condition} LIMIT 1", member.sql()))
        })?;
        if found > 0 {
            let prefix = if column == "simhash" { String::new() } else { format!(", {}", quote_literal(column)) };
            let fill = quote_qualified_identifier(schema_name(schema.oid())?, "simhash_fill".to_owned());
            let call = format!("CALL {fill}({}{prefix})", quote_literal(table.sql()));
            let message = format!("table \"{}\" has rows without a fingerprint that should have one", member.name);
            let warning = user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .set_detail("Searches and guards do not see them.")
                .set_hint(sendable(format!("Fill them: {call}")));
            warn(warning);
            return Ok(());
        }
    }
    Ok(())
}

/// Whether the rows can be read and the names can be locked. A read-only transaction cannot lock names. If a policy
/// hides rows from the owner, they cannot be read, and simhash_fill reports it.
pub fn can_be_read(table: &Target) -> bool {
    let is_temporary_elsewhere = table.open().is_temporary_elsewhere();
    // SAFETY: a setting that is a plain variable.
    let is_read_only = unsafe { pg_sys::XactReadOnly };
    !is_read_only && !is_temporary_elsewhere && !hides_rows(table.oid, Some(table.owner))
}

/// The SQL of a block of the fingerprint that has an index; None if no block has one.
fn indexed_block(schema: ExtensionSchema, table: &Target, column: &str) -> Result<Option<String>, ErrorReport> {
    let relation = table.open();
    let Some(fingerprint) = Column::find(&relation, column)? else { return Ok(None) };
    let usable = |index| Index::read_usable(&Relation::open(index)).filter(|index| !index.is_partial);
    for index in relation.indexes().into_iter().filter_map(usable) {
        let key = block_keys(&relation, &index)
            .next()
            .filter(|key| key.scope.is_empty() && key.call.fingerprint.as_own_column() == Some(fingerprint.attnum));
        match key {
            Some(BlockKey { kind: KeyKind::Column(attnum), .. }) => {
                if let Some(column) = Column::at(&relation, attnum) {
                    return Ok(Some(quote_identifier(column.name()?)));
                }
            }
            Some(BlockKey { kind: KeyKind::Expression(_), call, .. }) => {
                let function = schema.locked_name(c"simhash_block", SIMHASH_BLOCK)?;
                return Ok(Some(block_sql(&function, &fingerprint, call.block, call.blocks)?));
            }
            None => {}
        }
    }
    Ok(None)
}
