//! `simhash_near` and its planner support function.

use std::convert::Infallible;

use pgrx::datum::Internal;
use pgrx::prelude::*;
use simhash::distance::{self, share_within};
use simhash::search::cost;

use super::rewrite::rewrite;
use crate::postgres::nodes::expression::Expression;
use crate::postgres::nodes::planner::Planner;
use crate::postgres::nodes::support::{Answer, Request, answer};
use crate::sql::indexed::choice::USUAL_DISTANCE;

#[pg_extern(sql = false)]
fn simhash_near(fingerprint: i64, query: i64, max_distance: i32) -> bool {
    distance::hamming(fingerprint.cast_unsigned(), query.cast_unsigned()).cast_signed() <= max_distance
}

/// The distance condition that [`rewrite`] puts beside the condition on blocks. `blocks` tells the planner the layout
/// of that condition.
#[pg_extern(sql = false)]
fn simhash_within(fingerprint: i64, query: i64, max_distance: i32, _blocks: i32) -> bool {
    simhash_near(fingerprint, query, max_distance)
}

/// The planner support function of both: turns a call of `simhash_near` into a condition on indexed blocks if it can,
/// and tells the planner how few rows the remaining calls keep.
#[pg_extern(sql = false)]
fn simhash_near_support(request: Internal) -> Internal {
    let answered = answer(request, |request| {
        Ok::<_, Infallible>(match request {
            Request::Simplify { planner, call } => {
                planner.and_then(|planner| rewrite(planner, call)).map_or(Answer::Nothing, Answer::Expression)
            }
            Request::Selectivity { planner, arguments, answer } => match selectivity(planner, &arguments) {
                Some(share) => {
                    *answer = share;
                    Answer::InRequest
                }
                None => Answer::Nothing,
            },
            Request::Cost { .. } => Answer::Nothing,
        })
    });
    let Ok(answered) = answered;
    answered
}

/// The number of near-duplicates of a fingerprint that the planner is told to expect, beside those by chance. If it
/// expected more than one, it would prefer a sequential scan for `LIMIT 1`, hoping to meet one early.
const NEAR_DUPLICATES: f64 = 1.0;

/// The share of the rows, or of the pairs of rows in a join, that are near: by chance, and as one of the expected
/// near-duplicates of each fingerprint. For `simhash_within`, it is given as a share of the rows that the blocks find.
fn selectivity(planner: Planner, arguments: &[Expression]) -> Option<f64> {
    let (a, b, max_distance, blocks) = match *arguments {
        [a, b, max_distance] => (a, b, max_distance, None),
        [a, b, max_distance, blocks] => (a, b, max_distance, blocks.integer()),
        _ => return None,
    };
    let distance = max_distance.integer().unwrap_or(USUAL_DISTANCE);
    if distance < 0 {
        return Some(0.0);
    }
    let relations = [a, b].into_iter().flat_map(|argument| planner.relations(argument));
    let rows = relations.map(|relation| planner.rows(relation)).fold(1.0, f64::max);
    let found = blocks.map_or(1.0, |blocks| cost::uniform_share(blocks, distance));
    Some(((share_within(distance) + NEAR_DUPLICATES / rows) / found).min(1.0))
}
