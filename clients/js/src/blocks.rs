//! `block` and `probes`: what an index is searched for.

use simhash::search::blocks::{BLOCK_COUNTS, Block, MAX_PROBES, radius};

use crate::output::{Failed, answer};

/// A block of a fingerprint. Output: its value, an i32.
#[unsafe(no_mangle)]
pub extern "C" fn block(fingerprint: i64, number: i32, blocks: i32) -> u32 {
    answer(|output| {
        output.push(&cut(number, blocks)?.value(fingerprint.cast_unsigned()).to_le_bytes())?;
        Ok(true)
    })
}

/// The values of a block that a search must look up. Output: an i32 for each.
#[unsafe(no_mangle)]
pub extern "C" fn probes(fingerprint: i64, number: i32, blocks: i32, max_distance: i32) -> u32 {
    answer(|output| {
        let (block, radius) = (cut(number, blocks)?, radius(number, blocks, max_distance));
        let count = block.probe_count(radius);
        if count > MAX_PROBES {
            return Err(Failed::Range(format!(
                "distance {max_distance} needs {count} probes of block {number} of {blocks}. At most {MAX_PROBES} are \
                 possible. Use a layout of more blocks."
            )));
        }
        for probe in block.probes(fingerprint.cast_unsigned(), radius) {
            output.push(&probe.to_le_bytes())?;
        }
        Ok(true)
    })
}

fn cut(number: i32, blocks: i32) -> Result<Block, Failed> {
    if !BLOCK_COUNTS.contains(&blocks) {
        return Err(Failed::Range(format!(
            "number of blocks {blocks} is out of range. A layout has {} to {} blocks.",
            BLOCK_COUNTS.start(),
            BLOCK_COUNTS.end()
        )));
    }
    Block::new(number, blocks).ok_or_else(|| {
        Failed::Range(format!(
            "block number {number} is out of range. A layout of {blocks} blocks has the blocks 0 to {}.",
            blocks - 1
        ))
    })
}
