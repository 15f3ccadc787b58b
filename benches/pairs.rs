//! All near pairs of many fingerprints, on one core: the time of the sort and of the search, and what was found.
//!
//! `cargo bench --bench pairs [-- PART OF A NAME...]`: the median of three runs, by kind of fingerprints and distance.

#[path = "../tests/random/mod.rs"]
mod random;

use std::time::Instant;

use pg_simhash::simhash::pairs::{Pairs, Rows};
use random::Random;

const RUNS: usize = 3;
/// Pairs after which a run ends: equal fingerprints have more than anyone can wait for.
const MOST: usize = 1_000_000_000;

/// Fingerprints of a kind.
fn fingerprints(kind: &str, count: usize) -> Vec<u64> {
    let mut random = Random(count as u64);
    let mut all: Vec<u64> = Vec::with_capacity(count);
    for n in 0..count {
        let fingerprint = match kind {
            // A tenth are copies of others with up to five bits flipped.
            "near-duplicates" if n % 10 == 9 => {
                let original = all[random.below(n as u64) as usize];
                let bits = random.below(6);
                random.near(original, bits)
            }
            "half share a block" if n.is_multiple_of(2) => random.next() & !(0xffff << 32) | 0x1234 << 32,
            "nine tenths share a block" if n % 10 > 0 => random.next() & !(0xffff << 32) | 0x1234 << 32,
            // Ten templates, each with three of four blocks of its own and rarely another bit in them.
            "templates" => {
                let template = random.below(10);
                let own = Random(template).next() & !(0xffff << (template % 4 * 16));
                let rare = if random.below(4) == 0 { 1 << random.below(64) } else { 0 };
                (own | random.next() & 0xffff << (template % 4 * 16)) ^ rare
            }
            "all equal" => 42,
            "20-bit subcube" => random.next() & 0xf_ffff,
            "balls of radius 2" => {
                let centre = Random(random.below(count as u64 / 1000)).next();
                let bits = random.below(3);
                random.near(centre, bits)
            }
            "a wide ball" => random.near(42, 12),
            _ => random.next(),
        };
        all.push(fingerprint);
    }
    all
}

/// The seconds that it took to sort, and to find this many pairs.
fn run(fingerprints: &[u64], max_distance: u32) -> Option<(f64, f64, usize)> {
    let start = Instant::now();
    let mut rows = Rows::with_capacity(fingerprints.len()).ok()?;
    fingerprints.iter().try_for_each(|&fingerprint| rows.push(Some(fingerprint))).ok()?;
    let mut pairs = Pairs::new(rows, max_distance, &|_| ()).ok()?;
    let sorted = start.elapsed().as_secs_f64();
    let mut found = 0;
    while found < MOST && pairs.next(&|_| ()).is_some() {
        found += 1;
    }
    Some((sorted, start.elapsed().as_secs_f64(), found))
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let sets: [(&str, &[usize], &[u32]); 12] = [
        ("uniform", &[100_000, 1_000_000], &[0, 3, 5, 8]),
        ("uniform", &[10_000_000], &[0, 3, 5]),
        // At such a distance everything is compared with everything.
        ("brute force", &[100_000], &[17]),
        ("near-duplicates", &[1_000_000], &[3, 5]),
        ("near-duplicates", &[10_000_000], &[3]),
        ("half share a block", &[1_000_000, 10_000_000], &[3]),
        ("nine tenths share a block", &[1_000_000], &[3]),
        ("templates", &[100_000], &[1, 3]),
        ("all equal", &[1_000_000], &[3]),
        ("20-bit subcube", &[100_000], &[1, 3]),
        ("balls of radius 2", &[1_000_000], &[3]),
        ("a wide ball", &[100_000, 1_000_000], &[3]),
    ];
    println!(
        "{:<26} {:>10} {:>3} {:>11} {:>9} {:>9} {:>8}",
        "fingerprints", "count", "k", "pairs", "sort ms", "all ms", "ns/row"
    );
    for (kind, counts, distances) in sets {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| kind.contains(wanted.as_str())) {
            continue;
        }
        for &count in counts {
            let fingerprints = fingerprints(kind, count);
            for &max_distance in distances {
                let mut runs: Vec<_> = (0..RUNS).filter_map(|_| run(&fingerprints, max_distance)).collect();
                runs.sort_by(|a, b| a.1.total_cmp(&b.1));
                let Some(&(sorted, all, found)) = runs.get(RUNS / 2) else { continue };
                println!(
                    "{kind:<26} {count:>10} {max_distance:>3} {found:>11} {:>9.1} {:>9.1} {:>8.1}",
                    sorted * 1e3,
                    all * 1e3,
                    all * 1e9 / count as f64
                );
            }
        }
    }
}
