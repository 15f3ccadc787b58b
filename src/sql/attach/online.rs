//! The way for tables that cannot be locked while they are rewritten: `simhash_attach_online`, `simhash_fill`,
//! `simhash_index_commands`.
//!
//! A plain column costs no rewrite, a trigger keeps it up to date, a procedure fills it a few pages at a time, and
//! indexes on block expressions are built concurrently: `simhash_near` uses these as it uses block columns.

use std::ffi::CStr;
use std::time::{Duration, Instant};

use pgrx::AnyElement;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal};

use super::indexes::{Index, IndexNames, Key};
use super::marks::{Maker, has_comment, is_marked_relation};
use super::prefix::Prefix;
use super::progress::of_about;
use super::source::{Attribute, Kind, Source, no_such_column};
use super::table::{layout, one_by_one};
use super::target::{Lock, Target, quoted_schema};
use super::update::{UpdateTrigger, kind_of_stored};
use crate::simhash::options::Options;
use crate::sql::arguments::{name, required};
use crate::sql::calls::BlockCall;
use crate::sql::error::{sendable, tell, tick, user_error};
use crate::sql::functions::ExtensionSchema;
use crate::sql::options::{Document, RawJsonb, read};
use crate::sql::owner::{as_owner, as_owner_with_triggers, set};
use crate::sql::spi::{execute, execute_and_commit};
use crate::sql::tables::{check_has_values, not_bigint};
use crate::sql::text::to_datum;

/// Between two reports of `simhash_fill`.
const INTERVAL: Duration = Duration::from_secs(5);

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
    let prefix = Prefix::read(prefix)?;
    let schema = ExtensionSchema::running(fcinfo)?;

    let table = Target::lock(target, pg_sys::AccessExclusiveLock as Lock)?;
    table.check_has_own_columns()?;
    as_owner(table.owner, || {
        let family = table.family(pg_sys::AccessExclusiveLock as Lock)?;
        let source = Source::read(&table, source, options)?;
        Online { schema, source, prefix }.complete(&table, &family)
    })
}

