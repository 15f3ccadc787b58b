//! Pairs and clusters as they are defined: every pair is compared, and nothing is sorted or split.

use simhash::pairs::{Pair, Pairs, Progress, Rows, clusters};
use simhash::search::nearness::Nearness;

pub fn rows(fingerprints: &[Option<u64>]) -> Rows {
    let mut rows = Rows::with_capacity(fingerprints.len()).expect("memory suffices");
    fingerprints.iter().for_each(|&fingerprint| rows.push(fingerprint).expect("memory suffices"));
    rows
}

/// All pairs that [`Pairs`] finds, in its order.
pub fn found(fingerprints: &[Option<u64>], near: Nearness, tick: &dyn Fn(Progress)) -> Vec<Pair> {
    let mut pairs = Pairs::new(rows(fingerprints), near, tick).expect("memory suffices");
    std::iter::from_fn(|| pairs.next(tick).expect("memory suffices")).collect()
}

/// All near pairs by definition, in ascending order.
fn near_pairs(fingerprints: &[Option<u64>], near: Nearness) -> Vec<Pair> {
    let present: Vec<(u32, u64)> =
        (0..).zip(fingerprints).filter_map(|(position, &fingerprint)| Some((position, fingerprint?))).collect();
    let mut pairs = Vec::new();
    for (i, &(a, first)) in present.iter().enumerate() {
        for &(b, second) in &present[i + 1..] {
            let difference = first ^ second;
            if near.contains(difference) {
                pairs.push(Pair { a, b, distance: difference.count_ones() });
            }
        }
    }
    pairs
}

/// For each row, the first row that it is connected to: the smallest position spreads along the pairs until nothing
/// changes.
fn connected(rows: usize, pairs: &[Pair]) -> Vec<u32> {
    let mut names: Vec<u32> = (0..rows as u32).collect();
    loop {
        let before = names.clone();
        for pair in pairs {
            let least = names[pair.a as usize].min(names[pair.b as usize]);
            (names[pair.a as usize], names[pair.b as usize]) = (least, least);
        }
        if names == before {
            return names;
        }
    }
}

/// Checks that pairs and clusters are what the definition says.
pub fn check(fingerprints: &[Option<u64>], near: Nearness, context: &str) {
    let in_order = found(fingerprints, near, &|_| ());
    let mut sorted = in_order.clone();
    sorted.sort_unstable();
    let expected = near_pairs(fingerprints, near);
    let rows = fingerprints.len();
    if sorted != expected {
        let missing = expected.iter().filter(|pair| sorted.binary_search(pair).is_err()).count();
        panic!("{context}, {near:?}: {} pairs of {}, {missing} missing", sorted.len(), expected.len());
    }
    assert!(found(fingerprints, near, &|_| ()) == in_order, "{context}: another order");
    let clusters = clusters(self::rows(fingerprints), near, &|_| ()).expect("memory suffices");
    assert!(clusters == connected(rows, &expected), "{context}, {near:?}: other clusters");
}
