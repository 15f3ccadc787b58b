//! The btrees on the blocks of a table: which there are, and names for those to come.

use std::collections::HashSet;
use std::ffi::{CStr, CString};

use pgrx::PgRelation;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::target::Target;
use crate::sql::expression::{self, Expression};
use crate::sql::spi;
use crate::sql::tables::{index_expressions, is_partial};

/// What an index is first sorted by.
#[derive(Clone, Copy)]
pub enum Key {
    Column(pg_sys::AttrNumber),
    Expression(Expression),
}

/// An index of a table.
pub struct Index {
    pub oid: pg_sys::Oid,
    pub schema: String,
    pub name: String,
    pub key: Key,
    /// Its columns, keys and included ones; 0 for an expression.
    columns: Vec<pg_sys::AttrNumber>,
    /// Whether it is no more than an index: one key in the default order, neither unique nor of a constraint.
    is_plain: bool,
    /// Whether it belongs to an index of the partitioned table.
    pub is_partition: bool,
    /// Whether it is none that an interrupted DROP INDEX CONCURRENTLY has left.
    pub is_live: bool,
    /// Whether queries may use it: it is built, and on a partitioned table it is built for all partitions.
    pub is_valid: bool,
    /// Whether it is a btree that finds integers, any of them, in any row: not partial, no other operator class.
    pub finds_integers: bool,
}

impl Index {
    /// The indexes of a table.
    pub fn all_of(table: &Target) -> Result<Vec<Self>, ErrorReport> {
        let relation = table.open();
        // SAFETY: an open table; a list of OIDs.
        let indexes = unsafe { expression::oids(pg_sys::RelationGetIndexList(relation.as_ptr())) };
        let dead = dead_of(table)?.into_iter().filter(|index| !indexes.contains(index));
        indexes.iter().copied().chain(dead).filter_map(|index| Self::read(index).transpose()).collect()
    }

