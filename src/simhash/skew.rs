//! Skew: what a search costs on the fingerprints that a table really has.
//!
//! Of uniform fingerprints every block value is as common as any other. Pages made from one template, login pages and
//! true duplicates are not uniform: a search that shares a block with a quarter of the table visits a quarter of the
//! table. Which layouts suffer depends on where in the fingerprint the common bits are, so it is counted, on a
//! [`Sample`]: the search of each of its [`QUERIES`] against all of it, with the sample sorted by a block in the place of
//! a btree.

use super::blocks::{Block, LAYOUTS};
use super::error::Error;
use super::layout::{cost, probed_blocks, probes, uniform_share};

/// Most fingerprints of a table that are kept: at 24 bytes, 2.4 MB while they are counted.
pub const SAMPLE: usize = 100_000;
/// Most searches that are tried.
pub const QUERIES: usize = 2_000;

/// At most [`SAMPLE`] of the fingerprints that were added, each equally likely (algorithm R: Vitter, ACM TOMS 11, 1985).
/// The same fingerprints in the same order give the same sample.
pub struct Sample {
    fingerprints: Vec<u64>,
    added: u64,
    random: u64,
}

impl Sample {
    /// Takes its memory at once.
    pub fn new() -> Result<Self, Error> {
        let mut fingerprints = Vec::new();
        fingerprints.try_reserve_exact(SAMPLE)?;
        Ok(Self { fingerprints, added: 0, random: 0 })
    }

    /// Adds a fingerprint, in place of another if there are too many.
    pub fn add(&mut self, fingerprint: u64) {
        self.added += 1;
        if self.fingerprints.len() < SAMPLE {
            self.fingerprints.push(fingerprint);
            return;
        }
        let place = (u128::from(self.next_random()) * u128::from(self.added)) >> 64;
        if let Some(kept) = usize::try_from(place).ok().and_then(|place| self.fingerprints.get_mut(place)) {
            *kept = fingerprint;
        }
    }

    /// How many were added.
    pub fn added(&self) -> u64 {
        self.added
    }

    /// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// What a layout does to a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Skew {
    /// Number of blocks of the layout.
    pub blocks: i32,
    /// Probes of a search.
    pub probes: u64,
    /// For each block, the share of the rows that have its commonest value.
    pub commonest: Vec<f64>,
    /// Rows that a search visits on average: a search for a fingerprint drawn like those of the table, among the others.
    pub candidates: f64,
    /// The same for the hundredth of the searches that visit most.
    pub worst: f64,
    /// [`cost`] of the average search.
    pub cost: f64,
    /// Whether no layout has a lower cost; of equals, the one of the fewest blocks.
    pub best: bool,
}

/// The layouts that can serve searches at distance at most `max_distance`, on a table of so many rows, ascending.
///
/// Cancellable by `tick`; takes half a second at most where blocks are healthy, some seconds where all rows share one.
pub fn skew(sample: Sample, rows: f64, max_distance: i32, tick: &impl Fn()) -> Result<Vec<Skew>, Error> {
    let mut counted = Counted::new(sample, rows)?;
    let mut layouts = Vec::new();
    for blocks in LAYOUTS {
        if let Some(probes) = probes(blocks, max_distance) {
            layouts.push(counted.layout(blocks, probes, max_distance, tick)?);
        }
    }
    let cheapest = layouts.iter().map(|layout| layout.cost).fold(f64::INFINITY, f64::min);
    if let Some(best) = layouts.iter_mut().find(|layout| layout.cost == cheapest) {
        best.best = true;
    }
    Ok(layouts)
}

/// Fingerprints that are equal, so that a million true duplicates are counted at once.
struct Group {
    fingerprint: u64,
    count: u32,
}

struct Counted {
    groups: Vec<Group>,
    queries: Vec<u64>,
    /// Fingerprints in all groups.
    sampled: u64,
    /// Those of the table.
    rows: f64,
}

impl Counted {
    fn new(sample: Sample, rows: f64) -> Result<Self, Error> {
        let mut fingerprints = sample.fingerprints;
        fingerprints.sort_unstable();
        // Evenly spaced in their order: each group of fingerprints that begin alike gets its share of the queries.
        let count = fingerprints.len().min(QUERIES);
        let mut queries = Vec::new();
        queries.try_reserve_exact(count)?;
        queries.extend((0..count).filter_map(|i| fingerprints.get((2 * i + 1) * fingerprints.len() / (2 * count))));
        let mut groups = Vec::new();
        groups.try_reserve_exact(fingerprints.chunk_by(u64::eq).count())?;
        groups.extend(fingerprints.chunk_by(u64::eq).filter_map(|equal| {
            let (&fingerprint, count) = (equal.first()?, u32::try_from(equal.len()).ok()?);
            Some(Group { fingerprint, count })
        }));
        Ok(Self { groups, queries, sampled: fingerprints.len() as u64, rows: rows.max(fingerprints.len() as f64) })
    }

