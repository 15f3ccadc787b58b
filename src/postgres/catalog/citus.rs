//! Reads the catalogs of Citus, if the database has it, by names of columns that all versions of Citus have.
//!
//! Citus stores the rows of a table that it manages in shards: tables on its servers, whose names end with the number
//! of the shard. Rows from before the table was distributed stay in the table itself, but are no longer read.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, Oid};

use super::column::{Column, attnum_of};
use super::relation::{Relation, relation_name};
use crate::error::{Explain, Result, not_supported};
use crate::expression::Expression;
use crate::server_string::to_server_cstring;

/// Where Citus stores the rows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// By the hash of this column: rows with the same value are in the same shard.
    Column(String),
    /// Not by the hash of a column: rows with the same value of a column may be in several shards.
    Other,
    /// All rows are in one shard, which may have a copy on each server.
    OneShard,
    /// All rows are in one shard, on the coordinator.
    Local,
}

// Values of `partmethod` and `repmodel` in Citus's pg_dist_partition.h.
const DISTRIBUTE_BY_HASH: u8 = b'h';
const DISTRIBUTE_BY_NONE: u8 = b'n';
const REPLICATION_MODEL_2PC: u8 = b't';

/// Where Citus stores the rows of a table; None for a table that Citus does not manage, such as a shard.
pub fn distribution(table: Oid) -> Result<Option<Distribution>> {
    let read_row = |value: Values| {
        let read_character = |column| value(column).map_or(0, |value| value.value() as u8);
        // SAFETY: Citus declares the column as text.
        let key = value(c"partkey").map(|text| unsafe { pg_sys::text_to_cstring(text.cast_mut_ptr()) });
        let group = value(c"colocationid").map_or(0, |value| value.value() as i32);
        (read_character(c"partmethod"), read_character(c"repmodel"), key, group)
    };
    let of_table = (c"logicalrelid", pg_sys::F_OIDEQ, Datum::from(table));
    let Some((method, replication, key, group)) = look_up(c"pg_dist_partition", Some(of_table), read_row) else {
        return Ok(None);
    };
    Ok(Some(match (key, method, replication) {
        (Some(node), DISTRIBUTE_BY_HASH, _) => {
            // SAFETY: Citus has written a node into the string, which lives in the current memory context.
            let variable = unsafe { Expression::new(pg_sys::stringToNode(node)) }.and_then(Expression::column);
            let column = variable.and_then(|variable| Column::at(&Relation::open(table), variable.varattno));
            Distribution::Column(column.map(|column| column.name()).transpose()?.unwrap_or_default())
        }
        (None, DISTRIBUTE_BY_NONE, _) if replication != REPLICATION_MODEL_2PC && group == 0 => Distribution::Local,
        (None, DISTRIBUTE_BY_NONE, _) => Distribution::OneShard,
        _ => Distribution::Other,
    }))
}

/// The table of a shard; None if `shard` is not a shard.
pub fn table_of_shard(shard: &Relation) -> Result<Option<Oid>> {
    let name = shard.name()?;
    let Some((stem, number)) = split_shard_name(&name) else { return Ok(None) };
    let Some(table) = table_with_shard(number) else { return Ok(None) };
    let Some(table_name) = relation_name(table)? else { return Ok(None) };
    // Citus shortens a name that would be too long with the number of the shard.
    let is_shortened =
        to_server_cstring(&table_name)?.count_bytes() + name.len() - stem.len() >= pg_sys::NAMEDATALEN as usize;
    // SAFETY: a look-up in a system cache.
    let schema = unsafe { pg_sys::get_rel_namespace(table) };
    Ok((shard.schema() == schema && (stem == table_name || is_shortened)).then_some(table))
}

/// The name of an object on a shard, without the number that Citus has added: the number of the shard or, for a trigger
/// that was cloned to a partition, of the shard of the partitioned table.
pub fn without_number(name: &str) -> &str {
    match split_shard_name(name) {
        Some((stem, number)) if table_with_shard(number).is_some() => stem,
        _ => name,
    }
}

/// The parts of a name such as `docs_102008`: `docs` and 102008.
fn split_shard_name(name: &str) -> Option<(&str, i64)> {
    let (stem, digits) = name.rsplit_once('_')?;
    let number: i64 = digits.parse().ok()?;
    (number > 0 && number.to_string() == digits).then_some((stem, number))
}

/// The table that has the shard with this number; None if no table has it.
fn table_with_shard(number: i64) -> Option<Oid> {
    let read_table = |value: Values| value(c"logicalrelid").map(|table| Oid::from(table.value() as u32));
    let key = (c"shardid", pg_sys::F_INT8EQ, Datum::from(number));
    look_up(c"pg_dist_shard", Some(key), read_table).flatten()
}

/// An error if Citus manages the table: its rows are in its shards, and the table itself has none that count.
pub fn check_not_distributed(table: &Relation) -> Result<()> {
    if distribution(table.oid())?.is_none() {
        return Ok(());
    }
    let message = format!("table \"{}\" is distributed by Citus", table.name()?);
    Err(not_supported(message).with_detail("Its rows are stored in other tables, on any of its servers."))
}

/// Whether this server is the coordinator, on which Citus runs commands that change tables. True without Citus.
pub fn is_coordinator() -> bool {
    let is_group_0 = |value: Values| value(c"groupid").is_none_or(|group| group.value() as i32 == 0);
    look_up(c"pg_dist_local_group", None, is_group_0).unwrap_or(true)
}

/// Returns the value of a row in the column with this name; None for NULL, and if the catalog has no such column.
type Values<'a> = &'a dyn Fn(&CStr) -> Option<Datum>;

/// Calls `read` with the first row of a catalog of Citus or, with a key, the first row whose column equals the value by
/// the function. None if the row or the catalog does not exist. The result of `read` must not point into the row.
fn look_up<T>(catalog: &CStr, key: Option<(&CStr, u32, Datum)>, read: impl FnOnce(Values) -> T) -> Option<T> {
    // SAFETY: only superusers can create tables in this schema. The catalog is open, and the row is read before the
    // scan ends. The function compares values of the column's type.
    unsafe {
        let catalog_oid = pg_sys::get_relname_relid(catalog.as_ptr(), pg_sys::PG_CATALOG_NAMESPACE.into());
        if catalog_oid == Oid::INVALID {
            return None;
        }
        let mut scan_key = pg_sys::ScanKeyData::default();
        if let Some((column, function, value)) = key {
            let equal = pg_sys::BTEqualStrategyNumber as pg_sys::StrategyNumber;
            pg_sys::ScanKeyInit(&mut scan_key, attnum_of(catalog_oid, column)?, equal, function.into(), value);
        }
        let (table, keys, snapshot) = (Relation::open(catalog_oid), key.is_some().into(), std::ptr::null_mut());
        let scan = pg_sys::systable_beginscan(table.as_ptr(), Oid::INVALID, false, snapshot, keys, &mut scan_key);
        let tuple = pg_sys::systable_getnext(scan);
        let read_value = |column: &CStr| {
            let (attnum, mut is_null) = (attnum_of(catalog_oid, column)?, false);
            let value = pg_sys::SPI_getbinval(tuple, table.rd_att, attnum.into(), &mut is_null);
            (!is_null).then_some(value)
        };
        let result = (!tuple.is_null()).then(|| read(&read_value));
        pg_sys::systable_endscan(scan);
        result
    }
}
