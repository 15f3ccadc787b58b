//! The btrees that a call of `simhash_attach` asks for: on the blocks of a fingerprint.
//!
//! ```sql
//! CREATE INDEX ON docs (simhash_block0, simhash);
//! CREATE INDEX ON pictures (simhash_block(fingerprint, 0), fingerprint);     -- of a column of fingerprints
//! ```
//!
//! The fingerprint is in each entry, so that a search fetches near rows only. It is a key, and not included: PostgreSQL
//! never deduplicates entries with included columns. After fifty updates of each row that are not HOT, indexes with the
//! fingerprint included had twice as many pages.

use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::catalog::column::Column;
use postgres::catalog::index::Index;
use postgres::catalog::names::relation_sql;
use postgres::catalog::partition::with_inheritors;
use postgres::catalog::relation::{NO_LOCK, Relation};
use postgres::catalog::row_value::RowValue;
use postgres::catalog::target::Target;
use postgres::error::{Explain, Result, user_error};
use postgres::server_string::to_server_cstring;

use super::index_steps::WantedIndexes;
use super::prefix::{Maker, Prefix};
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::fingerprint_column::is_made_from;
use crate::sql::indexed::layouts::{fingerprint_in, has_default_equality};
use crate::sql::indexed::recognise::block_keys;
use crate::sql::indexed::scope::Scope;
use crate::sql::indexed::source::Source;

/// The indexes on the blocks of a layout, within a scope.
pub struct BlockIndexes<'a> {
    pub schema: ExtensionSchema,
    pub prefix: &'a Prefix,
    pub source: &'a Source,
    pub blocks: i32,
    pub scope: &'a Scope,
}

impl WantedIndexes for BlockIndexes<'_> {
    fn count(&self) -> usize {
        self.blocks as usize
    }

    /// Indexes under another prefix do not count, because they go with that prefix.
    fn find_existing(&self, table: &Target) -> Result<Vec<(usize, Index)>> {
        let relation = table.open();
        let Some(scope) = self.scope.attnums(&relation)? else { return Ok(Vec::new()) };
        let mut existing = Vec::new();
        for index in Index::all_and_dying(&relation)? {
            let key = block_keys(&relation, &index).next();
            if let Some(key) = key
                && !index.is_partial
                && (key.call.blocks, &key.scope) == (self.blocks, &scope)
                && has_default_equality(&relation, &index, &scope)
                && self.source.is_fingerprint(self.schema, &relation, key.call.fingerprint)?
                && fingerprint_in(&relation, &index, RowValue::Expression(key.call.fingerprint)).is_some()
                && self.prefix.maker_of(index.oid, 0)? != Maker::OtherPrefix
            {
                existing.push((key.call.block as usize, index));
            }
        }
        Ok(existing)
    }

    fn key_name(&self, number: usize) -> String {
        self.prefix.block_name(number as i32)
    }

    fn keys_sql(&self, number: usize) -> Result<Vec<String>> {
        let block = number as i32;
        if self.has_columns() {
            return Ok([&self.prefix.block_name(block), self.prefix.fingerprint_name()].map(quote_identifier).into());
        }
        Ok(vec![self.source.block_sql(self.schema, block, self.blocks)?, self.source.fingerprint_sql(self.schema)?])
    }

    fn scope(&self) -> &Scope {
        self.scope
    }
}

impl BlockIndexes<'_> {
    /// Whether fingerprint and blocks are columns of the prefix, rather than expressions in the indexes.
    pub fn has_columns(&self) -> bool {
        !self.source.kind.holds_fingerprints()
    }

    /// The commands that label an index, and its partitions: a partition that is detached later keeps its own.
    pub fn label_commands(&self, table: &Target, name: &str, block: usize) -> Result<Vec<String>> {
        let description = format!("btree of block {block} of {}", self.blocks);
        let missing =
            || user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, format!("index \"{name}\" does not exist"));
        let index = table.relation_named(&to_server_cstring(name)?).ok_or_else(missing)?;
        let label_command = |index| {
            let index_sql = relation_sql(index)?.unwrap_or_default();
            Ok(self.prefix.comment_command(&format!("INDEX {index_sql}"), &description))
        };
        with_inheritors(index, NO_LOCK).into_iter().map(label_command).collect()
    }

    /// Refuses a family that cannot have these indexes.
    pub fn check_family(&self, family: &[Target]) -> Result<()> {
        self.scope.check_family(family, &self.source.column)?;
        family.iter().try_for_each(|member| self.check_no_other_fingerprint(member))?;
        self.source.check_sql(self.schema, &family[0])
    }

    /// Refuses another fingerprint of the source in an index under the same prefix: detach would remove both.
    fn check_no_other_fingerprint(&self, table: &Target) -> Result<()> {
        if self.has_columns() {
            return Ok(());
        }
        let relation = table.open();
        let Some(source) = Column::find(&relation, &self.source.column)? else { return Ok(()) };
        for index in Index::all(&relation) {
            if self.has_other_fingerprint(&relation, &source, &index)? {
                let (prefix, column, table) = (self.prefix.fingerprint_name(), &self.source.column, &table.name);
                let message =
                    format!("prefix \"{prefix}\" of table \"{table}\" has another fingerprint of \"{column}\"");
                return Err(user_error(PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT, message)
                    .with_detail(format!("Index \"{}\" is made with other options.", index.name()?))
                    .with_hint("Choose another prefix, or call simhash_detach first."));
            }
        }
        Ok(())
    }

    /// Whether an index under the same prefix is of another fingerprint of the source.
    fn has_other_fingerprint(&self, table: &Relation, source: &Column, index: &Index) -> Result<bool> {
        let Some(key) = block_keys(table, index).next() else { return Ok(false) };
        let fingerprint = key.call.fingerprint;
        Ok(fingerprint.as_own_column().is_none()
            && is_made_from(table, source, fingerprint)
            && !self.source.is_fingerprint(self.schema, table, fingerprint)?
            && self.prefix.maker_of(index.oid, 0)? == Maker::ThisPrefix)
    }
}
