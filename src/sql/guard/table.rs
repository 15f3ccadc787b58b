//! A guarded table and its partitions: what is searched, by which columns, and what it takes for that.

use std::ffi::c_int;

use pgrx::PgRelation;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use super::search::{Scope, Searched, value};
use crate::sql::error::user_error;
use crate::sql::functions::Functions;
use crate::sql::spi::{from_server, to_server};
use crate::sql::tables::{check_has_values, not_bigint, open, with_inheritors};

/// A guarded table and its partitions, all of them locked.
pub struct Members {
    /// The table, its partitions, and theirs.
    pub all: Vec<Oid>,
    /// Those that hold rows.
    pub with_rows: Vec<Oid>,
}

impl Members {
    /// An error if there is one that cannot be searched.
    pub fn of(root: Oid) -> Result<Self, ErrorReport> {
        // SAFETY: look-ups in a system cache, of a table that is locked, here and below.
        let kind = |table: Oid| unsafe { pg_sys::get_rel_relkind(table) } as u8;
        if kind(root) != pg_sys::RELKIND_PARTITIONED_TABLE {
            return Ok(Self { all: vec![root], with_rows: vec![root] });
        }
        let all = with_inheritors(root, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        if let Some(&foreign) = all.iter().find(|&&member| kind(member) == pg_sys::RELKIND_FOREIGN_TABLE) {
            // SAFETY: as above.
            let name = unsafe { from_server(pg_sys::get_rel_name(foreign)) }?;
            let message = format!("partition \"{name}\" is a foreign table");
            return Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
                .set_detail("A guard searches the indexes of this server only."));
        }
        let with_rows = all.iter().copied().filter(|&member| kind(member) == pg_sys::RELKIND_RELATION).collect();
        Ok(Self { all, with_rows })
    }

    /// Those that hold rows, as they are searched; an error if one of them cannot be.
    pub fn searched(
        &self,
        fingerprint: &str,
        scope: &[String],
        max_distance: i32,
        functions: Option<Functions>,
    ) -> Result<Vec<Searched>, ErrorReport> {
        let functions = functions.ok_or_else(|| {
            let message = "pg_simhash lacks functions here that its library needs";
            user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION, message)
                .set_hint("Run ALTER EXTENSION pg_simhash UPDATE in this database.")
        })?;
        let searched = |&member: &Oid| {
            // SAFETY: locked as a member.
            let table = unsafe { open(member) };
            let (fingerprint, scope) = (fingerprint_column(&table, fingerprint)?, scope_of(&table, scope)?);
            check_has_values(&table, fingerprint)?;
            Searched::new(member, fingerprint, scope, max_distance, &functions)
                .ok_or_else(|| no_index(&table, max_distance))
        };
        self.with_rows.iter().map(searched).collect()
    }
}

pub fn column_of(table: &PgRelation, name: &str) -> Result<i16, ErrorReport> {
    let encoded = to_server(name)?;
    // SAFETY: a look-up in a system cache by a NUL-terminated name.
    let number = unsafe { pg_sys::get_attnum(table.oid(), encoded.as_ptr()) };
    if number <= 0 {
        let message = format!("column \"{name}\" of table \"{}\" does not exist", name_of(table)?);
        return Err(user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, message));
    }
    Ok(number)
}

/// The column of fingerprints.
pub fn fingerprint_column(table: &PgRelation, name: &str) -> Result<i16, ErrorReport> {
    let column = column_of(table, name)?;
    // SAFETY: look-ups in system caches, of a type that exists; its name is NUL-terminated.
    unsafe {
        let column_type = pg_sys::get_atttype(table.oid(), column);
        if pg_sys::getBaseType(column_type) == pg_sys::INT8OID {
            return Ok(column);
        }
        Err(not_bigint(name, &name_of(table)?, &from_server(pg_sys::format_type_be(column_type))?))
    }
}

