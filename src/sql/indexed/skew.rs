//! `simhash_skew`: what searches of a table cost in each layout.
//!
//! It reads a sample of the table by a query that runs as the calling user, with that user's rights and row-level
//! security.

use std::ffi::CStr;

use pgrx::AnyArray;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::{SpiError, quote_identifier, quote_qualified_identifier};
use simhash::search::blocks::LAYOUTS;
use simhash::search::skew::{Sample, skew};

use super::fingerprint_column::fingerprint_column;
use super::layouts::Indexed;
use super::scope::Scope;
use crate::postgres::catalog::citus::distribution;
use crate::postgres::catalog::column::Column;
use crate::postgres::catalog::foreign::is_foreign;
use crate::postgres::catalog::names::schema_name;
use crate::postgres::catalog::partition::with_inheritors;
use crate::postgres::catalog::relation::{Relation, no_such_relation, relation_name};
use crate::postgres::error::{algorithm_error, tick, user_error};
use crate::postgres::expression::Variable;
use crate::postgres::query::{Query, renamed};
use crate::postgres::raised::unchanged;
use crate::postgres::spi::{from_server, to_server};
use crate::sql::arguments::check_distance;
use crate::sql::functions::ExtensionSchema;

/// The limit on the pages that are read of a table: 64 MB.
const PAGES: f64 = 8192.0;

