//! `simhash_guard` and `simhash_unguard`: create the trigger on a table, and drop it.

use std::collections::HashSet;
use std::ffi::CStr;

use pgrx::prelude::*;
use pgrx::spi::quote_literal;
use pgrx::{AnyArray, PgMemoryContexts};
use postgres::arrays::column_names;
use postgres::call::Call;
use postgres::catalog::column::Column;
use postgres::catalog::relation::{ACCESS_EXCLUSIVE, Relation, SHARE_ROW_EXCLUSIVE, foreign_keys, relation_name};
use postgres::catalog::target::Target;
use postgres::error::{ErrorReport, Explain, Result, invalid_parameter, notice, user_error, wrong_state};
use postgres::heap::primary_key::PrimaryKey;
use postgres::json::RawJsonb;
use postgres::server_string::server_string;
use postgres::spi::execute;
use postgres::text::{RawText, decode};
use postgres::trigger::{is_enabled, table_of_original};
use simhash::error::shorten;

use super::definition::arguments::{Action, Arguments, TRIGGER_NAME};
use super::definition::asked_source::find_source;
use super::definition::asked_sql::AskedSql;
use super::definition::condition::{AMONG, UNLESS, condition_sql};
use super::definition::criterion::AskedCriterion;
use super::definition::distribution::{check_allows_triggers, check_can_guard};
use super::definition::mark_check::{check_mark_column, set_mark_columns};
use super::definition::members::{Members, check_is_whole};
use super::definition::scope::GuardScope;
use super::definition::searched_table::SearchedTable;
use super::definition::source::column_name;
use super::existing_guard::{ExistingGuard, find_guard};
use super::preview::common_words::report_common_words;
use super::row::evaluation::Evaluator;
use crate::sql::arguments::required;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::scope::warn_of_unique_index;

#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments)] // The SQL function has as many.
fn simhash_guard(
    target: Option<pg_sys::Oid>,
    action: Option<RawText<'_>>,
    criterion: Option<RawJsonb<'_>>,
    scope: Option<AnyArray>,
    among: Option<RawText<'_>>,
    mark_column: Option<&CStr>,
    source: Option<RawText<'_>>,
    unless: Option<RawText<'_>>,
    call: Call<'_>,
) -> Result<()> {
    let guard = AskedGuard {
        criterion: criterion.map(AskedCriterion::read).transpose()?,
        action: action.map(|action| Action::from_name(decode(action)?.as_str())).transpose()?,
        scope: scope.map(|scope| column_names(&scope, "scope")).transpose()?,
        mark_column: mark_column.map(|mark| server_string(mark.to_bytes())).transpose()?,
        source: AskedSql::read(source, "source")?,
        among: AskedSql::read(among, "among")?,
        unless: AskedSql::read(unless, "unless")?,
    };
    let target = required(target, "target")?;
    // CREATE TRIGGER takes the same lock. While this waits for it, the extension may move to another schema.
    Target::lock(target, SHARE_ROW_EXCLUSIVE, |table| guard.install(ExtensionSchema::of_call(call)?, table))
}

#[pg_extern(sql = false)]
fn simhash_unguard(target: Option<pg_sys::Oid>, call: Call<'_>) -> Result<()> {
    // DROP TRIGGER takes the same lock. While this waits for it, the extension may move to another schema.
    Target::lock(required(target, "target")?, ACCESS_EXCLUSIVE, |table| {
        if find_guard(ExtensionSchema::of_call(call)?, table)?.is_none() {
            let message = format!("table \"{}\" has no guard", table.name);
            return Err(user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, message));
        }
        check_allows_triggers(&table.open())?;
        notice(format!("dropping trigger {TRIGGER_NAME} on table \"{}\"", table.name));
        execute(&format!("DROP TRIGGER {TRIGGER_NAME} ON {}", table.sql()?)).map(drop)
    })
}

/// The arguments of `simhash_guard`. None stands for the existing guard's value or, without a guard, for the default.
/// An empty text stands for no value.
struct AskedGuard {
    action: Option<Action>,
    criterion: Option<AskedCriterion>,
    scope: Option<Vec<String>>,
    mark_column: Option<String>,
    source: Option<AskedSql>,
    among: Option<AskedSql>,
    unless: Option<AskedSql>,
}

