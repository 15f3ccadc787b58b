//! The table that a command changes: locked, and owned by the current user.

use std::ffi::{CStr, c_char};

use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use pgrx::spi::quote_qualified_identifier;

use super::citus::{distribution, is_coordinator};
use super::column::Column;
use super::names::{lock_schema_name, relation_sql, schema_name};
use super::partition::{check_one_owner, with_inheritors};
use super::relation::{ACCESS_SHARE, Lock, Relation, no_such_relation, relkind_of};
use crate::error::{ErrorReport, Explain, Result, user_error, wrong_state};
use crate::owner::{as_owner, is_owner};
use crate::spi::query_strings;

/// A relation that the current transaction has locked. If its names are locked too, they cannot change until the
/// transaction ends, so that statements can use them.
pub struct Target {
    pub oid: Oid,
    pub owner: Oid,
    pub schema: Oid,
    pub name: String,
    relkind: u8,
    has_locked_names: bool,
}

impl Target {
    /// Locks an ordinary or partitioned table that the current user owns, and calls `run` as the owner ([`as_owner`]),
    /// so that a superuser does not run the owner's code as a superuser. An error if the table does not exist, is of
    /// another kind, or belongs to somebody else. A lock stronger than a SELECT's also locks the table's names, and
    /// makes [`Target::family`] lock the names of its inheritors.
    pub fn lock<T>(oid: Oid, lock: Lock, run: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        Self::lock_of_kind(oid, lock, false, run)
    }

    /// Locks a table as [`Target::lock`] does, or a materialized view.
    pub fn lock_indexable<T>(oid: Oid, lock: Lock, run: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        Self::lock_of_kind(oid, lock, true, run)
    }

    fn lock_of_kind<T>(oid: Oid, lock: Lock, may_be_matview: bool, run: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        // Only a user who may change the table may lock it.
        check_is_owner(oid)?;
        if Relation::open_until_end(oid, lock).is_none() {
            return Err(no_such_relation(oid));
        }
        // The owner may have changed while we waited for the lock.
        check_is_owner(oid)?;
        let target = Self::locked(oid, lock > ACCESS_SHARE)?;
        target.check_kind(may_be_matview)?;
        target.check_is_on_coordinator()?;
        as_owner(target.owner, || run(&target))
    }

    /// Describes a relation that is already locked. With `has_locked_names`, locks the name of its schema too.
    fn locked(oid: Oid, has_locked_names: bool) -> Result<Self> {
        let relation = Relation::open(oid);
        let (owner, schema, relkind) = (relation.owner(), relation.schema(), relation.relkind());
        if has_locked_names {
            lock_schema_name(schema)?;
        }
        Ok(Self { oid, owner, schema, name: relation.name()?, relkind, has_locked_names })
    }

    /// Locks the inheritors of this relation. Returns it, and them; an error if they have several owners.
    pub fn family(&self, lock: Lock) -> Result<Vec<Self>> {
        let members = with_inheritors(self.oid, lock);
        check_one_owner(self.oid, &members)?;
        members.into_iter().map(|member| Self::locked(member, self.has_locked_names)).collect()
    }

    /// Opens the relation. Drop the result before a command: PostgreSQL does not change open tables.
    pub fn open(&self) -> Relation {
        Relation::open(self.oid)
    }

    /// The current name, qualified and quoted. If the names are not locked, a statement may find another table by it.
    pub fn sql(&self) -> Result<String> {
        relation_sql(self.oid)?.ok_or_else(|| no_such_relation(self.oid))
    }

    /// The name of an index of the table, qualified and quoted.
    pub fn index_sql(&self, index: &str) -> Result<String> {
        Ok(quote_qualified_identifier(schema_name(self.schema)?, index.to_owned()))
    }

    /// The relation of this name in the table's schema; None if there is none.
    pub fn relation_named(&self, name: &CStr) -> Option<Oid> {
        // SAFETY: a look-up in a system cache; the name is NUL-terminated.
        let relation = unsafe { pg_sys::get_relname_relid(name.as_ptr(), self.schema) };
        (relation != Oid::INVALID).then_some(relation)
    }

