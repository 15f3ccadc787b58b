//! Components of pairs are what a breadth-first search finds, whatever orders the ids.

mod shared;

use proptest::prelude::*;
use proptest::sample::select;
use shared::connected::connected;
use simhash::pairs::{self, CompareIds, RowFingerprints};
use simhash::random::Random;

/// How ids are ordered: by a key that is the whole id, by its upper bits and then by comparison, or by comparison only.
const KEYS: [&str; 3] = ["whole", "upper bits", "none"];

/// The ids by position: all `a`, and then all `b`.
fn by_position(pairs: &[(u64, u64)]) -> Vec<u64> {
    pairs.iter().map(|pair| pair.0).chain(pairs.iter().map(|pair| pair.1)).collect()
}

fn components(ids: &[u64], kind: &str, tick: &dyn Fn()) -> impl Iterator<Item = (u32, u32)> + use<> {
    let mut keys = RowFingerprints::with_capacity(ids.len()).expect("memory suffices");
    for &id in ids {
        let key = match kind {
            "whole" => id,
            "upper bits" => id >> 3,
            _ => 0,
        };
        keys.push(Some(key)).expect("memory suffices");
    }
    let compare = |a: u32, b: u32| ids[a as usize].cmp(&ids[b as usize]);
    let compare: Option<CompareIds> = if kind == "whole" { None } else { Some(&compare) };
    pairs::components(keys, compare, tick).expect("memory suffices")
}

fn check(pairs: &[(u64, u64)], kind: &str) {
    let ids = by_position(pairs);
    let found: Vec<(u32, u32)> = components(&ids, kind, &|| ()).collect();
    let values: Vec<(u64, u64)> = found.iter().map(|&(id, of)| (ids[id as usize], ids[of as usize])).collect();
    let expected = connected(pairs.iter().copied());
    assert!(values == expected, "{kind}, {} pairs: {} ids of {}", pairs.len(), values.len(), expected.len());
    let first = |position: u32| ids.iter().position(|&id| id == ids[position as usize]) == Some(position as usize);
    // Looking for the first position takes long for many pairs.
    assert!(pairs.len() > 1000 || found.iter().all(|&(id, of)| first(id) && first(of)), "{kind}: not the first");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn few_pairs_match_oracle(
        pairs in prop::collection::vec((any::<u64>(), any::<u64>()), 0..150),
        ids in select(vec![1u64, 2, 10, 60, 200, u64::MAX]),
        kind in select(KEYS.to_vec()),
    ) {
        let pairs: Vec<_> = pairs.into_iter().map(|(a, b)| (a % ids, b % ids)).collect();
        check(&pairs, kind);
    }
}

/// Pairs of many ids: scattered, long chains, stars, and a binary tree of joins from its leaves on.
fn shaped(shape: &str, count: u64, random: &mut Random) -> Vec<(u64, u64)> {
    let mut pairs: Vec<(u64, u64)> = (0..count)
        .map(|n| match shape {
            "scattered" => (random.below(count * 3), random.below(count * 3)),
            "a giant component" => (random.below(count), random.below(count)),
            "a chain" => (n, n + 1),
            "a chain from its end" => (count - n, count - n - 1),
            "stars" => (n / 100 * 1000, n * 10 + 1),
            "a tree" => (count * 2 - 2 * n, count - n),
            "alone" => (n, n),
            _ => unreachable!("{shape}"),
        })
        .collect();
    if shape == "stars" {
        for n in (1..pairs.len()).rev() {
            pairs.swap(n, random.below(n as u64 + 1) as usize);
        }
    }
    pairs
}

const SHAPES: [&str; 7] =
    ["scattered", "a giant component", "a chain", "a chain from its end", "stars", "a tree", "alone"];

#[test]
fn many_pairs_match_oracle() {
    for shape in SHAPES {
        let pairs = shaped(shape, 50_000, &mut Random(3));
        for kind in KEYS {
            check(&pairs, kind);
        }
    }
}

#[test]
fn joins_components_of_parts() {
    let mut random = Random(5);
    // Components of up to 50 ids; each part has some cycles.
    let mut pair = || (random.below(5000), random.below(50));
    let pairs: Vec<_> =
        (0..20_000).map(|_| pair()).map(|(a, b)| (a, a / 50 * 50 + b)).filter(|(a, b)| a != b).collect();
    let of_parts: Vec<(u64, u64)> =
        pairs.chunks(4000).flat_map(|part| connected(part.iter().copied())).filter(|(id, of)| id != of).collect();
    assert!(of_parts.len() < pairs.len());
    let ids = by_position(&of_parts);
    let found = components(&ids, "whole", &|| ());
    assert!(found.map(|(id, of)| (ids[id as usize], ids[of as usize])).eq(connected(pairs)));
}

#[test]
fn null_ids_connect_nothing() {
    for ids in [[Some(7), None, Some(5), Some(7), Some(7), None], [None; 6]] {
        let mut keys = RowFingerprints::with_capacity(6).expect("memory suffices");
        ids.iter().for_each(|&id| keys.push(id).expect("memory suffices"));
        let found = pairs::components(keys, None, &|| ()).expect("memory suffices");
        let expected = [(2, 2), (0, 0)].into_iter().filter(|_| ids[0].is_some());
        assert!(found.eq(expected));
    }
    let odd = components(&[4, 3, 4], "whole", &|| ());
    assert!(odd.eq([(1, 1), (0, 1)]));
}

#[test]
fn any_tick_may_panic() {
    let ids = by_position(&shaped("scattered", 50_000, &mut Random(6)));
    // Sorting, comparing and joining must all tick to reach these numbers.
    for (kind, min_ticks) in KEYS.into_iter().zip([140, 18_000, 25_000]) {
        shared::ticks::any_tick_may_panic(min_ticks, |tick| drop(components(&ids, kind, tick)));
    }
}
