//! The btrees on the blocks of a fingerprint: the existing ones, and the commands that create them.
//!
//! The size of the text comes after the block, so that a search that compares texts reads the entries of similar sizes
//! only. The fingerprint is in each entry, so that a search fetches near rows only. PostgreSQL includes no expressions
//! in an index, so in an index without columns the fingerprint is a key:
//!
//! ```sql
//! CREATE INDEX ON docs (simhash_block0, simhash_size) INCLUDE (simhash);
//! CREATE INDEX ON docs (simhash_block(simhash(body), 0, 4), simhash_size(body), simhash(body));
//! ```

use std::collections::HashSet;
use std::ffi::CStr;

use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::catalog::column::{Column, RowValue};
use postgres::catalog::index::Index;
use postgres::catalog::relation::Relation;
use postgres::catalog::target::Target;
use postgres::error::{Result, sendable, user_error};
use postgres::text::{from_server, to_server};

use super::command::guard_fingerprints;
use super::prefix::{Maker, Prefix};
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::fingerprint_column::is_made_from;
use crate::sql::indexed::layouts::{BlockKey, block_keys, fingerprint_in, has_own_equality, size_key};
use crate::sql::indexed::scope::Scope;
use crate::sql::indexed::source::Source;

/// The indexes of a layout that the user asks for.
pub struct BlockIndexes<'a> {
    pub schema: ExtensionSchema,
    pub prefix: &'a Prefix,
    pub source: &'a Source,
    pub blocks: i32,
    pub scope: &'a Scope,
    /// Whether fingerprint and blocks are columns of the prefix, rather than expressions in the indexes.
    pub has_columns: bool,
}

impl BlockIndexes<'_> {
    /// The indexes of a table that serve searches by a block within the scope. Indexes under another prefix do not
    /// count, because they go with that prefix. Indexes that are not valid are listed too.
    pub fn of_block(&self, table: &Target, block: i32) -> Result<Vec<Index>> {
        let relation = table.open();
        let Some(scope) = self.scope.attnums(&relation)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for index in Index::all(&relation) {
            let key = block_keys(&relation, &index).next();
            if let Some(key) = key
                && !index.is_partial
                && (key.call.block, key.call.blocks, &key.scope) == (block, self.blocks, &scope)
                && has_own_equality(&relation, &index, &scope)
                && self.source.is_fingerprint(self.schema, &relation, key.call.fingerprint)?
                && fingerprint_in(&relation, &index, RowValue::Expression(key.call.fingerprint)).is_some()
                && self.has_wanted_size(&relation, &index, &key)?
                && self.prefix.maker_of(index.oid, 0)? != Maker::OtherPrefix
            {
                found.push(index);
            }
        }
        Ok(found)
    }

    /// Whether the key after the block is the size of the source, if that has one.
    fn has_wanted_size(&self, table: &Relation, index: &Index, key: &BlockKey) -> Result<bool> {
        let is_size = |expression| self.source.is_size(self.schema, table, expression);
        Ok(!self.source.has_size() || size_key(table, index, key).map_or(Ok(false), is_size)?)
    }

    /// Names an index, and returns the name and the commands that create and label it. `create` is CREATE INDEX,
    /// perhaps CONCURRENTLY; `only` is `ONLY ` if the indexes of the partitions are built apart, and else empty.
    pub fn create(
        &self,
        names: &mut IndexNames,
        create: &str,
        table: &Target,
        only: &str,
        block: i32,
    ) -> Result<(String, [String; 2])> {
        let part = [&[self.prefix.block(block)], self.scope.names()].concat().join("_");
        let name = names.choose(table, &part)?;
        let keys = if self.has_columns {
            let size = self.source.has_size().then(|| quote_identifier(self.prefix.size()));
            let keys = self.scope.keys(quote_identifier(self.prefix.block(block)), size);
            format!("({keys}) INCLUDE ({})", quote_identifier(self.prefix.fingerprint()))
        } else {
            let size = self.source.has_size().then(|| self.source.size_sql(self.schema)).transpose()?;
            let keys = self.scope.keys(self.source.block_sql(self.schema, block, self.blocks)?, size);
            format!("({keys}, {})", self.source.fingerprint_sql(self.schema)?)
        };
        let create = format!("{create} {} ON {only}{} USING btree {keys}", quote_identifier(&name), table.sql());
        let object = format!("INDEX {}", table.index_sql(&name)?);
        let comment = self.prefix.comment(&object, &format!("btree of block {block} of {}", self.blocks));
        Ok((name, [create, comment]))
    }

    /// Refuses a family that cannot have these indexes.
    pub fn check(&self, table: &Target, family: &[Target]) -> Result<()> {
        let check_scope = |member: &Target| self.scope.check(&member.open(), &self.source.column).map(drop);
        family.iter().try_for_each(check_scope)?;
        family.iter().try_for_each(|member| self.check_other_fingerprints(member))?;
        self.source.check_sql(self.schema, table)
    }

    /// Refuses another fingerprint of the source than is indexed as an expression: without columns under the same
    /// prefix, since detach would remove both; and beside a guard by that expression, which would not know which one is
    /// meant.
    fn check_other_fingerprints(&self, table: &Target) -> Result<()> {
        let relation = table.open();
        let Some(source) = Column::find(&relation, &self.source.column)? else { return Ok(()) };
        let is_guarded_by_source = guard_fingerprints(self.schema, &relation)?.contains(&self.source.column);
        for index in Index::all(&relation) {
            let Some(key) = block_keys(&relation, &index).next() else { continue };
            let other = key.call.fingerprint;
            if other.as_own_column().is_some()
                || !is_made_from(&relation, &source, other)
                || self.source.is_fingerprint(self.schema, &relation, other)?
            {
                continue;
            }
            let (of, hint) = if !self.has_columns && self.prefix.maker_of(index.oid, 0)? == Maker::Attach {
                let prefix = self.prefix.fingerprint();
                (format!("prefix \"{prefix}\" of"), "Choose another prefix, or call simhash_detach first.")
            } else if is_guarded_by_source {
                ("guarded".to_owned(), "Call simhash_unguard first, and guard a column with one of the fingerprints.")
            } else {
                continue;
            };
            let message =
                format!("{of} table \"{}\" has another fingerprint of \"{}\"", table.name, self.source.column);
            let detail = format!("Index \"{}\" is made with other options.", index.name()?);
            return Err(user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT, message)
                .set_detail(sendable(detail))
                .set_hint(hint));
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

/// Chooses index names as PostgreSQL would, avoiding existing ones and those chosen before.
#[derive(Default)]
pub struct IndexNames(HashSet<(pg_sys::Oid, String)>);

impl IndexNames {
    /// A name for an index of a table, made of the table's name and `part`, and shortened if it is too long.
    pub fn choose(&mut self, table: &Target, part: &str) -> Result<String> {
        let (table_name, part) = (to_server(&table.name)?, to_server(part)?);
        for number in 0u32.. {
            let label = to_server(&if number == 0 { "idx".to_owned() } else { format!("idx{number}") })?;
            // SAFETY: the names are NUL-terminated; makeObjectName returns a palloc'd, NUL-terminated name.
            let (name, exists) = unsafe {
                let name = pg_sys::makeObjectName(table_name.as_ptr(), part.as_ptr(), label.as_ptr());
                (from_server(name)?, table.is_name_taken(CStr::from_ptr(name)))
            };
            if !exists && self.0.insert((table.schema, name.clone())) {
                return Ok(name);
            }
        }
        unreachable!("there are fewer than 2^32 indexes")
    }
}
