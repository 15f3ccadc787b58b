//! The commands that give the tables of a family their indexes on bands or blocks, in an order in which they can be run
//! one by one: those of simhash_index and simhash_attach, and with CONCURRENTLY those of simhash_index_commands.
//!
//! Only what is missing is built, so that the commands can be listed again after any of them has failed. An index that
//! is not valid was left by a failed CREATE INDEX, REINDEX or DROP INDEX CONCURRENTLY, and is dropped.

use std::collections::HashMap;

use pgrx::pg_sys::Oid;
use pgrx::prelude::PgSqlErrorCode;
use pgrx::spi::quote_identifier;
use postgres::catalog::index::{Index, IndexKey};
use postgres::catalog::partition::ancestors;
use postgres::catalog::relation::Relation;
use postgres::catalog::row_value::RowValue;
use postgres::catalog::target::Target;
use postgres::error::{Explain, Result, notice, user_error};
use postgres::expression::Expression;
use postgres::row_expression::{Argument, parse_index_key};
use postgres::spi::{execute, query_strings};

use super::index_names::IndexNames;
use crate::sql::indexed::scope::Scope;

const KEY: Argument<'static> = Argument { name: c"key", context: c"key of an index" };

/// The indexes that a command asks for, by their numbers from 0 on: on bands, or on blocks.
pub trait WantedIndexes {
    fn count(&self) -> usize;

    /// The indexes of a table, valid or not, that serve as these, with their numbers.
    fn find_existing(&self, table: &Target) -> Result<Vec<(usize, Index)>>;

    /// The name of the band or block, for that of the index.
    fn key_name(&self, number: usize) -> String;

    /// The keys after the columns of the scope.
    fn keys_sql(&self, number: usize) -> Result<Vec<String>>;

    fn scope(&self) -> &Scope;
}

/// A command, and what it does.
pub struct Step<'a> {
    pub sql: String,
    pub action: Action<'a>,
}

impl Step<'_> {
    fn builds_index(&self) -> bool {
        matches!(self.action, Action::Create { .. } | Action::Rebuild { .. })
    }
}

pub enum Action<'a> {
    /// Creates the index of this name and number.
    Create { index: String, number: usize, table: &'a Target },
    /// Rebuilds the index of this name, which is not valid.
    Rebuild { index: String, table: &'a Target },
    /// Drops the index of this name, which is not valid.
    Drop(String),
    /// Attaches an index of a partition to that of the partitioned table.
    Attach,
    /// Analyzes the table of this name.
    Analyze(String),
}

/// The indexes of each table of a family that serve as those that are asked for, with their numbers.
pub type ExistingIndexes = HashMap<Oid, Vec<(usize, Index)>>;

pub fn find_existing_indexes(wanted: &dyn WantedIndexes, family: &[Target]) -> Result<ExistingIndexes> {
    family.iter().map(|member| Ok((member.oid, wanted.find_existing(member)?))).collect()
}

/// The steps that build the indexes of a family. If `is_concurrent`, none of them blocks writers while it builds an
/// index.
pub fn list_builds<'a>(
    wanted: &dyn WantedIndexes,
    family: &'a [Target],
    existing: &ExistingIndexes,
    is_concurrent: bool,
) -> Result<Vec<Step<'a>>> {
    let concurrently = if is_concurrent { "CONCURRENTLY " } else { "" };
    let names = IndexNames::default();
    let (keys_sql, steps) = (Vec::new(), Vec::new());
    let mut plan = Plan { wanted, family, existing, concurrently, names, keys_sql, steps };
    for number in 0..wanted.count() {
        plan.keys_sql = wanted.keys_sql(number)?;
        for member in tables_to_name(family) {
            plan.complete(member, number, Parent::None)?;
        }
    }
    Ok(plan.steps)
}

