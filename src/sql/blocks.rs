//! `simhash_block` and `simhash_probes`.
//!
//! Both are LEAKPROOF, so that row-level security lets them into an index scan. A leakproof function must not tell by
//! an error what its arguments are: given a column as a block number, it would tell rows apart that the user may not
//! see. So a wrong layout is an error where the caller wrote it (a constant or a parameter), and NULL where it was
//! computed from data.

use pgrx::pg_extern;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::error::user_error;
use crate::simhash::blocks::{Block, LAYOUTS, MAX_PROBES, radius};

#[pg_extern(sql = false)]
fn simhash_block(
    fingerprint: i64,
    block: i32,
    blocks: i32,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<Option<i32>, ErrorReport> {
    let Some(cut) = Block::new(block, blocks) else {
        return written_by_caller(fcinfo, &[1, 2]).then(|| no_such_block(block, blocks)).map_or(Ok(None), Err);
    };
    Ok(Some(cut.of(fingerprint.cast_unsigned())))
}

#[pg_extern(sql = false)]
fn simhash_probes(
    fingerprint: i64,
    block: i32,
    blocks: i32,
    max_distance: i32,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<Option<Vec<i32>>, ErrorReport> {
    let Some(cut) = Block::new(block, blocks) else {
        return written_by_caller(fcinfo, &[1, 2]).then(|| no_such_block(block, blocks)).map_or(Ok(None), Err);
    };
    let radius = radius(block, blocks, max_distance);
    let count = cut.probe_count(radius);
    if count > MAX_PROBES {
        let error = || {
            let message = format!("distance {max_distance} needs {count} probes of block {block} of {blocks}");
            user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
                .set_detail(format!("At most {MAX_PROBES} are possible."))
                .set_hint("Use a layout of more blocks.")
        };
        return written_by_caller(fcinfo, &[1, 2, 3]).then(error).map_or(Ok(None), Err);
    }
    Ok(Some(cut.probes(fingerprint.cast_unsigned(), radius).collect()))
}

/// Whether these arguments are constants or parameters of the query, and so known to whoever wrote it.
fn written_by_caller(fcinfo: pg_sys::FunctionCallInfo, arguments: &[i32]) -> bool {
    // SAFETY: `fcinfo` is that of the running call; PostgreSQL says false where it does not know the expression.
    arguments.iter().all(|argument| unsafe { pg_sys::get_fn_expr_arg_stable((*fcinfo).flinfo, *argument) })
}

fn no_such_block(block: i32, blocks: i32) -> ErrorReport {
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
}