/// What is to be attached.
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
        let has_column = Attribute::of(&table.open(), column)?.is_some();
        if has_column && without_trigger.is_empty() {
            tell(format!("table \"{}\" is attached already, nothing changed", table.name));
            return Ok(());
        }
        if !has_column {
            tell(format!("adding column \"{column}\" to table \"{}\"", table.name));
            let quoted = quote_identifier(column);
            execute(&format!("ALTER TABLE {} ADD COLUMN {quoted} bigint", table.sql()))?;
            let object = format!("COLUMN {}.{quoted}", table.sql());
            let description = format!("fingerprint of {}", quote_identifier(&self.source.column));
            execute(&Maker::Online.comment(&object, &description))?;
        }
        let trigger = quote_identifier(self.prefix.trigger());
        let function = format!("{}.simhash_update", quoted_schema(self.schema.oid())?);
        let mut arguments = vec![quote_literal(column), quote_literal(&self.source.column)];
        arguments.extend(self.source.options_json().map(quote_literal));
        let arguments = arguments.join(", ");
        for member in without_trigger {
            tell(format!("creating trigger \"{}\" on table \"{}\"", self.prefix.trigger(), member.name));
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

    /// Refuses sources that a trigger cannot fingerprint.
    fn check_source(&self, table: &Target) -> Result<(), ErrorReport> {
        let Source { column, .. } = &self.source;
        if self.source.kind == Kind::Fingerprints {
            let message = format!("column \"{column}\" holds fingerprints already");
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
        let source = Attribute::of(&table.open(), column)?;
        let stored = source.as_ref().and_then(|source| kind_of_stored(source.column_type));
        if stored != Some(self.source.kind) {
            let of_type = source.map(|source| source.type_name()).unwrap_or_default();
            let message = format!("a trigger cannot fingerprint column \"{column}\" of type {of_type}");
            return Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message)
                .set_detail("The trigger takes text, character varying, character, text[] or tsvector.")
                .set_hint("Use simhash_attach, or keep the column up to date with a trigger of your own."));
        }
        Ok(())
    }

    /// Whether the table has the trigger; an error if it has another one of that name, or for that column.
    fn has_trigger(&self, table: &Target) -> Result<bool, ErrorReport> {
        let wanted = self.prefix.trigger();
        let mut found = false;
        for trigger in UpdateTrigger::all_of(self.schema, table)? {
            if trigger.fingerprint != self.prefix.fingerprint() {
                continue;
            }
            let is_same = trigger.source == self.source.column
                && options_of(&trigger)? == *self.source.options()
                && trigger.always_fires;
            if !is_same {
                return Err(self.trigger_clash(table, &trigger.name));
            }
            found = true;
        }
        if !found && has_trigger_named(table, &wanted)? {
            return Err(self.trigger_clash(table, &wanted));
        }
        Ok(found)
    }

    fn trigger_clash(&self, table: &Target, trigger: &str) -> ErrorReport {
        let message = format!("trigger \"{trigger}\" of table \"{}\" exists with another meaning", table.name);
        user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT, message)
            .set_detail(sendable(format!(
                "It would have to fire before each row that is inserted or updated, and be enabled, and compute the \
                 fingerprint of {} with the same options.",
                quote_identifier(&self.source.column)
            )))
            .set_hint(
                "Choose another prefix, or drop the trigger; simhash_detach removes what simhash_attach_online made.",
            )
    }

    /// Refuses a column that has the name but another meaning.
    fn check_column(&self, table: &Target, has_trigger: bool) -> Result<(), ErrorReport> {
        let column = self.prefix.fingerprint();
        let Some(found) = Attribute::of(&table.open(), column)? else {
            return Ok(());
        };
        // A plain bigint may hold anything, unless the trigger keeps it, or we made it and were stopped.
        let is_plain = found.column_type == pg_sys::INT8OID && !found.is_generated;
        if is_plain && (has_trigger || is_marked_relation(table.oid, found.number)?) {
            return Ok(());
        }
        let message = format!("column \"{column}\" of table \"{}\" exists with another meaning", table.name);
        Err(user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_COLUMN, message)
            .set_detail(sendable(format!(
                "It is {}, and would have to be bigint, kept up to date by simhash_update.",
                found.definition(table)?
            )))
            .set_hint("Choose another prefix, or remove the column; simhash_detach removes what simhash_attach made."))
    }
}

/// The options that a trigger is called with.
fn options_of(trigger: &UpdateTrigger) -> Result<Options, ErrorReport> {
    match &trigger.options {
        None => Ok(Options::default()),
        Some(json) => read(Document::Text(crate::sql::spi::to_server(json)?.to_bytes())),
    }
}

fn has_trigger_named(table: &Target, name: &str) -> Result<bool, ErrorReport> {
    let name = crate::sql::spi::to_server(name)?;
    // SAFETY: a look-up in a catalog.
    Ok(unsafe { pg_sys::get_trigger_oid(table.oid, name.as_ptr(), true) } != pg_sys::InvalidOid)
}

#[pg_extern(sql = false)]
fn simhash_fill(
    target: Option<pg_sys::Oid>,
    prefix: Option<&CStr>,
    batch_pages: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<(), ErrorReport> {
    let target = required(target, "target")?;
    let prefix = Prefix::read(prefix)?;
    let batch_pages = required(batch_pages, "batch_pages")?;
    let batch_pages = u32::try_from(batch_pages).ok().filter(|pages| *pages > 0).ok_or_else(|| {
        let message = format!("batch_pages {batch_pages} is out of range");
        user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message).set_hint("It must be 1 or more.")
    })?;
    let schema = ExtensionSchema::running(fcinfo)?;
    if !may_commit(fcinfo) {
        let message = "simhash_fill cannot run inside a transaction block";
        return Err(user_error(PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION, message)
            .set_detail("It commits after each batch.")
            .set_hint("CALL it by itself."));
    }

    let table = Target::lock(target, pg_sys::AccessShareLock as Lock)?;
    let tables: Vec<(pg_sys::Oid, u32)> = table
        .family(pg_sys::AccessShareLock as Lock)?
        .iter()
        .filter(|member| member.is_ordinary())
        .map(|member| (member.oid, member.block_count()))
        .collect();
    let mut progress = Progress::new(tables.iter().map(|(_, pages)| u64::from(*pages)).sum());
    for (table, pages) in tables {
        let fill = Fill { schema, prefix: &prefix, table };
        let mut first = 0;
        while first < pages {
            let end = first.saturating_add(batch_pages).min(pages);
            let Some(rows) = execute_and_commit(|| fill.batch(first, end))? else {
                tell("fill: a table was dropped meanwhile".to_owned());
                break;
            };
            progress.add(u64::from(end - first), rows);
            tick();
            first = end;
        }
    }
    tell(format!("fill: done, {} rows got a fingerprint", progress.rows));
    Ok(())
}