/// Adds the steps that analyze a family if indexes are built, or if a valid index on a band has no statistics: a
/// session may have ended before it analyzed the table.
pub fn add_analyze_steps<'a>(
    steps: &mut Vec<Step<'a>>,
    wanted: &dyn WantedIndexes,
    family: &'a [Target],
    existing: &ExistingIndexes,
) -> Result<()> {
    let lacks_statistics = |member: &Target| {
        let table = member.open();
        // The band follows the columns of the scope.
        let band = wanted.scope().names().len();
        let lacks = |(_, index): &(_, Index)| index.is_valid && !index.has_statistics(&table, band);
        table.estimated_rows() > 0.0 && existing[&member.oid].iter().any(lacks)
    };
    let mut indexable = family.iter().filter(|member| member.is_indexable());
    if steps.iter().any(Step::builds_index) || indexable.any(lacks_statistics) {
        steps.extend(analyze_steps(family, "")?);
    }
    Ok(())
}

/// The steps that analyze a family. Without statistics, the planner assumes that each search finds a 200th of the
/// table, and prefers a sequential scan. If columns are named, PostgreSQL does not analyze the expressions of indexes.
pub fn analyze_steps<'a>(family: &'a [Target], columns: &str) -> Result<Vec<Step<'a>>> {
    let analyze_step = |table: &'a Target| {
        Ok(Step { sql: format!("ANALYZE {}{columns}", table.sql()?), action: Action::Analyze(table.name.clone()) })
    };
    tables_to_analyze(family).into_iter().map(analyze_step).collect()
}

/// The tables that a command must name. A command on a partitioned table, which comes first in its family, covers all
/// partitions; one on another parent does not cover its inheritors.
fn tables_to_name(family: &[Target]) -> Vec<&Target> {
    let members = if family[0].is_partitioned() { &family[..1] } else { family };
    members.iter().filter(|member| member.is_indexable() || member.is_partitioned()).collect()
}

/// The tables that ANALYZE must name. In a family with foreign tables, these are the ordinary tables: before version
/// 16, PostgreSQL fetches all rows of a foreign table, and still does of one that inherits from an ordinary table.
fn tables_to_analyze(family: &[Target]) -> Vec<&Target> {
    if family.iter().any(Target::is_foreign) {
        family.iter().filter(|member| member.is_indexable()).collect()
    } else {
        tables_to_name(family)
    }
}

