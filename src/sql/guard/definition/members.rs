//! A guarded table and its partitions: which tables they are, and whether a guard can search them.

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use postgres::catalog::column::Column;
use postgres::catalog::partition::{check_owner, with_inheritors};
use postgres::catalog::relation::{Relation, is_foreign, relation_kind, relation_name};
use postgres::catalog::target::{Lock, Target};
use postgres::error::{Result, not_supported, user_error};

use super::criterion::GuardCriterion;
use super::scope::GuardScope;
use super::searched_table::{SearchedTable, no_index};
use crate::sql::functions::{ExtensionSchema, SIMHASH_BLOCK};
use crate::sql::indexed::fingerprint_column::fingerprint_of;

/// A guarded table and its partitions, all of them locked.
pub struct Members {
    pub all: Vec<Oid>,
    /// The tables in `all` that have rows of their own.
    with_rows: Vec<Oid>,
}

impl Members {
    /// Lists the table with its partitions at all levels, and `detached`, a partition of it that is being detached. An
    /// error if one of them cannot be searched, or belongs to another role.
    pub fn read(root: Oid, detached: Option<Oid>) -> Result<Self> {
        let mut all = match relation_kind(root) {
            pg_sys::RELKIND_PARTITIONED_TABLE => with_inheritors(root, pg_sys::AccessShareLock as pg_sys::LOCKMODE),
            _ => vec![root],
        };
        // New transactions do not see a partition that is being detached, but it has the guard until it is detached.
        all.extend(detached.filter(|detached| !all.contains(detached)));
        check_owner(root, &all)?;
        if let Some(&foreign) = all.iter().find(|&&member| is_foreign(member)) {
            let name = relation_name(foreign)?.unwrap_or_default();
            let kind = if foreign == root { "table" } else { "partition" };
            return Err(not_supported(format!("{kind} \"{name}\" is a foreign table"))
                .set_detail("A guard searches the indexes of this server only.")
                .set_hint(
                    "Guard the table on its server instead. That guard also checks the rows that come from here.",
                ));
        }
        let with_rows: Vec<_> =
            all.iter().copied().filter(|&member| relation_kind(member) == pg_sys::RELKIND_RELATION).collect();
        // The search depends on the heap's row versions and row locks.
        if let Some(other) = with_rows.iter().map(|&member| Relation::open(member)).find(|table| !table.is_heap()) {
            return Err(not_supported(format!("table \"{}\" is not stored as a heap", other.name()?))
                .set_detail("A guard searches and locks rows as the access method heap stores them, and no other.")
                .set_hint("Run ALTER TABLE ... SET ACCESS METHOD heap."));
        }
        Ok(Self { all, with_rows })
    }

    /// The tables in `with_rows`, ready to be searched. An error if one of them cannot be searched.
    pub fn searched(
        &self,
        fingerprint: &str,
        scope: &[String],
        criterion: &GuardCriterion,
        schema: Option<ExtensionSchema>,
    ) -> Result<Vec<SearchedTable>> {
        let has_blocks = |schema: &ExtensionSchema| schema.function(c"simhash_block", SIMHASH_BLOCK).is_some();
        let schema = schema.filter(has_blocks).ok_or_else(|| {
            let message = "pg_simhash lacks functions here that its library needs";
            user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION, message)
                .set_hint("Run ALTER EXTENSION pg_simhash UPDATE in this database.")
        })?;
        let searched = |&member: &Oid| {
            let table = Relation::open(member);
            let Some(fingerprint) = fingerprint_of(&table, &Column::named(&table, fingerprint)?)? else {
                return Err(no_index(&table, criterion.near.max_distance()));
            };
            let columns = GuardScope::new(&table, scope)?;
            SearchedTable::new(&table, fingerprint, columns, criterion, schema)
        };
        self.with_rows.iter().map(searched).collect()
    }

    /// The first of the criteria whose layout all these tables have indexed, and the tables ready to be searched by it.
    /// If there is no such criterion, the first one, or the error for it.
    pub fn searched_by_layout(
        &self,
        fingerprint: &str,
        scope: &[String],
        criteria: Vec<GuardCriterion>,
        schema: ExtensionSchema,
    ) -> Result<(GuardCriterion, Vec<SearchedTable>)> {
        let mut first = None;
        for criterion in criteria {
            let searched = self.searched(fingerprint, scope, &criterion, Some(schema));
            let is_served = searched.as_ref().is_ok_and(|tables| tables.iter().all(|table| table.indexes.serves_radii));
            let found = searched.map(|searched| (criterion, searched));
            if is_served {
                return found;
            }
            first.get_or_insert(found);
        }
        first.expect("there is a criterion")
    }
}

/// Refuses a table from which other tables inherit.
pub fn check_is_whole(table: &Target) -> Result<()> {
    if table.is_partitioned() || table.family(pg_sys::AccessShareLock as Lock)?.len() == 1 {
        return Ok(());
    }
    Err(not_supported(format!("other tables inherit from table \"{}\"", table.name))
        .set_detail("A guard sees the rows of one table, or of all partitions of a partitioned table."))
}
