//! The indexes of a table with their names.

use std::ops::Deref;

use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use postgres::catalog::column::Column;
use postgres::catalog::index::Index;
use postgres::catalog::names::relation_sql;
use postgres::catalog::relation::Relation;
use postgres::catalog::target::Target;
use postgres::spi::query_strings;

use super::index_names::{IndexNames, leftover_label, name_of_block};
use super::prefix::Prefix;
use crate::sql::indexed::layouts::BlockKey;

/// An index with its name.
pub struct NamedIndex {
    index: Index,
    pub name: String,
}

impl NamedIndex {
    /// The indexes of a table, including those that an interrupted command has left.
    pub fn all_of(table: &Target) -> Result<Vec<Self>, ErrorReport> {
        let live = table.open().indexes();
        // A dead index may have been dropped by now, because the lock on its table does not prevent that.
        let dead =
            dead_of(table)?.into_iter().filter(|dead| !live.contains(dead)).filter_map(Relation::open_for_planning);
        let mut found = Vec::new();
        for index in live.iter().copied().map(Relation::open).chain(dead) {
            let Some(index) = Index::read(&index) else { continue };
            let name = index.name()?;
            found.push(Self { index, name });
        }
        Ok(found)
    }

    /// Whether the index has a column, so that its value can be read without fetching the row.
    pub fn covers(&self, column: Option<pg_sys::AttrNumber>) -> bool {
        column.is_some_and(|column| self.attnum_of(column).is_some())
    }

    /// Locks the index as DROP INDEX does, so that it cannot be renamed before that command. Returns its quoted name;
    /// None if the index was dropped.
    pub fn lock_to_drop(&self) -> Result<Option<String>, ErrorReport> {
        // SAFETY: any OID may be locked.
        unsafe { pg_sys::LockRelationOid(self.oid, pg_sys::AccessExclusiveLock as pg_sys::LOCKMODE) };
        // The index is in its table's schema, whose name is locked.
        relation_sql(self.oid)
    }

    /// Whether the index has the definition and the name that attach would give it for this block of the fingerprint,
    /// or the name that an interrupted REINDEX CONCURRENTLY leaves.
    pub fn is_as_made(
        &self,
        table: &Target,
        fingerprint: Option<pg_sys::AttrNumber>,
        prefix: &Prefix,
        key: &BlockKey,
    ) -> Result<bool, ErrorReport> {
        let has_only_ours = match self.columns()[self.keys.len()..] {
            [] => true,
            [included] => Some(included) == fingerprint,
            _ => false,
        };
        let is_plain = self.keys.len() == key.scope.len() + 1 && self.has_default_order && self.is_unconstrained;
        if self.is_partial || !is_plain || !has_only_ours {
            return Ok(false);
        }
        let relation = table.open();
        let scope = key.scope.iter().filter_map(|&column| Column::at(&relation, column));
        let scope = scope.map(|column| column.name()).collect::<Result<Vec<_>, _>>()?;
        IndexNames::gives(table, &name_of_block(prefix, key.call.block, &scope), &self.name)
    }

    /// Whether the index is named like a leftover of an interrupted REINDEX CONCURRENTLY.
    pub fn is_named_as_leftover(&self) -> bool {
        leftover_label(&self.name).is_some()
    }
}

impl Deref for NamedIndex {
    type Target = Index;

    fn deref(&self) -> &Index {
        &self.index
    }
}

/// The indexes that PostgreSQL's own lists omit: leftovers of an interrupted DROP INDEX CONCURRENTLY.
fn dead_of(table: &Target) -> Result<Vec<pg_sys::Oid>, ErrorReport> {
    let query = format!(
        "SELECT indexrelid::pg_catalog.oid FROM pg_catalog.pg_index \
         WHERE indrelid OPERATOR(pg_catalog.=) '{}'::pg_catalog.oid AND NOT indislive ORDER BY 1",
        table.oid.to_u32()
    );
    let oids = query_strings(&query)?;
    Ok(oids.iter().filter_map(|oid| oid.parse().ok()).map(pg_sys::Oid::from_u32).collect())
}