/// Runs the steps, each with a message. Calls `label` with the name, the number and the table of each index that was
/// created.
pub fn run_steps(steps: &[Step<'_>], label: impl Fn(&str, usize, &Target) -> Result<()>) -> Result<()> {
    let (total, mut built) = (steps.iter().filter(|step| step.builds_index()).count(), 0);
    for Step { sql, action } in steps {
        match action {
            Action::Create { index, table, .. } | Action::Rebuild { index, table } => {
                built += 1;
                notice(format!("building index {built} of {total}: \"{index}\" on table \"{}\"", table.name));
            }
            Action::Drop(name) => notice(format!("dropping index \"{name}\", which is not valid")),
            Action::Analyze(table) => notice(format!("analyzing table \"{table}\"")),
            Action::Attach => {}
        }
        execute(sql)?;
        if let Action::Create { index, number, table } = action {
            label(index, *number, table)?;
        }
    }
    Ok(())
}

/// The steps that have been listed. The methods add further ones, and run none.
struct Plan<'a, 'f> {
    wanted: &'a dyn WantedIndexes,
    family: &'f [Target],
    existing: &'a ExistingIndexes,
    concurrently: &'static str,
    names: IndexNames,
    /// The keys of the index whose number is being completed, after the columns of the scope: the same in all tables.
    keys_sql: Vec<String>,
    steps: Vec<Step<'f>>,
}

/// The index that the index of a partition is or will be attached to.
#[derive(Clone, Copy, PartialEq)]
enum Parent {
    /// The table is no partition, or its index is on its own.
    None,
    /// The parent index does not exist yet.
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

impl<'a, 'f> Plan<'a, 'f> {
    /// Gives a table and its partitions their indexes with a number, and returns the table's. With a `parent`, that is
    /// an index that is attached to the parent, or else one that can be.
    fn complete(&mut self, table: &'f Target, number: usize, parent: Parent) -> Result<Built> {
        let mut indexes: Vec<_> = self.indexes_on(table, number).collect();
        if parent != Parent::None {
            let is_attached = |index: &&Index| parent_of(index.oid).map(Parent::Index) == Some(parent);
            let attached: Vec<_> = indexes.iter().copied().filter(is_attached).collect();
            indexes.retain(|index| !index.is_partition);
            indexes = if attached.is_empty() { self.attachable(table, indexes)? } else { attached };
        }
        // A valid index is complete: that of a partitioned table is valid only if all partitions have theirs.
        let valid = indexes.iter().find(|index| index.is_valid);
        if valid.is_some() || !table.is_partitioned() {
            self.drop_invalid(table, number)?;
        }
        if let Some(index) = valid {
            return Built::of(table, index);
        }
        if table.is_partitioned() {
            let incomplete = self.attachable(table, indexes)?.first().copied();
            return self.complete_partitioned(table, number, incomplete);
        }
        let Some(attached) = indexes.iter().find(|index| index.is_partition) else {
            return self.create(table, number, "");
        };
        // Rebuild it: PostgreSQL drops an attached index only together with its parent.
        let built = Built::of(table, attached)?;
        let action = Action::Rebuild { index: attached.name()?, table };
        self.push(format!("REINDEX INDEX {}{}", self.concurrently, built.sql), action);
        Ok(built)
    }

    /// Gives the partitions of a table their indexes with a number, and then the table its own: `index`, which is not
    /// valid yet, or a new one.
    fn complete_partitioned(&mut self, table: &'f Target, number: usize, index: Option<&Index>) -> Result<Built> {
        if index.is_none() && self.concurrently.is_empty() && !self.has_incomplete_part(table, number) {
            // One command builds the indexes of all partitions. It also attaches existing indexes that are not valid:
            // drop these first.
            self.drop_invalid(table, number)?;
            return self.create(table, number, "");
        }
        let parent = index.map_or(Parent::NotBuilt, |index| Parent::Index(index.oid));
        let mut parts = Vec::new();
        for partition in self.partitions(table) {
            parts.push(self.complete(partition, number, parent)?);
        }
        let built = match index {
            Some(index) => Built::of(table, index)?,
            None => self.create(table, number, "ONLY ")?,
        };
        for part in parts.iter().filter(|part| !part.is_attached) {
            self.push(format!("ALTER INDEX {} ATTACH PARTITION {}", built.sql, part.sql), Action::Attach);
        }
        Ok(built)
    }

    /// Drops the indexes with a number of a table and its partitions that are not valid, and can be dropped alone. An
    /// error if a session is still building one of them.
    fn drop_invalid(&mut self, table: &Target, number: usize) -> Result<()> {
        for partition in self.partitions(table) {
            self.drop_invalid(partition, number)?;
        }
        for index in self.indexes_on(table, number).filter(|index| index.is_left_behind() && !table.is_partitioned()) {
            let name = index.name()?;
            if !self.concurrently.is_empty() && is_building_concurrently(table.oid)? {
                let message = format!("index \"{name}\" is being built by another session");
                return Err(user_error(PgSqlErrorCode::ERRCODE_OBJECT_IN_USE, message)
                    .with_hint("List the commands again when that session has ended its command."));
            }
            let sql = format!("DROP INDEX {}{}", self.concurrently, table.index_sql(&name)?);
            self.push(sql, Action::Drop(name.clone()));
            self.names.dropped.insert((table.schema, name));
        }
        Ok(())
    }

    /// Creates an index. `only` is "ONLY " for a partitioned table whose partitions' indexes are built apart.
    fn create(&mut self, table: &'f Target, number: usize, only: &str) -> Result<Built> {
        let name = self.names.choose(table, &self.wanted.key_name(number), self.wanted.scope())?;
        let concurrently = if table.is_partitioned() { "" } else { self.concurrently };
        let (quoted, keys) = (quote_identifier(&name), self.wanted.scope().with_keys_sql(&self.keys_sql));
        let sql = format!("CREATE INDEX {concurrently}{quoted} ON {only}{} USING btree ({keys})", table.sql()?);
        let built = Built { sql: table.index_sql(&name)?, is_attached: false };
        self.push(sql, Action::Create { index: name, number, table });
        Ok(built)
    }

    /// Those of these indexes of a table that are defined as the index that would be created. PostgreSQL attaches an
    /// index of a partition only to one that is defined alike.
    fn attachable<'i>(&self, table: &Target, indexes: Vec<&'i Index>) -> Result<Vec<&'i Index>> {
        let (relation, scope_len) = (table.open(), self.wanted.scope().names().len());
        let parse = |sql: &String| Ok(parse_index_key(&relation, sql, KEY)?.with_folded_constants());
        let created = self.keys_sql.iter().map(parse).collect::<Result<Vec<_>>>()?;
        let is_key = |(key, created): (&IndexKey, &Expression)| match key.value {
            RowValue::Column(attnum) => created.as_own_column() == Some(attnum),
            RowValue::Expression(expression) => created.equals(expression),
        };
        let is_attachable = |index: &&Index| {
            let key_count = scope_len + created.len();
            (index.columns.len(), index.keys.len()) == (key_count, key_count)
                && index.is_unconstrained
                && index.keys[scope_len..].iter().zip(&created).all(is_key)
        };
        Ok(indexes.into_iter().filter(is_attachable).collect())
    }

    fn push(&mut self, sql: String, action: Action<'f>) {
        self.steps.push(Step { sql, action });
    }

    /// The indexes of a table with a number.
    fn indexes_on(&self, table: &Target, number: usize) -> impl Iterator<Item = &'a Index> + use<'a> {
        let existing = self.existing.get(&table.oid).into_iter().flatten();
        existing.filter(move |(existing_number, _)| *existing_number == number).map(|(_, index)| index)
    }

    /// Whether a partitioned table among the partitions of a table has an index that some of its partitions lack.
    fn has_incomplete_part(&self, table: &Target, number: usize) -> bool {
        let is_incomplete = |part: &&Target| {
            part.is_partitioned() && self.indexes_on(part, number).any(|index| !index.is_valid)
                || self.has_incomplete_part(part, number)
        };
        self.partitions(table).iter().any(is_incomplete)
    }

    /// The partitions of a table that can have indexes.
    fn partitions(&self, table: &Target) -> Vec<&'f Target> {
        let is_partition = |member: &&Target| !member.is_foreign() && parent_of(member.oid) == Some(table.oid);
        let partitions = if table.is_partitioned() { self.family } else { &[] };
        partitions.iter().filter(is_partition).collect()
    }
}

/// Whether a session may be building indexes of a table concurrently: it builds some index, and has locked the table.
/// Not all roles may see which table the index is of, and REINDEX of a table reports its TOAST table at times.
fn is_building_concurrently(table: Oid) -> Result<bool> {
    let query = format!(
        "SELECT 'yes' FROM pg_catalog.pg_stat_progress_create_index AS progress \
         JOIN pg_catalog.pg_locks AS lock USING (pid) \
         WHERE datname = pg_catalog.current_database() AND relation = {} AND mode = 'ShareUpdateExclusiveLock'",
        table.to_u32()
    );
    Ok(!query_strings(&query)?.is_empty())
}

/// The parent of a partition or of a partition's index.
fn parent_of(relation: Oid) -> Option<Oid> {
    ancestors(&Relation::open(relation)).first().copied()
}
