//! The costs of layouts are what the definition counts and, for uniform fingerprints, what theory predicts.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::sample::select;
use simhash::random::Random;
use simhash::search::blocks::{BLOCK_COUNTS, Block, probed_blocks};
use simhash::search::cost::{cost, probes, uniform_share};
use simhash::search::layout_costs::{FingerprintSample, LayoutCost, MAX_SAMPLE_FINGERPRINTS, QUERIES, layout_costs};

fn sample(fingerprints: impl IntoIterator<Item = u64>) -> FingerprintSample {
    let mut sample = FingerprintSample::new().expect("memory suffices");
    fingerprints.into_iter().for_each(|fingerprint| sample.add(fingerprint));
    sample
}

/// The costs of searches within a distance by each layout that serves it.
fn costs(fingerprints: impl IntoIterator<Item = u64>, rows: f64, max_distance: i32) -> Vec<LayoutCost> {
    layout_costs(sample(fingerprints), rows, within(max_distance), &|| ()).expect("memory suffices")
}

/// A search within a distance by each layout.
fn within(max_distance: i32) -> impl Iterator<Item = (i32, i32)> {
    BLOCK_COUNTS.map(move |blocks| (blocks, max_distance))
}

fn layout_of(layouts: &[LayoutCost], blocks: i32) -> &LayoutCost {
    layouts.iter().find(|layout| layout.blocks == blocks).expect("the layout serves the distance")
}

fn uniform(count: u64) -> impl Iterator<Item = u64> {
    let mut random = Random(0);
    (0..count).map(move |_| random.next())
}

/// For each fingerprint, the number of other fingerprints that are candidates of a search for it.
fn candidates(fingerprints: &[u64], blocks: i32, max_distance: i32) -> Vec<usize> {
    let probed: Vec<_> = probed_blocks(blocks, max_distance).expect("the layout serves the search").collect();
    let is_candidate = |query: u64, row: u64| probed.iter().any(|probed| probed.finds(query ^ row));
    let found = |&query: &u64| fingerprints.iter().filter(|&&row| is_candidate(query, row)).count();
    fingerprints.iter().map(|query| found(query) - 1).collect()
}

