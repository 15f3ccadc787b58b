//! `simhash_index_commands`: lists the commands that build indexes concurrently on blocks of a fingerprint column.

use std::ffi::CStr;

use pgrx::AnyElement;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_qualified_identifier};

use super::command::{self, Command};
use super::index_names::IndexNames;
use super::indexes::NamedIndex;
use super::prefix::Prefix;
use super::provenance::{Maker, has_comment};
use super::source::block_sql;
use super::table::{Covering, layout, one_by_one};
use super::unfilled::{Look, warn_of_unfilled};
use crate::postgres::call::Call;
use crate::postgres::catalog::column::{Column, no_such_column};
use crate::postgres::catalog::index::Keyed;
use crate::postgres::catalog::target::{Lock, Target};
use crate::postgres::names::schema_name;
use crate::postgres::text::to_datum;
use crate::sql::arguments::required;
use crate::sql::fingerprint_column::{check_is_stored, fingerprint_column};
use crate::sql::functions::ExtensionSchema;
use crate::sql::recognise::BlockCall;

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
    let covering = Covering(covering);
    // SAFETY: `fcinfo` belongs to the running call.
    let call = unsafe { Call::new(fcinfo) };
    let commands = command::run(call, target, prefix, pg_sys::AccessShareLock as Lock, |command| {
        let Command { schema, prefix, table, family } = command;
        let mut commands =
            IndexCommands { schema, prefix, blocks, covering, names: IndexNames::default(), commands: Vec::new() };
        commands.list(table, family)?;
        warn_of_unfilled(schema, commands.prefix.fingerprint(), table, family, Look::Everywhere)?;
        Ok(commands.commands)
    })?;
    Ok(SetOfIterator::new(commands.into_iter().filter_map(|command| to_datum(&command))))
}

/// The commands that build indexes without blocking writers.
struct IndexCommands {
    schema: ExtensionSchema,
    prefix: Prefix,
    blocks: i32,
    covering: Covering,
    names: IndexNames,
    commands: Vec<String>,
}

/// An index that exists, or will once the commands so far have run.
struct Built {
    table: pg_sys::Oid,
    name: String,
    /// The OID, if the index exists already.
    oid: Option<pg_sys::Oid>,
}

impl IndexCommands {
    fn list(&mut self, table: &Target, family: &[Target]) -> Result<(), ErrorReport> {
        let column = self.prefix.fingerprint();
        let relation = table.open();
        if Column::find(&relation, column)?.is_none() {
            return Err(
                no_such_column(&relation, column)?.set_hint("The prefix is the name of the fingerprint column.")
            );
        }
        check_is_stored(&relation, &fingerprint_column(&relation, column)?)?;
        drop(relation);
        for block in 0..self.blocks {
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
            for member in one_by_one(table, family) {
                self.commands.push(format!("ANALYZE {}", member.sql()));
            }
        }
        Ok(())
    }

    fn on_ordinary(&mut self, table: &Target, block: i32) -> Result<Built, ErrorReport> {
        let existing = self.existing(table, block)?;
        // Drop what interrupted commands have left beside the index in use.
        for index in self.of_block(table, block)? {
            if !index.is_valid
                && !index.is_partition
                && existing.as_ref().is_none_or(|existing| existing.oid != index.oid)
                && self.is_ours(table, &index, block)?
            {
                self.commands.push(format!("DROP INDEX CONCURRENTLY {}", index.sql()));
            }
        }
        let Some(index) = existing else {
            return self.create("CREATE INDEX CONCURRENTLY", "", table, block);
        };
        // The index is left by a failed CREATE INDEX CONCURRENTLY, or by one still running. Neither has reached its
        // COMMENT.
        if !index.is_valid {
            self.commands.push(format!("REINDEX INDEX CONCURRENTLY {}", index.sql()));
        }
        if !has_comment(index.oid) && (!index.is_valid || self.lacks_comment(table, &index, block)?) {
            self.comment(&index.sql(), block);
        }
        Ok(Built { table: table.oid, name: index.sql(), oid: Some(index.oid) })
    }

