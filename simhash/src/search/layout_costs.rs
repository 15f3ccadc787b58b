//! Layout advice: the cost of a search on the actual fingerprints of a table.
//!
//! Among uniform fingerprints, every value of a block is as common as any other. Pages made from one template, login
//! pages and true duplicates are not uniform: a search that shares a block with a quarter of the table finds a quarter
//! of the table in the index. Which layouts suffer depends on where in the fingerprint the common bits are. So searches
//! for some fingerprints of a [`FingerprintSample`] are simulated, and the candidates in the sample are counted. For
//! each block, the sample is sorted by that block, like the btree.

use std::ops::RangeInclusive;

use super::blocks::{Block, Probed, probed_blocks};
use super::cost::{cost, probes, uniform_share};
use crate::error::Result;
use crate::memory::{collect_exact, with_capacity};
use crate::random::Random;

/// The most fingerprints in a sample: at 24 bytes each while they are counted, 2.4 MB.
pub const MAX_SAMPLE_FINGERPRINTS: usize = 100_000;
/// Number of searches that are simulated: at most 2,000, and at least 200 even if the sample is large and each takes
/// long.
pub const QUERIES: RangeInclusive<usize> = 200..=2_000;
/// Number of fingerprints to compare in all searches of a layout: a fifth of a second.
const MAX_COMPARISONS: f64 = 5e7;

/// A sample of at most [`MAX_SAMPLE_FINGERPRINTS`] of the fingerprints that were added, each equally likely (algorithm
/// R: Vitter, ACM TOMS 11, 1985). The same fingerprints in the same order give the same sample.
pub struct FingerprintSample {
    fingerprints: Vec<u64>,
    added: u64,
    random: Random,
}

impl FingerprintSample {
    /// An empty sample. Allocates all its memory at once.
    pub fn new() -> Result<Self> {
        Ok(Self { fingerprints: with_capacity(MAX_SAMPLE_FINGERPRINTS)?, added: 0, random: Random(0) })
    }

    /// Adds a fingerprint. If the sample is full, it replaces a random fingerprint or is left out.
    pub fn add(&mut self, fingerprint: u64) {
        self.added += 1;
        if self.fingerprints.len() < MAX_SAMPLE_FINGERPRINTS {
            self.fingerprints.push(fingerprint);
            return;
        }
        if let Some(replaced) = self.fingerprints.get_mut(self.random.below(self.added) as usize) {
            *replaced = fingerprint;
        }
    }

    pub fn fingerprints(&self) -> &[u64] {
        &self.fingerprints
    }

    pub fn added(&self) -> u64 {
        self.added
    }
}

/// The cost of searches with a layout on a table.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutCost {
    pub blocks: i32,
    pub max_distance: i32,
    pub probes: u64,
    /// For each block, the share of the rows that have its commonest value.
    pub commonest: Vec<f64>,
    /// Number of index entries that a search reads on average, for a fingerprint drawn from the table among all other
    /// rows.
    pub candidates: f64,
    /// Number of index entries that the worst hundredth of the searches reads on average.
    pub worst: f64,
    pub cost: f64,
    /// Whether no other search has a lower cost. Among equal costs, the first one is best.
    pub is_best: bool,
}

/// The cost of each of `searches`, a number of blocks and a distance, on a table of `rows` rows. Searches that the
/// layout cannot serve are left out.
///
/// Seven layouts take a quarter of a second if blocks are nearly uniform, and two seconds if all rows share a block.
/// `tick` can cancel it.
pub fn layout_costs(
    sample: FingerprintSample,
    rows: f64,
    searches: impl IntoIterator<Item = (i32, i32)>,
    tick: &dyn Fn(),
) -> Result<Vec<LayoutCost>> {
    let mut sample = CountedSample::new(sample, rows)?;
    let mut layouts = Vec::new();
    for (blocks, max_distance) in searches {
        if let Some(probes) = probes(blocks, max_distance) {
            layouts.push(sample.measure(blocks, max_distance, probes, tick)?);
        }
    }
    for index in 0..layouts.len() {
        let layout = &layouts[index];
        let is_better = |(other, other_layout): (usize, &LayoutCost)| (other_layout.cost, other) < (layout.cost, index);
        layouts[index].is_best = !layouts.iter().enumerate().any(is_better);
    }
    Ok(layouts)
}