#[allow(clippy::type_complexity)] // pgrx must see the columns here, not behind an alias.
#[pg_extern(sql = false)]
fn simhash_skew_scoped(
    target: pg_sys::Oid,
    fingerprint: &CStr,
    max_distance: i32,
    scope: AnyArray,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<
    TableIterator<
        'static,
        (
            name!(blocks, i32),
            name!(indexed, bool),
            name!(probes, i64),
            name!(commonest, Vec<f64>),
            name!(candidates, f64),
            name!(worst, f64),
            name!(cost, f64),
            name!(best, bool),
        ),
    >,
    ErrorReport,
> {
    let layouts = layouts(target, fingerprint, max_distance, &Scope::read(Some(scope))?, fcinfo)?;
    Ok(TableIterator::new(layouts))
}

/// A row of the result.
type Row = (i32, bool, i64, Vec<f64>, f64, f64, f64, bool);

fn layouts(
    target: pg_sys::Oid,
    fingerprint: &CStr,
    max_distance: i32,
    scope: &Scope,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<impl Iterator<Item = Row> + 'static, ErrorReport> {
    let max_distance = check_distance(max_distance)?;
    // SAFETY: `fcinfo` is the running call's, which always knows its function.
    let function = unsafe { (*(*fcinfo).flinfo).fn_oid };
    let (sample, rows, indexed) = unchanged(|| {
        let table = Table::lock(target, fingerprint, scope)?;
        let (sample, rows) = table.sample()?;
        Ok::<_, ErrorReport>((sample, rows, indexed_layouts(&table, max_distance, function)))
    })?;
    let layouts = skew(sample, rows, max_distance, &tick).map_err(algorithm_error)?;
    Ok(layouts.into_iter().map(move |layout| {
        (
            layout.blocks,
            indexed.contains(&layout.blocks),
            i64::try_from(layout.probes).unwrap_or(i64::MAX),
            layout.commonest.into_iter().map(share).collect(),
            estimate(layout.candidates),
            estimate(layout.worst),
            estimate(layout.cost),
            layout.best,
        )
    }))
}

/// Rounds a share of the rows to a hundredth of a percent: below that, chance decides the commonest value of a sample.
fn share(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

/// Rounds to three digits, which is more than a sample can tell.
fn estimate(value: f64) -> f64 {
    // `format!` finds the nearest decimal number, but alone would round 122.5 to the even 122.
    format!("{:.2e}", value * (1.0 + f64::EPSILON)).parse().unwrap_or(value)
}

/// A table, its fingerprint column, and a scope of searches.
struct Table {
    oid: pg_sys::Oid,
    column: i16,
    scope: Vec<i16>,
    /// The quoted names of the scope's columns.
    quoted_scope: Vec<String>,
    /// The quoted names of the table, with its schema, and of the column.
    quoted: String,
    quoted_column: String,
}

impl Table {
    /// Finds a table and its columns, and locks the table as a SELECT does.
    fn lock(oid: pg_sys::Oid, column: &CStr, scope: &Scope) -> Result<Self, ErrorReport> {
        let Some(table) = Relation::open_for_planning(oid) else {
            return Err(no_such_relation(oid));
        };
        let kinds = [pg_sys::RELKIND_RELATION, pg_sys::RELKIND_PARTITIONED_TABLE, pg_sys::RELKIND_MATVIEW];
        if !kinds.contains(&table.kind()) {
            let message = format!("\"{}\" is not a table", table.name()?);
            return Err(user_error(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, message)
                .set_detail("Tables, partitioned tables and materialized views can be sampled."));
        }
        check_is_here(oid)?;
        // SAFETY: a `CStr` is NUL-terminated.
        let column = unsafe { from_server(column.as_ptr()) }?;
        let column = fingerprint_column(&table, &column)
            .map_err(|error| error.set_hint("Name the column of fingerprints as the second argument."))?;
        let taken = |found: &Column| Ok((found.number == column.number).then_some("the fingerprint itself"));
        let numbers = scope.check(&table, taken)?;
        Ok(Self {
            oid,
            column: column.number,
            scope: numbers,
            quoted_scope: scope.names().iter().map(quote_identifier).collect(),
            quoted: quote_qualified_identifier(schema_name(table.schema())?, table.name()?),
            quoted_column: quote_identifier(column.name()?),
        })
    }

    /// A sample of the fingerprints, and the number of fingerprints in the table, which is exact for a small table.
    /// With a scope, only of the rows that agree in its columns with most others in the sample: there, searches cost
    /// most.
    ///
    /// Whole pages are sampled, each with the same chance, in all partitions and inheritors. A sample scan starts at
    /// the first page, unlike a sequential scan, which may join another one; so the same table gives the same sample.
    fn sample(&self) -> Result<(Sample, f64), ErrorReport> {
        let mut sample = Sample::new().map_err(algorithm_error)?;
        let share = (PAGES / self.pages()?).min(1.0);
        let percent = (share * 100.0) as f32;
        let from = format!(
            "FROM {} AS t TABLESAMPLE pg_catalog.system ({percent}) REPEATABLE (0) WHERE t.{} IS NOT NULL",
            self.quoted, self.quoted_column
        );
        let largest_group = self.largest_group(&from)?;
        let query = format!("SELECT t.{}::pg_catalog.int8 {from}{largest_group}", self.quoted_column);
        let query = Query::parse(to_server(&query)?)?;
        // The lock protects the table and its column, but not the names by which the query looked them up.
        let wanted = Variable { relation: 1, number: self.column, levels_up: 0 };
        let column = query.returned().first().and_then(|returned| returned.without_relabelling().column());
        if query.table() != Some(self.oid) || column != Some(wanted) {
            return Err(renamed(self.oid));
        }
        query.each_value(|fingerprint| sample.add(fingerprint.value() as u64))?;
        let rows = sample.added() as f64 / (f64::from(percent) / 100.0);
        Ok((sample, rows))
    }

    /// What restricts a sample to the largest group of rows that agree in the scope.
    fn largest_group(&self, from: &str) -> Result<String, ErrorReport> {
        if self.quoted_scope.is_empty() {
            return Ok(String::new());
        }
        let columns: Vec<_> = self.quoted_scope.iter().map(|column| format!("t.{column}")).collect();
        let columns = columns.join(", ");
        // Citus 13 ignores WITH TIES after a window function. The sample is the same when it is read twice.
        Ok(if distribution(self.oid)?.is_some() {
            let same = |column: &String| format!("t.{column} IS NOT DISTINCT FROM g.{column}");
            let same = self.quoted_scope.iter().map(same).collect::<Vec<_>>().join(" AND ");
            format!(
                " AND EXISTS (SELECT FROM (SELECT {columns} {from} GROUP BY {columns} \
                 ORDER BY pg_catalog.count(*) DESC, {columns} LIMIT 1) AS g WHERE {same})"
            )
        } else {
            format!(
                " ORDER BY pg_catalog.count(*) OVER (PARTITION BY {columns}) DESC, {columns} FETCH FIRST 1 ROW WITH TIES"
            )
        })
    }

    /// The number of pages of the table, with its partitions and inheritors. Citus knows the size of a table that it
    /// has distributed, which has no pages itself.
    fn pages(&self) -> Result<f64, ErrorReport> {
        let size = if distribution(self.oid)?.is_some() {
            "pg_catalog.citus_relation_size(relation)"
        } else {
            "pg_catalog.pg_relation_size(relation, 'main')"
        };
        let bytes = Spi::connect(|client| {
            let query = &format!(
                "
                WITH RECURSIVE tree (relation) AS (
                    SELECT $1
                    UNION
                    SELECT inhrelid
                    FROM pg_catalog.pg_inherits JOIN tree ON inhparent OPERATOR(pg_catalog.=) relation
                )
                SELECT pg_catalog.sum({size})::pg_catalog.float8 FROM tree"
            );
            client.select(query, Some(1), &[self.oid.into()])?.first().get_one::<f64>()
        });
        Ok(bytes.map_err(internal)?.unwrap_or(0.0) / f64::from(pg_sys::BLCKSZ))
    }
}

/// Refuses a table with foreign partitions or inheritors: PostgreSQL does not sample them, but fetches all their rows.
fn check_is_here(table: pg_sys::Oid) -> Result<(), ErrorReport> {
    let family = with_inheritors(table, pg_sys::NoLock as pg_sys::LOCKMODE);
    let Some(foreign) = family.into_iter().find(|&member| is_foreign(member)) else { return Ok(()) };
    let name = relation_name(foreign)?.unwrap_or_default();
    let message = format!("foreign table \"{name}\" cannot be sampled");
    Err(user_error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
        .set_detail("All its rows would be fetched from its server.")
        .set_hint("Call simhash_skew on that server."))
}

/// The layouts that the table has indexed, within the scope, for searches within `max_distance`.
fn indexed_layouts(table: &Table, max_distance: i32, function: pg_sys::Oid) -> Vec<i32> {
    let simhash_block = ExtensionSchema::from_function(function).and_then(ExtensionSchema::simhash_block);
    let indexed = simhash_block.and_then(|found| Indexed::read_members(table.oid, table.column, &table.scope, found));
    let has = |blocks: &i32| indexed.as_ref().is_some_and(|indexed| indexed.serves(*blocks, max_distance));
    LAYOUTS.filter(has).collect()
}

/// The error for a failed query. PostgreSQL raises its own errors about queries, so this one reports a mistake made
/// here.
fn internal(error: SpiError) -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, error.to_string())
}