    fn layout(&mut self, blocks: i32, probes: u64, max_distance: i32, tick: &impl Fn()) -> Result<Skew, Error> {
        let probed: Vec<(Block, u32)> = probed_blocks(blocks, max_distance).collect();
        let mut found = Vec::new();
        found.try_reserve_exact(self.queries.len())?;
        found.resize(self.queries.len(), 0);
        let mut commonest = Vec::new();
        for (number, block) in (0..blocks).filter_map(|number| Block::new(number, blocks)).enumerate() {
            tick();
            self.groups.sort_unstable_by_key(|group| block.of(group.fingerprint));
            commonest.push(self.commonest(block));
            // The rows of an earlier block have been counted.
            if let Some((earlier, &[(_, radius), ..])) = probed.split_at_checked(number) {
                for (&query, found) in self.queries.iter().zip(&mut found) {
                    tick();
                    *found += first_found(&self.groups, query, (block, radius), earlier);
                }
            }
        }
        let (candidates, worst) = self.candidates(&mut found, uniform_share(blocks, max_distance));
        Ok(Skew { blocks, probes, commonest, candidates, worst, cost: cost(probes, candidates), best: false })
    }

    /// Share of the commonest value of the block that the groups are sorted by.
    fn commonest(&self, block: Block) -> f64 {
        let equal = |a: &Group, b: &Group| block.of(a.fingerprint) == block.of(b.fingerprint);
        let most = self.groups.chunk_by(equal).map(weight).max().unwrap_or(0);
        most as f64 / self.sampled.max(1) as f64
    }

    /// Rows that the average search and the worst hundredth of the searches visit in the table, from how many each
    /// query found in the sample.
    fn candidates(&self, found: &mut [u64], uniform_share: f64) -> (f64, f64) {
        let (queries, others) = (found.len() as f64, self.sampled.saturating_sub(1) as f64);
        if others == 0.0 {
            let nothing_known = if self.rows > 1.0 { self.rows * uniform_share } else { 0.0 };
            return (nothing_known, nothing_known);
        }
        // Each query has found itself.
        found.iter_mut().for_each(|found| *found = found.saturating_sub(1));
        let sum = found.iter().sum::<u64>() as f64;
        let scale = (self.rows - 1.0) / others;

        // All pairs of rows counted: the truth. Otherwise what is rarer than the pairs counted shows no finds or,
        // by chance, one: theory enters with the weight of one find, so that it decides there and nowhere else.
        let prior = if queries == self.rows { 0.0 } else { 1.0 };
        let candidates = (self.rows - 1.0) * (sum + prior) / (queries * others + prior / uniform_share);

        // A sample makes the searches look more different than they are. Of the variance of the finds, their mean is
        // the sampling's (Poisson; less, where little is left out); the rest is the searches' own (Bühlmann 1967).
        let mean = sum / queries;
        let variance = found.iter().map(|&found| (found as f64 - mean).powi(2)).sum::<f64>() / queries;
        let sampling = mean * (1.0 - self.sampled as f64 / self.rows);
        let own = if variance > sampling { 1.0 - sampling / variance } else { 0.0 };
        found.sort_unstable_by(|a, b| b.cmp(a));
        let worst = &found[..found.len().div_ceil(100)];
        let worst = worst.iter().sum::<u64>() as f64 / worst.len() as f64;
        (candidates, candidates.max(scale * (mean + own * (worst - mean))))
    }
}

fn weight(groups: &[Group]) -> u64 {
    groups.iter().map(|group| u64::from(group.count)).sum()
}

fn within((block, radius): (Block, u32), a: u64, b: u64) -> bool {
    (block.of(a) ^ block.of(b)).count_ones() <= radius
}

/// How many fingerprints of the groups, sorted by `probed`'s block, a query finds by it and by none of the `earlier`.
fn first_found(groups: &[Group], query: u64, probed: (Block, u32), earlier: &[(Block, u32)]) -> u64 {
    let (block, radius) = probed;
    let first = |group: &&Group| !earlier.iter().any(|&earlier| within(earlier, group.fingerprint, query));
    let count = |group: &Group| u64::from(group.count);
    // Binary searches, unless one pass is shorter.
    let length = groups.len() as u64;
    if block.probe_count(Some(radius)).saturating_mul(length.checked_ilog2().unwrap_or(0).into()) > length {
        return groups.iter().filter(|group| within(probed, group.fingerprint, query)).filter(first).map(count).sum();
    }
    let find = |value| {
        let start = groups.partition_point(|group| block.of(group.fingerprint) < value);
        let equal = groups.iter().skip(start).take_while(move |group| block.of(group.fingerprint) == value);
        equal.filter(first).map(count).sum::<u64>()
    };
    block.probes(query, Some(radius)).map(find).sum()
}