    pub fn is_partitioned(&self) -> bool {
        self.relkind == pg_sys::RELKIND_PARTITIONED_TABLE
    }

    /// Whether it is an ordinary table: only such a table has its own rows and can have its own indexes and triggers.
    pub fn is_ordinary(&self) -> bool {
        self.relkind == pg_sys::RELKIND_RELATION
    }

    /// Whether it has its own rows and can have indexes: it is an ordinary table or a materialized view.
    pub fn is_indexable(&self) -> bool {
        self.is_ordinary() || self.relkind == pg_sys::RELKIND_MATVIEW
    }

    pub fn is_foreign(&self) -> bool {
        self.relkind == pg_sys::RELKIND_FOREIGN_TABLE
    }

    fn check_kind(&self, may_be_matview: bool) -> Result<()> {
        // SAFETY: the relation is open until the call returns.
        if unsafe { pg_sys::IsCatalogRelation(self.open().as_ptr()) } {
            return Err(wrong_kind(format!("\"{}\" is a system catalog", self.name)));
        }
        if may_be_matview && self.is_indexable() || self.is_ordinary() || self.is_partitioned() {
            return Ok(());
        }
        let (name, detail) = if may_be_matview {
            ("table or materialized view", "It must be an ordinary or a partitioned table, or a materialized view.")
        } else {
            ("table", "It must be an ordinary or a partitioned table.")
        };
        Err(wrong_kind(format!("\"{}\" is not a {name}", self.name)).with_detail(detail))
    }

    /// The generation expression of a column as SQL; None if the column is not generated. Under the search path of
    /// [`as_owner`], every name outside pg_catalog is schema-qualified.
    pub fn generation_sql(&self, column: &Column) -> Result<Option<String>> {
        if !column.is_generated {
            return Ok(None);
        }
        let (table, attnum) = (self.oid.to_u32(), column.attnum);
        let query = format!(
            "SELECT pg_catalog.pg_get_expr(adbin, adrelid) FROM pg_catalog.pg_attrdef \
             WHERE adrelid = {table} AND adnum = {attnum}"
        );
        Ok(query_strings(&query)?.pop())
    }

    /// A column's type and generation clause, as in CREATE TABLE.
    pub fn column_definition(&self, column: &Column) -> Result<String> {
        let type_name = column.type_name()?;
        let Some(expression) = self.generation_sql(column)? else { return Ok(type_name) };
        let storage = if column.is_stored { "STORED" } else { "VIRTUAL" };
        Ok(format!("{type_name} GENERATED ALWAYS AS ({expression}) {storage}"))
    }

    /// An error for a command that changes a table of Citus on another server than the coordinator: there, some of its
    /// statements would fail after others have changed the table on all servers.
    fn check_is_on_coordinator(&self) -> Result<()> {
        // Without locked names, the command only reads the table.
        if !self.has_locked_names || distribution(self.oid)?.is_none() || is_coordinator() {
            return Ok(());
        }
        let message =
            format!("table \"{}\" is distributed by Citus, and this server is not the coordinator", self.name);
        Err(wrong_state(message).with_hint("Connect to the coordinator, and run the command there."))
    }

    /// An error for a partition: its columns can only change together with the columns of the partitioned table.
    pub fn check_is_not_partition(&self) -> Result<()> {
        if !self.open().is_partition() {
            return Ok(());
        }
        Err(wrong_kind(format!("\"{}\" is a partition", self.name))
            .with_hint("Name the partitioned table: its partitions are included."))
    }
}

fn check_is_owner(oid: Oid) -> Result<()> {
    // SAFETY: the functions look up system caches; aclcheck_error only raises an error.
    unsafe {
        let name = pg_sys::get_rel_name(oid);
        if name.is_null() {
            return Err(no_such_relation(oid));
        }
        if !is_owner(oid) {
            let object_type = pg_sys::get_relkind_objtype(relkind_of(oid) as c_char);
            pg_sys::aclcheck_error(pg_sys::AclResult::ACLCHECK_NOT_OWNER, object_type, name);
        }
    }
    Ok(())
}

fn wrong_kind(message: String) -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, message)
}
