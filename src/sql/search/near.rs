//! `simhash_near`, and the planner support function of `simhash_near` and `hamming`.

use pgrx::AnyArray;
use pgrx::datum::Internal;
use pgrx::prelude::*;
use postgres::call::{Call, null_unless_planning};
use postgres::error::Result;
use postgres::expression::Expression;
use postgres::json::RawJsonb;
use postgres::planner::planner_info::Planner;
use postgres::planner::support::{Request, answer};
use postgres::text::TextArgument;
use simhash::distance;
use simhash::search::blocks::DEFAULT_BLOCKS;

use super::USUAL_DISTANCE;
use super::condition::Limit;
use super::estimate::Estimate;
use super::near_texts::NearTexts;
use crate::sql::arguments::check_radii;
use crate::sql::fingerprint::fingerprint_cache;
use crate::sql::fingerprint::options::read_criterion;
use crate::sql::fingerprint::resemblance::are_near;

#[pg_extern(sql = false)]
fn simhash_near(fingerprint: i64, query: i64, max_distance: i32) -> bool {
    distance::hamming(fingerprint.cast_unsigned(), query.cast_unsigned()).cast_signed() <= max_distance
}

/// `simhash_near` with radii. The function is leakproof, so it must not fail while a query runs: radii that fit no
/// layout give NULL. If they are constants in the query, the planner reports an error.
#[pg_extern(sql = false)]
fn simhash_near_radii(
    fingerprint: i64,
    query: i64,
    max_distance: i32,
    radii: AnyArray,
    call: Call<'_>,
) -> Result<Option<bool>> {
    match check_radii(max_distance, &radii) {
        Ok(near) => Ok(Some(near.contains((fingerprint ^ query).cast_unsigned()))),
        Err(error) => null_unless_planning(error, call),
    }
}

/// `simhash_near` of two texts: their fingerprints are near by the criterion, and the texts confirm it.
#[pg_extern(sql = false)]
fn simhash_near_texts(a: TextArgument<'_>, b: TextArgument<'_>, criterion: RawJsonb<'_>) -> Result<Option<bool>> {
    let criterion = read_criterion(criterion)?;
    are_near([a, b], criterion.of_texts(), &criterion.options)
}

/// The bits that a search for a text flips by a criterion: for each number of bits that are flipped together, from 1
/// on, those of all blocks among which they are. NULL if the text has no feature, empty without flips.
#[pg_extern(sql = false)]
fn simhash_flips(content: TextArgument<'_>, criterion: RawJsonb<'_>) -> Result<Option<Vec<i64>>> {
    let criterion = read_criterion(criterion)?;
    let near = criterion.of_texts().near;
    let order = fingerprint_cache::closest_votes(content, &criterion.options)?;
    Ok(order.map(|order| near.by_votes(&order).flippable().masks().map(u64::cast_signed).collect()))
}

/// The planner support function of `simhash_near` and `hamming`. It estimates how many rows `simhash_near` selects, and
/// reports constant radii that fit no layout and constant criteria that cannot be read. PostgreSQL calls it before it
/// collects the paths of a table. This loads the library, whose hook then offers the scan.
#[pg_extern(sql = false)]
fn simhash_near_support(request: Internal) -> Result<Internal> {
    answer(request, |request| match request {
        Request::Simplify { arguments } => {
            if let Some(radii) = arguments.get(3).and_then(|radii| radii.array()) {
                check_radii(USUAL_DISTANCE, &radii)?;
            }
            if let Some(criterion) = arguments.get(2).and_then(|criterion| criterion.jsonb()) {
                read_criterion(criterion)?;
            }
            Ok(None)
        }
        Request::Selectivity { planner, arguments, is_semi_join, answer } => {
            Ok(selectivity(planner, &arguments, is_semi_join).map(|share| *answer = share))
        }
    })
}

/// The share of the rows that `simhash_near` with these arguments selects; in a join, the share of the pairs of rows;
/// in a semi-join, the share of the outer rows that have a near row.
fn selectivity(planner: Planner, arguments: &[Expression], is_semi_join: bool) -> Option<f64> {
    let (&[a, b, limit], radii) = arguments.split_first_chunk()?;
    let estimate = if a.value_type() == pg_sys::TEXTOID {
        // Which column stores the fingerprints, whose statistics would help, is known when paths are offered.
        Estimate::of_unknown(NearTexts::expected(limit))
    } else {
        Estimate::new(planner, [a, b], Limit::new(limit, radii.first().copied()).expected(DEFAULT_BLOCKS))
    };
    let rows = planner.most_rows([a, b]);
    Some(if is_semi_join { estimate.share_with_near_row(rows) } else { estimate.share(rows) })
}
