//! Generation expressions of columns as SQL text.

use pgrx::pg_sys;

use super::column::Column;
use super::names::{lock_object_names, lock_schema_name};
use super::target::Target;
use crate::error::Result;
use crate::spi::query_strings;

/// The generation expression as SQL; None if the column is not generated. Under the search path of
/// [`as_owner`](crate::owner::as_owner), every name outside pg_catalog is schema-qualified.
pub fn generation_sql(table: &Target, column: &Column) -> Result<Option<String>> {
    let query = format!(
        "SELECT pg_catalog.pg_get_expr(adbin, adrelid) FROM pg_catalog.pg_attrdef \
         WHERE adrelid = {} AND adnum = {}",
        table.oid.to_u32(),
        column.attnum
    );
    if column.is_generated { Ok(query_strings(&query)?.pop()) } else { Ok(None) }
}

/// The column's type and generation clause, as in CREATE TABLE.
pub fn definition(table: &Target, column: &Column) -> Result<String> {
    let type_name = column.type_name();
    let Some(expression) = generation_sql(table, column)? else { return Ok(type_name) };
    let kind = if column.is_stored { "STORED" } else { "VIRTUAL" };
    Ok(format!("{type_name} GENERATED ALWAYS AS ({expression}) {kind}"))
}

/// Locks the names of all objects that the generation expression and the type refer to, so that the expression's text
/// means the same when it is parsed again.
pub fn lock_generation_names(table: &Target, column: &Column) -> Result<()> {
    // In pg_depend, the type belongs to the column, and the expression to the column's entry in pg_attrdef.
    let query = format!(
        "SELECT DISTINCT pg_catalog.concat_ws(' ', refclassid, refobjid) FROM pg_catalog.pg_depend \
         WHERE (classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND objid = {table} AND objsubid = {column} \
             OR classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND objid IN ( \
                 SELECT oid FROM pg_catalog.pg_attrdef WHERE adrelid = {table} AND adnum = {column})) \
         AND NOT (refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND refobjid = {table})",
        table = table.oid.to_u32(),
        column = column.attnum
    );
    for object in query_strings(&query)? {
        let mut numbers = object.split(' ').filter_map(|number| number.parse().ok()).map(pg_sys::Oid::from_u32);
        match (numbers.next(), numbers.next()) {
            (Some(pg_sys::RelationRelationId), Some(relation)) => {
                // SAFETY: any OID may be locked; get_rel_namespace looks up a system cache.
                let schema = unsafe {
                    pg_sys::LockRelationOid(relation, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
                    pg_sys::get_rel_namespace(relation)
                };
                lock_schema_name(schema)?;
            }
            (Some(catalog), Some(object)) => lock_object_names(catalog, object)?,
            _ => {}
        }
    }
    Ok(())
}
