//! `simhash_near` and the planner support function of it and of `hamming`.

use std::convert::Infallible;

use pgrx::datum::Internal;
use pgrx::prelude::*;
use simhash::distance;

use super::USUAL_DISTANCE;
use super::estimate::Estimate;
use crate::postgres::nodes::expression::Expression;
use crate::postgres::nodes::planner::Planner;
use crate::postgres::nodes::support::{Answer, Request, answer};

#[pg_extern(sql = false)]
fn simhash_near(fingerprint: i64, query: i64, max_distance: i32) -> bool {
    distance::hamming(fingerprint.cast_unsigned(), query.cast_unsigned()).cast_signed() <= max_distance
}

/// The planner support function of `simhash_near` and `hamming`. It tells the planner how few rows `simhash_near`
/// keeps. PostgreSQL calls it before it looks for ways to scan a table, and so loads this library, whose hook then
/// offers the scan.
#[pg_extern(sql = false)]
fn simhash_near_support(request: Internal) -> Internal {
    let answered = answer(request, |request| {
        Ok::<_, Infallible>(match request {
            Request::Selectivity { planner, arguments, is_semi_join, answer } => {
                match selectivity(planner, &arguments, is_semi_join) {
                    Some(share) => {
                        *answer = share;
                        Answer::InRequest
                    }
                    None => Answer::Nothing,
                }
            }
            Request::Simplify { .. } | Request::Cost { .. } => Answer::Nothing,
        })
    });
    let Ok(answered) = answered;
    answered
}

/// The share of the rows, or of the pairs of rows in a join, that `simhash_near` with these arguments keeps; in a
/// semi-join, of the rows that have a near one.
fn selectivity(planner: Planner, arguments: &[Expression], is_semi_join: bool) -> Option<f64> {
    let &[a, b, max_distance] = arguments else { return None };
    let estimate = Estimate::new(planner, [a, b], max_distance.integer().unwrap_or(USUAL_DISTANCE));
    let rows = planner.most_rows([a, b]);
    Some(if is_semi_join { estimate.share_with_near_row(rows) } else { estimate.share(rows) })
}
