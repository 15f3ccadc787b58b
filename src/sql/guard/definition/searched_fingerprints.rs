//! The indexes by which a guard looks up fingerprints: the cheapest ones on their blocks.

use std::collections::BTreeSet;

use pgrx::prelude::*;
use postgres::catalog::column::Column;
use postgres::catalog::index::ExpressionForm;
use postgres::catalog::relation::Relation;
use postgres::catalog::row_value::RowValue;
use postgres::catalog::statistics::distinct_values;
use postgres::error::{ErrorReport, Explain, Result, user_error};
use postgres::expression::Expression;
use simhash::search::growth::{ExpectedWork, Growth};

use super::row_key::RowKey;
use super::scope::GuardScope;
use crate::sql::indexed::fingerprint_column::check_is_stored;
use crate::sql::indexed::layouts::{Layout, ScopedBlock, blocks_in, layout_blocks, layouts_of};

/// The layouts by which a guard looks up the fingerprints of a table, all within one scope.
pub struct SearchedFingerprints {
    /// The largest distance of near fingerprints.
    pub max_distance: i32,
    /// The positions, in the guard's scope, of the columns that the indexes have before the block.
    pub leading_scope_positions: Vec<usize>,
    /// An estimate of the number of rows that have the new row's values in these columns.
    pub rows: f64,
    pub layouts: Vec<Layout>,
    total: ExpectedWork,
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
        let fingerprint = fingerprint(table, source)?;
        let blocks = blocks_in(table, table.open_indexes(), fingerprint, ExpressionForm::Stored);
        let columns: Vec<_> = scope.attnums().collect();
        let is_usable = |scoped: &&ScopedBlock| {
            !scoped.block.is_partial && scoped.has_default_equality && scoped.is_within(&columns)
        };
        let usable: Vec<_> = blocks.iter().filter(is_usable).collect();
        let scopes: BTreeSet<_> = usable.iter().map(|scoped| &scoped.scope).collect();
        let all_rows = table.estimated_rows();
        // None if the indexes of a scope do not serve the distance, an error if they do so with too much work.
        let serve = |leading: &Vec<i16>| {
            let layouts =
                layouts_of(usable.iter().filter(|scoped| scoped.scope == *leading).map(|scoped| &scoped.block));
            let growth = |rows| Growth::new(rows, layout_blocks(&layouts));
            let nominal = growth(NOMINAL_ROWS).remaining_work(max_distance)?;
            if nominal.probes > MAX_PROBES_OF_SEARCH || nominal.entries > MAX_SHARE_OF_ROWS * NOMINAL_ROWS {
                return Some(Err(too_much_work(table, max_distance)));
            }
            let groups: f64 = leading.iter().map(|&column| distinct_values(table, column, all_rows)).product();
            let rows = all_rows / groups;
            let total = growth(rows).remaining_work(max_distance)?;
            let leading_scope_positions = scope.positions(leading)?;
            Some(Ok(Self { max_distance, leading_scope_positions, rows, layouts, total }))
        };
        // If the indexes of two scopes cost the same, as in an empty table, take the scope with more columns.
        let (served, refused): (Vec<_>, Vec<_>) = scopes.into_iter().rev().filter_map(serve).partition(Result::is_ok);
        let cheapest = served.into_iter().flatten().min_by(|a, b| {
            let cost = a.total.microseconds.total_cmp(&b.total.microseconds);
            cost.then(b.leading_scope_positions.len().cmp(&a.leading_scope_positions.len()))
        });
        let no_index = || no_index(table, max_distance);
        cheapest.ok_or_else(|| refused.into_iter().find_map(Result::err).unwrap_or_else(no_index))
    }

    /// The key by which the rows near a row with this fingerprint are looked up.
    pub fn key(&self, fingerprint: i64) -> RowKey {
        RowKey::Fingerprint { value: fingerprint.cast_unsigned(), max_distance: self.max_distance }
    }
}

/// The fingerprint that the source is, as a column or an expression. An error if it is not of type `bigint`.
fn fingerprint(table: &Relation, source: Expression) -> Result<RowValue> {
    // SAFETY: getBaseType looks up a system cache; the type of an expression exists.
    if unsafe { pg_sys::getBaseType(source.value_type()) } != pg_sys::INT8OID {
        let message = format!("the source of a guard of table \"{}\" is not of type bigint", table.name()?);
        return Err(user_error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message)
            .with_detail("By its criterion, the guard compares fingerprints."));
    }
    let Some(column) = source.as_own_column().and_then(|column| Column::at(table, column)) else {
        return Ok(RowValue::Expression(source));
    };
    check_is_stored(table, &column)?;
    Ok(RowValue::Column(column.attnum))
}

/// The error for a table that lacks the indexes for searches within a distance.
pub fn no_index(table: &Relation, max_distance: i32) -> ErrorReport {
    let name = table.name().unwrap_or_default();
    let message = format!("table \"{name}\" has no index that finds fingerprints at distance {max_distance}");
    user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
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
    user_error(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .with_detail(format!(
            "Its layouts do not serve the distance {max_distance}. A guard reads the entries of at most {:.0} % of the \
             rows, and looks up at most {MAX_PROBES_OF_SEARCH:.0} values.",
            100.0 * MAX_SHARE_OF_ROWS
        ))
        .with_hint("Attach another layout (see simhash_layouts), or use a smaller max_distance.")
}
