//! `simhash_block` and `simhash_probes`.
//!
//! Both are LEAKPROOF, so that row-level security lets them into an index scan. A leakproof function must never fail
//! while a query runs: whether it is called at all may depend on rows that the user may not see. So a layout that does
//! not exist is an error when the query is planned, where the layout is written in it, and NULL where it comes out of
//! data or parameters.

use pgrx::datum::Internal;
use pgrx::pg_sys::NodeTag;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use simhash::search::blocks::{Block, LAYOUTS, MAX_PROBES, radius};

use super::attach::progress;
use crate::postgres::error::{algorithm_error, user_error};
use crate::postgres::nodes::expression::Expression;

#[pg_extern(sql = false)]
fn simhash_block(
    fingerprint: i64,
    block: i32,
    blocks: i32,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<Option<i32>, ErrorReport> {
    progress::computed(block);
    match cut(block, blocks) {
        Ok(cut) => Ok(Some(cut.of(fingerprint.cast_unsigned()))),
        Err(error) => null_unless_planning(error, fcinfo),
    }
}

#[pg_extern(sql = false)]
fn simhash_probes(
    fingerprint: i64,
    block: i32,
    blocks: i32,
    max_distance: i32,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<Option<Vec<i32>>, ErrorReport> {
    match cut_to_probe(block, blocks, max_distance) {
        // NULL, for no fingerprint is within a negative distance, and whether one is within a distance is unknown if
        // the fingerprint is: with an empty array, `block = ANY (probes)` would be false.
        Ok(_) if max_distance < 0 => Ok(None),
        Ok((cut, radius)) => Ok(Some(cut.list_probes(fingerprint.cast_unsigned(), radius).map_err(algorithm_error)?)),
        Err(error) => null_unless_planning(error, fcinfo),
    }
}

/// The planner support function of both: reports a wrong layout that is written in the query, and tells what probes
/// cost.
#[pg_extern(sql = false)]
fn simhash_block_support(request: Internal) -> Result<Internal, ErrorReport> {
    // A null pointer, which is not NULL: nothing to say on what the planner asked for.
    let nothing = Internal::from(Some(pg_sys::Datum::null()));
    // SAFETY: the planner passes a support request, a node, whose tag tells its type; its call is valid, or null.
    let (kind, call) = unsafe {
        let Some(request) = request.get::<pg_sys::Node>() else { return Ok(nothing) };
        let call = match request.type_ {
            NodeTag::T_SupportRequestSimplify => {
                (*std::ptr::from_ref(request).cast::<pg_sys::SupportRequestSimplify>()).fcall.cast()
            }
            NodeTag::T_SupportRequestCost => (*std::ptr::from_ref(request).cast::<pg_sys::SupportRequestCost>()).node,
            _ => return Ok(nothing),
        };
        (request.type_, Expression::new(call))
    };
    let arguments = call.and_then(Expression::call).map(|(_, arguments)| arguments).unwrap_or_default();
    let layout: Option<Vec<i32>> = arguments.iter().skip(1).map(|argument| argument.integer()).collect();
    let probes = match layout.as_deref() {
        Some(&[block, blocks]) if kind == NodeTag::T_SupportRequestSimplify => {
            cut(block, blocks)?;
            None
        }
        Some(&[block, blocks, max_distance]) if kind == NodeTag::T_SupportRequestSimplify => {
            cut_to_probe(block, blocks, max_distance)?;
            None
        }
        Some(&[block, blocks, max_distance]) => {
            Block::new(block, blocks).map(|cut| cut.probe_count(radius(block, blocks, max_distance)))
        }
        _ => None,
    };
    match probes {
        // SAFETY: a request of this kind, which is answered in itself.
        Some(probes) => unsafe {
            let Some(datum) = request.unwrap() else { return Ok(nothing) };
            let request = datum.cast_mut_ptr::<pg_sys::SupportRequestCost>();
            (*request).startup = 0.0;
            // To compute a probe takes about a tenth of what comparing two numbers does.
            (*request).per_tuple = pg_sys::cpu_operator_cost * (1.0 + probes as f64 / 10.0);
            Ok(Internal::from(Some(datum)))
        },
        None => Ok(nothing),
    }
}

/// In the midst of a query, NULL; but where all arguments are constants, the planner is computing the result.
fn null_unless_planning<T>(error: ErrorReport, fcinfo: pg_sys::FunctionCallInfo) -> Result<Option<T>, ErrorReport> {
    // SAFETY: `fcinfo` is that of the running call. Its expression, if known, is the call's.
    let call = unsafe { Expression::new((*(*fcinfo).flinfo).fn_expr) };
    let all_constant = call
        .and_then(Expression::call)
        .is_some_and(|(_, arguments)| arguments.iter().all(|argument| argument.constant().is_some()));
    if all_constant { Err(error) } else { Ok(None) }
}

/// An error if there is no layout of so many blocks.
pub fn check_layout(blocks: i32) -> Result<(), ErrorReport> {
    if LAYOUTS.contains(&blocks) {
        return Ok(());
    }
    let message = format!("number of blocks {blocks} is out of range");
    Err(user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message).set_detail(format!(
        "A layout has {} to {} blocks.",
        LAYOUTS.start(),
        LAYOUTS.end()
    )))
}

fn cut(block: i32, blocks: i32) -> Result<Block, ErrorReport> {
    check_layout(blocks)?;
    Block::new(block, blocks).ok_or_else(|| {
        let message = format!("block number {block} is out of range");
        user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
            .set_detail(format!("A layout of {blocks} blocks has the blocks 0 to {}.", blocks - 1))
    })
}

fn cut_to_probe(block: i32, blocks: i32, max_distance: i32) -> Result<(Block, Option<u32>), ErrorReport> {
    let cut = cut(block, blocks)?;
    let radius = radius(block, blocks, max_distance);
    let count = cut.probe_count(radius);
    if count > MAX_PROBES {
        let message = format!("distance {max_distance} needs {count} probes of block {block} of {blocks}");
        return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
            .set_detail(format!("At most {MAX_PROBES} are possible."))
            .set_hint("Use a layout of more blocks."));
    }
    Ok((cut, radius))
}