/// Equal fingerprints, which are counted at once: a table may have a million true duplicates.
struct EqualFingerprints {
    fingerprint: u64,
    count: u32,
}

/// The sample of a table, in which equal fingerprints are counted, and the queries that are simulated.
struct CountedSample {
    groups: Vec<EqualFingerprints>,
    queries: Vec<u64>,
    /// Number of fingerprints in all groups.
    sampled: u64,
    /// Number of rows of the table.
    rows: f64,
}

impl CountedSample {
    fn new(sample: FingerprintSample, rows: f64) -> Result<Self> {
        let mut fingerprints = sample.fingerprints;
        fingerprints.sort_unstable();
        // Take queries at even distances in the sorted fingerprints, so that each beginning gets its share.
        let queries = collect_exact(*QUERIES.end(), spaced_evenly(&fingerprints, *QUERIES.end()))?;
        let equal = fingerprints.chunk_by(u64::eq);
        let count_equal = |equal: &[u64]| EqualFingerprints { fingerprint: equal[0], count: equal.len() as u32 };
        let groups = collect_exact(equal.clone().count(), equal.map(count_equal))?;
        Ok(Self { groups, queries, sampled: fingerprints.len() as u64, rows: rows.max(fingerprints.len() as f64) })
    }

    /// The cost of a search with one layout.
    fn measure(&mut self, blocks: i32, max_distance: i32, probes: u64, tick: &dyn Fn()) -> Result<LayoutCost> {
        let uniform_share = uniform_share(blocks, max_distance);
        let probed: Vec<Probed> = probed_blocks(blocks, max_distance).into_iter().flatten().collect();
        let mut commonest = Vec::new();
        // If a share s of the rows has a value, a share s of the queries finds a share s of the rows by it. The more
        // each query finds, the fewer are needed.
        let mut found_share = 0.0;
        for block in (0..blocks).filter_map(|number| Block::new(number, blocks)) {
            tick();
            self.sort_by(block);
            let share = self.commonest_share(block);
            commonest.push(share);
            if probed.iter().any(|probed| probed.block == block) {
                found_share += share * share;
            }
        }
        found_share += uniform_share;

        let compared = probed.iter().map(|probed| compared_groups(self.groups.len(), *probed)).sum::<u64>();
        let work = compared as f64 + self.groups.len() as f64 * found_share.min(1.0);
        let count = ((MAX_COMPARISONS / work) as usize).clamp(*QUERIES.start(), *QUERIES.end());
        // Queries, each with the number of fingerprints that it has found.
        let mut searches = collect_exact(count, spaced_evenly(&self.queries, count).map(|query| (query, 0)))?;

        for (number, &probed_block) in probed.iter().enumerate() {
            self.sort_by(probed_block.block);
            // Count only fingerprints that no earlier block has found.
            let earlier = probed.get(..number).unwrap_or_default();
            for (query, found) in &mut searches {
                tick();
                *found += count_first_found(&self.groups, *query, probed_block, earlier);
            }
        }
        let (candidates, worst) = self.candidates(&searches, uniform_share);
        let cost = cost(probes, candidates);
        Ok(LayoutCost { blocks, max_distance, probes, commonest, candidates, worst, cost, is_best: false })
    }

    fn sort_by(&mut self, block: Block) {
        self.groups.sort_unstable_by_key(|group| block.value(group.fingerprint));
    }

    /// The share of the commonest value of the block that the groups are sorted by.
    fn commonest_share(&self, block: Block) -> f64 {
        let value_of = |group: &EqualFingerprints| block.value(group.fingerprint);
        let equal = self.groups.chunk_by(|a, b| value_of(a) == value_of(b));
        let counts = equal.map(|groups| groups.iter().map(|group| u64::from(group.count)).sum::<u64>());
        counts.max().unwrap_or(0) as f64 / self.sampled.max(1) as f64
    }

