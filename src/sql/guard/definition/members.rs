//! A guarded table and its partitions: which tables they are, and whether a guard can search them.

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use postgres::catalog::partition::{PartitionTree, check_one_owner};
use postgres::catalog::relation::{ACCESS_SHARE, Relation, is_foreign, relation_name, relkind_of};
use postgres::catalog::target::Target;
use postgres::error::{Explain, Result, not_supported, user_error};

use super::arguments::Arguments;
use super::guard_expression::GuardExpressions;
use super::mark_check::set_mark_columns;
use super::searched_table::SearchedTable;
use super::source::check_has_source_of;
use crate::sql::functions::{BAND_ARGUMENTS, BLOCK_ARGUMENTS, ExtensionSchema, MISSING_FUNCTION_HINT};

/// A guarded table and its partitions, all of them locked.
pub struct Members {
    /// All tables, the guarded table first.
    pub all: Vec<Oid>,
    /// The tables in `all` that have rows of their own.
    with_rows: Vec<Oid>,
}

impl Members {
    /// Lists the table `root`, which the caller has locked, with its partitions at all levels, and `table`, one of
    /// these. If `table` or a table above it is being detached, it is listed too: it has the guard until the end of the
    /// detaching. An error if one of these tables cannot be searched, or belongs to another role.
    pub fn read(root: Oid, table: Oid) -> Result<Self> {
        let all = match relkind_of(root) {
            pg_sys::RELKIND_PARTITIONED_TABLE => PartitionTree::read(root, table, ACCESS_SHARE).members,
            _ => vec![root],
        };
        check_one_owner(root, &all)?;
        if let Some(&foreign) = all.iter().find(|&&member| is_foreign(member)) {
            let name = relation_name(foreign)?.unwrap_or_default();
            let kind = if foreign == root { "table" } else { "partition" };
            return Err(not_supported(format!("{kind} \"{name}\" is a foreign table"))
                .with_detail("A guard searches the indexes of this server only.")
                .with_hint(
                    "Guard the table on its server instead. That guard also checks the rows that come from here.",
                ));
        }
        let with_rows: Vec<_> =
            all.iter().copied().filter(|&member| relkind_of(member) == pg_sys::RELKIND_RELATION).collect();
        // The search depends on the heap's row versions and row locks.
        if let Some(other) = with_rows.iter().map(|&member| Relation::open(member)).find(|table| !table.is_heap()) {
            return Err(not_supported(format!("table \"{}\" is not stored as a heap", other.name()?))
                .with_detail("A guard searches and locks rows as the access method heap stores them, and no other.")
                .with_hint("Run ALTER TABLE ... SET ACCESS METHOD heap."));
        }
        Ok(Self { all, with_rows })
    }

    /// The tables in `with_rows`, ready to be searched. An error if one of them cannot be searched, or computes the
    /// source in another way than the root.
    pub fn searched(&self, arguments: &Arguments, schema: Option<ExtensionSchema>) -> Result<Vec<SearchedTable>> {
        let needed = [(c"simhash_band", BAND_ARGUMENTS), (c"simhash_block", BLOCK_ARGUMENTS)];
        let has_needed = |own: &ExtensionSchema| needed.iter().all(|(name, types)| own.function(name, types).is_some());
        let Some(schema) = schema.filter(has_needed) else {
            let message = "pg_simhash lacks functions here that its library needs";
            return Err(
                user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION, message).with_hint(MISSING_FUNCTION_HINT)
            );
        };
        let root = Relation::open(self.all[0]);
        // Checks the arguments even if there are no partitions. An error names the partitioned table.
        if root.is_partitioned() {
            GuardExpressions::read(&root, arguments, schema)?;
        }
        let prepare = |&member: &Oid| {
            let table = Relation::open(member);
            if member != root.oid() {
                check_has_source_of(&root, &table, &arguments.source)?;
            }
            SearchedTable::new(&table, arguments, schema)
        };
        self.with_rows.iter().map(prepare).collect()
    }

    /// Does what [`Self::searched`] does, and sets the mark column. An error if this column cannot store the marks.
    pub fn searched_with_marks(
        &self,
        arguments: &Arguments,
        schema: Option<ExtensionSchema>,
    ) -> Result<Vec<SearchedTable>> {
        let mut searched = self.searched(arguments, schema)?;
        if let Some(mark) = &arguments.mark_column {
            set_mark_columns(&mut searched, mark)?;
        }
        Ok(searched)
    }
}

/// Refuses a table from which other tables inherit, unless these are its partitions.
pub fn check_is_whole(table: &Target) -> Result<()> {
    if table.is_partitioned() || table.family(ACCESS_SHARE)?.len() == 1 {
        return Ok(());
    }
    Err(not_supported(format!("other tables inherit from table \"{}\"", table.name))
        .with_detail("A guard sees the rows of one table, or of all partitions of a partitioned table."))
}
