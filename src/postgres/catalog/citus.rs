//! Reads the catalogs of Citus, in a database that has Citus.
//!
//! Citus stores the rows of a table that it manages in shards. A shard is a table on one of its servers, whose name
//! ends with the number of the shard. Rows from before the table was distributed are still stored in the table itself,
//! but are no longer read.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use super::relation::{Relation, relation_name};
use crate::error::{Result, user_error};
use crate::spi::query_strings;
use crate::text::to_server;

/// How Citus stores the rows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// By the hash of this column: rows with the same value are in the same shard.
    Column(String),
    /// In another way: rows with the same value of a column may be in several shards.
    Other,
    /// All rows in one shard, which may have a copy on each server.
    OneShard,
    /// All rows in one shard on the coordinator.
    Local,
}

/// How Citus stores the rows of a table; None for a table that Citus does not manage, such as a shard.
pub fn distribution(table: Oid) -> Result<Option<Distribution>> {
    let query = format!(
        "SELECT CASE WHEN partmethod = 'h' THEN 'column ' || pg_catalog.column_to_column_name(logicalrelid, partkey)
             WHEN partmethod <> 'n' THEN 'other' WHEN repmodel <> 't' AND colocationid = 0 THEN 'local'
             ELSE 'one shard' END
         FROM pg_catalog.pg_dist_partition WHERE logicalrelid = {}",
        table.to_u32()
    );
    Ok(look_up(c"pg_dist_partition", &query)?.map(|found| match found.as_str() {
        "local" => Distribution::Local,
        "one shard" => Distribution::OneShard,
        found => {
            found.strip_prefix("column ").map_or(Distribution::Other, |column| Distribution::Column(column.to_owned()))
        }
    }))
}

/// The table of a shard; None if `shard` is not a shard.
pub fn table_of_shard(shard: &Relation) -> Result<Option<Oid>> {
    let name = shard.name()?;
    let Some((stem, number)) = split(&name) else { return Ok(None) };
    let Some(table) = table_with_shard(number)? else { return Ok(None) };
    let Some(table_name) = relation_name(table)? else { return Ok(None) };
    // Citus shortens a name that would be too long with the number.
    let is_shortened = to_server(&table_name)?.count_bytes() + name.len() - stem.len() >= pg_sys::NAMEDATALEN as usize;
    // SAFETY: a look-up in a system cache.
    let schema = unsafe { pg_sys::get_rel_namespace(table) };
    Ok((shard.schema() == schema && (stem == table_name || is_shortened)).then_some(table))
}

/// The name of an object on a shard, without the number that Citus has added. It is the number of the shard or, for a
/// trigger that was cloned to a partition, of the partitioned table's shard.
pub fn without_number(name: &str) -> Result<&str> {
    let Some((stem, number)) = split(name) else { return Ok(name) };
    Ok(if table_with_shard(number)?.is_some() { stem } else { name })
}

fn split(name: &str) -> Option<(&str, i64)> {
    let (stem, digits) = name.rsplit_once('_')?;
    let number: i64 = digits.parse().ok()?;
    (number > 0 && number.to_string() == digits).then_some((stem, number))
}

fn table_with_shard(number: i64) -> Result<Option<Oid>> {
    let query = format!("SELECT logicalrelid::pg_catalog.oid FROM pg_catalog.pg_dist_shard WHERE shardid = {number}");
    let table = look_up(c"pg_dist_shard", &query)?.and_then(|table| table.parse().ok());
    Ok(table.map(Oid::from_u32))
}

/// Refuses a table that Citus manages: its rows are in its shards.
pub fn check_has_rows(table: &Relation) -> Result<()> {
    if distribution(table.oid())?.is_none() {
        return Ok(());
    }
    let message = format!("table \"{}\" is distributed by Citus", table.name()?);
    Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
        .set_detail("Its rows are stored in other tables, on any of its servers."))
}

/// Whether this server is the coordinator, on which Citus runs commands that change tables. True without Citus.
pub fn is_coordinator() -> Result<bool> {
    let group = look_up(c"pg_dist_local_group", "SELECT groupid FROM pg_catalog.pg_dist_local_group")?;
    Ok(group.is_none_or(|group| group == "0"))
}

/// The result of a query of one value in a catalog of Citus; None if it finds none, or if there is no such catalog.
fn look_up(catalog: &CStr, query: &str) -> Result<Option<String>> {
    // SAFETY: a look-up in a system cache. Only superusers can create tables in this schema.
    let catalog = unsafe { pg_sys::get_relname_relid(catalog.as_ptr(), pg_sys::PG_CATALOG_NAMESPACE.into()) };
    if catalog == Oid::INVALID { Ok(None) } else { Ok(query_strings(query)?.pop()) }
}
