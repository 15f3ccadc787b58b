//! `simhash_attach`: adds the fingerprint, its blocks and their btrees to a table, unless they exist.
//!
//! All checks come before the first command, so that an error changes nothing.

use std::ffi::CStr;

use pgrx::AnyArray;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::call::Call;
use postgres::catalog::column::{Column, generation_of};
use postgres::catalog::generation::definition;
use postgres::catalog::relation::Relation;
use postgres::catalog::target::{Lock, Target};
use postgres::error::{notice, sendable, user_error};
use postgres::expression::Expression;
use postgres::json::RawJsonb;
use postgres::query::Query;
use postgres::spi::execute;
use postgres::text::to_server;
use simhash::search::blocks::DEFAULT_BLOCKS;

use super::block_indexes::{BlockIndexes, Covering};
use super::command::{self, Command};
use super::foreign;
use super::index_names::IndexNames;
use super::loading;
use super::prefix::{Prefix, in_quotes};
use super::provenance::{Maker, is_labelled_relation, maker_of, under_prefix};
use super::renamed::RenamedBlock;
use crate::sql::arguments::{name, required};
use crate::sql::fingerprint::blocks::check_layout;
use crate::sql::functions::{ExtensionSchema, SIMHASH_BLOCK};
use crate::sql::indexed::recognise::BlockCall;
use crate::sql::indexed::scope::Scope;
use crate::sql::indexed::source::{Source, SourceKind};

