//! Generation expressions of columns as SQL text.

use super::column::Column;
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
