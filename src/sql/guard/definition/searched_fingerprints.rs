//! The indexes by which a guard looks up fingerprints: the cheapest ones on their blocks.

use std::collections::BTreeSet;

use pgrx::prelude::*;
use postgres::catalog::index::ExpressionForm;
use postgres::catalog::relation::Relation;
use postgres::catalog::statistics::distinct_values;
use postgres::error::{ErrorReport, Explain, Result, user_error, wrong_state};
use postgres::expression::Expression;
use simhash::search::growth::{ExpectedWork, Growth};

use super::scope::GuardScope;
use super::source::as_fingerprint;
use crate::sql::indexed::layouts::{Layout, ScopedBlock, group_by_layout, indexed_blocks, layout_blocks};

/// The layouts by which a guard looks up the fingerprints of a table. Their indexes have the same leading columns.
pub struct SearchedFingerprints {
    pub max_distance: i32,
    /// The positions, in the guard's scope, of the leading columns: those that the indexes have before the block.
    pub leading_scope_positions: Vec<usize>,
    /// An estimate of the number of rows that have the new row's values in the leading columns.
    pub rows: f64,
    pub layouts: Vec<Layout>,
    expected_work: ExpectedWork,
}

/// The number of rows for which it is decided whether a layout serves a search. It is the same for all tables, so that
/// a guard still works when its table grows.
const NOMINAL_ROWS: f64 = 1_000_000.0;
/// The limit on the values that one search looks up.
const MAX_PROBES_OF_SEARCH: f64 = 65_536.0;
/// The limit on the index entries that one search reads, as a share of the rows.
const MAX_SHARE_OF_ROWS: f64 = 0.1;

impl SearchedFingerprints {
    /// Of the indexes of a table that serve searches, finds those with which a search is cheapest.
    ///
    /// An index with a column before the block that is not in the guard's scope is not used: a search would have to
    /// look up each value of this column.
    pub fn read(table: &Relation, source: Expression, scope: &GuardScope, max_distance: i32) -> Result<Self> {
        let fingerprint = as_fingerprint(table, source)?.ok_or_else(|| not_a_fingerprint(table))?;
        let blocks = indexed_blocks(table, table.open_indexes(), fingerprint, ExpressionForm::Stored);
        let columns: Vec<_> = scope.attnums().collect();
        let is_usable = |scoped: &&ScopedBlock| {
            !scoped.block.is_partial && scoped.has_default_equality && scoped.is_within(&columns)
        };
        let usable: Vec<_> = blocks.iter().filter(is_usable).collect();
        let scopes: BTreeSet<_> = usable.iter().map(|scoped| &scoped.scope).collect();
        let all_rows = table.estimated_rows();
        // None if the indexes of a scope do not serve the distance, an error if they do so with too much work.
        let serve = |index_scope: &Vec<i16>| {
            let layouts = group_by_layout(
                usable.iter().filter(|scoped| scoped.scope == *index_scope).map(|scoped| &scoped.block),
            );
            let work_with = |rows| Growth::new(rows, layout_blocks(&layouts)).remaining_work(max_distance);
            let nominal = work_with(NOMINAL_ROWS)?;
            if nominal.probes > MAX_PROBES_OF_SEARCH || nominal.entries > MAX_SHARE_OF_ROWS * NOMINAL_ROWS {
                return Some(Err(too_much_work(table, max_distance)));
            }
            let distinct: f64 = index_scope.iter().map(|&column| distinct_values(table, column, all_rows)).product();
            let rows = all_rows / distinct;
            let expected_work = work_with(rows)?;
            let leading_scope_positions = scope.positions(index_scope)?;
            Some(Ok(Self { max_distance, leading_scope_positions, rows, layouts, expected_work }))
        };
        let (served, refused): (Vec<_>, Vec<_>) = scopes.into_iter().rev().filter_map(serve).partition(Result::is_ok);
        // If the indexes of two scopes cost the same, as in an empty table, take the scope with more columns.
        let cheapest = served.into_iter().flatten().min_by(|own, other| {
            let by_cost = own.expected_work.microseconds.total_cmp(&other.expected_work.microseconds);
            by_cost.then(other.leading_scope_positions.len().cmp(&own.leading_scope_positions.len()))
        });
        let refusal = || refused.into_iter().find_map(Result::err);
        cheapest.ok_or_else(|| refusal().unwrap_or_else(|| no_index(table, max_distance)))
    }
}

/// The error for a source that is not a fingerprint, under a criterion for fingerprints.
fn not_a_fingerprint(table: &Relation) -> ErrorReport {
    let name = table.name().unwrap_or_default();
    let message = format!("the source of a guard of table \"{name}\" is not of type bigint");
    user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message)
        .with_detail("By its criterion, the guard compares fingerprints.")
}

/// The error for a table that lacks the indexes for searches within a distance.
pub fn no_index(table: &Relation, max_distance: i32) -> ErrorReport {
    let name = table.name().unwrap_or_default();
    let message = format!("table \"{name}\" has no index that finds fingerprints at distance {max_distance}");
    wrong_state(message)
        .with_detail(
            "The guard looks up every new row in valid btrees on all blocks of a layout. Columns before the block must be \
             in the guard's scope.",
        )
        .with_hint("Run simhash_attach again, with the scope of the guard and a layout that serves this distance.")
}

/// The error for a table whose indexes serve searches within a distance only with too much work.
fn too_much_work(table: &Relation, max_distance: i32) -> ErrorReport {
    let name = table.name().unwrap_or_default();
    let message = format!("for each new row, a guard would read too much of table \"{name}\"");
    wrong_state(message)
        .with_detail(format!(
            "Its layouts do not serve the distance {max_distance}. A guard reads the entries of at most {:.0} % of the \
             rows, and looks up at most {MAX_PROBES_OF_SEARCH:.0} values.",
            100.0 * MAX_SHARE_OF_ROWS
        ))
        .with_hint("Attach another layout (see simhash_layouts), or use a smaller max_distance.")
}