#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments)] // The SQL function has as many.
fn simhash_attach_scoped(
    target: Option<pg_sys::Oid>,
    source: Option<&CStr>,
    blocks: Option<i32>,
    options: Option<RawJsonb<'_>>,
    prefix: Option<&CStr>,
    covering: Option<bool>,
    scope: Option<AnyArray>,
    columns: Option<bool>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<(), ErrorReport> {
    let scope = Scope::read(scope)?;
    let has_columns = required(columns, "columns")?;
    let target = required(target, "target")?;
    let source = name(source, "source")?;
    let blocks = required_blocks(blocks)?;
    let covering = Covering(covering);
    // SAFETY: `fcinfo` belongs to the running call.
    let call = unsafe { Call::new(fcinfo) };
    command::run(call, target, prefix, pg_sys::AccessExclusiveLock as Lock, |command| {
        let Command { schema, prefix, table, family } = command;
        table.check_has_own_columns()?;
        let source = Source::read(table, source, options)?;
        Attachment { schema, source, blocks, prefix, covering, scope, has_columns }.complete(table, family)
    })
}

/// Checks the number of blocks. An error if there is no such layout.
pub fn required_blocks(blocks: Option<i32>) -> Result<i32, ErrorReport> {
    let blocks = required(blocks, "blocks")?;
    check_layout(blocks)?;
    Ok(blocks)
}

/// What the user asks to attach.
struct Attachment {
    schema: ExtensionSchema,
    source: Source,
    blocks: i32,
    prefix: Prefix,
    covering: Covering,
    scope: Scope,
    /// Whether blocks are columns, rather than expressions in the indexes.
    has_columns: bool,
}

/// The value that an attached column computes.
#[derive(Clone, Copy)]
enum Meaning {
    Fingerprint,
    Block(i32),
}

/// A column that the table must have.
struct RequiredColumn {
    name: String,
    meaning: Meaning,
}

impl Attachment {
    fn complete(&self, table: &Target, family: &[Target]) -> Result<(), ErrorReport> {
        let blocks = self.block_columns(table)?;
        let mut columns = Vec::new();
        if self.source.kind != SourceKind::Fingerprints {
            columns.push(RequiredColumn { name: self.prefix.fingerprint().to_owned(), meaning: Meaning::Fingerprint });
        }
        self.check_blocks(table, family, &blocks)?;
        if self.has_columns {
            columns.extend(blocks);
        }
        // Check inheritors too: if one has a column of that name, PostgreSQL would silently merge the new one with it.
        for member in family {
            for column in &columns {
                self.check(member, column)?;
            }
            self.check_scope(member)?;
        }
        let relation = table.open();
        let mut missing = Vec::new();
        for column in &columns {
            if Column::find(&relation, &column.name)?.is_none() {
                missing.push(column);
            }
        }
        drop(relation);

        if !missing.is_empty() {
            self.add_columns(table, family, &missing)?;
            self.check_foreign(family, &columns)?;
        }
        let built = self.build_indexes(table, family, &columns, !missing.is_empty())?;
        let is_loading_new = self.load_when_planned(family, &columns)?;
        if missing.is_empty() && built == 0 {
            if is_loading_new {
                return Ok(());
            }
            notice(format!("table \"{}\" is already attached, skipping", table.name));
            return Ok(());
        }
        self.analyze(table, family, &columns)
    }

    /// The block columns, in order, whether or not the table has them. A renamed column is listed by its new name.
    fn block_columns(&self, table: &Target) -> Result<Vec<RequiredColumn>, ErrorReport> {
        let relation = table.open();
        // Look for renamed columns only if the prefix is in use: otherwise nothing was made under it that could be
        // renamed.
        let mut is_in_use = false;
        for name in (0..self.blocks).map(|block| self.prefix.block(block)).chain([self.prefix.fingerprint().to_owned()])
        {
            is_in_use |= Column::find(&relation, &name)?.is_some();
        }
        let renamed = if is_in_use { RenamedBlock::all_of(table, &self.prefix)? } else { Vec::new() };
        let mut columns = Vec::new();
        for block in 0..self.blocks {
            let (mut name, meaning) = (self.prefix.block(block), Meaning::Block(block));
            if Column::find(&relation, &name)?.is_none() {
                for column in &renamed {
                    if self.means(&relation, column.expression, meaning)? {
                        name.clone_from(&column.name);
                        break;
                    }
                }
            }
            columns.push(RequiredColumn { name, meaning });
        }
        Ok(columns)
    }

    /// Refuses a table that has the blocks in the other form: as columns if the user asks for expressions, or as
    /// expressions if the user asks for columns. Otherwise both would be indexed, and half of the indexes would be
    /// unused.
    fn check_blocks(&self, table: &Target, family: &[Target], blocks: &[RequiredColumn]) -> Result<(), ErrorReport> {
        let relation = table.open();
        let mut columns = Vec::new();
        for RequiredColumn { name, meaning } in blocks {
            if let Some(found) = Column::find(&relation, name)?
                && let Some(expression) = generation_of(&relation, found.attnum)
                && self.means(&relation, expression, *meaning)?
            {
                columns.push(name);
            }
        }
        let clash = |message: String| user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT, message);
        if !self.has_columns && !columns.is_empty() {
            let message = format!("table \"{}\" is attached with columns for the blocks", table.name);
            return Err(clash(message).set_detail(sendable(format!("It has {}.", in_quotes(&columns)))).set_hint(
                "Call simhash_attach with columns => true. Or call simhash_detach first, which removes these columns.",
            ));
        }
        if self.has_columns && columns.is_empty() {
            for member in one_by_one(table, family) {
                for index in self.indexes(Vec::new()).all_of(member)? {
                    if index.is_on_expression() && maker_of(index.oid, 0)? == Some(Maker::Attach) {
                        let message = format!("table \"{}\" is attached without columns for the blocks", table.name);
                        return Err(clash(message)
                            .set_detail(sendable(format!("The index \"{}\" is on an expression.", index.name)))
                            .set_hint(
                                "Call simhash_attach with columns => false. Or call simhash_detach first, which \
                                 removes these indexes.",
                            ));
                    }
                }
            }
        }
        Ok(())
    }

    /// Refuses a column in the scope that is the source, the fingerprint or a block of it.
    fn check_scope(&self, table: &Target) -> Result<(), ErrorReport> {
        let relation = table.open();
        let taken = |column: &Column| {
            let name = column.name()?;
            if name == self.source.column {
                return Ok(Some("the source of the fingerprint"));
            }
            let Some(expression) = column.generation(&relation) else { return Ok(None) };
            Ok(if self.source.is_fingerprint(self.schema, &relation, expression)? {
                Some("the fingerprint itself")
            } else {
                BlockCall::read(expression).map(|_| "a block of a fingerprint")
            })
        };
        self.scope.check(&relation, taken).map(drop)
    }

    /// The indexes that the user asks for. `columns` are the names of the block columns that the table has.
    fn indexes(&self, columns: Vec<String>) -> BlockIndexes<'_> {
        let Self { schema, ref prefix, blocks, covering, ref scope, .. } = *self;
        BlockIndexes { schema, prefix, fingerprint: self.fingerprint_column(), blocks, scope, covering, columns }
    }

    /// Refuses an existing column of that name with another definition.
    fn check(&self, table: &Target, column: &RequiredColumn) -> Result<(), ErrorReport> {
        let relation = table.open();
        let Some(found) = Column::find(&relation, &column.name)? else {
            return Ok(());
        };
        if found.is_stored
            && found.data_type == self.column_type(column.meaning)
            && let Some(expression) = generation_of(&relation, found.attnum)
            && self.means(&relation, expression, column.meaning)?
        {
            return Ok(());
        }
        let definition = definition(table, &found)?;
        let message = format!(
            "column \"{}\" of relation \"{}\" already exists with a different definition",
            column.name, table.name
        );
        Err(user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_COLUMN, message)
            .set_detail(sendable(format!(
                "It is {definition}, but must be {}.",
                self.column_definition(column.meaning)?
            )))
            .set_hint("Choose another prefix, or drop the column. simhash_detach removes what simhash_attach made."))
    }

    /// Whether an expression computes `meaning`.
    fn means(&self, relation: &Relation, expression: Expression, meaning: Meaning) -> Result<bool, ErrorReport> {
        match meaning {
            Meaning::Fingerprint => self.source.is_fingerprint(self.schema, relation, expression),
            Meaning::Block(number) => match BlockCall::read(expression) {
                Some(BlockCall { fingerprint, block, blocks }) if (block, blocks) == (number, self.blocks) => {
                    self.source.is_fingerprint(self.schema, relation, fingerprint)
                }
                _ => Ok(false),
            },
        }
    }

    /// The column that holds the fingerprint.
    fn fingerprint_column(&self) -> &str {
        if self.source.kind == SourceKind::Fingerprints { &self.source.column } else { self.prefix.fingerprint() }
    }

    fn column_type(&self, meaning: Meaning) -> pg_sys::Oid {
        match meaning {
            Meaning::Fingerprint => pg_sys::INT8OID,
            Meaning::Block(_) => pg_sys::INT4OID,
        }
    }

    fn column_definition(&self, meaning: Meaning) -> Result<String, ErrorReport> {
        let column_type = match meaning {
            Meaning::Fingerprint => "bigint",
            Meaning::Block(_) => "integer",
        };
        Ok(format!("{column_type} GENERATED ALWAYS AS ({}) STORED", self.expression(meaning)?))
    }

    /// The SQL expression of a column.
    fn expression(&self, meaning: Meaning) -> Result<String, ErrorReport> {
        let fingerprint = self.source.fingerprint_sql(self.schema)?;
        Ok(match meaning {
            Meaning::Fingerprint => fingerprint,
            Meaning::Block(block) => {
                let function = self.schema.locked_name(c"simhash_block", SIMHASH_BLOCK)?;
                // Omit the layout if it is the default of `simhash_block`.
                let layout = if self.blocks == DEFAULT_BLOCKS { String::new() } else { format!(", {}", self.blocks) };
                format!("{function}({fingerprint}, {block}{layout})")
            }
        })
    }

    /// Refuses an expression that PostgreSQL would parse differently: the expression of a generated source may call
    /// functions that PostgreSQL prints by a name that several functions have.
    fn check_expression(&self, table: &Target, column: &RequiredColumn) -> Result<(), ErrorReport> {
        let expression = self.expression(column.meaning)?;
        let query = Query::parse(to_server(&format!("SELECT {expression} FROM ONLY {}", table.sql()))?)?;
        if query.table() == Some(table.oid)
            && let [expression] = query.returned()[..]
            && self.means(&table.open(), expression, column.meaning)?
        {
            return Ok(());
        }
        let message = format!("the expression of generated column \"{}\" cannot be repeated", self.source.column);
        Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
            .set_detail(sendable(format!("Parsed again, {expression} calls other functions.")))
            .set_hint("Name a column that it is computed from."))
    }

    fn describe(&self, meaning: Meaning) -> String {
        match meaning {
            Meaning::Fingerprint => format!("fingerprint of {}", quote_identifier(&self.source.column)),
            Meaning::Block(block) => format!(
                "block {block} of {} of {}",
                self.blocks,
                if self.source.kind == SourceKind::Fingerprints {
                    quote_identifier(&self.source.column)
                } else {
                    format!("the fingerprint of {}", quote_identifier(&self.source.column))
                }
            ),
        }
    }

    /// Adds all columns in one command, so that the table is rewritten once.
    fn add_columns(&self, table: &Target, family: &[Target], columns: &[&RequiredColumn]) -> Result<(), ErrorReport> {
        let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
        for column in columns {
            self.check_expression(table, column)?;
        }
        // Only tables with rows of their own are rewritten.
        notice(if family.iter().any(Target::is_ordinary) {
            format!("rewriting table \"{}\" with the new columns {}", table.name, in_quotes(&names))
        } else {
            format!("adding to table \"{}\" the columns {}", table.name, in_quotes(&names))
        });
        let additions = columns
            .iter()
            .map(|column| {
                let definition = self.column_definition(column.meaning)?;
                Ok(format!("ADD COLUMN {} {definition}", quote_identifier(&column.name)))
            })
            .collect::<Result<Vec<_>, ErrorReport>>()?;
        let statement = format!("ALTER TABLE {} {}", table.sql(), additions.join(", "));
        execute(&statement)?;
        for column in columns {
            let object = format!("COLUMN {}.{}", table.sql(), quote_identifier(&column.name));
            execute(&Maker::Attach.comment(&object, &self.describe(column.meaning)))?;
        }
        Ok(())
    }

    /// Refuses foreign tables that lack one of the columns on their servers, or whose fingerprints differ.
    fn check_foreign(&self, family: &[Target], columns: &[RequiredColumn]) -> Result<(), ErrorReport> {
        let fingerprint = columns.iter().find(|column| matches!(column.meaning, Meaning::Fingerprint));
        let fingerprint = match fingerprint {
            Some(column) => Some(foreign::GeneratedFingerprint {
                column: &column.name,
                expression: self.expression(Meaning::Fingerprint)?,
                source: &self.source.column,
            }),
            None => None,
        };
        let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
        foreign::check_columns(family, &names, fingerprint.as_ref())
    }

    /// Builds the missing btrees, and returns how many. `are_new` says that the columns were just added: they have no
    /// index yet, and indexes on expressions do not count.
    fn build_indexes(
        &self,
        table: &Target,
        family: &[Target],
        columns: &[RequiredColumn],
        are_new: bool,
    ) -> Result<usize, ErrorReport> {
        let mut blocks: Vec<(i32, Option<&str>)> = Vec::new();
        if self.has_columns {
            blocks.extend(columns.iter().filter_map(|column| match column.meaning {
                Meaning::Block(block) => Some((block, Some(column.name.as_str()))),
                Meaning::Fingerprint => None,
            }));
        } else {
            blocks.extend((0..self.blocks).map(|block| (block, None)));
        }
        let required = self.indexes(blocks.iter().filter_map(|(_, column)| column.map(str::to_owned)).collect());
        let (mut missing, mut replaced, mut of_other_scopes) = (Vec::new(), Vec::new(), Vec::new());
        for member in one_by_one(table, family) {
            let mut indexes = required.all_of(member)?;
            indexes.retain(|index| index.is_valid && !(self.has_columns && are_new && index.is_on_expression()));
            let lacking = missing.len();
            for &(block, column) in &blocks {
                let of_block = || indexes.iter().filter(|index| index.key.call.block == block && index.is_of_scope);
                if of_block().any(|index| required.serves(index)) {
                    continue;
                }
                for index in of_block() {
                    if !index.is_partition
                        && is_labelled_relation(index.oid, 0)?
                        && let Some(sql) = index.lock_to_drop()?
                    {
                        replaced.push((sql, index.name.clone()));
                    }
                }
                missing.push((member, block, column));
            }
            for index in indexes.iter().filter(|index| missing.len() > lacking && !index.is_of_scope) {
                if is_labelled_relation(index.oid, 0)? {
                    of_other_scopes.push(index.name.clone());
                }
            }
        }
        let mut names = IndexNames::default();
        for (number, &(member, block, column)) in missing.iter().enumerate() {
            let name = required.name(&mut names, member, block)?;
            let number = number + 1;
            notice(format!("building index {number} of {}: \"{name}\" on table \"{}\"", missing.len(), member.name));
            let mut description = required.description(block);
            let key = match column {
                Some(column) => quote_identifier(column),
                None => {
                    description.push_str(&under_prefix(&self.prefix));
                    required.expression(&self.schema.locked_name(c"simhash_block", SIMHASH_BLOCK)?, member, block)?
                }
            };
            execute(&required.create("CREATE INDEX", &quote_identifier(&name), &member.sql(), &key))?;
            let object = format!("INDEX {}", member.index_sql(&name)?);
            execute(&Maker::Attach.comment(&object, &description))?;
        }
        // The new indexes serve every search that these serve.
        for (index, name) in replaced {
            notice(format!("dropping index \"{name}\", which does not have the fingerprint"));
            execute(&format!("DROP INDEX {index}"))?;
        }
        if !of_other_scopes.is_empty() {
            notice(format!("keeping the indexes {}, which have another scope", in_quotes(&of_other_scopes)));
        }
        Ok(missing.len())
    }

    /// Makes queries load the library even if they call none of its functions, as the queries of an application that
    /// computes fingerprints and distances itself. Returns whether it has created statistics.
    fn load_when_planned(&self, family: &[Target], columns: &[RequiredColumn]) -> Result<bool, ErrorReport> {
        let block = columns.iter().find(|column| matches!(column.meaning, Meaning::Block(_)));
        let Some(block) = block.filter(|_| self.source.kind.is_fingerprint()) else { return Ok(false) };
        let mut is_new = false;
        for member in family.iter().filter(|member| member.is_ordinary() || member.is_partitioned()) {
            is_new |= loading::create(self.schema, member, &self.prefix, self.fingerprint_column(), &block.name)?;
        }
        Ok(is_new)
    }

    /// Analyzes the tables. Without statistics, the planner assumes that each search finds a 200th of the table, and
    /// prefers a sequential scan.
    fn analyze(&self, table: &Target, family: &[Target], columns: &[RequiredColumn]) -> Result<(), ErrorReport> {
        let columns = columns.iter().map(|column| column.name.as_str());
        let columns: Vec<_> =
            columns.chain(self.scope.names().iter().map(String::as_str)).map(quote_identifier).collect();
        // If columns are named, PostgreSQL does not analyze the expressions of indexes.
        let columns = if self.has_columns { format!(" ({})", columns.join(", ")) } else { String::new() };
        for member in to_analyze(table, family) {
            notice(format!("analyzing table \"{}\"", member.name));
            execute(&format!("ANALYZE {}{columns}", member.sql()))?;
        }
        Ok(())
    }
}

/// The tables that a command must name. A command on a partitioned table covers all partitions; one on another parent
/// does not cover its inheritors.
pub fn one_by_one<'a>(table: &'a Target, family: &'a [Target]) -> impl Iterator<Item = &'a Target> {
    let members = if table.is_partitioned() { std::slice::from_ref(table) } else { family };
    members.iter().filter(|member| member.is_ordinary() || member.is_partitioned())
}

/// The tables that ANALYZE must name. In a family with foreign tables, these are the ordinary tables: before version
/// 16, PostgreSQL fetches all rows of a foreign table. It still does so for an ordinary table from which foreign tables
/// inherit.
pub fn to_analyze<'a>(table: &'a Target, family: &'a [Target]) -> Vec<&'a Target> {
    if family.iter().any(Target::is_foreign) {
        family.iter().filter(|member| member.is_ordinary()).collect()
    } else {
        one_by_one(table, family).collect()
    }
}
