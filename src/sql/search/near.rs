//! `simhash_near`, and what it tells the planner.

use pgrx::datum::Internal;
use pgrx::pg_sys::NodeTag;
use pgrx::prelude::*;
use simhash::distance::{self, share_within};
use simhash::search::cost;

use super::choice::USUAL_DISTANCE;
use super::rewrite::rewrite;
use crate::postgres::nodes::expression::{self, Expression};
use crate::postgres::nodes::planner::Planner;

#[pg_extern(sql = false)]
fn simhash_near(fingerprint: i64, query: i64, max_distance: i32) -> bool {
    distance::hamming(fingerprint.cast_unsigned(), query.cast_unsigned()).cast_signed() <= max_distance
}

/// What [`rewrite`] leaves of a call beside the condition on blocks. `blocks` says to the planner what that is.
#[pg_extern(sql = false)]
fn simhash_within(fingerprint: i64, query: i64, max_distance: i32, _blocks: i32) -> bool {
    simhash_near(fingerprint, query, max_distance)
}

/// The planner support function of both: a call of `simhash_near` becomes a condition on indexed blocks where it can;
/// of what is left, the planner is told how few rows it leaves.
#[pg_extern(sql = false)]
fn simhash_near_support(request: Internal) -> Internal {
    let nothing = pg_sys::Datum::null();
    // SAFETY: the planner passes a support request, a node, whose tag tells its type. What it points to is valid, and
    // the result is a node or the request itself.
    let answer = unsafe {
        match request.get::<pg_sys::Node>().map(|node| node.type_) {
            Some(NodeTag::T_SupportRequestSimplify) => request
                .get::<pg_sys::SupportRequestSimplify>()
                .and_then(|request| rewrite(request.root, Expression::new(request.fcall)?))
                .map_or(nothing, |rewritten| pg_sys::Datum::from(rewritten.as_ptr())),
            Some(NodeTag::T_SupportRequestSelectivity) => {
                let datum = request.unwrap().unwrap_or(nothing);
                let request = datum.cast_mut_ptr::<pg_sys::SupportRequestSelectivity>();
                let selectivity = selectivity(&*request);
                selectivity.map_or(nothing, |selectivity| {
                    (*request).selectivity = selectivity;
                    datum
                })
            }
            _ => nothing,
        }
    };
    // A null pointer, which is not NULL: no answer.
    Internal::from(Some(answer))
}

/// Near-duplicates that the planner is told to expect of a fingerprint, beside those by chance. With more than one, it
/// would hope that a scan meets one of them early, where `LIMIT 1` is enough.
const NEAR_DUPLICATES: f64 = 1.0;

/// The share of the rows, or of the pairs of rows in a join, that are near: those that are so by chance, and a few
/// near-duplicates of each fingerprint. Of `simhash_within`, their share of the rows that the blocks find.
///
/// # Safety
/// The request is the planner's.
unsafe fn selectivity(request: &pg_sys::SupportRequestSelectivity) -> Option<f64> {
    // SAFETY: by the contract.
    let (planner, arguments) = unsafe { (Planner::new(request.root)?, expression::list(request.args)) };
    let (a, b, max_distance, blocks) = match arguments[..] {
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
