//! A sample of the fingerprints of a table, read by a query.

use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use postgres::catalog::citus::distribution;
use postgres::catalog::column::Column;
use postgres::catalog::names::relation_sql;
use postgres::catalog::partition::with_inheritors;
use postgres::catalog::relation::{ACCESS_SHARE, Relation, no_such_relation};
use postgres::catalog::target::Target;
use postgres::error::{ErrorReport, Explain, Result, algorithm_error, not_supported, user_error};
use postgres::expression::Expression;
use postgres::query::Query;
use postgres::server_string::to_server_cstring;
use postgres::spi::query_strings;
use simhash::search::blocks::Block;
use simhash::search::layout_costs::FingerprintSample;

use super::fingerprint_column::{meant_column, named_fingerprint};
use super::layouts::blocks_of_family;
use super::scope::Scope;

/// The limit on the pages of a table that are sampled: 64 MB.
const MAX_SAMPLED_PAGES: f64 = 8192.0;

/// A table, its fingerprint, and a scope of searches.
pub struct SampledTable {
    oid: pg_sys::Oid,
    /// The blocks of the fingerprint that are indexed within the scope, as [`blocks_of_family`] finds them.
    pub indexed: Option<Vec<Block>>,
    /// The fingerprint, as an expression of the table's columns.
    fingerprint: Expression,
    quoted_scope: Vec<String>,
    quoted_table: String,
    fingerprint_sql: String,
}

impl SampledTable {
    /// Finds the fingerprint of a column. Locks the table's inheritors, which must have the same owner.
    pub fn new(target: &Target, column: &str, scope: &Scope) -> Result<Self> {
        let family = target.family(ACCESS_SHARE)?;
        if let Some(foreign) = family.iter().find(|member| member.is_foreign()) {
            return Err(not_supported(format!("foreign table \"{}\" cannot be sampled", foreign.name))
                .with_detail("All its rows would be fetched from its server.")
                .with_hint("Call simhash_layouts on that server."));
        }
        let (oid, table) = (target.oid, target.open());
        let name = meant_column(&table, column)?;
        let fingerprint = named_fingerprint(&table, &name)?;
        let column = Column::named(&table, &name)?;
        let fingerprint = fingerprint.expression(&table).ok_or_else(|| no_such_relation(oid))?;
        Ok(Self {
            oid,
            indexed: blocks_of_family(oid, column.attnum, &scope.check(&table, &name)?),
            quoted_scope: scope.names().iter().map(quote_identifier).collect(),
            quoted_table: relation_sql(oid)?.ok_or_else(|| no_such_relation(oid))?,
            fingerprint_sql: fingerprint.to_sql(&table, Some(c"t"))?,
            fingerprint,
        })
    }

    /// A sample of the fingerprints, and their number in the table. For a small table, the number is exact. With a
    /// scope, both are of the largest group of rows with the same scope values, where searches cost most.
    ///
    /// The sample has whole pages of all partitions and inheritors, each with the same chance. The same table gives the
    /// same sample: a sample scan always starts at the first page, unlike a sequential scan.
    pub fn sample(&self) -> Result<(FingerprintSample, f64)> {
        let mut sample = FingerprintSample::new().map_err(algorithm_error)?;
        let share = (MAX_SAMPLED_PAGES / self.pages()?).min(1.0);
        let percent = (share * 100.0) as f32;
        let from = format!(
            "FROM {} AS t TABLESAMPLE pg_catalog.system ({percent}) REPEATABLE (0) WHERE {} IS NOT NULL",
            self.quoted_table, self.fingerprint_sql
        );
        let largest_group = self.largest_group(&from)?;
        let query = format!("SELECT {}::pg_catalog.int8 {from}{largest_group}", self.fingerprint_sql);
        let query = Query::parse(to_server_cstring(&query)?)?;
        // The table and its column are locked, but other tables, columns or functions may have got their names.
        let is_fingerprint =
            |returned: &Expression| returned.without_relabelling().equals(self.fingerprint.without_relabelling());
        if query.table() != Some(self.oid) || !query.output_expressions().first().is_some_and(is_fingerprint) {
            return Err(renamed_while_sampled(self.oid));
        }
        query.for_each_value(|fingerprint| sample.add(fingerprint.value() as u64))?;
        let rows = sample.added() as f64 / (f64::from(percent) / 100.0);
        Ok((sample, rows))
    }

    /// The SQL that restricts a sample to the largest group of rows with the same scope values. It compares them by the
    /// operator classes of their types, in whatever schema they are; with Citus, by operators of the search path.
    fn largest_group(&self, from: &str) -> Result<String> {
        if self.quoted_scope.is_empty() {
            return Ok(String::new());
        }
        let columns = self.quoted_scope.iter().map(|column| format!("t.{column}")).collect::<Vec<_>>().join(", ");
        // Citus 13 ignores WITH TIES after a window function. The sample is the same when it is read twice.
        Ok(if distribution(self.oid)?.is_some() {
            let is_same = |column: &String| format!("t.{column} IS NOT DISTINCT FROM g.{column}");
            let is_same_group = self.quoted_scope.iter().map(is_same).collect::<Vec<_>>().join(" AND ");
            format!(
                " AND EXISTS (SELECT FROM (SELECT {columns} {from} GROUP BY {columns} \
                 ORDER BY pg_catalog.count(*) DESC, {columns} LIMIT 1) AS g WHERE {is_same_group})"
            )
        } else {
            format!(
                " ORDER BY pg_catalog.count(*) OVER (PARTITION BY {columns}) DESC, {columns} FETCH FIRST 1 ROW WITH TIES"
            )
        })
    }

    /// The number of pages of the table and its inheritors; of the table's shards if Citus distributes it.
    fn pages(&self) -> Result<f64> {
        let members = with_inheritors(self.oid, ACCESS_SHARE);
        if distribution(self.oid)?.is_some() {
            let members: Vec<_> = members.iter().map(|member| member.to_u32().to_string()).collect();
            let size = format!(
                "SELECT pg_catalog.sum(pg_catalog.citus_relation_size(member)) \
                 FROM pg_catalog.unnest('{{{}}}'::pg_catalog.regclass[]) AS member",
                members.join(",")
            );
            let bytes = query_strings(&size)?.pop().and_then(|bytes| bytes.parse::<f64>().ok());
            return Ok(bytes.unwrap_or(0.0) / f64::from(pg_sys::BLCKSZ));
        }
        let tables = members.into_iter().filter_map(|member| Relation::open_until_end(member, ACCESS_SHARE));
        Ok(tables.map(|table| f64::from(table.page_count())).sum())
    }
}

/// The error if the names in a query mean another table than `table`.
pub fn renamed_while_sampled(table: pg_sys::Oid) -> ErrorReport {
    let message = format!("relation with OID {} was renamed while it was being sampled", table.to_u32());
    user_error(PgSqlErrorCode::ERRCODE_OBJECT_IN_USE, message)
        .with_detail("Its schema was probably renamed.")
        .with_hint("Call the function again.")
}
