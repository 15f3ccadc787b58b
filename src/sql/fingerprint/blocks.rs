//! `simhash_block`: the value of a block of a fingerprint.
//!
//! It is LEAKPROOF, so that it can be used in an index scan under row-level security. A leakproof function must never
//! fail while a query runs: whether it is called may depend on rows that the user may not see. So a wrong layout is an
//! error only if it is known when the query is planned: as a constant, or as a parameter in a custom plan. Otherwise,
//! the function returns NULL.

use pgrx::datum::Internal;
use pgrx::prelude::*;
use postgres::call::Call;
use postgres::error::{Explain, Result, invalid_parameter};
use postgres::planner::support::{Request, answer};
use simhash::search::blocks::{BLOCK_COUNTS, Block};

#[pg_extern(sql = false)]
fn simhash_block(fingerprint: i64, block: i32, blocks: i32, call: Call<'_>) -> Result<Option<i32>> {
    match checked_block(block, blocks) {
        Ok(block) => Ok(Some(block.value(fingerprint.cast_unsigned()))),
        Err(error) if call.has_constant_arguments() => Err(error),
        Err(_) => Ok(None),
    }
}

/// The planner support function of `simhash_block`. It reports a constant layout that does not exist.
#[pg_extern(sql = false)]
fn simhash_block_support(request: Internal) -> Result<Internal> {
    answer(request, |request| match request {
        Request::Simplify { arguments } => {
            let after_fingerprint = arguments.iter().skip(1).map(|argument| argument.value());
            if let Some(&[block, blocks]) = after_fingerprint.collect::<Option<Vec<i32>>>().as_deref() {
                checked_block(block, blocks)?;
            }
            Ok(None)
        }
        Request::Selectivity { .. } | Request::WindowCost { .. } => Ok(None),
    })
}

/// Returns `blocks`, the number of blocks of a layout; an error if no layout has as many.
pub fn check_block_count(blocks: i32) -> Result<i32> {
    if BLOCK_COUNTS.contains(&blocks) {
        return Ok(blocks);
    }
    Err(invalid_parameter(format!("number of blocks {blocks} is out of range")).with_detail(format!(
        "A layout has {} to {} blocks.",
        BLOCK_COUNTS.start(),
        BLOCK_COUNTS.end()
    )))
}

/// A block of a layout; an error if the layout or the block does not exist.
fn checked_block(block: i32, blocks: i32) -> Result<Block> {
    check_block_count(blocks)?;
    Block::new(block, blocks).ok_or_else(|| {
        invalid_parameter(format!("block number {block} is out of range"))
            .with_detail(format!("A layout of {blocks} blocks has the blocks 0 to {}.", blocks - 1))
    })
}
