//! Pairs and clusters are what the definition says, each pair once, for fingerprints of every shape.

mod shared;

use proptest::prelude::*;
use proptest::sample::select;
use shared::connected::connected;
use shared::ticks::Ticks;
use simhash::error::{Error, MAX_ROWS};
use simhash::pairs::{Pair, Pairs, RowFingerprints, clusters};
use simhash::random::Random;

fn rows(fingerprints: &[Option<u64>]) -> RowFingerprints {
    let mut rows = RowFingerprints::with_capacity(fingerprints.len()).expect("memory suffices");
    fingerprints.iter().for_each(|&fingerprint| rows.push(fingerprint).expect("memory suffices"));
    rows
}

/// All pairs that [`Pairs`] finds, in its order.
fn find_pairs(fingerprints: &[Option<u64>], max_distance: i32, tick: &dyn Fn()) -> Vec<Pair> {
    let mut pairs = Pairs::new(rows(fingerprints), max_distance, tick).expect("memory suffices");
    std::iter::from_fn(|| pairs.next(tick).expect("memory suffices")).collect()
}

/// All near pairs by definition, in ascending order.
fn near_pairs(fingerprints: &[Option<u64>], max_distance: i32) -> Vec<Pair> {
    let present: Vec<(u32, u64)> =
        (0..).zip(fingerprints).filter_map(|(position, &fingerprint)| Some((position, fingerprint?))).collect();
    let mut pairs = Vec::new();
    for (i, &(a, first)) in present.iter().enumerate() {
        let others =
            present[i + 1..].iter().filter(|(_, second)| (first ^ second).count_ones().cast_signed() <= max_distance);
        pairs.extend(others.map(|&(b, second)| Pair { a, b, distance: (first ^ second).count_ones() }));
    }
    pairs
}

/// Checks that pairs and clusters are what the definition says.
fn check(fingerprints: &[Option<u64>], max_distance: i32, context: &str) {
    let in_order = find_pairs(fingerprints, max_distance, &|| ());
    let mut sorted = in_order.clone();
    sorted.sort_unstable();
    let expected = near_pairs(fingerprints, max_distance);
    assert!(sorted == expected, "{context}, {max_distance}: {} pairs of {}", sorted.len(), expected.len());
    assert!(find_pairs(fingerprints, max_distance, &|| ()) == in_order, "{context}: another order");
    let clusters = clusters(rows(fingerprints), max_distance, &|| ()).expect("memory suffices");
    let alone = (0..fingerprints.len() as u64).map(|row| (row, row));
    let connected = connected(alone.chain(expected.iter().map(|pair| (pair.a.into(), pair.b.into()))));
    assert!(connected.iter().map(|(_, first)| *first as u32).eq(clusters), "{context}, {max_distance}: other clusters");
}

const SHAPES: [&str; 14] = [
    "uniform",
    "near-duplicates",
    "duplicates",
    "all equal",
    "a shared block",
    "half share a block",
    "two blocks of two values",
    "a subcube",
    "scattered bits of a subcube",
    "balls of radius 2",
    "a wide ball",
    "equal but for three blocks",
    "replicated bits",
    "ascending numbers",
];

