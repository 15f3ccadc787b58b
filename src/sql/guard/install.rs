//! `simhash_guard` and `simhash_unguard`: create the trigger on a table, and drop it.

use std::collections::HashSet;
use std::ffi::CStr;

use pgrx::prelude::*;
use pgrx::spi::quote_literal;
use pgrx::{AnyArray, PgMemoryContexts};
use postgres::arrays::names;
use postgres::call::Call;
use postgres::catalog::column::Column;
use postgres::catalog::relation::{ForeignKey, Relation, foreign_keys, relation_name};
use postgres::catalog::target::{Lock, Target};
use postgres::error::{ErrorReport, Result, invalid_parameter, notice, sendable, shorten, user_error, warn};
use postgres::heap::primary_key::PrimaryKey;
use postgres::json::RawJsonb;
use postgres::spi::execute;
use postgres::text::{RawText, decode, from_bytes};
use postgres::trigger::{arguments, is_before_each_row, triggers};

use super::definition::arguments::{Action, Arguments, TRIGGER_NAME};
use super::definition::asked_source::find_source;
use super::definition::asked_sql::AskedSql;
use super::definition::condition::{AMONG, UNLESS, condition_sql};
use super::definition::criterion::AskedCriterion;
use super::definition::distribution::{check_allows_triggers, check_can_guard};
use super::definition::mark_check::{self, set_marks};
use super::definition::members::{Members, check_is_whole};
use super::definition::scope::GuardScope;
use super::definition::searched_table::SearchedTable;
use super::definition::source::column_name;
use super::preview::common_words::report_common_words;
use super::row::condition::Conditions;
use super::row::confirmation::SourceReader;
use super::row::stored_rows::RunningGuard;
use super::trial::try_stored_rows;
use crate::sql::arguments::required;
use crate::sql::functions::ExtensionSchema;

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
    let sql = |sql: Option<RawText<'_>>| sql.map(AskedSql::new).transpose();
    let guard = AskedGuard {
        function: call.function(),
        schema: ExtensionSchema::running(call)?,
        criterion: criterion.map(AskedCriterion::read).transpose()?,
        action: action.map(|action| Action::named(decode(action)?.as_str())).transpose()?,
        scope: scope.map(|scope| names(&scope, "scope")).transpose()?,
        mark_column: mark_column.map(|mark| from_bytes(mark.to_bytes())).transpose()?,
        source: sql(source)?,
        among: sql(among)?,
        unless: sql(unless)?,
    };
    let target = required(target, "target")?;
    // CREATE TRIGGER takes the same lock.
    Target::lock(target, pg_sys::ShareRowExclusiveLock as Lock, |table| guard.install(table))
}

#[pg_extern(sql = false)]
fn simhash_unguard(target: Option<pg_sys::Oid>, call: Call<'_>) -> Result<()> {
    let schema = ExtensionSchema::running(call)?;
    // DROP TRIGGER takes the same lock.
    Target::lock(required(target, "target")?, pg_sys::AccessExclusiveLock as Lock, |table| {
        if find_guard(schema, table)?.is_none() {
            let message = format!("table \"{}\" has no guard", table.name);
            return Err(user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, message));
        }
        check_allows_triggers(&table.open())?;
        notice(format!("dropping trigger {TRIGGER_NAME} on table \"{}\"", table.name));
        execute(&format!("DROP TRIGGER {TRIGGER_NAME} ON {}", table.sql()))?;
        Ok(())
    })
}

/// What a user asks for. None is what the guard of the table has, or the default if it has none. Empty texts are none.
struct AskedGuard {
    function: pg_sys::Oid,
    schema: ExtensionSchema,
    action: Option<Action>,
    criterion: Option<AskedCriterion>,
    scope: Option<Vec<String>>,
    mark_column: Option<String>,
    source: Option<AskedSql>,
    among: Option<AskedSql>,
    unless: Option<AskedSql>,
}