/// Whether the procedure was called so that it may end transactions.
fn may_commit(fcinfo: pg_sys::FunctionCallInfo) -> bool {
    // SAFETY: `fcinfo` is that of the running call; a CALL has this context.
    unsafe {
        let context = (*fcinfo).context;
        !context.is_null()
            && (*context).type_ == pg_sys::NodeTag::T_CallContext
            && !(*context.cast::<pg_sys::CallContext>()).atomic
    }
}

struct Progress {
    pages: u64,
    pages_done: u64,
    rows: u64,
    next: Instant,
}

impl Progress {
    fn new(pages: u64) -> Self {
        Self { pages, pages_done: 0, rows: 0, next: Instant::now() + INTERVAL }
    }

    fn add(&mut self, pages: u64, rows: u64) {
        self.pages_done += pages;
        self.rows += rows;
        if Instant::now() >= self.next {
            self.next = Instant::now() + INTERVAL;
            let pages = of_about(self.pages_done, self.pages as f64, "pages");
            tell(format!("fill: {pages}, {} rows got a fingerprint", self.rows));
        }
    }
}

/// A table that is being filled. It is looked at anew in each batch: between two, anybody may have changed it.
struct Fill<'a> {
    schema: ExtensionSchema,
    prefix: &'a Prefix,
    table: pg_sys::Oid,
}

impl Fill<'_> {
    /// Fills the unfilled rows of some pages; how many there were, or None if the table is no more.
    fn batch(&self, first: u32, end: u32) -> Result<Option<u64>, ErrorReport> {
        // SAFETY: a look-up in a system cache.
        if unsafe { pg_sys::get_rel_name(self.table) }.is_null() {
            return Ok(None);
        }
        let table = Target::lock(self.table, pg_sys::RowExclusiveLock as Lock)?;
        as_owner_with_triggers(table.owner, || {
            // A policy that hides rows from the owner is an error, not a table that is filled by halves.
            set(c"row_security", c"off");
            let fingerprint = self.fingerprint_sql(&table)?;
            let column = quote_identifier(self.prefix.fingerprint());
            execute(&format!(
                "UPDATE ONLY {} SET {column} = {fingerprint} WHERE \
                 ctid OPERATOR(pg_catalog.>=) '({first},0)'::pg_catalog.tid AND \
                 ctid OPERATOR(pg_catalog.<) '({end},0)'::pg_catalog.tid AND \
                 {column} IS NULL AND {fingerprint} IS NOT NULL",
                table.sql()
            ))
            .map(Some)
        })
    }

    /// What the trigger computes. Also a trigger that somebody wrote by hand tells.
    fn fingerprint_sql(&self, table: &Target) -> Result<String, ErrorReport> {
        let column = self.prefix.fingerprint();
        let triggers = UpdateTrigger::all_of(self.schema, table)?;
        let trigger = triggers.iter().find(|trigger| trigger.fingerprint == column).ok_or_else(|| {
            let message = format!("no trigger keeps column \"{column}\" of table \"{}\" up to date", table.name);
            user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, message)
                .set_hint("Call simhash_attach_online first, or create a trigger that executes simhash_update.")
        })?;
        let options = match &trigger.options {
            Some(json) => format!(", {}::pg_catalog.text", quote_literal(json)),
            None => String::new(),
        };
        let source = Source::read(table, trigger.source.clone(), None)?;
        Ok(format!("{}.simhash({}{options})", quoted_schema(self.schema.oid())?, source.argument()))
    }
}