fn shaped(shape: &str, count: usize, random: &mut Random) -> Vec<u64> {
    let centres: Vec<u64> = (0..count / 40 + 1).map(|_| random.next()).collect();
    let mut fingerprint = |n: usize| {
        let centre = centres[random.below(centres.len() as u64) as usize];
        match shape {
            "uniform" => random.next(),
            "near-duplicates" if n.is_multiple_of(5) => random.next(),
            "near-duplicates" => {
                let bits = random.below(7);
                random.near(centre, bits)
            }
            "duplicates" => centre,
            "all equal" => 42,
            "a shared block" => random.next() & !(0xffff << 32) | 0x1234 << 32,
            "half share a block" if n.is_multiple_of(2) => random.next() >> 16,
            "half share a block" => random.next(),
            "two blocks of two values" => {
                let ends = [0, 0xffff << 48, 0xffff, 0xffff_0000_0000_ffff];
                random.next() & 0x0000_ffff_ffff_0000 | ends[random.below(4) as usize]
            }
            "a subcube" => random.next() & 0xf_ffff,
            "scattered bits of a subcube" => random.next() & 0x1111_1111_0111_1111,
            "balls of radius 2" => {
                let bits = random.below(3);
                random.near(centres[n % 7 % centres.len()], bits)
            }
            "a wide ball" => random.near(centres[0], 8),
            "equal but for three blocks" => random.next() & 0xff00_ff00_0000_00ff | 0x0012_0034_5678_9a00,
            "replicated bits" => (random.next() & 0x1249_2492_4924_9249) * 7,
            "ascending numbers" => n as u64,
            _ => unreachable!("{shape}"),
        }
    };
    (0..count).map(&mut fingerprint).collect()
}

fn present(fingerprints: Vec<u64>) -> Vec<Option<u64>> {
    fingerprints.into_iter().map(Some).collect()
}