    /// The index; None if it has no key.
    fn read(oid: pg_sys::Oid) -> Result<Option<Self>, ErrorReport> {
        // SAFETY: the index of a locked table; an open index has its row of pg_index and, if its first key is an
        // expression, a list of expressions. A btree has an operator family for each key.
        unsafe {
            let index = PgRelation::with_lock(oid, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
            let row = &*index.rd_index;
            let columns = row.indkey.values.as_slice(row.indnatts as usize);
            let Some(&column) = columns.first() else {
                return Ok(None);
            };
            let key = if column == 0 {
                match index_expressions(index.as_ptr()).first() {
                    Some(&expression) => Key::Expression(expression),
                    None => return Ok(None),
                }
            } else {
                Key::Column(column)
            };
            let is_unique = row.indisunique || row.indisprimary || row.indisexclusion;
            let is_plain = row.indnkeyatts == 1 && *index.rd_indoption == 0 && !is_unique;
            let is_btree = (*index.rd_rel).relam == pg_sys::BTREE_AM_OID;
            let is_partial = is_partial(index.as_ptr());
            Ok(Some(Self {
                oid,
                schema: spi::from_server(pg_sys::get_namespace_name((*index.rd_rel).relnamespace))?,
                name: spi::from_server((*index.rd_rel).relname.data.as_ptr())?,
                key,
                columns: columns.to_vec(),
                is_plain,
                is_partition: (*index.rd_rel).relispartition,
                is_live: row.indislive,
                is_valid: row.indisvalid && row.indisready && row.indislive,
                finds_integers: is_btree && !is_partial && *index.rd_opfamily == integer_family(),
            }))
        }
    }

    /// Whether it has a column, so that a row need not be visited for it.
    pub fn covers(&self, column: Option<pg_sys::AttrNumber>) -> bool {
        column.is_some_and(|column| self.columns.contains(&column))
    }

    /// Locks the index as DROP INDEX does, so that nobody can rename it before that. Gives its name as it may stand in
    /// the command; None if the index was dropped.
    pub fn lock_to_drop(&self) -> Result<Option<String>, ErrorReport> {
        // SAFETY: any OID may be locked; a look-up in a system cache, which gives a NUL-terminated name or null.
        let name = unsafe {
            pg_sys::LockRelationOid(self.oid, pg_sys::AccessExclusiveLock as pg_sys::LOCKMODE);
            let name = pg_sys::get_rel_name(self.oid);
            if name.is_null() {
                return Ok(None);
            }
            spi::from_server(name)?
        };
        // It is in its table's schema, whose name is held.
        Ok(Some(pgrx::spi::quote_qualified_identifier(&self.schema, &name)))
    }

    /// Whether it is, by its definition and its name, one that attach makes of a block of the fingerprint, or what an
    /// interrupted REINDEX CONCURRENTLY leaves of such a one.
    pub fn is_as_made(
        &self,
        table: &Target,
        fingerprint: Option<pg_sys::AttrNumber>,
        column: &str,
    ) -> Result<bool, ErrorReport> {
        let has_only_ours = match self.columns[..] {
            [_] => true,
            [_, included] => Some(included) == fingerprint,
            _ => false,
        };
        Ok(self.finds_integers && self.is_plain && has_only_ours && IndexNames::gives(table, column, &self.name)?)
    }

    /// Whether it has the name of what an interrupted REINDEX CONCURRENTLY leaves.
    pub fn is_named_as_leftover(&self) -> bool {
        leftover_label(&self.name).is_some()
    }

    pub fn sql(&self) -> String {
        pgrx::spi::quote_qualified_identifier(&self.schema, &self.name)
    }
}

/// The indexes that PostgreSQL's own lists leave out: an interrupted DROP INDEX CONCURRENTLY has left them. All are
/// locked.
fn dead_of(table: &Target) -> Result<Vec<pg_sys::Oid>, ErrorReport> {
    let query = format!(
        "SELECT indexrelid::pg_catalog.oid FROM pg_catalog.pg_index \
         WHERE indrelid OPERATOR(pg_catalog.=) '{}'::pg_catalog.oid AND NOT indislive ORDER BY 1",
        table.oid.to_u32()
    );
    let mut found = Vec::new();
    for oid in spi::strings(&query)?.iter().filter_map(|oid| oid.parse().ok()).map(pg_sys::Oid::from_u32) {
        // SAFETY: null if the index was dropped meanwhile; if not, the lock keeps it, and the table still is its table.
        unsafe {
            let index = pg_sys::try_relation_open(oid, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
            if !index.is_null() {
                pg_sys::relation_close(index, pg_sys::NoLock as pg_sys::LOCKMODE);
                found.push(oid);
            }
        }
    }
    Ok(found)
}

fn integer_family() -> pg_sys::Oid {
    // SAFETY: look-ups in system caches; every PostgreSQL has this operator class.
    unsafe { pg_sys::get_opclass_family(pg_sys::GetDefaultOpClass(pg_sys::INT4OID, pg_sys::BTREE_AM_OID)) }
}

/// What REINDEX CONCURRENTLY has added to an index's name: `ccnew` or `ccold`, and a number where that was taken.
fn leftover_label(name: &str) -> Option<&str> {
    let (_, label) = name.rsplit_once('_')?;
    let number = label.strip_prefix("ccnew").or_else(|| label.strip_prefix("ccold"))?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then_some(label)
}

/// A name that PostgreSQL makes of other names, shortening them where it is too long.
fn object_name(table: &CStr, column: Option<&CStr>, label: &str) -> Result<CString, ErrorReport> {
    let label = spi::to_server(label)?;
    // SAFETY: the names are NUL-terminated; the result is a palloc'd name that is short enough.
    unsafe {
        let column = column.map_or(std::ptr::null(), CStr::as_ptr);
        Ok(CStr::from_ptr(pg_sys::makeObjectName(table.as_ptr(), column, label.as_ptr())).to_owned())
    }
}

/// Names for indexes, as PostgreSQL gives them, that neither exist nor have been given out before.
#[derive(Default)]
pub struct IndexNames {
    given: HashSet<(String, String)>,
}

impl IndexNames {
    pub fn choose(&mut self, table: &Target, column: &str) -> Result<String, ErrorReport> {
        let (table_name, column) = (spi::to_server(&table.name)?, spi::to_server(column)?);
        let schema = spi::to_server(&table.schema)?;
        for number in 0u32.. {
            let label = if number == 0 { "idx".to_owned() } else { format!("idx{number}") };
            let name = object_name(&table_name, Some(&column), &label)?;
            // SAFETY: look-ups in system caches by NUL-terminated names.
            let exists = unsafe {
                let schema = pg_sys::get_namespace_oid(schema.as_ptr(), false);
                pg_sys::get_relname_relid(name.as_ptr(), schema) != pg_sys::InvalidOid
            };
            // SAFETY: as above.
            let name = unsafe { spi::from_server(name.as_ptr()) }?;
            if !exists && self.given.insert((table.schema.clone(), name.clone())) {
                return Ok(name);
            }
        }
        unreachable!("there are fewer than 2^32 indexes")
    }

    /// Whether `name` may have been given to an index on that column, as it is or with what REINDEX CONCURRENTLY adds.
    fn gives(table: &Target, column: &str, name: &str) -> Result<bool, ErrorReport> {
        /// A name that was shortened does not tell its number any more.
        const MOST_TRIED: u32 = 10;
        let (table_name, column) = (spi::to_server(&table.name)?, spi::to_server(column)?);
        let leftover = leftover_label(name);
        let base = leftover.map_or(name, |label| &name[..name.len() - label.len() - 1]);
        let written = base.rsplit_once("_idx").and_then(|(_, number)| number.parse::<u32>().ok());
        for number in (0..MOST_TRIED).chain(written) {
            let label = if number == 0 { "idx".to_owned() } else { format!("idx{number}") };
            let given = object_name(&table_name, Some(&column), &label)?;
            let given = match leftover {
                Some(label) => object_name(&given, None, label)?,
                None => given,
            };
            if given.as_c_str() == spi::to_server(name)?.as_c_str() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