impl AskedGuard {
    fn install(self, table: &Target) -> Result<()> {
        let (function, schema) = (self.function, self.schema);
        let existing = find_guard(schema, table)?;
        let unreadable =
            |error: ErrorReport| error.set_hint("The guard of the table cannot be read: call simhash_unguard first.");
        let old = existing.as_ref().map(|existing| Arguments::parse(&existing.arguments));
        let old = old.transpose().map_err(unreadable)?;
        let relation = table.open();
        let (new, searched) = self.over(old.as_ref(), &relation)?.check(table, &relation)?;
        drop(relation);
        let memory = PgMemoryContexts::CurrentMemoryContext.value();
        // SAFETY: the memory context of the running call.
        let guard = unsafe { RunningGuard::new(function, TRIGGER_NAME, memory) };
        let sources = SourceReader::new(&guard);
        try_stored_rows(&searched, &sources, &Conditions::new(&guard))?;
        report_common_words(&new.criterion, &searched, &sources, table)?;
        let arguments = new.to_texts()?;
        if existing.as_ref().is_some_and(|existing| existing.fires && existing.arguments == arguments) {
            notice(format!("table \"{}\" is already guarded, skipping", table.name));
            return Ok(());
        }
        if let Some(other) = old.as_ref().map(|old| &old.source)
            && *other != new.source
            && let Some(column) = column_name(other)
            && Column::find(&table.open(), &column)?.is_some()
        {
            let message = format!("table \"{}\" has a guard by \"{column}\"", table.name);
            return Err(user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT, message)
                .set_detail("A table has one guard, by one source.")
                .set_hint("To guard it by another one, call simhash_unguard first."));
        }
        let verb = if existing.is_some() { "replacing" } else { "creating" };
        let message = format!("{verb} trigger {TRIGGER_NAME} on table \"{}\"", table.name);
        let mut report = user_error(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message);
        let changes = old.map(|old| changes(&old, &new)).transpose()?.unwrap_or_default();
        if !changes.is_empty() {
            report = report.set_detail(sendable(changes));
        }
        report.report(PgLogLevel::NOTICE);
        let arguments: Vec<_> = arguments.iter().map(quote_literal).collect();
        execute(&format!(
            "CREATE OR REPLACE TRIGGER {TRIGGER_NAME} BEFORE INSERT OR UPDATE ON {} FOR EACH ROW EXECUTE FUNCTION \
             {}({})",
            table.sql(),
            schema.locked_name(c"simhash_dedup", &[])?,
            arguments.join(", ")
        ))?;
        if existing.is_some_and(|existing| existing.is_enabled_always) {
            execute(&format!("ALTER TABLE {} ENABLE ALWAYS TRIGGER {TRIGGER_NAME}", table.sql()))?;
        }
        Ok(())
    }

    /// The same, with what a guard has for what is not given. A source is left out if its column is gone; so is the mark
    /// column by another action.
    fn over(mut self, guard: Option<&Arguments>, table: &Relation) -> Result<Self> {
        let Some(guard) = guard else { return Ok(self) };
        let is_gone = |column: String| Ok(Column::find(table, &column)?.is_none());
        let sql = |sql: &Option<String>| sql.as_deref().map(AskedSql::of_guard);
        let action = *self.action.get_or_insert(guard.action);
        if self.criterion.is_none() {
            self.criterion = Some(AskedCriterion::from_json(guard.criterion.to_json()?)?);
        }
        self.scope.get_or_insert_with(|| guard.scope.clone());
        self.mark_column = self.mark_column.or_else(|| guard.mark_column.clone().filter(|_| action == Action::Mark));
        if !column_name(&guard.source).map_or(Ok(false), is_gone)? {
            self.source.get_or_insert_with(|| AskedSql::of_guard(&guard.source));
        }
        self.among = self.among.or_else(|| sql(&guard.among));
        self.unless = self.unless.or_else(|| sql(&guard.unless));
        Ok(self)
    }

    /// Makes the trigger's checks, and further checks that the trigger cannot make. Returns the trigger's arguments, and
    /// the tables to search.
    fn check(self, table: &Target, relation: &Relation) -> Result<(Arguments, Vec<SearchedTable>)> {
        check_is_whole(table)?;
        let (action, scope) = (self.action.unwrap_or(Action::Reject), self.scope.unwrap_or_default());
        let members = Members::read(table.oid, None)?;
        let can_guard = |&member: &pg_sys::Oid| check_can_guard(&Relation::open(member), &scope);
        members.all.iter().try_for_each(can_guard)?;
        GuardScope::new(relation, &scope)?;
        let asked = self.criterion.map_or_else(|| AskedCriterion::from_json("{}".to_owned()), Ok)?;
        let (source, criterion) = find_source(self.source.as_ref(), &members, &asked, self.schema)?;
        let mark_column = self.mark_column.filter(|mark| !mark.is_empty());
        let among = condition_sql(self.among.as_ref(), relation, AMONG, mark_column.as_deref())?;
        let unless = condition_sql(self.unless.as_ref(), relation, UNLESS, None)?;
        let arguments = Arguments { action, criterion, source, mark_column, scope, among, unless };
        let mut searched = members.searched(&arguments, Some(self.schema))?;
        check_mark(&arguments, relation, &mut searched)?;
        if action == Action::Skip {
            warn_of_shared_key(table, relation)?;
        }
        Ok((arguments, searched))
    }
}

