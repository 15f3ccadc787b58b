//! `simhash_index_commands`: lists the commands that build the indexes of `simhash_attach` without columns, and without
//! blocking writers.

use std::ffi::CStr;

use pgrx::prelude::*;
use pgrx::{AnyArray, AnyElement};
use postgres::call::Call;
use postgres::catalog::partition::ancestors;
use postgres::catalog::relation::Relation;
use postgres::catalog::target::{Lock, Target};
use postgres::error::{Result, notice};
use postgres::json::RawJsonb;
use postgres::text::to_text;

use super::command;
use super::indexes::{BlockIndexes, IndexNames, to_analyze};
use crate::sql::arguments::{name, required};
use crate::sql::fingerprint::blocks::check_layout;
use crate::sql::indexed::scope::Scope;
use crate::sql::indexed::source::Source;

#[pg_extern(sql = false)]
fn simhash_index_commands(
    target: Option<pg_sys::Oid>,
    source: Option<&CStr>,
    options: Option<RawJsonb<'_>>,
    blocks: Option<i32>,
    scope: Option<AnyArray>,
    prefix: Option<&CStr>,
    call: Call<'_>,
) -> Result<SetOfIterator<'static, AnyElement>> {
    let target = required(target, "target")?;
    let source = name(source, "source")?;
    let blocks = check_layout(required(blocks, "blocks")?)?;
    let scope = Scope::read(scope)?;
    let commands =
        command::run(call, target, prefix, pg_sys::AccessShareLock as Lock, |schema, prefix, table, family| {
            let source = Source::read(table, source, options, false)?;
            let wanted = BlockIndexes { schema, prefix, source: &source, blocks, scope: &scope, has_columns: false };
            let mut commands = IndexCommands { wanted, names: IndexNames::default(), commands: Vec::new() };
            commands.list(table, family)?;
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

struct IndexCommands<'a> {
    wanted: BlockIndexes<'a>,
    names: IndexNames,
    commands: Vec<String>,
}

/// An index that exists, or will exist once the commands so far have run.
struct Built {
    table: pg_sys::Oid,
    name: String,
    oid: Option<pg_sys::Oid>,
}

impl IndexCommands<'_> {
    fn list(&mut self, table: &Target, family: &[Target]) -> Result<()> {
        self.wanted.check(table, family)?;
        for block in 0..self.wanted.blocks {
            let mut built = Vec::new();
            for member in family.iter().filter(|member| member.is_ordinary()) {
                built.push(self.build(member, block, "CREATE INDEX CONCURRENTLY", "")?);
            }
            // From the leaves to the root, so that the parts of an index exist before it is attached to another.
            for member in family.iter().rev().filter(|member| member.is_partitioned()) {
                let index = self.build(member, block, "CREATE INDEX", "ONLY ")?;
                for part in built.iter().filter(|part| parent_of(part.table) == Some(member.oid)) {
                    let parent = part.oid.and_then(parent_of);
                    if parent.is_none() || parent != index.oid {
                        self.commands.push(format!("ALTER INDEX {} ATTACH PARTITION {}", index.name, part.name));
                    }
                }
                built.push(index);
            }
        }
        if !self.commands.is_empty() {
            self.commands
                .extend(to_analyze(table, family).into_iter().map(|member| format!("ANALYZE {}", member.sql())));
        }
        Ok(())
    }

    /// The index of a table on a block. If there is none, adds the commands that create it. A failed CREATE INDEX
    /// CONCURRENTLY leaves an index that is not valid, which is dropped first. An index on a partitioned table is not
    /// valid until all partitions have it.
    fn build(&mut self, table: &Target, block: i32, create: &str, only: &str) -> Result<Built> {
        for index in self.wanted.of_block(table, block)? {
            let name = table.index_sql(&index.name()?)?;
            if index.is_valid || table.is_partitioned() {
                return Ok(Built { table: table.oid, name, oid: Some(index.oid) });
            }
            if !index.is_partition && index.is_unconstrained {
                self.commands.push(format!("DROP INDEX CONCURRENTLY {name}"));
            }
        }
        let (name, commands) = self.wanted.create(&mut self.names, create, table, only, block)?;
        self.commands.extend(commands);
        Ok(Built { table: table.oid, name: table.index_sql(&name)?, oid: None })
    }
}

/// The parent of a partition or of a partition's index.
fn parent_of(relation: pg_sys::Oid) -> Option<pg_sys::Oid> {
    ancestors(&Relation::open(relation)).first().copied()
}