/// Fingerprints that share bits, blocks or everything. Some rows have none.
fn fingerprints() -> impl Strategy<Value = Vec<Option<u64>>> {
    let masks = vec![0, 0xffff, 0xffff_0000, 0xff00_ff00_0000_0000, 0xffff_ffff_0000_0000, 0x0101_0101, u64::MAX];
    let fingerprint = (any::<u64>(), select(masks)).prop_map(|(bits, mask)| bits & mask);
    prop::collection::vec(prop::option::weighted(0.9, fingerprint), 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn few_rows_match_oracle(fingerprints in fingerprints(), max_distance in 0..=70) {
        check(&fingerprints, max_distance, "few rows");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shapes_match_oracle(
        shape in select(SHAPES.to_vec()),
        count in 100usize..2500,
        max_distance in prop_oneof![4 => 0..=9, 1 => 10..=64],
        seed in any::<u64>(),
    ) {
        let count = if max_distance > 9 { count.min(400) } else { count };
        let fingerprints = present(shaped(shape, count, &mut Random(seed)));
        check(&fingerprints, max_distance, shape);
    }
}

#[test]
fn nested_slices_lose_nothing() {
    let mut random = Random(9);
    let mut fingerprints = shaped("half share a block", 36_000, &mut random);
    for n in 0..9_000 {
        let bits = random.below(6);
        fingerprints.push(random.near(fingerprints[4 * n], bits));
    }
    let fingerprints = present(fingerprints);
    // At this distance, every fingerprint is compared with every other.
    let all = find_pairs(&fingerprints, 17, &|| ());
    for max_distance in 1..=5 {
        let mut pairs = find_pairs(&fingerprints, max_distance, &|| ());
        let mut expected = all.clone();
        expected.retain(|pair| pair.distance.cast_signed() <= max_distance);
        pairs.sort_unstable();
        expected.sort_unstable();
        assert!(expected.len() > 1_000 && pairs == expected, "{max_distance}: {} pairs", pairs.len());
    }
}

#[test]
fn any_tick_may_panic() {
    let fingerprints = present(shaped("half share a block", 40_000, &mut Random(5)));
    shared::ticks::any_tick_may_panic(30, |tick| drop(find_pairs(&fingerprints, 3, tick)));
    shared::ticks::any_tick_may_panic(30, |tick| drop(clusters(rows(&fingerprints), 3, tick)));
}

#[test]
fn long_work_ticks() {
    let counted = Ticks::default();
    let tick = || counted.tick();
    let ticks = |fingerprints: Vec<u64>, max_distance: i32, most: usize| {
        let fingerprints = present(fingerprints);
        let mut pairs = Pairs::new(rows(&fingerprints), max_distance, &tick).expect("memory suffices");
        let sorting = counted.take();
        let found = std::iter::from_fn(|| pairs.next(&tick).expect("memory suffices")).take(most).count();
        assert!(found == most || most == usize::MAX);
        (sorting, counted.take())
    };
    // At least one tick in a million comparisons or pairs, and in a hundred thousand copied fingerprints.
    let (sorting, searching) = ticks(shaped("uniform", 1_000_000, &mut Random(1)), 3, usize::MAX);
    assert!(sorting >= 3 * 10, "{sorting}");
    assert!(searching >= 8 * 10, "{searching}");
    let (_, comparing) = ticks(shaped("uniform", 20_000, &mut Random(1)), 17, usize::MAX);
    assert!(comparing >= 180, "{comparing}");
    // Within a group, and between the rows of two near groups.
    let (_, listing) = ticks(vec![7; 1_000_000], 3, 5_000_000);
    assert!(listing >= 5, "{listing}");
    let (_, listing) = ticks([vec![7; 3000], vec![8; 3000]].concat(), 1, usize::MAX);
    assert!(listing >= 18, "{listing}");
    // A million groups of one row come before the group that has pairs.
    let (_, passing) = ticks((0..1_000_000).chain([999_999]).collect(), 0, usize::MAX);
    assert!(passing >= 10, "{passing}");
}

#[test]
fn equal_rows_share_fingerprint() {
    let equal = vec![Some(7); 1_000_000];
    let clusters = clusters(rows(&equal), 3, &|| ()).expect("memory suffices");
    assert!(clusters.iter().all(|&first| first == 0));
    let mut pairs = Pairs::new(rows(&equal), 3, &|| ()).expect("memory suffices");
    assert_eq!(pairs.next(&|| ()), Ok(Some(Pair { a: 0, b: 1, distance: 0 })));
    assert_eq!(
        (1..3_000_000).filter_map(|_| pairs.next(&|| ()).expect("memory suffices")).last().map(|pair| pair.distance),
        Some(0)
    );
}

#[test]
fn counts_rows_without_fingerprint() {
    let fingerprints = [None, Some(1), None, Some(7), Some(3), None, Some(1), None];
    let mut pairs = find_pairs(&fingerprints, 1, &|| ());
    pairs.sort_unstable();
    let expected = [(1, 4, 1), (1, 6, 0), (3, 4, 1), (4, 6, 1)].map(|(a, b, distance)| Pair { a, b, distance });
    assert_eq!(pairs, expected);
    let clusters = clusters(rows(&fingerprints), 1, &|| ()).expect("memory suffices");
    assert_eq!(clusters, [0, 1, 2, 1, 1, 5, 1, 7]);
}

#[test]
fn end_stays_end() {
    for fingerprints in [vec![], vec![None; 3], vec![Some(0)], vec![Some(0), Some(u64::MAX)], vec![Some(5), Some(5)]] {
        for max_distance in [0, 1, 3, 63] {
            let mut pairs = Pairs::new(rows(&fingerprints), max_distance, &|| ()).expect("memory suffices");
            let equal = fingerprints.len() == 2 && fingerprints[0] == fingerprints[1];
            let expected = equal.then_some(Pair { a: 0, b: 1, distance: 0 });
            assert_eq!(pairs.next(&|| ()), Ok(expected));
            assert_eq!(pairs.next(&|| ()), Ok(None));
            assert_eq!(pairs.next(&|| ()), Ok(None));
        }
    }
    let opposite = [Some(0), Some(u64::MAX)];
    for max_distance in [64, 65, i32::MAX] {
        assert_eq!(find_pairs(&opposite, max_distance, &|| ()), [Pair { a: 0, b: 1, distance: 64 }]);
    }
}

#[test]
fn negative_distance_finds_none() {
    let equal = [Some(7), None, Some(7)];
    assert_eq!(find_pairs(&equal, -1, &|| ()), []);
    assert_eq!(clusters(rows(&equal), -1, &|| ()), Ok(vec![0, 1, 2]));
}

#[test]
fn refuses_too_many_rows() {
    assert_eq!(RowFingerprints::with_capacity(MAX_ROWS + 1).err(), Some(Error::TooManyRows));
}