#[pg_extern(sql = false)]
fn simhash_index_commands(
    target: Option<pg_sys::Oid>,
    blocks: Option<i32>,
    prefix: Option<&CStr>,
    covering: Option<bool>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<SetOfIterator<'static, AnyElement>, ErrorReport> {
    let target = required(target, "target")?;
    let blocks = layout(blocks)?;
    let prefix = Prefix::read(prefix)?;
    let covering = required(covering, "covering")?;
    let schema = ExtensionSchema::running(fcinfo)?;
    let table = Target::lock(target, pg_sys::AccessShareLock as Lock)?;
    let commands = as_owner(table.owner, || {
        let family = table.family(pg_sys::AccessShareLock as Lock)?;
        let mut commands =
            IndexCommands { schema, prefix, blocks, covering, names: IndexNames::default(), commands: Vec::new() };
        commands.list(&table, &family)?;
        Ok::<_, ErrorReport>(commands.commands)
    })?;
    Ok(SetOfIterator::new(commands.into_iter().filter_map(|command| to_datum(&command))))
}

/// The commands that build indexes without keeping writers out.
struct IndexCommands {
    schema: ExtensionSchema,
    prefix: Prefix,
    blocks: i32,
    /// Whether the indexes have the fingerprint beside the block.
    covering: bool,
    names: IndexNames,
    commands: Vec<String>,
}

/// An index that there is, or will be after the commands so far.
struct Built {
    table: pg_sys::Oid,
    name: String,
    /// The OID, if it exists.
    oid: Option<pg_sys::Oid>,
}

impl IndexCommands {
    fn list(&mut self, table: &Target, family: &[Target]) -> Result<(), ErrorReport> {
        let column = self.prefix.fingerprint();
        let found = Attribute::of(&table.open(), column)?.ok_or_else(|| {
            no_such_column(column, table).set_hint("The prefix is the name of the fingerprint column.")
        })?;
        // SAFETY: a look-up in a system cache.
        if unsafe { pg_sys::getBaseType(found.column_type) } != pg_sys::INT8OID {
            return Err(not_bigint(column, &table.name, &found.type_name()));
        }
        check_has_values(&table.open(), found.number)?;
        for block in 0..self.blocks {
            let mut built = Vec::new();
            for member in family.iter().filter(|member| member.is_ordinary()) {
                built.push(self.on_ordinary(member, block)?);
            }
            // From the leaves to the root, so that each index has its parts before it is a part.
            for member in family.iter().rev().filter(|member| member.is_partitioned()) {
                let index = self.on_partitioned(member, block, &built)?;
                built.push(index);
            }
        }
        let lacks_statistics = !self.commands.is_empty() || self.lacks_statistics(family)?;
        if lacks_statistics {
            for member in one_by_one(table, family) {
                self.commands.push(format!("ANALYZE {}", member.sql()));
            }
        }
        Ok(())
    }

    fn on_ordinary(&mut self, table: &Target, block: i32) -> Result<Built, ErrorReport> {
        let existing = self.existing(table, block)?;
        if let Some(index) = existing {
            // What a CREATE INDEX CONCURRENTLY that failed has left, or one that still runs. Its comment was to come.
            if !index.is_valid {
                self.commands.push(format!("REINDEX INDEX CONCURRENTLY {}", index.sql()));
                if !has_comment(index.oid) {
                    self.comment(&index.sql(), block);
                }
            }
            return Ok(Built { table: table.oid, name: index.sql(), oid: Some(index.oid) });
        }
        self.create("CREATE INDEX CONCURRENTLY", "", table, block)
    }

