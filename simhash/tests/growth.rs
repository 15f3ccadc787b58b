//! A search that goes on as `Growth` says finds what comparing with every fingerprint finds, each once.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::sample::select;
use simhash::distance::hamming;
use simhash::search::blocks::{BLOCK_COUNTS, Block, radius};
use simhash::search::cost::ENTRY_MICROSECONDS;
use simhash::search::growth::Growth;

/// The cost of a full scan, where none is possible.
const NO_FULL_SCAN: f64 = f64::INFINITY;

fn layout(blocks: i32) -> Vec<Block> {
    (0..blocks).map(|number| Block::new(number, blocks).expect("a block of the layout")).collect()
}

/// Makes the steps of a search for the fingerprints that are near the first one; `given_up` says which steps to give
/// up. Before each step, checks that everything within the complete distance is found. Nothing may be found twice.
/// Returns whether the search ends at a step of too many values to try.
fn search(
    growth: &mut Growth,
    layouts: &[Vec<Block>],
    fingerprints: &[u64],
    distance: i32,
    given_up: Vec<bool>,
) -> Result<bool, TestCaseError> {
    let query = fingerprints[0];
    let mut given_up = given_up.into_iter();
    let mut found = HashSet::new();
    loop {
        let complete = growth.complete_within();
        let is_near = |fingerprint: u64| hamming(fingerprint, query).cast_signed() <= complete;
        let missed = (0..fingerprints.len()).find(|index| is_near(fingerprints[*index]) && !found.contains(index));
        prop_assert_eq!(missed, None, "complete within {}", complete);
        let Some(step) = growth.next(distance, NO_FULL_SCAN) else { return Ok(false) };
        let block = layouts[step.layout][step.block];
        // With few indexed blocks, the radii become large.
        if block.ring_count(step.radius) > 10_000 {
            return Ok(true);
        }
        if given_up.next() == Some(true) {
            growth.give_up(step);
            continue;
        }
        let values: Vec<i32> = growth.values(step, query).collect();
        for (index, &fingerprint) in fingerprints.iter().enumerate() {
            if values.contains(&block.value(fingerprint)) && growth.is_new(fingerprint ^ query) {
                prop_assert!(found.insert(index), "found {} twice", index);
            }
        }
        growth.complete(step);
    }
}

