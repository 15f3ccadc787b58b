//! `block` and `probes`: what an index is searched for.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use simhash::search::blocks::{BLOCK_COUNTS, Block, MAX_PROBES, radius};

use crate::arguments::Fingerprint;
use crate::error::algorithm_error;

/// Return a block of a fingerprint that is cut into 2 to 8 blocks, as SQL's simhash_block does.
///
/// Block 0 is the most significant. The value is a PostgreSQL integer: 32-bit blocks are signed.
#[pyfunction]
#[pyo3(signature = (fingerprint, block, blocks = 4))]
pub fn block(fingerprint: Fingerprint, block: i64, blocks: i64) -> PyResult<i32> {
    Ok(cut(block, blocks)?.0.value(fingerprint.0))
}

/// Return the values of a block that a search within max_distance must look up, as SQL's simhash_probes does.
///
/// The list is empty if the block need not be looked at, or if max_distance is negative. At most 1048576 values.
#[pyfunction]
#[pyo3(signature = (fingerprint, block, blocks, max_distance))]
pub fn probes(fingerprint: Fingerprint, block: i64, blocks: i64, max_distance: i64) -> PyResult<Vec<i32>> {
    let (cut, [number, layout]) = cut(block, blocks)?;
    let radius = radius(number, layout, max_distance.clamp(-1, 64) as i32);
    let count = cut.probe_count(radius);
    if count > MAX_PROBES {
        return Err(PyValueError::new_err(format!(
            "distance {max_distance} needs {count} probes of block {block} of {blocks}. At most {MAX_PROBES} are \
             possible. Use a layout of more blocks."
        )));
    }
    cut.list_probes(fingerprint.0, radius).map_err(algorithm_error)
}

/// A block, with its number and the number of blocks.
fn cut(block: i64, blocks: i64) -> PyResult<(Block, [i32; 2])> {
    let layout = i32::try_from(blocks).ok().filter(|blocks| BLOCK_COUNTS.contains(blocks)).ok_or_else(|| {
        PyValueError::new_err(format!(
            "number of blocks {blocks} is out of range. A layout has {} to {} blocks.",
            BLOCK_COUNTS.start(),
            BLOCK_COUNTS.end()
        ))
    })?;
    let found = i32::try_from(block).ok().and_then(|number| Some((Block::new(number, layout)?, [number, layout])));
    found.ok_or_else(|| {
        PyValueError::new_err(format!(
            "block number {block} is out of range. A layout of {blocks} blocks has the blocks 0 to {}.",
            blocks - 1
        ))
    })
}