/// Fingerprints that share bits, blocks or everything.
fn fingerprints() -> impl Strategy<Value = Vec<u64>> {
    let masks = vec![0, 0xffff, 0xffff_0000, 0xff00_ff00_0000_0000, 0xffff_ffff_0000_0000, 0x0101_0101, u64::MAX];
    let fingerprint = (any::<u64>(), select(masks)).prop_map(|(bits, mask)| bits & mask);
    prop::collection::vec(fingerprint, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counts_small_tables_exactly(fingerprints in fingerprints(), max_distance in 0i32..=64) {
        let rows = fingerprints.len() as f64;
        let layouts = costs(fingerprints.iter().copied(), rows, max_distance);
        let serving = within(max_distance).map(|(blocks, _)| blocks);
        let serving = serving.filter(|&blocks| probes(blocks, max_distance).is_some());
        prop_assert_eq!(
            layouts.iter().map(|layout| layout.blocks).collect::<Vec<_>>(),
            serving.collect::<Vec<_>>()
        );
        for layout in &layouts {
            let blocks = (0..layout.blocks).map(|number| Block::new(number, layout.blocks).expect("a block"));
            let commonest = blocks.map(|block| {
                let mut counts = HashMap::new();
                fingerprints.iter().for_each(|&fingerprint| *counts.entry(block.value(fingerprint)).or_insert(0) += 1);
                f64::from(counts.into_values().max().expect("there are rows")) / rows
            });
            prop_assert_eq!(&layout.commonest, &commonest.collect::<Vec<_>>());

            let mut candidates = candidates(&fingerprints, layout.blocks, layout.max_distance);
            let mean = |counts: &[usize]| counts.iter().sum::<usize>() as f64 / counts.len() as f64;
            prop_assert!((layout.candidates - mean(&candidates)).abs() < 1e-9, "{layout:?}");
            candidates.sort_unstable_by(|a, b| b.cmp(a));
            let worst = mean(&candidates[..candidates.len().div_ceil(100)]);
            prop_assert!((layout.worst - worst).abs() < 1e-9, "{layout:?}, expected {worst}");
            prop_assert_eq!(Some(layout.probes), probes(layout.blocks, layout.max_distance));
            prop_assert_eq!(layout.cost, cost(layout.probes, layout.candidates));
        }
        for layout in &layouts {
            let cheaper = layouts.iter().filter(|other| other.cost < layout.cost);
            prop_assert!(!layout.is_best || cheaper.count() == 0, "{layout:?}");
        }
        prop_assert!(layouts.iter().any(|layout| layout.is_best));
    }
}

#[test]
fn uniform_costs_match_theory() {
    for (rows, max_distance) in [(1e5, 3), (1e7, 0), (1e7, 3), (1e7, 5), (1e7, 8), (1e9, 3)] {
        for layout in costs(uniform(MAX_SAMPLE_FINGERPRINTS as u64), rows, max_distance) {
            let theory = rows * uniform_share(layout.blocks, layout.max_distance);
            let finds = theory / rows * (MAX_SAMPLE_FINGERPRINTS * QUERIES.start()) as f64;
            // Chance matters where a sample finds little.
            let tolerance = 0.02 + 3.0 / finds.sqrt();
            assert!(layout.candidates < theory * (1.0 + tolerance), "{rows} rows: theory {theory}, {layout:?}");
            assert!(layout.candidates > theory * 0.98, "{rows} rows: theory {theory}, {layout:?}");
            // The worst hundredth of normally distributed numbers is 2.67 standard deviations above the mean.
            let worst = layout.candidates + 2.67 * layout.candidates.sqrt();
            if theory > 100.0 {
                assert!(layout.worst < 1.15 * worst && layout.worst > 0.95 * worst, "{rows} rows: {worst}, {layout:?}");
            }
        }
    }
}

#[test]
fn reads_shared_blocks_completely() {
    // A quarter of ten million rows share the second of four blocks.
    let shared = |(n, fingerprint): (usize, u64)| {
        if n % 4 == 0 { fingerprint & !(0xffff << 32) | 0x1234 << 32 } else { fingerprint }
    };
    let layouts = costs(uniform(MAX_SAMPLE_FINGERPRINTS as u64).enumerate().map(shared), 1e7, 3);
    let four = layout_of(&layouts, 4);
    assert!((four.commonest[1] - 0.25).abs() < 1e-3, "{four:?}");
    assert!(four.commonest[0] < 1e-3, "{four:?}");
    // A quarter of the searches read a quarter of the rows.
    assert!((four.candidates / 1e7 - 1.0 / 16.0).abs() < 5e-3, "{four:?}");
    assert!((four.worst / 1e7 - 0.25).abs() < 5e-3, "{four:?}");
    // With two halves, a search reads those rows of that quarter that have up to one bit flipped in the rest of the
    // half.
    let two = layout_of(&layouts, 2);
    let expected = 0.25 * 2.5e6 * 17.0 / 65536.0;
    assert!((two.candidates / expected - 1.0).abs() < 0.2, "{two:?}, expected {expected}");
    assert!(layout_of(&layouts, 2).is_best || layout_of(&layouts, 3).is_best);
}

#[test]
fn empty_table_has_no_candidates() {
    for (fingerprints, rows) in [(vec![], 0.0), (vec![7], 1.0)] {
        for layout in costs(fingerprints, rows, 3) {
            assert_eq!((layout.candidates, layout.worst), (0.0, 0.0), "{layout:?}");
            assert_eq!(layout.commonest, vec![rows; layout.blocks as usize]);
            assert_eq!(layout.is_best, layout.blocks == 4);
        }
    }
    // A sample of one fingerprint shows no skew, so theory decides.
    for layout in costs([7], 1e6, 3) {
        assert_eq!(layout.candidates, 1e6 * uniform_share(layout.blocks, layout.max_distance));
    }
}

#[test]
fn samples_are_uniform() {
    // The fingerprints are the numbers from 0, five times as many as a sample has: 20,000 of each fifth, within 5
    // standard deviations.
    let mut all = sample(0..5 * MAX_SAMPLE_FINGERPRINTS as u64);
    assert_eq!(all.added(), 5 * MAX_SAMPLE_FINGERPRINTS as u64);
    let again = sample(0..5 * MAX_SAMPLE_FINGERPRINTS as u64);
    assert_eq!(all.fingerprints(), again.fingerprints());
    assert_eq!(all.fingerprints().len(), MAX_SAMPLE_FINGERPRINTS);
    let mut fifths = [0; 5];
    all.fingerprints().iter().for_each(|&number| fifths[number as usize / MAX_SAMPLE_FINGERPRINTS] += 1);
    assert!(fifths.iter().all(|count: &i32| (count - 20_000).abs() < 640), "{fifths:?}");
    let mut distinct = all.fingerprints().to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), MAX_SAMPLE_FINGERPRINTS);
    all.add(0);
    assert_eq!(all.fingerprints().len(), MAX_SAMPLE_FINGERPRINTS);
}