    /// Estimates how many rows of the table the average search and the worst hundredth of the searches find, from their
    /// numbers in the sample.
    fn candidates(&self, searches: &[(u64, u64)], uniform_share: f64) -> (f64, f64) {
        // Each search has found its own fingerprint.
        let mut found: Vec<u64> = searches.iter().map(|(_, found)| found.saturating_sub(1)).collect();
        let (queries, others) = (found.len() as f64, self.sampled.saturating_sub(1) as f64);
        if others == 0.0 {
            let nothing_known = if self.rows > 1.0 { self.rows * uniform_share } else { 0.0 };
            return (nothing_known, nothing_known);
        }
        let sum = found.iter().sum::<u64>() as f64;
        let scale = (self.rows - 1.0) / others;

        // No set of fingerprints shares fewer blocks than uniform ones. So if the sample has fewer shared blocks, it is
        // too small. But if all pairs of rows were counted, the count is exact.
        let share_in_sample = sum / (queries * others);
        let share = if queries == self.rows { share_in_sample } else { share_in_sample.max(uniform_share) };
        let candidates = (self.rows - 1.0) * share;

        // A sample exaggerates the differences between searches: the number that each finds scatters around its true
        // value. The variance of the scatter is about the mean, or less if the sample is nearly the whole table. The
        // mean is uncertain, so two standard errors are added to the mean. Then each number is moved towards the mean
        // by the expected scatter (Louis, JASA 79, 1984), but never below the number that is found by chance.
        let mean = sum / queries;
        let variance = found.iter().map(|&found| (found as f64 - mean).powi(2)).sum::<f64>() / queries;
        let sampled = self.sampled as f64 / self.rows;
        let sampling = (1.0 - sampled) * (mean + 2.0 * ((mean + 2.0 * mean * mean) / queries).sqrt());
        let table_variance = (variance - sampling).max(mean * sampled).min(variance);
        let nearer = if variance > 0.0 { (table_variance / variance).sqrt() } else { 1.0 };
        found.sort_unstable_by(|a, b| b.cmp(a));
        let worst_hundredth = &found[..found.len().div_ceil(100)];
        let worst = worst_hundredth.iter().sum::<u64>() as f64 / worst_hundredth.len() as f64;
        (candidates, candidates.max(scale * (mean + nearer * (worst - mean))))
    }
}

fn spaced_evenly(fingerprints: &[u64], count: usize) -> impl Iterator<Item = u64> {
    let count = count.min(fingerprints.len());
    (0..count).filter_map(move |i| fingerprints.get((2 * i + 1) * fingerprints.len() / (2 * count)).copied())
}

/// Number of groups to compare to find the groups within a radius: by a binary search for each probe or, if these are
/// more, all groups.
fn compared_groups(groups: usize, probed: Probed) -> u64 {
    let depth = groups.checked_ilog2().unwrap_or(0);
    probed.probe_count().saturating_mul(depth.into()).min(groups as u64)
}

/// Counts the fingerprints that a query finds by the block of `probed`, and not by an earlier block. The groups are
/// sorted by the block of `probed`.
fn count_first_found(groups: &[EqualFingerprints], query: u64, probed: Probed, earlier: &[Probed]) -> u64 {
    let is_first = |group: &&EqualFingerprints| !earlier.iter().any(|earlier| earlier.finds(group.fingerprint ^ query));
    let count = |group: &EqualFingerprints| u64::from(group.count);
    if compared_groups(groups.len(), probed) == groups.len() as u64 {
        return groups.iter().filter(|group| probed.finds(group.fingerprint ^ query)).filter(is_first).map(count).sum();
    }
    let count_value = |value| {
        let start = groups.partition_point(|group| probed.block.value(group.fingerprint) < value);
        let equal = groups.iter().skip(start).take_while(move |group| probed.block.value(group.fingerprint) == value);
        equal.filter(is_first).map(count).sum::<u64>()
    };
    probed.probes(query).map(count_value).sum()
}