    fn on_partitioned(&mut self, table: &Target, block: i32, built: &[Built]) -> Result<Built, ErrorReport> {
        let index = match self.existing(table, block)? {
            Some(index) => Built { table: table.oid, name: index.sql(), oid: Some(index.oid) },
            None => self.create("CREATE INDEX", "ONLY ", table, block)?,
        };
        for part in built {
            let is_child = parent_of(part.table)? == Some(table.oid);
            let is_attached = match part.oid {
                Some(oid) => parent_of(oid)?.is_some_and(|parent| Some(parent) == index.oid),
                None => false,
            };
            if is_child && !is_attached {
                self.commands.push(format!("ALTER INDEX {} ATTACH PARTITION {}", index.name, part.name));
            }
        }
        Ok(index)
    }

    fn create(&mut self, create: &str, only: &str, table: &Target, block: i32) -> Result<Built, ErrorReport> {
        let name = quote_identifier(self.names.choose(table, &self.prefix.block(block))?);
        let qualified = format!("{}.{name}", quote_identifier(&table.schema));
        let function = format!("{}.simhash_block", quoted_schema(self.schema.oid())?);
        let column = quote_identifier(self.prefix.fingerprint());
        let include = if self.covering { format!(" INCLUDE ({column})") } else { String::new() };
        // Of the arguments' own types, so that no function but ours is meant, whatever others there are of its name.
        let of_type = Attribute::of(&table.open(), self.prefix.fingerprint())?.map(|found| found.column_type);
        let argument =
            if of_type == Some(pg_sys::INT8OID) { column } else { format!("CAST({column} AS pg_catalog.int8)") };
        self.commands.push(format!(
            "{create} {name} ON {only}{} USING btree ({function}({argument}, {block}, {})){include}",
            table.sql(),
            self.blocks
        ));
        self.comment(&qualified, block);
        Ok(Built { table: table.oid, name: qualified, oid: None })
    }

    fn comment(&mut self, index: &str, block: i32) {
        let description = format!("btree of block {block} of {}", self.blocks);
        self.commands.push(Maker::Online.comment(&format!("INDEX {index}"), &description));
    }

    /// The index on that block's expression, a valid one if there is one.
    fn existing(&self, table: &Target, block: i32) -> Result<Option<Index>, ErrorReport> {
        let column = Attribute::of(&table.open(), self.prefix.fingerprint())?.map(|found| found.number);
        let mut indexes = Index::all_of(table)?;
        indexes.retain(|index| {
            index.finds_integers
                && (!self.covering || index.covers(column))
                && match index.key {
                    Key::Expression(expression) => BlockCall::in_schema(expression, self.schema).is_some_and(|call| {
                        (call.block, call.blocks) == (block, self.blocks) && call.fingerprint.as_own_column() == column
                    }),
                    Key::Column(_) => false,
                }
        });
        indexes.sort_by_key(|index| !index.is_valid);
        Ok(indexes.into_iter().next())
    }

    /// Whether one of the indexes has no statistics yet: the ANALYZE after them was not reached.
    fn lacks_statistics(&self, family: &[Target]) -> Result<bool, ErrorReport> {
        for member in family.iter().filter(|member| member.is_ordinary()) {
            for block in 0..self.blocks {
                if let Some(index) = self.existing(member, block)?
                    && member.block_count() > 0
                    && !has_statistics(index.oid)
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

fn has_statistics(index: pg_sys::Oid) -> bool {
    // SAFETY: a look-up in a system cache by the keys that it has.
    unsafe {
        pg_sys::SearchSysCacheExists(
            pg_sys::SysCacheIdentifier::STATRELATTINH as i32,
            index.into(),
            1i16.into(),
            false.into(),
            pg_sys::Datum::null(),
        )
    }
}

/// The table or index that a partition, or a partition's index, belongs to.
fn parent_of(relation: pg_sys::Oid) -> Result<Option<pg_sys::Oid>, ErrorReport> {
    let query =
        format!("SELECT inhparent::pg_catalog.oid FROM pg_catalog.pg_inherits WHERE inhrelid = {}", relation.to_u32());
    let parent = crate::sql::spi::strings(&query)?.pop().and_then(|oid| oid.parse().ok());
    Ok(parent.map(pg_sys::Oid::from_u32))
}