    fn on_partitioned(&mut self, table: &Target, block: i32, built: &[Built]) -> Result<Built, ErrorReport> {
        let index = match self.existing(table, block)? {
            Some(index) => {
                if self.lacks_comment(table, &index, block)? {
                    self.comment(&index.sql(), block);
                }
                Built { table: table.oid, name: index.sql(), oid: Some(index.oid) }
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

    /// Whether its definition and name show that these commands made the index.
    fn is_ours(&self, table: &Target, index: &NamedIndex, block: i32) -> Result<bool, ErrorReport> {
        index.is_as_made(table, self.fingerprint_of(table)?, &self.prefix.block(block))
    }

    /// Whether the session ended between CREATE INDEX and COMMENT. An index on a partition follows the index on the
    /// partitioned table, and needs no comment.
    fn lacks_comment(&self, table: &Target, index: &NamedIndex, block: i32) -> Result<bool, ErrorReport> {
        Ok(!index.is_partition && !has_comment(index.oid) && self.is_ours(table, index, block)?)
    }

    fn create(&mut self, create: &str, only: &str, table: &Target, block: i32) -> Result<Built, ErrorReport> {
        let name = quote_identifier(self.names.choose(table, &self.prefix.block(block))?);
        let qualified = format!("{}.{name}", quote_identifier(&table.schema));
        let column = quote_identifier(self.prefix.fingerprint());
        let include = if self.covering.of_new() { format!(" INCLUDE ({column})") } else { String::new() };
        let fingerprint = Column::named(&table.open(), self.prefix.fingerprint())?;
        let function = quote_qualified_identifier(schema_name(self.schema.oid())?, "simhash_block".to_owned());
        let key = block_sql(&function, &fingerprint, block, self.blocks)?;
        self.commands.push(format!("{create} {name} ON {only}{} USING btree ({key}){include}", table.sql()));
        self.comment(&qualified, block);
        Ok(Built { table: table.oid, name: qualified, oid: None })
    }

    fn comment(&mut self, index: &str, block: i32) {
        let description = format!("btree of block {block} of {}", self.blocks);
        self.commands.push(Maker::Online.comment(&format!("INDEX {index}"), &description));
    }

    fn fingerprint_of(&self, table: &Target) -> Result<Option<pg_sys::AttrNumber>, ErrorReport> {
        Ok(Column::find(&table.open(), self.prefix.fingerprint())?.map(|found| found.number))
    }

    /// The indexes on the expression of that block.
    fn of_block(&self, table: &Target, block: i32) -> Result<Vec<NamedIndex>, ErrorReport> {
        let column = self.fingerprint_of(table)?;
        let mut indexes = NamedIndex::all_of(table)?;
        indexes.retain(|index| {
            index.finds_integers()
                && match index.first() {
                    Keyed::Expression(expression) => BlockCall::read_in(expression, self.schema).is_some_and(|call| {
                        (call.block, call.blocks) == (block, self.blocks) && call.fingerprint.as_own_column() == column
                    }),
                    Keyed::Column(_) => false,
                }
        });
        Ok(indexes)
    }

    /// The index to use for that block's expression; a valid one if possible.
    fn existing(&self, table: &Target, block: i32) -> Result<Option<NamedIndex>, ErrorReport> {
        let column = self.fingerprint_of(table)?;
        let mut indexes = self.of_block(table, block)?;
        // Leftovers of an interrupted REINDEX are dropped, not completed.
        indexes.retain(|index| {
            (!self.covering.of_existing() || index.covers(column))
                && (index.is_valid || index.is_live && !index.is_named_as_leftover())
        });
        indexes.sort_by_key(|index| !index.is_valid);
        Ok(indexes.into_iter().next())
    }

    /// Whether an index lacks statistics: an earlier run stopped before its ANALYZE.
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
    // SAFETY: a look-up in a system cache by keys of its types.
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

/// The parent of a partition or of a partition's index.
fn parent_of(relation: pg_sys::Oid) -> Result<Option<pg_sys::Oid>, ErrorReport> {
    let query =
        format!("SELECT inhparent::pg_catalog.oid FROM pg_catalog.pg_inherits WHERE inhrelid = {}", relation.to_u32());
    let parent = crate::postgres::spi::strings(&query)?.pop().and_then(|oid| oid.parse().ok());
    Ok(parent.map(pg_sys::Oid::from_u32))
}
