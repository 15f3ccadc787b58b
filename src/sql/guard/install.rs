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
use postgres::error::{Result, invalid_parameter, notice, sendable, user_error, warn};
use postgres::heap::primary_key::PrimaryKey;
use postgres::json::RawJsonb;
use postgres::spi::execute;
use postgres::text::{RawText, decode, from_bytes};
use postgres::trigger::{arguments, is_before_each_row, triggers};

use super::definition::arguments::{Action, Arguments, TRIGGER_NAME};
use super::definition::asked_source::AskedSource;
use super::definition::condition::{AMONG, AskedCondition, UNLESS};
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
    let criterion = AskedCriterion::read(required(criterion, "criterion")?)?;
    let (among, unless) = (AskedCondition::new(AMONG, among)?, AskedCondition::new(UNLESS, unless)?);
    let target = required(target, "target")?;
    let scope = required(scope, "scope")?;
    let guard = AskedGuard {
        function: call.function(),
        schema: ExtensionSchema::running(call)?,
        action: Action::named(decode(required(action, "action")?)?.as_str())?,
        criterion,
        scope: names(&scope, "scope")?,
        mark_column: mark_column.map(|mark| from_bytes(mark.to_bytes())).transpose()?,
        source: AskedSource::new(source)?,
        among,
        unless,
    };
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

struct AskedGuard {
    function: pg_sys::Oid,
    schema: ExtensionSchema,
    action: Action,
    criterion: AskedCriterion,
    scope: Vec<String>,
    mark_column: Option<String>,
    source: AskedSource,
    among: Option<AskedCondition>,
    unless: Option<AskedCondition>,
}

impl AskedGuard {
    fn install(&self, table: &Target) -> Result<()> {
        let relation = table.open();
        let (arguments, searched) = self.check(table, &relation)?;
        drop(relation);
        let memory = PgMemoryContexts::CurrentMemoryContext.value();
        // SAFETY: the memory context of the running call.
        let guard = unsafe { RunningGuard::new(self.function, TRIGGER_NAME, memory) };
        let sources = SourceReader::new(&guard);
        try_stored_rows(&searched, &sources, &Conditions::new(&guard))?;
        report_common_words(&arguments.criterion, &searched, &sources, table)?;
        let (source, arguments) = (&arguments.source, arguments.to_texts()?);
        let existing = find_guard(self.schema, table)?;
        let is_enabled_always = existing.as_ref().is_some_and(|existing| existing.is_enabled_always);
        if existing.as_ref().is_some_and(|existing| existing.fires && existing.arguments == arguments) {
            notice(format!("table \"{}\" is already guarded, skipping", table.name));
            return Ok(());
        }
        // The third argument is the source.
        if let Some(other) = existing.as_ref().and_then(|existing| existing.arguments.get(2))
            && other != source
            && let Some(column) = column_name(other)
            && Column::find(&table.open(), &column)?.is_some()
        {
            let message = format!("table \"{}\" has a guard by \"{column}\"", table.name);
            return Err(user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT, message)
                .set_detail("A table has one guard, by one source.")
                .set_hint("To guard it by another one, call simhash_unguard first."));
        }
        let creating = if existing.is_some() { "replacing" } else { "creating" };
        notice(format!("{creating} trigger {TRIGGER_NAME} on table \"{}\"", table.name));
        let arguments: Vec<_> = arguments.iter().map(quote_literal).collect();
        execute(&format!(
            "CREATE OR REPLACE TRIGGER {TRIGGER_NAME} BEFORE INSERT OR UPDATE ON {} FOR EACH ROW EXECUTE FUNCTION \
             {}({})",
            table.sql(),
            self.schema.locked_name(c"simhash_dedup", &[])?,
            arguments.join(", ")
        ))?;
        if is_enabled_always {
            execute(&format!("ALTER TABLE {} ENABLE ALWAYS TRIGGER {TRIGGER_NAME}", table.sql()))?;
        }
        Ok(())
    }

    /// Makes the trigger's checks, and further checks that the trigger cannot make. Returns the trigger's arguments, and
    /// the tables to search.
    fn check(&self, table: &Target, relation: &Relation) -> Result<(Arguments, Vec<SearchedTable>)> {
        check_is_whole(table)?;
        let members = Members::read(table.oid, None)?;
        let can_guard = |&member: &pg_sys::Oid| check_can_guard(&Relation::open(member), &self.scope);
        members.all.iter().try_for_each(can_guard)?;
        GuardScope::new(relation, &self.scope)?;
        let (source, criterion) = self.source.find(&members, &self.criterion, self.schema)?;
        let (among, unless) = (self.among.as_ref(), self.unless.as_ref());
        let arguments = Arguments {
            action: self.action,
            criterion,
            source,
            mark_column: self.mark_column.clone(),
            scope: self.scope.clone(),
            among: among.map(|among| among.to_sql(relation, self.mark_column.as_deref())).transpose()?,
            unless: unless.map(|unless| unless.to_sql(relation, None)).transpose()?,
        };
        let mut searched = members.searched(&arguments, Some(self.schema))?;
        self.check_mark(relation, &mut searched)?;
        self.warn_of_shared_key(table, relation)?;
        Ok((arguments, searched))
    }

    fn check_mark(&self, relation: &Relation, searched: &mut [SearchedTable]) -> Result<()> {
        match (self.action, &self.mark_column) {
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

    /// Warns if the guard skips rows and each row shares its primary key with a row of another table: that other row
    /// would be left without its counterpart.
    fn warn_of_shared_key(&self, table: &Target, relation: &Relation) -> Result<()> {
        if self.action != Action::Skip {
            return Ok(());
        }
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
