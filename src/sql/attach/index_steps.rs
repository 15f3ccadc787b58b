//! The commands that give the tables of a family their indexes on bands, in an order in which they can be run one by
//! one: those of simhash_index, and with CONCURRENTLY those of simhash_index_commands.
//!
//! Only what is missing is built, so that the commands can be listed again after any of them has failed. An index that
//! is not valid was left by a failed CREATE INDEX, REINDEX or DROP INDEX CONCURRENTLY, and is dropped.

use std::collections::HashMap;

use pgrx::pg_sys::Oid;
use pgrx::prelude::PgSqlErrorCode;
use pgrx::spi::quote_identifier;
use postgres::catalog::index::Index;
use postgres::catalog::partition::ancestors;
use postgres::catalog::relation::Relation;
use postgres::catalog::target::Target;
use postgres::error::{Explain, Result, user_error};
use postgres::spi::query_strings;

use super::band_indexes::{BandIndexes, ExistingIndex};
use super::building::{IndexNames, tables_to_analyze, tables_to_name};

/// A command, and what it does.
pub struct Step {
    pub sql: String,
    pub action: Action,
}

/// What a command does, for messages.
pub enum Action {
    /// Builds or rebuilds an index.
    Build { index: String, table: String },
    /// Drops the index of this name, which is not valid.
    Drop(String),
    /// Attaches an index of a partition to that of the partitioned table.
    Attach,
    /// Analyzes the table of this name.
    Analyze(String),
}

/// The steps for a family. If `is_concurrent`, none of them blocks writers while it builds an index.
pub fn list_steps(wanted: &BandIndexes<'_>, family: &[Target], is_concurrent: bool) -> Result<Vec<Step>> {
    let existing = family.iter().map(|member| Ok((member.oid, wanted.existing(member)?)));
    let existing = existing.collect::<Result<HashMap<_, _>>>()?;
    let concurrently = if is_concurrent { "CONCURRENTLY " } else { "" };
    let names = IndexNames::default();
    let mut plan = Plan { wanted, family, existing: &existing, concurrently, names, steps: Vec::new() };
    for band in 0..wanted.bands {
        for member in tables_to_name(family) {
            plan.complete(member, band, Parent::None)?;
        }
    }
    // A session may have ended before it analyzed the table.
    let lacks_statistics = |member: &Target| {
        // The band follows the columns of the scope.
        let lacks = |ExistingIndex { index, .. }: &ExistingIndex| {
            index.is_valid && !index.has_statistics(wanted.scope.names().len())
        };
        member.is_indexable() && member.open().page_count() > 0 && existing[&member.oid].iter().any(lacks)
    };
    let builds = |step: &Step| matches!(step.action, Action::Build { .. });
    if plan.steps.iter().any(builds) || family.iter().any(lacks_statistics) {
        for member in tables_to_analyze(family) {
            plan.push(format!("ANALYZE {}", member.sql()?), Action::Analyze(member.name.clone()));
        }
    }
    Ok(plan.steps)
}

struct Plan<'a> {
    wanted: &'a BandIndexes<'a>,
    family: &'a [Target],
    /// The indexes on bands of the text that each table has.
    existing: &'a HashMap<Oid, Vec<ExistingIndex>>,
    concurrently: &'static str,
    names: IndexNames,
    steps: Vec<Step>,
}

/// The index that the index of a partition is attached to.
#[derive(Clone, Copy, PartialEq)]
enum Parent {
    /// None: the table is no partition, or its index is on its own.
    None,
    /// One that does not exist yet.
    NotBuilt,
    Index(Oid),
}

/// An index that exists once the steps so far have been run.
struct Built {
    /// The qualified, quoted name.
    sql: String,
    is_attached: bool,
}

impl Built {
    fn of(table: &Target, index: &Index) -> Result<Self> {
        Ok(Self { sql: table.index_sql(&index.name()?)?, is_attached: index.is_partition })
    }
}

impl<'a> Plan<'a> {
    /// Gives a table and its partitions their indexes on a band. With a `parent`, an index is used if it is attached to
    /// that one, or can be.
    fn complete(&mut self, table: &Target, band: usize, parent: Parent) -> Result<Built> {
        let is_usable = |existing: &&ExistingIndex| match existing.index.is_partition {
            _ if parent == Parent::None => true,
            true => parent_of(existing.index.oid).map(Parent::Index) == Some(parent),
            false => existing.is_as_created,
        };
        let usable: Vec<_> = self.indexes_on(table, band).filter(is_usable).collect();
        let indexes: Vec<_> = usable.iter().map(|existing| &existing.index).collect();
        if !table.is_partitioned() {
            self.drop_invalid(table, band)?;
        }
        // A valid index is complete: that of a partitioned table is valid only if all partitions have theirs.
        if let Some(index) = indexes.iter().find(|index| index.is_valid) {
            return Built::of(table, index);
        }
        if table.is_partitioned() {
            let incomplete = usable.iter().find(|existing| existing.is_as_created);
            return self.complete_partitioned(table, band, incomplete.map(|existing| &existing.index));
        }
        let Some(attached) = indexes.iter().find(|index| index.is_partition) else {
            return self.create(table, band, "");
        };
        // Rebuild it: PostgreSQL drops an attached index only together with its parent.
        let built = Built::of(table, attached)?;
        let action = Action::Build { index: attached.name()?, table: table.name.clone() };
        self.push(format!("REINDEX INDEX {}{}", self.concurrently, built.sql), action);
        Ok(built)
    }

