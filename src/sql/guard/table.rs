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
        Self::with(root, None)
    }

    /// With another table, which is a partition of the root that is being detached.
    pub fn with(root: Oid, detached: Option<Oid>) -> Result<Self, ErrorReport> {
        // SAFETY: look-ups in a system cache, of a table that is locked, here and below.
        let kind = |table: Oid| unsafe { pg_sys::get_rel_relkind(table) } as u8;
        let all = all_of(root, detached);
        if let Some(&foreign) = all.iter().find(|&&member| kind(member) == pg_sys::RELKIND_FOREIGN_TABLE) {
            // SAFETY: as above.
            let name = unsafe { from_server(pg_sys::get_rel_name(foreign)) }?;
            let message = format!("partition \"{name}\" is a foreign table");
            return Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
                .set_detail("A guard searches the indexes of this server only."));
        }
        all.iter().try_for_each(|&member| check_is_not_distributed(member))?;
        let with_rows: Vec<_> =
            all.iter().copied().filter(|&member| kind(member) == pg_sys::RELKIND_RELATION).collect();
        // SAFETY: locked as members.
        with_rows.iter().try_for_each(|&member| check_is_heap(&unsafe { open(member) }))?;
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

/// A table, or with it all partitions of a partitioned one, all of them locked.
fn all_of(root: Oid, detached: Option<Oid>) -> Vec<Oid> {
    // SAFETY: a look-up in a system cache, of a table that is locked.
    if unsafe { pg_sys::get_rel_relkind(root) } as u8 != pg_sys::RELKIND_PARTITIONED_TABLE {
        return vec![root];
    }
    let mut all = with_inheritors(root, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
    // One that is being detached is no member for those who have begun since, but keeps the guard until it is finished.
    all.extend(detached.filter(|detached| !all.contains(detached)));
    all
}

/// Refuses a table of another access method than PostgreSQL's own, whose rows the search could not follow: what it
/// reads of a row version, and how it locks a row, is the heap's.
fn check_is_heap(table: &PgRelation) -> Result<(), ErrorReport> {
    // SAFETY: an open table with rows has an access method.
    if unsafe { std::ptr::eq(table.rd_tableam, pg_sys::GetHeapamTableAmRoutine()) } {
        return Ok(());
    }
    let message = format!("table \"{}\" is not stored as a heap", name_of(table)?);
    Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
        .set_detail("A guard searches and locks rows as the access method heap stores them, and no other.")
        .set_hint("Run ALTER TABLE ... SET ACCESS METHOD heap (from PostgreSQL 15 on)."))
}

/// Refuses a table that Citus has distributed: its rows are in other tables, which the guard does not see.
fn check_is_not_distributed(table: Oid) -> Result<(), ErrorReport> {
    const LOCK: pg_sys::LOCKMODE = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    // SAFETY: a catalogue of Citus, opened and closed; it has a column of that name, of the type regclass.
    let is_distributed = unsafe {
        let catalogue = pg_sys::get_relname_relid(c"pg_dist_partition".as_ptr(), pg_sys::PG_CATALOG_NAMESPACE.into());
        let column = if catalogue == Oid::INVALID {
            pg_sys::InvalidAttrNumber as i16
        } else {
            pg_sys::get_attnum(catalogue, c"logicalrelid".as_ptr())
        };
        if column <= 0 {
            return Ok(());
        }
        let catalogue = pg_sys::table_open(catalogue, LOCK);
        let mut key = pg_sys::ScanKeyData::default();
        let equal = pg_sys::BTEqualStrategyNumber as pg_sys::StrategyNumber;
        pg_sys::ScanKeyInit(&mut key, column, equal, pg_sys::F_OIDEQ.into(), table.into());
        let scan = pg_sys::systable_beginscan(catalogue, Oid::INVALID, false, std::ptr::null_mut(), 1, &mut key);
        let is_distributed = !pg_sys::systable_getnext(scan).is_null();
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(catalogue, LOCK);
        is_distributed
    };
    if !is_distributed {
        return Ok(());
    }
    // SAFETY: locked as a member.
    let name = name_of(&unsafe { open(table) })?;
    Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, format!("table \"{name}\" is distributed by Citus"))
        .set_detail("Its rows are stored in other tables, on other servers, where the guard does not see them."))
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
        Err(not_bigint(name, &name_of(table)?, &type_name(column_type)?))
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
    let is_not_null = columns.get(column as usize - 1).is_some_and(|attribute| attribute.attnotnull);
    let domain = its_type.and_then(|(data_type, _)| not_null_domain(data_type));
    // The message about the key is the better one, and there only where rows are.
    if (own.is_some() || searched.is_empty()) && (is_not_null || domain.is_some()) {
        let hint = match domain {
            Some(domain) if !is_not_null => format!("Run ALTER DOMAIN {} DROP NOT NULL.", type_name(domain)?),
            _ => "Run ALTER TABLE ... ALTER COLUMN ... DROP NOT NULL.".to_owned(),
        };
        return Err(user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, unfit()?)
            .set_detail("It is NOT NULL, or its type is; but a row that is near no other has NULL for a mark.")
            .set_hint(hint));
    }
    Ok(column)
}

/// The domain, of a type and those that it is a domain over, that does not allow NULL.
fn not_null_domain(mut data_type: Oid) -> Option<Oid> {
    loop {
        // SAFETY: a look-up in a system cache by an OID; a row of it is of that form, and released.
        let (is_not_null, base) = unsafe {
            let cache = pg_sys::SysCacheIdentifier::TYPEOID as i32;
            let row = pg_sys::SearchSysCache1(cache, data_type.into());
            if row.is_null() {
                return None;
            }
            let form = &*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_type>();
            let found = (form.typnotnull, form.typbasetype);
            pg_sys::ReleaseSysCache(row);
            found
        };
        if is_not_null {
            return Some(data_type);
        }
        if base == Oid::INVALID {
            return None;
        }
        data_type = base;
    }
}

/// The name of a type, as it is written in SQL.
fn type_name(data_type: Oid) -> Result<String, ErrorReport> {
    // SAFETY: a type that exists; its name is NUL-terminated.
    unsafe { from_server(pg_sys::format_type_be(data_type)) }
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
