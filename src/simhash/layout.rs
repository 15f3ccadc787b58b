//! What a search costs by the number of blocks that fingerprints are cut into.
//!
//! A search looks up probes in indexes, then visits the rows found, its candidates, to compare distances. Few wide blocks
//! need many probes at larger distances and find few candidates; many narrow blocks need few probes, and find candidates
//! that grow in number with the table.

use super::blocks::{Block, MAX_PROBES, radius};

/// Microseconds of one probe: a descent of a warm btree within `= ANY (...)`.
///
/// From 10 million uniform fingerprints at distance 3 (PostgreSQL 15, in memory, one prepared statement): two blocks take
/// 0.17 ms for 66 probes and next to no candidates.
pub const PROBE_MICROSECONDS: f64 = 2.5;
/// Microseconds of one candidate: a visit to a warm heap page of its own, and the distance.
///
/// From the same table: four blocks take 0.9 to 2.6 ms for four probes and 610 candidates, so 1.5 to 4.2 a candidate,
/// of which this is the (geometric) middle. It agrees with what was measured at one million rows, where two blocks (66
/// probes) and four (4 probes, 61 candidates) take the same time.
pub const CANDIDATE_MICROSECONDS: f64 = 2.5;

/// The blocks of a layout that a search at distance at most `max_distance` must look at, each with its radius; none if
/// there is no such layout.
pub fn probed_blocks(blocks: i32, max_distance: i32) -> impl Iterator<Item = (Block, u32)> {
    // The radii descend: behind a block without one there is none with one.
    (0..blocks).map_while(move |number| Some((Block::new(number, blocks)?, radius(number, blocks, max_distance)?)))
}

/// How many probes a search needs, in all blocks; None if the layout cannot serve it, because there is none of so many
/// blocks or because one block needs more than [`MAX_PROBES`].
pub fn probes(blocks: i32, max_distance: i32) -> Option<u64> {
    Block::new(0, blocks)?;
    probed_blocks(blocks, max_distance).try_fold(0, |sum, (block, radius)| {
        let count = block.probe_count(Some(radius));
        (count <= MAX_PROBES).then_some(sum + count)
    })
}

/// The share of all possible fingerprints that a search visits: those with at least one block within its radius.
pub fn uniform_share(blocks: i32, max_distance: i32) -> f64 {
    // The blocks of a uniform fingerprint are independent. Shares of 1e-9 would vanish in a difference of products.
    let missed_by_all: f64 = probed_blocks(blocks, max_distance)
        .map(|(block, radius)| -(block.probe_count(Some(radius)) as f64 / (block.width() as f64).exp2()))
        .map(f64::ln_1p)
        .sum();
    -missed_by_all.exp_m1()
}

/// How many rows a search visits in a table of so many uniform fingerprints.
pub fn uniform_candidates(rows: f64, blocks: i32, max_distance: i32) -> f64 {
    rows * uniform_share(blocks, max_distance)
}

/// What a search costs, in microseconds where everything is in memory. For comparing layouts: a disk, or many candidates
/// to a page, change the figure.
pub fn cost(probes: u64, candidates: f64) -> f64 {
    probes as f64 * PROBE_MICROSECONDS + candidates * CANDIDATE_MICROSECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_and_candidates_are_those_of_the_literature() {
        // (blocks, distance, probes, candidates among 10 million): the first as Manku, Jain and Das Sarma count them.
        for (blocks, max_distance, expected_probes, expected_candidates) in [
            (4, 3, 4, 610.3),
            (2, 3, 66, 0.1537),
            (3, 3, 25, 64.37),
            (3, 5, 67, 264.5),
            (4, 5, 36, 5492.0),
            (2, 5, 1058, 2.463),
            (8, 0, 1, 39062.5),
        ] {
            assert_eq!(probes(blocks, max_distance), Some(expected_probes), "{blocks} blocks, {max_distance}");
            let candidates = uniform_candidates(1e7, blocks, max_distance);
            assert!((candidates / expected_candidates - 1.0).abs() < 2e-3, "{blocks} blocks: {candidates}");
        }
    }

    #[test]
    fn a_layout_serves_what_its_probes_allow() {
        assert_eq!(probes(2, -1), Some(0));
        assert_eq!(uniform_share(2, -1), 0.0);
        assert_eq!(probes(2, 12), None);
        assert_eq!(probes(3, 64), None);
        assert_eq!(probes(8, 64), Some(256 + 7 * 255));
        assert_eq!(uniform_share(8, 64), 1.0);
        for blocks in [i32::MIN, 0, 1, 9, i32::MAX] {
            assert_eq!(probes(blocks, 3), None);
            assert_eq!(uniform_share(blocks, 3), 0.0);
        }
    }
}