/// The column that takes the key of a near-duplicate, wherever that is. `own` is the table as it is searched, if it has
/// rows.
pub fn mark_column(
    table: &PgRelation,
    name: &str,
    own: Option<&Searched>,
    searched: &[Searched],
) -> Result<i16, ErrorReport> {
    let column = column_of(table, name)?;
    let unfit = || {
        Ok::<_, ErrorReport>(format!("column \"{name}\" of table \"{}\" cannot take the key of a row", name_of(table)?))
    };
    let columns = table.tuple_desc();
    let its_type = columns.get(column as usize - 1).map(|attribute| (attribute.atttypid, attribute.atttypmod));
    // SAFETY: a look-up in a system cache.
    let is_generated = unsafe { pg_sys::get_attgenerated(table.oid(), column) } != 0;
    if is_generated || searched.iter().any(|searched| searched.primary_key.only_type() != its_type) {
        return Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, unfit()?).set_detail(
            "The table needs a primary key of one column, and the mark column must be of its type and not generated.",
        ));
    }
    if own.is_some_and(|own| own.depends_on(table, column)) {
        return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_COLUMN_REFERENCE, unfit()?)
            .set_detail(
                "It is a column of the primary key, the fingerprint, its source, the scope, or the partition key.",
            )
            .set_hint("Add another column of the primary key's type."));
    }
    Ok(column)
}

pub fn scope_of(table: &PgRelation, names: &[String]) -> Result<Vec<Scope>, ErrorReport> {
    let scope = |name: &String| {
        let column = column_of(table, name)?;
        // SAFETY: a look-up in a system cache.
        if unsafe { pg_sys::get_attgenerated(table.oid(), column) } != 0 {
            let message = format!("scope column \"{name}\" of table \"{}\" is generated", name_of(table)?);
            return Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
                .set_detail("Generated columns are computed after BEFORE triggers.")
                .set_hint("Name the columns that it is computed from."));
        }
        let columns = table.tuple_desc();
        let attribute = columns.get(column as usize - 1);
        let (data_type, collation) =
            attribute.map_or((Oid::INVALID, Oid::INVALID), |found| (found.atttypid, found.attcollation));
        let (by_value, length) = attribute.map_or((true, 0), |found| (found.attbyval, found.attlen));
        // SAFETY: a type that exists.
        let entry = unsafe { &*pg_sys::lookup_type_cache(data_type, pg_sys::TYPECACHE_EQ_OPR as i32) };
        if entry.eq_opr == Oid::INVALID {
            let message = format!("column \"{name}\" of table \"{}\" has a type without equality", name_of(table)?);
            return Err(user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION, message));
        }
        // SAFETY: an operator that exists.
        Ok(Scope { column, equality: unsafe { pg_sys::get_opcode(entry.eq_opr) }, collation, by_value, length })
    };
    names.iter().map(scope).collect()
}

pub fn no_index(table: &PgRelation, max_distance: i32) -> ErrorReport {
    let name = name_of(table).unwrap_or_default();
    let message = format!("table \"{name}\" has no index that finds fingerprints at distance {max_distance}");
    user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .set_detail("The guard looks every new row up in btrees on the blocks of a layout, all of them valid.")
        .set_hint("Run simhash_attach again to complete them, or attach a layout that serves this distance.")
}

/// The name of a table, decoded.
pub fn name_of(table: &PgRelation) -> Result<String, ErrorReport> {
    // SAFETY: an open table has a NUL-terminated name.
    unsafe { from_server((*table.rd_rel).relname.data.as_ptr()) }
}

/// Whether two rows have the same values in some columns, to the byte.
///
/// # Safety
/// The slots hold rows of the table, which has the columns.
pub unsafe fn same_values(
    table: &PgRelation,
    mut columns: impl Iterator<Item = i16>,
    old: *mut pg_sys::TupleTableSlot,
    new: *mut pg_sys::TupleTableSlot,
) -> bool {
    let description = table.tuple_desc();
    columns.all(|column| {
        // SAFETY: by the contract.
        let pair = unsafe { (value(old, column), value(new, column)) };
        match pair {
            (None, None) => true,
            (Some(old), Some(new)) => description.get(column as usize - 1).is_some_and(|attribute| {
                let same = || {
                    // SAFETY: by the contract.
                    unsafe { datum_image_eq(old, new, attribute.attbyval, attribute.attlen.into()) }
                };
                // SAFETY: nothing but a call of PostgreSQL.
                unsafe { pg_sys::ffi::pg_guard_ffi_boundary(same) }
            }),
            _ => false,
        }
    })
}

// PostgreSQL's `utils/datum.h`, which pgrx leaves out.
unsafe extern "C-unwind" {
    pub(super) fn datumCopy(value: Datum, by_value: bool, length: c_int) -> Datum;
    fn datum_image_eq(a: Datum, b: Datum, by_value: bool, length: c_int) -> bool;
}
