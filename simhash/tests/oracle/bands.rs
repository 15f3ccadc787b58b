//! The bands of a text, from all values of all features.

use simhash::fingerprint::options::{Options, Weight};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::{counted, factor_of_either, same, weight_of};

/// A feature or a pair, or one of its occurrences if the option `weight` counts them: its hash and what it weighs.
struct Part {
    hash: u64,
    weight: u64,
}

/// The first bands of a text; None if it has no feature that weighs anything.
pub fn bands(text: &str, options: &Options, count: usize) -> Option<Vec<i32>> {
    let parts = parts(text, options);
    let one = weight_of(1, options) * if options.weights.is_some() { 1_000_000_000 } else { 1 };
    let key = key_of_same(text, options);
    let band = |band| {
        let minima = (4 * band..4 * band + 4).flat_map(|j| minimum(j / 24, j % 24, &parts, one).to_le_bytes());
        xxh3_64(&minima.collect::<Vec<u8>>()) as u32 as i32 ^ key
    };
    (!parts.is_empty()).then(|| (0..count).map(band).collect())
}

/// What is XORed with each band by the option `same`.
fn key_of_same(text: &str, options: &Options) -> i32 {
    const RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
    let (numbers, words) = same(text, options);
    let add = |hash: u64, number: &String| (hash.rotate_left(5) ^ xxh3_64(number.as_bytes())).wrapping_mul(RATIO);
    let words = words.iter().rev().fold(0, |bits, has| bits << 1 | u64::from(*has));
    let digest = numbers.len() as u64 ^ numbers.iter().fold(0, add) ^ words;
    (digest.wrapping_mul(RATIO) >> 32) as i32
}

fn parts(text: &str, options: &Options) -> Vec<Part> {
    let mut parts = Vec::new();
    for (feature, count) in counted(text, options) {
        let factor = factor_of_either(&feature, options);
        let hash = match &feature {
            [feature, second] if second.is_empty() => xxh3_64_with_seed(feature.as_bytes(), options.seed),
            [first, second] => join(id(first, options), id(second, options)),
        };
        let occurrences = if options.weight == Weight::Set { 1 } else { count };
        for n in 1..=occurrences {
            let before = if n == 1 { 0 } else { weight_of(n - 1, options) };
            let hash = if n == 1 { hash } else { join(hash, n) };
            parts.push(Part { hash, weight: (weight_of(n, options) - before) * factor });
        }
    }
    parts.retain(|part| part.weight > 0);
    parts
}

/// The bytes of a feature of at most eight bytes, as a little-endian number; the hash of a longer one.
fn id(feature: &str, options: &Options) -> u64 {
    match feature.len() {
        0..=8 => feature.bytes().rev().fold(0, |id, byte| id << 8 | u64::from(byte)),
        _ => xxh3_64_with_seed(feature.as_bytes(), options.seed),
    }
}

fn join(first: u64, second: u64) -> u64 {
    let product = u128::from(first ^ 0x9e37_79b9_7f4a_7c15) * u128::from(second ^ 0xc2b2_ae3d_27d4_eb4f);
    let mixed = product as u64 ^ (product >> 64) as u64 ^ second.rotate_left(32);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 27
}

/// Minimum `j` of a group, of the parts that take part in it; of all if none does.
fn minimum(group: usize, j: usize, parts: &[Part], one: u64) -> u32 {
    let product = |part: &Part, round: usize| part.hash.wrapping_mul(factor(48 * group + round));
    let takes_part =
        |part: &&Part| u128::from(product(part, 24 + j) >> 32) * u128::from(one) < u128::from(part.weight) * (1 << 32);
    let stands_there = |part: &&Part, round: usize| match round {
        0..24 => ((product(part, round) >> 32) * 24) >> 32 == j as u64,
        _ => round == 24 + j,
    };
    let least = |parts: &mut dyn Iterator<Item = &Part>| {
        let parts: Vec<_> = parts.collect();
        let of_round = |round| parts.iter().copied().filter(move |part| stands_there(part, round));
        let value = |part: &Part, round| product(part, round) as u32 ^ (part.hash >> 32) as u32;
        (0..48).find_map(|round| of_round(round).map(|part| value(part, round)).min())
    };
    least(&mut parts.iter().filter(takes_part)).or_else(|| least(&mut parts.iter())).expect("a part")
}

/// Number `j` of SplitMix64 from seed 0 on, made odd.
fn factor(j: usize) -> u64 {
    let state = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(j as u64 + 1);
    let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ mixed >> 31) | 1
}
