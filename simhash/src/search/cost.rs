//! The cost of a search, by the number of blocks of the layout.
//!
//! A search looks up probes in indexes, and reads the entries that it finds, its candidates, whose fingerprints it
//! compares. Few wide blocks need many probes at larger distances, and find few candidates. Many narrow blocks need few
//! probes, but the number of candidates grows with the table.

use super::blocks::{MAX_PROBES, probed_blocks};

/// The cost of one probe in microseconds: a descent of a warm btree within `= ANY (...)`.
///
/// Measured on 10 million uniform fingerprints with PostgreSQL 15, in memory, in the prototype of the scan.
pub const PROBE_MICROSECONDS: f64 = 2.2;
/// The cost of one index entry and its fingerprint, in microseconds. Measured like the probe: 0.035 to 0.07.
pub const ENTRY_MICROSECONDS: f64 = 0.05;

/// Number of probes of a search in all blocks. None if the layout cannot serve the search: it does not exist, or one
/// block needs more than [`MAX_PROBES`].
pub fn probes(blocks: i32, max_distance: i32) -> Option<u64> {
    probed_blocks(blocks, max_distance)?.try_fold(0, |sum, probed| {
        let count = probed.probe_count();
        (count <= MAX_PROBES).then_some(sum + count)
    })
}

/// The share of all possible fingerprints that are candidates of a search: within its radius in at least one block.
pub fn uniform_share(blocks: i32, max_distance: i32) -> f64 {
    // The blocks of a uniform fingerprint are independent. Sum logarithms, because shares of 1e-9 would vanish in a
    // difference of products.
    let missed_by_all: f64 = probed_blocks(blocks, max_distance)
        .into_iter()
        .flatten()
        .map(|probed| -(probed.probe_count() as f64 / (probed.block.width() as f64).exp2()))
        .map(f64::ln_1p)
        .sum();
    -missed_by_all.exp_m1()
}

/// The cost of a search, in microseconds if everything is in memory. Use it only to compare layouts: the time of a
/// search with a disk differs.
pub fn cost(probes: u64, candidates: f64) -> f64 {
    probes as f64 * PROBE_MICROSECONDS + candidates * ENTRY_MICROSECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_match_literature() {
        // Blocks, distance, probes, and candidates among 10 million rows. The first line has the figures of Manku, Jain
        // and Das Sarma.
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
            let candidates = 1e7 * uniform_share(blocks, max_distance);
            assert!((candidates / expected_candidates - 1.0).abs() < 2e-3, "{blocks} blocks: {candidates}");
        }
    }

    #[test]
    fn layouts_respect_max_probes() {
        let cost = |blocks, distance| (probes(blocks, distance), uniform_share(blocks, distance));
        assert_eq!(cost(2, -1), (Some(0), 0.0));
        assert_eq!(cost(8, 64), (Some(256 + 7 * 255), 1.0));
        assert_eq!([cost(2, 12).0, cost(3, 64).0], [None, None]);
        for blocks in [i32::MIN, 0, 1, 9, i32::MAX] {
            assert_eq!(cost(blocks, 3), (None, 0.0));
        }
    }
}