impl AskedGuard {
    /// Creates the trigger, replaces the existing one, or leaves it as it is, and reports which.
    fn install(self, schema: ExtensionSchema, table: &Target) -> Result<()> {
        let existing = find_guard(schema, table)?;
        let with_hint =
            |error: ErrorReport| error.with_hint("The guard of the table cannot be read: call simhash_unguard first.");
        let old = existing.as_ref().map(|guard| Arguments::parse(&guard.arguments)).transpose().map_err(with_hint)?;
        let relation = table.open();
        let (new, searched) = self.completed_from(old.as_ref(), &relation)?.resolved(schema, table, &relation)?;
        drop(relation);
        let memory = PgMemoryContexts::CurrentMemoryContext.value();
        // SAFETY: the memory context of the running call outlives the evaluator.
        let evaluator = unsafe { Evaluator::new(TRIGGER_NAME.to_owned(), memory) };
        evaluator.try_stored_rows(&searched)?;
        report_common_words(&new.criterion, &searched, &evaluator, table)?;
        let arguments = new.to_texts()?;
        let is_unchanged =
            existing.as_ref().is_some_and(|guard| guard.fires_before_each_row && guard.arguments == arguments);
        if let Some(guard) = existing.as_ref().filter(|guard| guard.is_clone && !is_unchanged) {
            return Err(already_guarded(guard, &table.name)?);
        }
        let changes = old.map(|old| describe_changes(&old, &new)).transpose()?.unwrap_or_default();
        report_installation(table, existing.as_ref(), is_unchanged, changes)?;
        if is_unchanged { Ok(()) } else { create_trigger(schema, table, &arguments) }
    }

    /// Takes the omitted arguments from the existing guard, except a source column that no longer exists, and the mark
    /// column if the action is not mark.
    fn completed_from(mut self, old: Option<&Arguments>, table: &Relation) -> Result<Self> {
        let Some(old) = old else { return Ok(self) };
        let is_gone = |column: String| Ok(Column::find(table, &column)?.is_none());
        let action = *self.action.get_or_insert(old.action);
        if self.criterion.is_none() {
            self.criterion = Some(AskedCriterion::from_json(old.criterion.to_json()?)?);
        }
        self.scope.get_or_insert_with(|| old.scope.clone());
        self.mark_column = self.mark_column.or_else(|| old.mark_column.clone().filter(|_| action == Action::Mark));
        if !column_name(&old.source).map_or(Ok(false), is_gone)? {
            self.source.get_or_insert_with(|| AskedSql::of_guard(&old.source));
        }
        self.among = self.among.or_else(|| old.among.as_deref().map(AskedSql::of_guard));
        self.unless = self.unless.or_else(|| old.unless.as_deref().map(AskedSql::of_guard));
        Ok(self)
    }

    /// Finds the source, the columns and the tables to search. Returns the trigger's arguments, and these tables. An
    /// error if the trigger would fail for each row.
    fn resolved(
        self,
        schema: ExtensionSchema,
        table: &Target,
        relation: &Relation,
    ) -> Result<(Arguments, Vec<SearchedTable>)> {
        check_is_whole(table)?;
        let (action, scope) = (self.action.unwrap_or(Action::Reject), self.scope.unwrap_or_default());
        let members = Members::read(table.oid, table.oid)?;
        let check_member = |&member: &pg_sys::Oid| check_can_guard(&Relation::open(member), &scope);
        members.all.iter().try_for_each(check_member)?;
        let scope_columns: Vec<_> = GuardScope::new(relation, &scope)?.attnums().collect();
        let asked = self.criterion.map_or_else(|| AskedCriterion::from_json("{}".to_owned()), Ok)?;
        let (source, criterion) = find_source(self.source.as_ref(), &members, &asked, schema)?;
        let mark_column = self.mark_column.filter(|mark| !mark.is_empty());
        let among = condition_sql(self.among.as_ref(), relation, AMONG, mark_column.as_deref())?;
        let unless = condition_sql(self.unless.as_ref(), relation, UNLESS, mark_column.as_deref())?;
        let arguments = Arguments { action, criterion, source, mark_column, scope, among, unless };
        let mut searched = members.searched(&arguments, Some(schema))?;
        resolve_mark_column(&arguments, relation, &mut searched)?;
        warn_of_unique_index(relation, &scope_columns)?;
        if action == Action::Skip {
            warn_of_shared_key(table, relation)?;
        }
        Ok((arguments, searched))
    }
}

/// Sets the mark column of each searched table, if the action is mark. An error if the column is missing, is unfit, or
/// is given for another action.
fn resolve_mark_column(arguments: &Arguments, relation: &Relation, searched: &mut [SearchedTable]) -> Result<()> {
    match (arguments.action, &arguments.mark_column) {
        (Action::Mark, Some(mark)) => {
            // A partitioned table has no rows of its own, and so is not among the searched tables.
            check_mark_column(relation, mark, None, searched)?;
            set_mark_columns(searched, mark)
        }
        (Action::Mark, None) => Err(invalid_parameter("the action mark needs a mark_column")
            .with_hint("Add a column of the primary key's type, or of type jsonb, and name it.")),
        (_, Some(_)) => Err(invalid_parameter("mark_column is for the action mark only")),
        (_, None) => Ok(()),
    }
}

