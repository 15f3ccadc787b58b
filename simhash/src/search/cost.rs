//! The cost of a search, by the number of blocks of the layout.
//!
//! A search looks up probes in indexes, and reads the entries that it finds, its candidates, whose fingerprints it
//! compares. Few wide blocks need many probes at larger distances, and find few candidates. Many narrow blocks need few
//! probes, but the number of candidates grows with the table.

use super::blocks::MAX_PROBES;
use super::nearness::Nearness;
use crate::distance::share_within;

/// The cost of one probe in microseconds: a descent of a warm btree within `= ANY (...)`.
///
/// Measured on 10 million uniform fingerprints with PostgreSQL 15, in memory, in the prototype of the scan.
pub const PROBE_MICROSECONDS: f64 = 2.2;
/// The cost of one index entry and its fingerprint, in microseconds. Measured like the probe: 0.035 to 0.07.
pub const ENTRY_MICROSECONDS: f64 = 0.05;
/// Number of probes of a search in all blocks. None if the layout cannot serve the search: there is no layout of so
/// many blocks, the radii belong to another layout, or one block needs more than [`MAX_PROBES`].
pub fn probes(blocks: i32, near: Nearness) -> Option<u64> {
    near.probed_blocks(blocks)?.try_fold(0, |sum, probed| {
        let count = probed.probe_count();
        (count <= MAX_PROBES).then_some(sum + count)
    })
}

/// The share of all possible fingerprints that are candidates of a search: at least one block is within its radius.
pub fn uniform_share(blocks: i32, near: Nearness) -> f64 {
    // The blocks of a uniform fingerprint are independent. Sum logarithms, because shares of 1e-9 would vanish in a
    // difference of products.
    let missed_by_all: f64 = near
        .probed_blocks(blocks)
        .into_iter()
        .flatten()
        .map(|probed| -(probed.probe_count() as f64 / (probed.block.width() as f64).exp2()))
        .map(f64::ln_1p)
        .sum();
    -missed_by_all.exp_m1()
}

/// The share of all possible fingerprints that are near, at most: the share within the distance or, if radii leave
/// fewer candidates, the share of these.
pub fn share_near(near: Nearness) -> f64 {
    let within = share_within(near.max_distance());
    near.blocks().map_or(within, |blocks| within.min(uniform_share(blocks, near)))
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
            let near = Nearness::within(max_distance);
            assert_eq!(probes(blocks, near), Some(expected_probes), "{blocks} blocks, {max_distance}");
            let candidates = 1e7 * uniform_share(blocks, near);
            assert!((candidates / expected_candidates - 1.0).abs() < 2e-3, "{blocks} blocks: {candidates}");
        }
        // Radii, whatever the distance.
        let near = Nearness::by_radii(10, &[1, 0, -1, -1]).unwrap();
        assert_eq!(probes(4, near), Some(18));
        assert!((uniform_share(4, near) * 65536.0 - 18.0).abs() < 1e-2);
        assert_eq!((probes(3, near), uniform_share(3, near)), (None, 0.0));
    }

    #[test]
    fn share_near_is_limited_by_both() {
        let by_radii = |max_distance, radii: &[i32]| share_near(Nearness::by_radii(max_distance, radii).unwrap());
        assert!([-1, 0, 3, 30, 64].iter().all(|&distance| by_radii(distance, &[]) == share_within(distance)));
        assert!((by_radii(64, &[0; 4]) * 65536.0 - 4.0).abs() < 1e-3);
        assert_eq!(by_radii(3, &[0; 4]), share_within(3));
        assert_eq!([by_radii(64, &[64, -1]), by_radii(64, &[-1; 4])], [1.0, 0.0]);
    }

    #[test]
    fn layouts_respect_max_probes() {
        let cost = |blocks, distance| {
            (probes(blocks, Nearness::within(distance)), uniform_share(blocks, Nearness::within(distance)))
        };
        assert_eq!(cost(2, -1), (Some(0), 0.0));
        assert_eq!(cost(8, 64), (Some(256 + 7 * 255), 1.0));
        assert_eq!([cost(2, 12).0, cost(3, 64).0], [None, None]);
        for blocks in [i32::MIN, 0, 1, 9, i32::MAX] {
            assert_eq!(cost(blocks, 3), (None, 0.0));
        }
    }
}
