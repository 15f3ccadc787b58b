//! All near pairs of many fingerprints, on one core: the times of the sort and of the search and the number of pairs
//! found, the time of their clusters, and the longest time between two ticks of either.
//!
//! `cargo bench -p simhash --bench pairs [-- PART OF A NAME...]`: the median of three runs, by kind of fingerprints,
//! and distance.

use std::cell::Cell;
use std::time::Instant;

use simhash::error::Error;
use simhash::pairs::{Pairs, RowFingerprints, clusters};
use simhash::random::Random;

mod documents;

const RUNS: usize = 3;

fn main() {
    let chosen = documents::arguments();
    let sets: [(_, &[_], &[_]); _] = [
        ("uniform", &[100_000, 1_000_000], &[0, 3, 5, 8]),
        ("uniform", &[10_000_000], &[0, 3, 5]),
        // At this distance, every fingerprint is compared with every other.
        ("brute force", &[100_000], &[17]),
        ("near-duplicates", &[1_000_000], &[3, 5]),
        ("near-duplicates", &[10_000_000], &[3]),
        ("half share a block", &[1_000_000, 10_000_000], &[3]),
        ("nine tenths share a block", &[1_000_000], &[3]),
        ("templates", &[100_000], &[1, 3]),
        ("20-bit subcube", &[100_000, 1_000_000], &[1, 3]),
        ("uneven bytes", &[60_000], &[3, 5, 8, 10, 12, 17]),
    ];
    println!(
        "{:<26} {:>10} {:>8} {:>11} {:>9} {:>9} {:>8} {:>12} {:>8}",
        "fingerprints", "count", "distance", "pairs", "sort ms", "all ms", "ns/row", "clusters ms", "tick ms"
    );
    for (kind, counts, distances) in sets {
        if !chosen.is_empty() && !chosen.iter().any(|part_of_name| kind.contains(part_of_name.as_str())) {
            continue;
        }
        for &count in counts {
            let fingerprints = fingerprints(kind, count);
            for &max_distance in distances {
                let mut runs: Vec<_> =
                    (0..RUNS).map(|_| run(&fingerprints, max_distance).expect("memory suffices")).collect();
                runs.sort_by(|a, b| a.pairs.total_cmp(&b.pairs));
                let Run { sort, pairs, found, clusters, .. } = runs[RUNS / 2];
                let longest_gap = runs.iter().fold(0f64, |longest, run| longest.max(run.longest_gap));
                println!(
                    "{kind:<26} {count:>10} {max_distance:>8} {found:>11} {:>9.1} {:>9.1} {:>8.1} {:>12.1} {:>8.2}",
                    sort * 1e3,
                    pairs * 1e3,
                    pairs * 1e9 / count as f64,
                    clusters * 1e3,
                    longest_gap * 1e3,
                );
            }
        }
    }
}

fn fingerprints(kind: &str, count: usize) -> Vec<u64> {
    let mut random = Random(count as u64);
    let mut all: Vec<u64> = Vec::with_capacity(count);
    for number in 0..count {
        let fingerprint = match kind {
            // A tenth are copies of others with up to five bits flipped.
            "near-duplicates" if number % 10 == 9 => {
                let original = all[random.below(number as u64) as usize];
                let bits = random.below(6);
                random.near(original, bits)
            }
            "half share a block" if number.is_multiple_of(2) => random.next() & !(0xffff << 32) | 0x1234 << 32,
            "nine tenths share a block" if number % 10 > 0 => random.next() & !(0xffff << 32) | 0x1234 << 32,
            // Ten templates. Fingerprints of a template share three of four blocks; one in four has a bit flipped.
            "templates" => {
                let template = random.below(10);
                let own = Random(template).next() & !(0xffff << (template % 4 * 16));
                let rare = if random.below(4) == 0 { 1 << random.below(64) } else { 0 };
                (own | random.next() & 0xffff << (template % 4 * 16)) ^ rare
            }
            "20-bit subcube" => random.next() & 0xf_ffff,
            // Two of three bytes have one of sixteen values, some of which are much commoner than others.
            "uneven bytes" => (0..64).step_by(8).fold(0, |all, shift| {
                let common = random.below(16) & random.below(16) & random.below(16);
                let byte = if random.below(3) == 0 { random.next() } else { Random(common).next() };
                all | (byte & 0xff) << shift
            }),
            _ => random.next(),
        };
        all.push(fingerprint);
    }
    all
}

/// The times of a run in seconds.
struct Run {
    sort: f64,
    /// Of all pairs, the sort included.
    pairs: f64,
    clusters: f64,
    /// Between two ticks.
    longest_gap: f64,
    /// The number of pairs.
    found: usize,
}

fn run(fingerprints: &[u64], max_distance: i32) -> Result<Run, Error> {
    let rows = || {
        let mut rows = RowFingerprints::with_capacity(fingerprints.len())?;
        fingerprints.iter().try_for_each(|&fingerprint| rows.push(Some(fingerprint)))?;
        Ok::<_, Error>(rows)
    };
    let rows_of_pairs = rows()?;
    let start = Instant::now();
    let (last_tick, longest_gap) = (Cell::new(start), Cell::new(0f64));
    let tick = || {
        longest_gap.set(longest_gap.get().max(last_tick.replace(Instant::now()).elapsed().as_secs_f64()));
    };
    let mut search = Pairs::new(rows_of_pairs, max_distance, &tick)?;
    let sort = start.elapsed().as_secs_f64();
    let mut found = 0;
    while search.next(&tick)?.is_some() {
        found += 1;
    }
    let pairs = start.elapsed().as_secs_f64();
    drop(search);
    let rows_of_clusters = rows()?;
    let start = Instant::now();
    last_tick.set(start);
    clusters(rows_of_clusters, max_distance, &tick)?;
    Ok(Run { sort, pairs, clusters: start.elapsed().as_secs_f64(), longest_gap: longest_gap.get(), found })
}
