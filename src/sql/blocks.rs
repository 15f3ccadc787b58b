//! `simhash_block` and `simhash_probes`.
//!
//! Both are LEAKPROOF, so that row-level security lets them into an index scan. A leakproof function must never fail
//! while a query runs: whether it is called at all may depend on rows that the user may not see. So a layout that does
//! not exist is an error when the query is planned, where the layout is written in it, and NULL where it comes out of
//! data or parameters.

use pgrx::datum::Internal;
use pgrx::list::List;
use pgrx::memcx;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::attach::progress;
use super::error::user_error;
use crate::simhash::blocks::{Block, LAYOUTS, MAX_PROBES, radius};

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
        // NULL, for no fingerprint is within a negative distance, and whether one is within a distance is unknown if the
        // fingerprint is: with an empty array, `block = ANY (probes)` would be false.
        Ok(_) if max_distance < 0 => Ok(None),
        Ok((cut, radius)) => Ok(Some(cut.probes(fingerprint.cast_unsigned(), radius).collect())),
        Err(error) => null_unless_planning(error, fcinfo),
    }
}

/// The planner support function of both: reports a wrong layout that is written in the query.
#[pg_extern(sql = false)]
fn simhash_block_support(request: Internal) -> Result<Internal, ErrorReport> {
    if let Some(arguments) = layout_arguments(&request) {
        match arguments[..] {
            [block, blocks] => drop(cut(block, blocks)?),
            [block, blocks, max_distance] => drop(cut_to_probe(block, blocks, max_distance)?),
            _ => {}
        }
    }
    // A null pointer, which is not NULL: nothing to say on what the planner asked for.
    Ok(Internal::from(Some(pg_sys::Datum::null())))
}

/// The arguments after the fingerprint, if the planner asks to simplify a call in which all of them are constants.
fn layout_arguments(request: &Internal) -> Option<Vec<i32>> {
    // SAFETY: the planner passes a support request, a node, whose tag tells its type; its call is valid, and so are the
    // nodes in the list of arguments. The constants are of type integer, by the declarations of both functions.
    unsafe {
        let request = request.get::<pg_sys::SupportRequestSimplify>()?;
        if request.type_ != pg_sys::NodeTag::T_SupportRequestSimplify {
            return None;
        }
        memcx::current_context(|context| {
            let arguments = List::<*mut std::ffi::c_void>::downcast_ptr_in_memcx((*request.fcall).args, context)?;
            let constant = |argument: &*mut std::ffi::c_void| {
                let argument = argument.cast::<pg_sys::Const>();
                let constant = (*argument).xpr.type_ == pg_sys::NodeTag::T_Const && !(*argument).constisnull;
                constant.then(|| (*argument).constvalue.value() as i32)
            };
            arguments.iter().skip(1).map(constant).collect()
        })
    }
}

/// In the midst of a query, NULL; but where all arguments are constants, the planner is computing the result.
fn null_unless_planning<T>(error: ErrorReport, fcinfo: pg_sys::FunctionCallInfo) -> Result<Option<T>, ErrorReport> {
    // SAFETY: `fcinfo` is that of the running call. Its expression, if known, is the call's.
    let all_constant = unsafe {
        let expression = (*(*fcinfo).flinfo).fn_expr.cast::<pg_sys::FuncExpr>();
        !expression.is_null()
            && (*expression).xpr.type_ == pg_sys::NodeTag::T_FuncExpr
            && memcx::current_context(|context| {
                List::<*mut std::ffi::c_void>::downcast_ptr_in_memcx((*expression).args, context).is_some_and(|list| {
                    list.iter().all(|argument| (*argument.cast::<pg_sys::Node>()).type_ == pg_sys::NodeTag::T_Const)
                })
            })
    };
    if all_constant { Err(error) } else { Ok(None) }
}

fn cut(block: i32, blocks: i32) -> Result<Block, ErrorReport> {
    Block::new(block, blocks).ok_or_else(|| {
        let error = |message| user_error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message);
        if LAYOUTS.contains(&blocks) {
            error(format!("block number {block} is out of range"))
                .set_detail(format!("A layout of {blocks} blocks has the blocks 0 to {}.", blocks - 1))
        } else {
            error(format!("number of blocks {blocks} is out of range")).set_detail(format!(
                "A layout has {} to {} blocks.",
                LAYOUTS.start(),
                LAYOUTS.end()
            ))
        }
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