fn check_mark(arguments: &Arguments, relation: &Relation, searched: &mut [SearchedTable]) -> Result<()> {
    match (arguments.action, &arguments.mark_column) {
        (Action::Mark, Some(mark)) => {
            mark_check::check(relation, mark, None, searched)?;
            set_marks(searched, mark)
        }
        (Action::Mark, None) => Err(invalid_parameter("the action mark needs a mark_column")
            .set_hint("Add a column of the primary key's type, or of type jsonb, and name it.")),
        (_, Some(_)) => Err(invalid_parameter("mark_column is for the action mark only")),
        (_, None) => Ok(()),
    }
}

/// Warns, of a guard that skips rows, if each row shares its primary key with a row of another table: that other row would
/// be left without its counterpart.
fn warn_of_shared_key(table: &Target, relation: &Relation) -> Result<()> {
    let key: HashSet<_> = PrimaryKey::read(relation)?.columns().map(|column| column.attnum).collect();
    let is_key = |foreign: &ForeignKey| foreign.columns.iter().copied().collect::<HashSet<_>>() == key;
    let Some(shared) = foreign_keys(relation).into_iter().find(is_key) else { return Ok(()) };
    let other = relation_name(shared.referenced)?.unwrap_or_default();
    let message = format!("skipped rows of table \"{}\" leave rows of table \"{other}\" behind", table.name);
    warn(
        user_error(PgSqlErrorCode::ERRCODE_WARNING, sendable(message))
            .set_detail(sendable(format!(
                "The primary key is a foreign key too: applications store each object as a row of \"{other}\" and \
                 a row with the same key here, and fail on objects that lack one of the two."
            )))
            .set_hint("Use the action reject or mark."),
    );
    Ok(())
}

/// What changes of a guard, one argument a line.
fn changes(old: &Arguments, new: &Arguments) -> Result<String> {
    /// Of longer values, the beginning is shown: weights may be many.
    const MAX_SHOWN_BYTES: usize = 500;
    let shown = |value: String| match &*value {
        "null" => "none".to_owned(),
        long if long.len() > MAX_SHOWN_BYTES => shorten(long),
        _ => value,
    };
    let both = old.members()?.into_iter().zip(new.members()?);
    let changed = both.filter(|((_, old), (_, new))| old != new);
    let lines = changed.map(|((name, old), (_, new))| format!("{name}: {} -> {}", shown(old), shown(new)));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

struct ExistingGuard {
    arguments: Vec<String>,
    /// Whether it fires in a normal session.
    fires: bool,
    /// Whether it also fires while `session_replication_role` is `replica`.
    is_enabled_always: bool,
}

/// The guard of a table; None if it has none. An error if another trigger has its name.
fn find_guard(schema: ExtensionSchema, table: &Target) -> Result<Option<ExistingGuard>> {
    let relation = table.open();
    let is_named = |trigger: &&pg_sys::Trigger| {
        // SAFETY: a trigger has a NUL-terminated name.
        unsafe { CStr::from_ptr(trigger.tgname) }.to_bytes() == TRIGGER_NAME.as_bytes()
    };
    let Some(guard) = triggers(&relation).iter().find(is_named) else { return Ok(None) };
    if schema.function(c"simhash_dedup", &[]) != Some(guard.tgfoid) {
        let message = format!(
            "trigger \"{TRIGGER_NAME}\" for relation \"{}\" already exists with a different definition",
            table.name
        );
        return Err(user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT, message)
            .set_detail("It does not execute simhash_dedup.")
            .set_hint("Drop or rename the trigger."));
    }
    // SAFETY: a trigger in the relation cache has NUL-terminated arguments, as many as `tgnargs` says.
    let arguments = unsafe { arguments(guard) }.into_iter().map(|argument| from_bytes(argument.to_bytes()));
    let is_enabled_always = guard.tgenabled as u8 == b'A';
    let fires = (is_enabled_always || guard.tgenabled as u8 == b'O') && is_before_each_row(guard);
    Ok(Some(ExistingGuard { arguments: arguments.collect::<Result<_, _>>()?, fires, is_enabled_always }))
}