    /// Gives the partitions of a table their indexes on a band, and then the table its own: `index`, which is not valid
    /// yet, or a new one.
    fn complete_partitioned(&mut self, table: &Target, band: usize, index: Option<&Index>) -> Result<Built> {
        if index.is_none() && self.concurrently.is_empty() && !self.has_incomplete_part(table, band) {
            // One command builds the indexes of all partitions. It also attaches existing indexes that are not valid:
            // drop these first.
            self.drop_invalid(table, band)?;
            return self.create(table, band, "");
        }
        let parent = index.map_or(Parent::NotBuilt, |index| Parent::Index(index.oid));
        let mut parts = Vec::new();
        for partition in self.partitions(table) {
            parts.push(self.complete(partition, band, parent)?);
        }
        let built = match index {
            Some(index) => Built::of(table, index)?,
            None => self.create(table, band, "ONLY ")?,
        };
        for part in parts.iter().filter(|part| !part.is_attached) {
            self.push(format!("ALTER INDEX {} ATTACH PARTITION {}", built.sql, part.sql), Action::Attach);
        }
        Ok(built)
    }

    /// Drops the indexes of a table and its partitions on a band that are not valid, and can be dropped alone. An error
    /// if a session is still building one of them.
    fn drop_invalid(&mut self, table: &Target, band: usize) -> Result<()> {
        for partition in self.partitions(table) {
            self.drop_invalid(partition, band)?;
        }
        let indexes = self.indexes_on(table, band).map(|existing| &existing.index);
        for index in indexes.filter(|index| index.is_left_behind() && !table.is_partitioned()) {
            let name = index.name()?;
            if is_being_built(index.oid, table.oid)? {
                let message = format!("index \"{name}\" is being built by another session");
                return Err(user_error(PgSqlErrorCode::ERRCODE_OBJECT_IN_USE, message)
                    .with_hint("List the commands again when that session has ended its command."));
            }
            let sql = format!("DROP INDEX {}{}", self.concurrently, table.index_sql(&name)?);
            self.push(sql, Action::Drop(name.clone()));
            self.names.note_dropped(table, name);
        }
        Ok(())
    }

    /// Creates an index. `only` is "ONLY " for a partitioned table whose partitions' indexes are built apart.
    fn create(&mut self, table: &Target, band: usize, only: &str) -> Result<Built> {
        let name = self.names.choose(table, &format!("simhash_band{band}"), self.wanted.scope)?;
        let concurrently = if table.is_partitioned() { "" } else { self.concurrently };
        let (quoted, keys) = (quote_identifier(&name), self.wanted.keys(band));
        let sql = format!("CREATE INDEX {concurrently}{quoted} ON {only}{} USING btree ({keys})", table.sql()?);
        let built = Built { sql: table.index_sql(&name)?, is_attached: false };
        self.push(sql, Action::Build { index: name, table: table.name.clone() });
        Ok(built)
    }

    fn push(&mut self, sql: String, action: Action) {
        self.steps.push(Step { sql, action });
    }

    /// The indexes of a table on a band.
    fn indexes_on(&self, table: &Target, band: usize) -> impl Iterator<Item = &'a ExistingIndex> + use<'a> {
        self.existing.get(&table.oid).into_iter().flatten().filter(move |existing| existing.band == band)
    }

    /// Whether a partitioned table among the partitions of a table has an index that some of its partitions lack.
    fn has_incomplete_part(&self, table: &Target, band: usize) -> bool {
        let is_incomplete = |part: &&Target| {
            part.is_partitioned() && self.indexes_on(part, band).any(|existing| !existing.index.is_valid)
                || self.has_incomplete_part(part, band)
        };
        self.partitions(table).iter().any(is_incomplete)
    }

    /// The partitions of a table that can have indexes.
    fn partitions(&self, table: &Target) -> Vec<&'a Target> {
        let is_partition = |member: &&Target| !member.is_foreign() && parent_of(member.oid) == Some(table.oid);
        let partitions = if table.is_partitioned() { self.family } else { &[] };
        partitions.iter().filter(is_partition).collect()
    }
}

/// Whether a session is building an index, or may be: of a session whose progress the current user may not see, only
/// that it builds some index is public, and which tables it has locked.
fn is_being_built(index: Oid, table: Oid) -> Result<bool> {
    let (index, table) = (index.to_u32(), table.to_u32());
    let query = format!(
        "SELECT 'yes' FROM pg_catalog.pg_stat_progress_create_index AS p \
         WHERE p.index_relid = {index} OR p.index_relid IS NULL AND p.datname = pg_catalog.current_database() \
             AND EXISTS (SELECT FROM pg_catalog.pg_locks AS l WHERE l.pid = p.pid AND l.relation = {table})"
    );
    Ok(!query_strings(&query)?.is_empty())
}

/// The parent of a partition or of a partition's index.
fn parent_of(relation: Oid) -> Option<Oid> {
    ancestors(&Relation::open(relation)).first().copied()
}
