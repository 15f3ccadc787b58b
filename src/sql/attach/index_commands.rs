//! `simhash_index_commands`: lists the commands that build indexes concurrently on blocks of a fingerprint column.

use std::ffi::CStr;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_qualified_identifier};
use pgrx::{AnyArray, AnyElement};
use postgres::call::Call;
use postgres::catalog::column::{Column, no_such_column};
use postgres::catalog::names::schema_name;
use postgres::catalog::relation::Relation;
use postgres::catalog::target::{Lock, Target};
use postgres::error::notice;
use postgres::spi::query_strings;
use postgres::text::to_text;

use super::block_indexes::{BlockIndexes, Covering, NamedBlockIndex, has_statistics};
use super::command::{self, Command};
use super::index_names::IndexNames;
use super::provenance::{Maker, has_comment};
use super::table::{required_blocks, to_analyze};
use crate::sql::arguments::required;
use crate::sql::indexed::fingerprint_column::{check_is_stored, fingerprint_column};
use crate::sql::indexed::recognise::BlockCall;
use crate::sql::indexed::scope::Scope;
use crate::sql::indexed::unfilled::{Look, warn_of_unfilled};

#[pg_extern(sql = false)]
fn simhash_index_commands_scoped(
    target: Option<pg_sys::Oid>,
    blocks: Option<i32>,
    prefix: Option<&CStr>,
    covering: Option<bool>,
    scope: Option<AnyArray>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<SetOfIterator<'static, AnyElement>, ErrorReport> {
    let target = required(target, "target")?;
    let scope = Scope::read(scope)?;
    let blocks = required_blocks(blocks)?;
    let covering = Covering(covering);
    // SAFETY: `fcinfo` belongs to the running call.
    let call = unsafe { Call::new(fcinfo) };
    let commands = command::run(call, target, prefix, pg_sys::AccessShareLock as Lock, |command| {
        let Command { schema, prefix, table, family } = command;
        let (prefix, scope) = (&prefix, &scope);
        let fingerprint = prefix.fingerprint();
        let columns = (0..blocks).map(|block| prefix.block(block)).collect();
        let required = BlockIndexes { schema, prefix, fingerprint, blocks, scope, covering, columns };
        let mut commands = IndexCommands { required, names: IndexNames::default(), commands: Vec::new() };
        commands.list(table, family)?;
        warn_of_unfilled(schema, fingerprint, table, family, Look::Everywhere)?;
        Ok(commands.commands)
    })?;
    if !commands.is_empty() {
        let number = match commands.len() {
            1 => "1 command is".to_owned(),
            several => format!("{several} commands are"),
        };
        notice(format!("{number} to be run, each by itself and outside a transaction block (in psql: \\gexec)"));
    }
    let commands = commands.iter().map(|command| to_text(command)).collect::<Result<Vec<_>, _>>()?;
    Ok(SetOfIterator::new(commands.into_iter().flatten()))
}

/// The commands that build indexes without blocking writers.
struct IndexCommands<'a> {
    required: BlockIndexes<'a>,
    names: IndexNames,
    commands: Vec<String>,
}

/// An index that exists, or will exist once the commands so far have run.
struct Built {
    table: pg_sys::Oid,
    name: String,
    /// The OID, if the index exists already.
    oid: Option<pg_sys::Oid>,
}