/// Warns if each row shares its primary key with a row of another table: a guard that skips a row leaves that other row
/// without its counterpart.
fn warn_of_shared_key(table: &Target, relation: &Relation) -> Result<()> {
    let key: HashSet<_> = PrimaryKey::read(relation)?.columns().map(|column| column.attnum).collect();
    let is_primary_key = |columns: &[i16]| columns.iter().copied().collect::<HashSet<_>>() == key;
    let mut foreign_keys = foreign_keys(relation).into_iter();
    let Some(shared) = foreign_keys.find(|foreign| is_primary_key(&foreign.columns)) else { return Ok(()) };
    let other = relation_name(shared.referenced)?.unwrap_or_default();
    let message = format!("skipped rows of table \"{}\" leave rows of table \"{other}\" behind", table.name);
    user_error(PgSqlErrorCode::ERRCODE_WARNING, message)
        .with_detail(format!(
            "The primary key is a foreign key too: applications store each object as a row of \"{other}\" and a row \
             with the same key here, and fail on objects that lack one of the two."
        ))
        .with_hint("Use the action reject or mark.")
        .report(PgLogLevel::WARNING);
    Ok(())
}

/// The error for a partition that has its table's guard, and cannot get another one.
fn already_guarded(guard: &ExistingGuard, partition: &str) -> Result<ErrorReport> {
    let name = table_of_original(guard.oid).map_or(Ok(None), relation_name)?.unwrap_or_default();
    let message = format!("partition \"{partition}\" has the guard of table \"{name}\"");
    Ok(wrong_state(message).with_hint("Call simhash_guard for that table."))
}

/// Says whether the trigger is created, replaced or left as it is, and what changes.
fn report_installation(
    table: &Target,
    existing: Option<&ExistingGuard>,
    is_unchanged: bool,
    changes: String,
) -> Result<()> {
    let message = match existing {
        Some(_) if is_unchanged => format!("table \"{}\" is already guarded, skipping", table.name),
        Some(_) => format!("replacing trigger {TRIGGER_NAME} on table \"{}\"", table.name),
        None => format!("creating trigger {TRIGGER_NAME} on table \"{}\"", table.name),
    };
    let mut report = user_error(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message);
    if !changes.is_empty() {
        report = report.with_detail(changes);
    }
    if existing.is_some_and(|guard| !is_enabled(guard.tgenabled)) {
        let enable_sql = format!("ALTER TABLE {} ENABLE TRIGGER {TRIGGER_NAME}", table.sql()?);
        report = report.with_hint(format!(
            "The trigger still does not fire in ordinary sessions. To enable it, run {enable_sql}."
        ));
    }
    report.report(PgLogLevel::NOTICE);
    Ok(())
}

/// Describes what changes in a guard, one argument a line. Empty if nothing does.
fn describe_changes(old: &Arguments, new: &Arguments) -> Result<String> {
    /// A longer value, such as many weights, is shortened.
    const MAX_SHOWN_BYTES: usize = 500;
    let shown = |value: String| match &*value {
        "null" => "none".to_owned(),
        long if long.len() > MAX_SHOWN_BYTES => shorten(long),
        _ => value,
    };
    let both = old.to_json_members()?.into_iter().zip(new.to_json_members()?);
    let changed = both.filter(|((_, old), (_, new))| old != new);
    let lines = changed.map(|((name, old), (_, new))| format!("{name}: {} -> {}", shown(old), shown(new)));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// Creates the trigger, or replaces it. A replaced trigger still fires when it did.
fn create_trigger(schema: ExtensionSchema, table: &Target, arguments: &[String]) -> Result<()> {
    let restore_commands = commands_to_restore_states(schema, table)?;
    let arguments: Vec<_> = arguments.iter().map(quote_literal).collect();
    execute(&format!(
        "CREATE OR REPLACE TRIGGER {TRIGGER_NAME} BEFORE INSERT OR UPDATE ON {} FOR EACH ROW EXECUTE FUNCTION {}({})",
        table.sql()?,
        schema.locked_name(c"simhash_dedup", &[])?,
        arguments.join(", ")
    ))?;
    restore_commands.iter().try_for_each(|command| execute(command).map(drop))
}

/// The commands that restore when the triggers of a table and of its partitions fire: CREATE OR REPLACE TRIGGER enables
/// all of them. Reports the guards of partitions that it replaces. An error if another trigger of a partition has the
/// guard's name.
fn commands_to_restore_states(schema: ExtensionSchema, table: &Target) -> Result<Vec<String>> {
    let mut commands = Vec::new();
    // CREATE TRIGGER takes the same lock, and so does ALTER TABLE ... DISABLE TRIGGER.
    for member in table.family(SHARE_ROW_EXCLUSIVE)? {
        let Some(guard) = find_guard(schema, &member)? else { continue };
        if member.oid != table.oid && !guard.is_clone {
            notice(format!("replacing trigger {TRIGGER_NAME} on partition \"{}\"", member.name));
        }
        let state = match guard.tgenabled {
            pg_sys::TRIGGER_FIRES_ALWAYS => "ENABLE ALWAYS",
            pg_sys::TRIGGER_FIRES_ON_REPLICA => "ENABLE REPLICA",
            pg_sys::TRIGGER_DISABLED => "DISABLE",
            _ => continue,
        };
        commands.push(format!("ALTER TABLE ONLY {} {state} TRIGGER {TRIGGER_NAME}", member.sql()?));
    }
    Ok(commands)
}
