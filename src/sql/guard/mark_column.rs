//! The column in which a guard that marks rows stores the key of the near-duplicate.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use super::search::SearchedTable;
use crate::postgres::catalog::column::{Column, type_name};
use crate::postgres::catalog::relation::Relation;
use crate::postgres::error::user_error;

/// The number of the mark column. An error if it cannot store the key of a row of every searched table. `own` is the
/// table as it is searched; None if it has no rows of its own.
pub fn mark_column(
    table: &Relation,
    name: &str,
    own: Option<&SearchedTable>,
    searched: &[SearchedTable],
) -> Result<i16, ErrorReport> {
    let column = Column::named(table, name)?;
    let unfit = || {
        Ok::<_, ErrorReport>(format!("column \"{name}\" of table \"{}\" cannot take the key of a row", table.name()?))
    };
    let its_type = (column.data_type, column.type_modifier);
    let has_its_type = |searched: &SearchedTable| searched.primary_key.only_type() == Some(its_type);
    if column.is_generated || !searched.iter().all(has_its_type) {
        return Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, unfit()?).set_detail(
            "The table needs a primary key of one column, and the mark column must be of its type and not generated.",
        ));
    }
    if own.is_some_and(|own| own.depends_on(table, column.number)) {
        return Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_COLUMN_REFERENCE, unfit()?)
            .set_detail(
                "It is a column of the primary key, the fingerprint, its source, the scope, or the partition key.",
            )
            .set_hint("Add another column of the primary key's type."));
    }
    let domain = not_null_domain(column.data_type);
    // This is checked last: key columns are NOT NULL too, and the error above explains that case better. That error is
    // raised only for a table with rows, so a table without rows is checked only if no other is searched.
    if (own.is_some() || searched.is_empty()) && (column.is_not_null || domain.is_some()) {
        let hint = match domain {
            Some(domain) if !column.is_not_null => format!("Run ALTER DOMAIN {} DROP NOT NULL.", type_name(domain)?),
            _ => "Run ALTER TABLE ... ALTER COLUMN ... DROP NOT NULL.".to_owned(),
        };
        return Err(user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, unfit()?)
            .set_detail("The column or its type is NOT NULL, but a row without a near-duplicate gets NULL.")
            .set_hint(hint));
    }
    Ok(column.number)
}

/// The first domain that is NOT NULL, of a type and the domains that it is based on.
fn not_null_domain(mut data_type: Oid) -> Option<Oid> {
    loop {
        // SAFETY: a look-up in a system cache by OID; its rows are of this form, and the row is released after use.
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