/// Fingerprints near each other, so that searches at small distances find several of them.
fn fingerprints() -> impl Strategy<Value = Vec<u64>> {
    let masks = vec![0xff, 0xff00_0000_0000_0011, 0x8000_4000_2000_1007, 0x0101_0101_0101_0101, u64::MAX];
    let fingerprint = (any::<u64>(), select(masks)).prop_map(|(bits, mask)| bits & mask);
    prop::collection::vec(fingerprint, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    // Layouts of few blocks have too many values at large radii to be tried here.
    #[test]
    fn finds_near_fingerprints_once(
        fingerprints in fingerprints(),
        layouts in prop::collection::vec((4i32..=8, any::<u8>()), 1..3),
        rows in 1.0f64..1e9,
        distance in -1i32..=9,
        given_up in prop::collection::vec(any::<bool>(), 8),
    ) {
        // Some blocks have no index.
        let layouts: Vec<Vec<_>> = layouts.iter().map(|&(blocks, indexed)| {
            let blocks = layout(blocks).into_iter().enumerate();
            blocks.filter(|(index, _)| *index == 0 || indexed >> index & 1 == 1).map(|(_, block)| block).collect()
        }).collect();
        let mut growth = Growth::new(rows, layouts.clone());
        search(&mut growth, &layouts, &fingerprints, distance, given_up)?;
    }

    #[test]
    fn limits_double(rows in 1.0f64..1e9, blocks in 2i32..=8, distance in 0i32..=8) {
        let mut growth = Growth::new(rows, [layout(blocks)]);
        let first = growth.next(distance, NO_FULL_SCAN).expect("a step");
        growth.give_up(first);
        let mut given_up = 1;
        // A block that is given up again and again comes back with a higher limit, or not at all.
        while let Some(again) = growth.next(distance, NO_FULL_SCAN).filter(|_| given_up < 20) {
            if again.block == first.block {
                prop_assert!(again.limit >= 2.0 * first.limit);
            }
            growth.give_up(again);
            given_up += 1;
        }
        prop_assert_eq!(given_up, 20);
    }
}

#[test]
fn radii_match_oracle() {
    for blocks in BLOCK_COUNTS {
        for distance in 0..=9 {
            let mut growth = Growth::new(1e7, [layout(blocks)]);
            while let Some(step) = growth.next(distance, NO_FULL_SCAN) {
                growth.complete(step);
            }
            let defined: Vec<_> = (0..blocks).map(|block| radius(block, blocks, distance)).collect();
            let mut sorted = growth.radii().next().expect("one layout");
            sorted.sort_by_key(|radius| std::cmp::Reverse(radius.map_or(-1, i64::from)));
            assert_eq!(sorted, defined, "{blocks} blocks, distance {distance}");
            assert_eq!(growth.complete_within(), distance);
        }
    }
}

#[test]
fn searches_cheapest_layout() {
    // Blocks of the layout that is searched, by the distance, among 10 million rows with both layouts.
    for (layouts, distance, expected) in
        [([4, 2], 3, 4), ([4, 2], 1, 2), ([4, 3], 3, 4), ([4, 3], 5, 3), ([4, 3], 8, 3)]
    {
        let growth = Growth::new(1e7, layouts.map(layout));
        let step = growth.next(distance, NO_FULL_SCAN).expect("a step");
        assert_eq!(layouts[step.layout], expected, "distance {distance}");
    }
}

#[test]
fn large_distances_scan_fully() {
    let growth = Growth::new(1e6, [layout(4)]);
    let full_scan = 1e6 * ENTRY_MICROSECONDS;
    assert!(growth.next(8, full_scan).is_some());
    assert!(growth.next(40, full_scan).is_none());
    assert!(growth.next(64, full_scan).is_none());
}

#[test]
fn gives_up_common_values() {
    let mut growth = Growth::new(1e7, [layout(4)]);
    let first = growth.next(3, NO_FULL_SCAN).expect("a step");
    // One more radius in another block has 16 probes, and finds 16 * 153 entries.
    assert!((100.0..300.0).contains(&first.limit), "{first:?}");
    growth.give_up(first);
    let mut radii = Vec::new();
    while let Some(step) = growth.next(3, NO_FULL_SCAN) {
        radii.push((step.block, step.radius));
        growth.complete(step);
    }
    radii.sort_unstable();
    assert_eq!(radii, [(1, 0), (1, 1), (2, 0), (3, 0)]);
}

#[test]
fn totals_sum_the_steps() {
    let growth = Growth::new(1e7, [layout(4)]);
    for (distance, probes, entries) in [(3, 4.0, 610.4), (4, 20.0, 3051.8), (5, 36.0, 5493.2), (8, 188.0, 28686.5)] {
        let total = growth.remaining_work(distance).expect("there are blocks");
        assert_eq!(total.probes, probes);
        assert!((total.entries / entries - 1.0).abs() < 1e-3, "{total:?}");
        assert!((total.microseconds - probes * 2.2 - total.entries * 0.05).abs() < 1e-6, "{total:?}");
    }
    assert_eq!(growth.remaining_work(-1).expect("there are blocks").probes, 0.0);
    // Of all layouts. At larger distances, a search that looks up all values of a block is cheaper than its total, and
    // dearer than a full scan.
    for distance in 0..=31 {
        let mut growth = Growth::new(1e7, BLOCK_COUNTS.map(layout));
        let total = growth.remaining_work(distance).expect("there are blocks");
        while let Some(step) = growth.next(distance, NO_FULL_SCAN) {
            growth.complete(step);
        }
        assert!((growth.spent() / total.microseconds - 1.0).abs() < 1e-9, "{distance}: {growth:?}, {total:?}");
    }
    assert!(Growth::new(1e7, [Vec::new()]).remaining_work(3).is_none());
}
