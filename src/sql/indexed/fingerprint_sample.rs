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

use super::fingerprint_column::{find_column_name, named_fingerprint};
use super::layouts::blocks_of_family;
use super::scope::Scope;

/// The limit on the pages of a table that are sampled: 64 MB.
const MAX_SAMPLED_PAGES: f64 = 8192.0;

/// A table whose fingerprints are sampled, for searches within a scope.
pub struct SampledTable {
    oid: pg_sys::Oid,
    /// Whether Citus distributes the table.
    is_distributed: bool,
    /// The blocks of the fingerprint that are indexed within the scope; None if [`blocks_of_family`] cannot tell.
    pub indexed: Option<Vec<Block>>,
    /// The fingerprint, as an expression of the table's columns.
    fingerprint: Expression,
    scope_sql: Vec<String>,
    table_sql: String,
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
        let column_name = find_column_name(&table, column)?;
        let row_value = named_fingerprint(&table, &column_name)?;
        let column = Column::named(&table, &column_name)?;
        let fingerprint = row_value.expression(&table).ok_or_else(|| no_such_relation(oid))?;
        Ok(Self {
            oid,
            is_distributed: distribution(oid)?.is_some(),
            indexed: blocks_of_family(oid, column.attnum, &scope.check(&table, &column_name)?),
            scope_sql: scope.names().iter().map(quote_identifier).collect(),
            table_sql: relation_sql(oid)?.ok_or_else(|| no_such_relation(oid))?,
            fingerprint_sql: fingerprint.to_sql(&table, Some(c"t"))?,
            fingerprint,
        })
    }

    /// A sample of the fingerprints, and their number in the table. For a small table, the number is exact. With a
    /// scope, both are of the largest group of rows with the same scope values, where searches cost most.
    ///
    /// The sample has whole pages of all partitions and inheritors, each with the same chance. The same table gives the
    /// same sample in the same order: a sample scan always starts at the first page, unlike a sequential scan.
    pub fn sample(&self) -> Result<(FingerprintSample, f64)> {
        let mut sample = FingerprintSample::new().map_err(algorithm_error)?;
        // Without pages, the share is infinite, and so 1. TABLESAMPLE rounds it to a `real`, so the rows are computed
        // from the rounded share.
        let share = (MAX_SAMPLED_PAGES / self.pages()?).min(1.0);
        let percent = (share * 100.0) as f32;
        let from_where = format!(
            "FROM {} AS t TABLESAMPLE pg_catalog.system ({percent}) REPEATABLE (0) WHERE {} IS NOT NULL",
            self.table_sql, self.fingerprint_sql
        );
        let largest_group = self.largest_group_sql(&from_where);
        let query_sql = format!("SELECT {}::pg_catalog.int8 {from_where}{largest_group}", self.fingerprint_sql);
        let query = Query::parse(to_server_cstring(&query_sql)?)?;
        // The table and its column are locked, but other tables, columns or functions may have got their names.
        let is_fingerprint =
            |returned: &Expression| returned.without_relabelling().equals(self.fingerprint.without_relabelling());
        if query.only_relation() != Some(self.oid) || !query.output_expressions().first().is_some_and(is_fingerprint) {
            return Err(renamed_while_sampled(self.oid));
        }
        query.for_each_value(|fingerprint| sample.add(fingerprint.value() as u64))?;
        let row_count = sample.added() as f64 / (f64::from(percent) / 100.0);
        Ok((sample, row_count))
    }

    /// The SQL that restricts a sample to the largest group of rows with the same scope values. It compares them by the
    /// operator classes of their types, in whatever schema they are; with Citus, by operators of the search path.
    fn largest_group_sql(&self, from_where: &str) -> String {
        if self.scope_sql.is_empty() {
            return String::new();
        }
        let columns = self.scope_sql.iter().map(|column| format!("t.{column}")).collect::<Vec<_>>().join(", ");
        if !self.is_distributed {
            return format!(
                " ORDER BY pg_catalog.count(*) OVER (PARTITION BY {columns}) DESC, {columns} FETCH FIRST 1 ROW WITH TIES"
            );
        }
        // Citus 13 ignores WITH TIES after a window function, so a subquery finds the group. It reads the same sample,
        // because of REPEATABLE.
        let same_value_sql = |column: &String| format!("t.{column} IS NOT DISTINCT FROM g.{column}");
        let same_group_sql = self.scope_sql.iter().map(same_value_sql).collect::<Vec<_>>().join(" AND ");
        format!(
            " AND EXISTS (SELECT FROM (SELECT {columns} {from_where} GROUP BY {columns} \
             ORDER BY pg_catalog.count(*) DESC, {columns} LIMIT 1) AS g WHERE {same_group_sql})"
        )
    }

    /// The number of pages of the table and its inheritors; of the table's shards if Citus distributes it.
    fn pages(&self) -> Result<f64> {
        let members = with_inheritors(self.oid, ACCESS_SHARE);
        if self.is_distributed {
            let members: Vec<_> = members.iter().map(|member| member.to_u32().to_string()).collect();
            let size_query = format!(
                "SELECT pg_catalog.sum(pg_catalog.citus_relation_size(member)) \
                 FROM pg_catalog.unnest('{{{}}}'::pg_catalog.regclass[]) AS member",
                members.join(",")
            );
            let bytes = query_strings(&size_query)?.pop().and_then(|bytes| bytes.parse::<f64>().ok());
            return Ok(bytes.unwrap_or(0.0) / f64::from(pg_sys::BLCKSZ));
        }
        let tables = members.into_iter().filter_map(|member| Relation::open_until_end(member, ACCESS_SHARE));
        Ok(tables.map(|table| f64::from(table.page_count())).sum())
    }
}

/// The error if a name in the query that samples `table` now means another relation.
pub fn renamed_while_sampled(table: pg_sys::Oid) -> ErrorReport {
    let message = format!("relation with OID {} was renamed while it was being sampled", table.to_u32());
    user_error(PgSqlErrorCode::ERRCODE_OBJECT_IN_USE, message)
        .with_detail("Its schema was probably renamed.")
        .with_hint("Call the function again.")
}
