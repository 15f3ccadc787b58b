//! The btrees on the blocks of a fingerprint column: the existing ones, and the command that creates one.
//!
//! A block is a column that `simhash_attach` has added, or an expression. Indexes on both serve the same searches.

use std::ops::Deref;

use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::spi::quote_identifier;
use postgres::catalog::column::Column;
use postgres::catalog::index::KeyKind;
use postgres::catalog::target::Target;

use super::index_names::{IndexNames, name_of_block};
use super::indexes::NamedIndex;
use super::prefix::Prefix;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::layouts::{BlockKey, block_keys, has_own_equality};
use crate::sql::indexed::scope::Scope;
use crate::sql::indexed::source::block_sql;

/// Whether the user asks for indexes that include the fingerprint. By default, new indexes include it, and existing
/// indexes are left as they are.
#[derive(Clone, Copy)]
pub struct Covering(pub Option<bool>);

impl Covering {
    /// Whether new indexes include the fingerprint.
    fn of_new(self) -> bool {
        self.0 != Some(false)
    }

    /// Whether existing indexes must include the fingerprint.
    fn of_existing(self) -> bool {
        self.0 == Some(true)
    }
}

/// The indexes of a layout that the user asks for.
pub struct BlockIndexes<'a> {
    pub schema: ExtensionSchema,
    pub prefix: &'a Prefix,
    /// The name of the fingerprint column.
    pub fingerprint: &'a str,
    pub blocks: i32,
    pub scope: &'a Scope,
    pub covering: Covering,
    /// The names of the block columns of the prefix, whether or not the table has them. Block columns that another
    /// prefix has for the same fingerprint are left out.
    pub columns: Vec<String>,
}

/// An index that finds all rows with a given value of a block, perhaps within a scope.
pub struct NamedBlockIndex {
    index: NamedIndex,
    pub key: BlockKey,
    /// Whether the index has the fingerprint.
    covers: bool,
    /// Whether the index has the scope that the user asks for.
    pub is_of_scope: bool,
}

impl Deref for NamedBlockIndex {
    type Target = NamedIndex;

    fn deref(&self) -> &NamedIndex {
        &self.index
    }
}

impl NamedBlockIndex {
    /// Whether the block is an expression, rather than a column.
    pub fn is_on_expression(&self) -> bool {
        matches!(self.key.kind, KeyKind::Expression(_))
    }
}

impl BlockIndexes<'_> {
    /// The indexes of a table on blocks of this layout, within any scope.
    pub fn all_of(&self, table: &Target) -> Result<Vec<NamedBlockIndex>, ErrorReport> {
        let relation = table.open();
        let (Some(fingerprint), Some(scope)) =
            (Column::find(&relation, self.fingerprint)?, self.scope.attnums(&relation)?)
        else {
            return Ok(Vec::new());
        };
        let mut columns = Vec::new();
        for name in &self.columns {
            columns.extend(Column::find(&relation, name)?.map(|column| column.attnum));
        }
        let is_block = |key: &BlockKey| {
            key.call.blocks == self.blocks
                && match key.kind {
                    KeyKind::Column(column) => columns.contains(&column),
                    KeyKind::Expression(_) => key.call.fingerprint.as_own_column() == Some(fingerprint.attnum),
                }
        };
        let mut found = Vec::new();
        for index in NamedIndex::all_of(table)?.into_iter().filter(|index| !index.is_partial) {
            let mut keys = block_keys(&relation, &index);
            let key = keys.find(is_block);
            drop(keys);
            let Some(key) = key else { continue };
            let is_of_scope = key.scope == scope && has_own_equality(&relation, &index, &scope);
            let covers = index.covers(Some(fingerprint.attnum));
            found.push(NamedBlockIndex { index, key, covers, is_of_scope });
        }
        Ok(found)
    }

    /// Whether an index is what the user asks for: it has the scope and, if requested, the fingerprint.
    pub fn serves(&self, index: &NamedBlockIndex) -> bool {
        index.is_of_scope && (!self.covering.of_existing() || index.covers)
    }

    /// A new name for the index of a block.
    pub fn name(&self, names: &mut IndexNames, table: &Target, block: i32) -> Result<String, ErrorReport> {
        names.choose(table, &name_of_block(self.prefix, block, self.scope.names()))
    }

    /// A block as an expression of the fingerprint column; `function` is the name of `simhash_block`.
    pub fn expression(&self, function: &str, table: &Target, block: i32) -> Result<String, ErrorReport> {
        block_sql(function, &Column::named(&table.open(), self.fingerprint)?, block, self.blocks)
    }

    /// The command that creates an index: `create` with its quoted name on a table, with the key of the block.
    pub fn create(&self, create: &str, name: &str, table: &str, key: &str) -> String {
        let include = if self.covering.of_new() {
            format!(" INCLUDE ({})", quote_identifier(self.fingerprint))
        } else {
            String::new()
        };
        format!("{create} {name} ON {table} USING btree ({}){include}", self.scope.keys(key))
    }

    /// What the comment on the index of a block says after the label of its maker. `simhash_attach` appends
    /// [`under_prefix`](super::provenance::under_prefix) if the block is an expression.
    pub fn description(&self, block: i32) -> String {
        format!("btree of block {block} of {}", self.blocks)
    }
}

/// Whether ANALYZE has gathered statistics of a key of an index; `key` counts from 1. ANALYZE gathers them only for
/// keys that are expressions.
pub fn has_statistics(index: pg_sys::Oid, key: usize) -> bool {
    // SAFETY: a look-up in a system cache by keys of its types.
    unsafe {
        pg_sys::SearchSysCacheExists(
            pg_sys::SysCacheIdentifier::STATRELATTINH as i32,
            index.into(),
            (key as i16).into(),
            false.into(),
            pg_sys::Datum::null(),
        )
    }
}
