//! `simhash_block` and `simhash_probes`.
//!
//! Both are LEAKPROOF, so that they can be used in an index scan under row-level security. A leakproof function must
//! never fail while a query runs, because whether it is called at all may depend on rows that the user may not see. So
//! a constant layout that does not exist is an error at planning time, and one from data or parameters gives NULL.

use pgrx::datum::Internal;
use pgrx::prelude::*;
use postgres::call::{Call, null_unless_planning};
use postgres::error::{Result, algorithm_error, invalid_parameter, user_error};
use postgres::planner::support::{Request, answer};
use simhash::search::blocks::{BLOCK_COUNTS, Block, MAX_PROBES, radius};
use simhash::search::flips::Probed;

#[pg_extern(sql = false)]
fn simhash_block(fingerprint: i64, block: i32, blocks: i32, call: Call<'_>) -> Result<Option<i32>> {
    match cut(block, blocks) {
        Ok(cut) => Ok(Some(cut.value(fingerprint.cast_unsigned()))),
        Err(error) => null_unless_planning(error, call),
    }
}

#[pg_extern(sql = false)]
fn simhash_probes(
    fingerprint: i64,
    block: i32,
    blocks: i32,
    max_distance: i32,
    call: Call<'_>,
) -> Result<Option<Vec<i32>>> {
    match cut_to_probe(block, blocks, max_distance) {
        // No fingerprint is within a negative distance, but the result is NULL rather than an empty array: with an
        // empty array, `block = ANY (probes)` would be false for a NULL fingerprint, but must be NULL.
        Ok(_) if max_distance < 0 => Ok(None),
        Ok(None) => Ok(Some(Vec::new())),
        Ok(Some(probed)) => Ok(Some(probed.list_probes(fingerprint.cast_unsigned()).map_err(algorithm_error)?)),
        Err(error) => null_unless_planning(error, call),
    }
}

/// The planner support function of `simhash_block` and `simhash_probes`. It reports a constant layout that does not
/// exist.
#[pg_extern(sql = false)]
fn simhash_block_support(request: Internal) -> Result<Internal> {
    answer(request, |request| match request {
        Request::Simplify { arguments } => {
            let after_fingerprint = arguments.iter().skip(1).map(|argument| argument.value());
            match after_fingerprint.collect::<Option<Vec<i32>>>().as_deref() {
                Some(&[block, blocks]) => drop(cut(block, blocks)?),
                Some(&[block, blocks, max_distance]) => drop(cut_to_probe(block, blocks, max_distance)?),
                _ => {}
            }
            Ok(None)
        }
        Request::Selectivity { .. } => Ok(None),
    })
}

/// The number of blocks of a layout; an error if no layout has it.
pub fn check_layout(blocks: i32) -> Result<i32> {
    if BLOCK_COUNTS.contains(&blocks) {
        return Ok(blocks);
    }
    Err(invalid_parameter(format!("number of blocks {blocks} is out of range")).set_detail(format!(
        "A layout has {} to {} blocks.",
        BLOCK_COUNTS.start(),
        BLOCK_COUNTS.end()
    )))
}

fn cut(block: i32, blocks: i32) -> Result<Block> {
    check_layout(blocks)?;
    Block::new(block, blocks).ok_or_else(|| {
        invalid_parameter(format!("block number {block} is out of range"))
            .set_detail(format!("A layout of {blocks} blocks has the blocks 0 to {}.", blocks - 1))
    })
}

fn cut_to_probe(block: i32, blocks: i32, max_distance: i32) -> Result<Option<Probed>> {
    let cut = cut(block, blocks)?;
    let probed = radius(block, blocks, max_distance).map(|radius| Probed::whole(cut, radius));
    let count = probed.map_or(0, Probed::probe_count);
    if count > MAX_PROBES {
        let message = format!("distance {max_distance} needs {count} probes of block {block} of {blocks}");
        return Err(user_error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
            .set_detail(format!("At most {MAX_PROBES} are possible."))
            .set_hint("Use a layout of more blocks."));
    }
    Ok(probed)
}
