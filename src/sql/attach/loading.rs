//! Makes PostgreSQL load this library when it plans a query of an attached table.
//!
//! A query that computes distances with PostgreSQL's own functions calls no function of this library. When PostgreSQL
//! plans it, it simplifies the expressions of the table's indexes and of its extended statistics, and calls the support
//! functions of the functions in them. An index on a block column has no expression, so extended statistics on an
//! expression are created. ANALYZE never gathers them. They add some microseconds to the planning of a query.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::{quote_literal, quote_qualified_identifier};
use postgres::catalog::citus::distribution;
use postgres::catalog::column::Column;
use postgres::catalog::names::schema_name;
use postgres::catalog::target::Target;
use postgres::error::notice;
use postgres::spi::{execute, query_strings};
use postgres::text::{from_server, to_server};

use super::index_names::object_name;
use super::prefix::Prefix;
use super::provenance::Maker;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::source::as_bigint;

/// SQL for a condition on a row of `pg_depend`: the dependent object is statistics that this module has created.
pub fn loading_statistics_sql() -> String {
    let label = Maker::Attach.label();
    let comment = "pg_catalog.obj_description(objid, 'pg_statistic_ext')";
    format!(
        "classid = 'pg_catalog.pg_statistic_ext'::pg_catalog.regclass \
         AND (pg_catalog.starts_with({comment}, {}) \
              OR pg_catalog.strpos({comment}, {}) OPERATOR(pg_catalog.>) 0)",
        quote_literal(label),
        quote_literal(format!("\n{label}"))
    )
}

/// Creates statistics on an expression of a fingerprint column and a block column, unless the table has them; false if
/// it has them. They are dropped with the block column.
pub fn create(
    schema: ExtensionSchema,
    table: &Target,
    prefix: &Prefix,
    fingerprint: &str,
    block: &str,
) -> Result<bool, ErrorReport> {
    // Citus takes no statistics on expressions.
    if distribution(table.oid)?.is_some() {
        return Ok(false);
    }
    let relation = table.open();
    let (fingerprint, block) = (Column::named(&relation, fingerprint)?, Column::named(&relation, block)?);
    drop(relation);
    let existing = query_strings(&format!(
        "SELECT '' FROM pg_catalog.pg_depend WHERE refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass \
             AND refobjid = {} AND refobjsubid = {} AND {}",
        table.oid.to_u32(),
        block.attnum,
        loading_statistics_sql()
    ))?;
    if !existing.is_empty() {
        return Ok(false);
    }
    let name = choose_name(table, prefix)?;
    let sql = quote_qualified_identifier(schema_name(table.schema)?, name.clone());
    let function = schema.locked_name(c"hamming", &[pg_sys::INT8OID, pg_sys::INT8OID])?;
    notice(format!("creating statistics \"{name}\", with which queries of table \"{}\" load pg_simhash", table.name));
    execute(&format!(
        "CREATE STATISTICS {sql} ON ({function}({}, {})) FROM {}",
        as_bigint(&fingerprint)?,
        as_bigint(&block)?,
        table.sql()
    ))?;
    execute(&format!("ALTER STATISTICS {sql} SET STATISTICS 0"))?;
    execute(&Maker::Attach.comment(&format!("STATISTICS {sql}"), "loads pg_simhash when a query is planned"))?;
    Ok(true)
}

/// A name that no statistics in the table's schema has.
fn choose_name(table: &Target, prefix: &Prefix) -> Result<String, ErrorReport> {
    let taken = query_strings(&format!(
        "SELECT stxname FROM pg_catalog.pg_statistic_ext WHERE stxnamespace = {}",
        table.schema.to_u32()
    ))?;
    let (table_name, prefix) = (to_server(&table.name)?, to_server(prefix.fingerprint())?);
    for number in 0u32.. {
        let label = if number == 0 { "stat".to_owned() } else { format!("stat{number}") };
        let name = object_name(&table_name, Some(&prefix), &label)?;
        // SAFETY: the name is a CString, and so NUL-terminated.
        let name = unsafe { from_server(name.as_ptr()) }?;
        if !taken.contains(&name) {
            return Ok(name);
        }
    }
    unreachable!("there are fewer than 2^32 statistics")
}
