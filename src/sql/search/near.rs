//! `simhash_near`, and the planner support function of `simhash_near` and `hamming`.

use pgrx::datum::Internal;
use pgrx::prelude::*;
use postgres::error::Result;
use postgres::expression::Expression;
use postgres::json::RawJsonb;
use postgres::planner::planner_info::Planner;
use postgres::planner::support::{Request, answer};
use postgres::text::{RawText, TextArgument};
use simhash::distance;

use super::condition::expected_distance;
use super::estimate::{Estimate, MIN_SHARE_WITH_NEAR_ROW};
use super::other_options::warn_of_window;
use crate::sql::fingerprint::options::{JsonDocument, read_text_criterion};
use crate::sql::fingerprint::resemblance::are_near;
use crate::sql::indexed::recognise::constant_document;

#[pg_extern(sql = false)]
fn simhash_near(fingerprint: i64, query: i64, max_distance: i32) -> bool {
    distance::hamming(fingerprint.cast_unsigned(), query.cast_unsigned()).cast_signed() <= max_distance
}

#[pg_extern(sql = false)]
fn simhash_near_texts_jsonb(
    content: TextArgument<'_>,
    query: TextArgument<'_>,
    criterion: RawJsonb<'_>,
) -> Result<Option<bool>> {
    are_near([content, query], JsonDocument::Jsonb(criterion))
}

/// `simhash_near` of texts with the criterion as text. PostgreSQL chooses it for literals and parameters without a
/// declared type: between the functions of fingerprints and of `(text, text, jsonb)` alone, they would be ambiguous.
#[pg_extern(sql = false)]
fn simhash_near_texts_text(
    content: TextArgument<'_>,
    query: TextArgument<'_>,
    criterion: RawText<'_>,
) -> Result<Option<bool>> {
    are_near([content, query], JsonDocument::Text(criterion))
}

/// The planner support function of `simhash_near`, `hamming`, and the window functions that compare texts. It estimates
/// how many rows `simhash_near` selects, and reports constant criteria that cannot be read. PostgreSQL calls it before
/// it collects the paths of a table. This loads the library, whose hook then offers the scan.
#[pg_extern(sql = false)]
fn simhash_near_support(request: Internal) -> Result<Internal> {
    answer(request, |request| match request {
        Request::Simplify { arguments } => {
            if let Some(criterion) = arguments.get(2).and_then(|criterion| constant_document(*criterion)) {
                read_text_criterion(criterion)?;
            }
            Ok(None)
        }
        Request::Selectivity { planner, arguments, is_semi_join } => Ok(selectivity(planner, &arguments, is_semi_join)),
        Request::WindowCost { planner, function, arguments } => {
            warn_of_window(planner, function, &arguments);
            Ok(None)
        }
    })
}

/// The share of the rows that `simhash_near` with these arguments selects; in a join, the share of the pairs of rows;
/// in a semi-join, the share of the outer rows that have a near row.
fn selectivity(planner: Planner, arguments: &[Expression], is_semi_join: bool) -> Option<f64> {
    let &[a, b, max_distance] = arguments else { return None };
    let rows = planner.rows_of_largest([a, b]);
    if a.value_type() == pg_sys::TEXTOID {
        // The statistics on indexed bands would help, but the indexes are known only when paths are offered.
        return Some(if is_semi_join { MIN_SHARE_WITH_NEAR_ROW } else { 1.0 / rows });
    }
    let estimate = Estimate::new(planner, [a, b], expected_distance(max_distance));
    Some(if is_semi_join { estimate.share_with_near_row(rows) } else { estimate.share(rows) })
}