impl IndexCommands<'_> {
    fn list(&mut self, table: &Target, family: &[Target]) -> Result<(), ErrorReport> {
        let column = self.required.fingerprint;
        let relation = table.open();
        if Column::find(&relation, column)?.is_none() {
            return Err(
                no_such_column(&relation, column)?.set_hint("The prefix is the name of the fingerprint column.")
            );
        }
        check_is_stored(&relation, &fingerprint_column(&relation, column)?)?;
        drop(relation);
        for member in family {
            self.check_scope(&member.open())?;
        }
        for block in 0..self.required.blocks {
            let mut built = Vec::new();
            for member in family.iter().filter(|member| member.is_ordinary()) {
                built.push(self.on_ordinary(member, block)?);
            }
            // From the leaves to the root, so that the parts of an index exist before it is attached to another.
            for member in family.iter().rev().filter(|member| member.is_partitioned()) {
                let index = self.on_partitioned(member, block, &built)?;
                built.push(index);
            }
        }
        let lacks_statistics = !self.commands.is_empty() || self.lacks_statistics(family)?;
        if lacks_statistics {
            for member in to_analyze(table, family) {
                self.commands.push(format!("ANALYZE {}", member.sql()));
            }
        }
        Ok(())
    }

    /// Refuses a column in the scope that is the fingerprint or a block.
    fn check_scope(&self, table: &Relation) -> Result<(), ErrorReport> {
        let BlockIndexes { fingerprint, scope, .. } = self.required;
        let taken = |column: &Column| {
            if column.name()? == fingerprint {
                return Ok(Some("the fingerprint itself"));
            }
            let call = column.generation(table).and_then(BlockCall::read);
            Ok(call.map(|_| "a block of a fingerprint"))
        };
        scope.check(table, taken).map(drop)
    }

    fn on_ordinary(&mut self, table: &Target, block: i32) -> Result<Built, ErrorReport> {
        let existing = self.find_index(table, block)?;
        // Drop the leftovers of interrupted commands, unless one of them is to be completed.
        for index in self.of_block(table, block)? {
            if !index.is_valid
                && !index.is_partition
                && existing.as_ref().is_none_or(|existing| existing.oid != index.oid)
                && self.is_ours(table, &index)?
            {
                self.commands.push(format!("DROP INDEX CONCURRENTLY {}", table.index_sql(&index.name)?));
            }
        }
        let Some(index) = existing else {
            return self.create("CREATE INDEX CONCURRENTLY", "", table, block);
        };
        // A failed CREATE INDEX CONCURRENTLY has left the index, or one is still running. In both cases, its COMMENT is
        // missing.
        if !index.is_valid {
            self.commands.push(format!("REINDEX INDEX CONCURRENTLY {}", table.index_sql(&index.name)?));
        }
        if !has_comment(index.oid, 0) && (!index.is_valid || self.lacks_comment(table, &index)?) {
            self.comment(&table.index_sql(&index.name)?, block);
        }
        Ok(Built { table: table.oid, name: table.index_sql(&index.name)?, oid: Some(index.oid) })
    }

    fn on_partitioned(&mut self, table: &Target, block: i32, built: &[Built]) -> Result<Built, ErrorReport> {
        let index = match self.find_index(table, block)? {
            Some(index) => {
                if self.lacks_comment(table, &index)? {
                    self.comment(&table.index_sql(&index.name)?, block);
                }
                Built { table: table.oid, name: table.index_sql(&index.name)?, oid: Some(index.oid) }
            }
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

    /// Whether these commands made the index, by its definition and name.
    fn is_ours(&self, table: &Target, index: &NamedBlockIndex) -> Result<bool, ErrorReport> {
        let fingerprint = Column::find(&table.open(), self.required.fingerprint)?.map(|found| found.attnum);
        Ok(index.is_on_expression() && index.is_as_made(table, fingerprint, self.required.prefix, &index.key)?)
    }

    /// Whether these commands made the index, but its comment is missing, because the session ended between CREATE
    /// INDEX and COMMENT. An index on a partition needs no comment: it is dropped with the index on the partitioned
    /// table.
    fn lacks_comment(&self, table: &Target, index: &NamedBlockIndex) -> Result<bool, ErrorReport> {
        Ok(!index.is_partition && !has_comment(index.oid, 0) && self.is_ours(table, index)?)
    }

    fn create(&mut self, create: &str, only: &str, table: &Target, block: i32) -> Result<Built, ErrorReport> {
        let name = self.required.name(&mut self.names, table, block)?;
        let qualified = table.index_sql(&name)?;
        let function = quote_qualified_identifier(schema_name(self.required.schema.oid())?, "simhash_block".to_owned());
        let key = self.required.expression(&function, table, block)?;
        self.commands.push(self.required.create(
            create,
            &quote_identifier(&name),
            &format!("{only}{}", table.sql()),
            &key,
        ));
        self.comment(&qualified, block);
        Ok(Built { table: table.oid, name: qualified, oid: None })
    }

    fn comment(&mut self, index: &str, block: i32) {
        let description = self.required.description(block);
        self.commands.push(Maker::Online.comment(&format!("INDEX {index}"), &description));
    }

    /// The indexes on this block within the scope.
    fn of_block(&self, table: &Target, block: i32) -> Result<Vec<NamedBlockIndex>, ErrorReport> {
        let mut indexes = self.required.all_of(table)?;
        indexes.retain(|index| index.key.call.block == block && index.is_of_scope);
        Ok(indexes)
    }

    /// The index for that block, or None; a valid one if possible.
    fn find_index(&self, table: &Target, block: i32) -> Result<Option<NamedBlockIndex>, ErrorReport> {
        let mut indexes = self.of_block(table, block)?;
        // Leftovers of an interrupted REINDEX are dropped, not completed.
        indexes.retain(|index| {
            self.required.serves(index) && (index.is_valid || index.is_live && !index.is_named_as_leftover())
        });
        indexes.sort_by_key(|index| !index.is_valid);
        Ok(indexes.into_iter().next())
    }

    /// Whether an index lacks statistics: an earlier run stopped before its ANALYZE.
    fn lacks_statistics(&self, family: &[Target]) -> Result<bool, ErrorReport> {
        for member in family.iter().filter(|member| member.is_ordinary()) {
            for block in 0..self.required.blocks {
                if let Some(index) = self.find_index(member, block)?
                    && index.is_on_expression()
                    && member.page_count() > 0
                    && !has_statistics(index.oid, index.key.scope.len() + 1)
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// The parent of a partition or of a partition's index.
fn parent_of(relation: pg_sys::Oid) -> Result<Option<pg_sys::Oid>, ErrorReport> {
    let query =
        format!("SELECT inhparent::pg_catalog.oid FROM pg_catalog.pg_inherits WHERE inhrelid = {}", relation.to_u32());
    let parent = query_strings(&query)?.pop().and_then(|oid| oid.parse().ok());
    Ok(parent.map(pg_sys::Oid::from_u32))
}
