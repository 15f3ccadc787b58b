//! Generation expressions of columns as SQL text.

use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;

use super::column::Column;
use super::names::lock_schema_name;
use super::target::Target;
use crate::spi::query_strings;

/// The generation expression as SQL; None if the column is not generated. Under the search path of
/// [`as_owner`](crate::owner::as_owner), every name outside pg_catalog is schema-qualified.
pub fn generation_sql(table: &Target, column: &Column) -> Result<Option<String>, ErrorReport> {
    let query = format!(
        "SELECT pg_catalog.pg_get_expr(adbin, adrelid) FROM pg_catalog.pg_attrdef \
         WHERE adrelid = {} AND adnum = {}",
        table.oid.to_u32(),
        column.attnum
    );
    if column.is_generated { Ok(query_strings(&query)?.pop()) } else { Ok(None) }
}

/// The column's type and generation clause, as in CREATE TABLE.
pub fn definition(table: &Target, column: &Column) -> Result<String, ErrorReport> {
    let type_name = column.type_name();
    let Some(expression) = generation_sql(table, column)? else { return Ok(type_name) };
    let kind = if column.is_stored { "STORED" } else { "VIRTUAL" };
    Ok(format!("{type_name} GENERATED ALWAYS AS ({expression}) {kind}"))
}

/// Locks the schemas of all objects that the generation expression and the type refer to, so that the expression's text
/// means the same when it is parsed again. Their owners can change what they do, and gain nothing by renaming them.
pub fn lock_generation_names(table: &Target, column: &Column) -> Result<(), ErrorReport> {
    // In pg_depend, the type belongs to the column, and the expression to the column's entry in pg_attrdef.
    let query = format!(
        "SELECT DISTINCT n.oid
         FROM pg_catalog.pg_depend, pg_catalog.pg_identify_object(refclassid, refobjid, 0) AS o
             JOIN pg_catalog.pg_namespace AS n ON pg_catalog.quote_ident(nspname) = o.schema
         WHERE (classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND objid = {table} AND objsubid = {column}
             OR classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND objid IN (
                 SELECT oid FROM pg_catalog.pg_attrdef WHERE adrelid = {table} AND adnum = {column}))",
        table = table.oid.to_u32(),
        column = column.attnum
    );
    let schemas = query_strings(&query)?.into_iter().filter_map(|schema| schema.parse().ok());
    schemas.map(pg_sys::Oid::from_u32).try_for_each(|schema| lock_schema_name(schema).map(drop))
}
