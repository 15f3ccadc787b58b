//! Chooses the layout, among those that a table has indexed, to search with, and how.
//!
//! Every layout finds the same rows, but with different numbers of probes and candidates. These depend on the distance,
//! on the size of the table, and on how evenly a block's values are spread.

use simhash::search::blocks::{Block, LAYOUTS, radius};
use simhash::search::cost::{self, Distribution, Visited};

use super::layouts::{Indexed, IndexedBlock};
use crate::postgres::catalog::statistics::{Statistics, Values};

/// The limit on the probes of a search with a distance that the planner knows. The planner estimates each of them.
const MOST_PROBES: u64 = 1 << 16;
/// The largest share of the rows that is worth finding by an index.
const LARGEST_SHARE: f64 = 0.1;
/// The distance that is assumed if the planner does not know it.
pub const USUAL_DISTANCE: i32 = 3;
/// The fewest blocks with which any distance can be searched: a block then has fewer values than the limit on probes.
pub const SMALL_BLOCKS: i32 = 4;
/// The factor on the cost of a layout of fewer than [`SMALL_BLOCKS`] blocks if the distance is not known.
const DETOUR: f64 = 100.0;
/// The share of the usual radii's cost that other radii must stay below to be taken, so that small differences in
/// statistics do not change plans.
const MUCH_CHEAPER: f64 = 1.0 / 3.0;

/// How to search with one layout.
pub struct Choice {
    /// Number of blocks.
    pub blocks: i32,
    /// The blocks that are probed.
    pub probed: Vec<ProbedBlock>,
    cost: f64,
}

/// A block that is probed.
pub struct ProbedBlock {
    pub indexed: IndexedBlock,
    /// None if the distance is not known.
    pub radius: Option<u32>,
}

/// The cheapest way to search a table for what is within `distance` of `query`, as far as these are known; None if no
/// index is of use.
///
/// Indexes that only some searches can use are considered only if the others do not suffice.
pub fn cheapest(indexed: &Indexed, distance: Option<i32>, query: Option<u64>) -> Option<Choice> {
    let all: Vec<_> = indexed.blocks.iter().collect();
    [unconditional(indexed), all].iter().find_map(|usable| cheapest_layout(usable, indexed.rows, distance, query))
}

/// The cheapest way to search a table by its indexes alone: each must have all rows, and the block as its first key. Of
/// two indexes on a block, one that also has the fingerprint is preferred.
pub fn cheapest_unconditional(indexed: &Indexed, distance: i32) -> Option<Choice> {
    let mut usable = unconditional(indexed);
    usable.sort_by_key(|found| found.fingerprint.is_none());
    cheapest_layout(&usable, indexed.rows, Some(distance), None)
}

/// The distribution of a block's values by the statistics; uniform if there are no statistics.
fn distribution(statistics: Statistics, block: Block, rows: f64) -> Distribution {
    let Some(Values { nulls, distinct, commonest }) = statistics.read(rows) else {
        return Distribution::uniform(block);
    };
    let common: f64 = commonest.iter().map(|(_, share)| share).sum();
    let all_values = f64::from(block.width()).exp2();
    Distribution {
        rest: (1.0 - nulls - common).max(0.0),
        rest_values: if distinct == 0.0 { all_values } else { (distinct - commonest.len() as f64).max(1.0) },
        commonest,
    }
}

fn unconditional(indexed: &Indexed) -> Vec<&IndexedBlock> {
    indexed.blocks.iter().filter(|found| found.unconditional).collect()
}

fn cheapest_layout(usable: &[&IndexedBlock], rows: f64, distance: Option<i32>, query: Option<u64>) -> Option<Choice> {
    let choices = LAYOUTS.filter_map(|blocks| {
        let layout = IndexedLayout::new(blocks, usable, rows, query)?;
        match distance {
            Some(distance) => layout.choose(distance),
            None => layout.choose_for_any_distance(),
        }
    });
    choices.min_by(|a, b| a.cost.total_cmp(&b.cost))
}

/// A layout of which at least one block is indexed.
struct IndexedLayout {
    /// The blocks in order; None for a block that is not indexed.
    found: Vec<Option<(IndexedBlock, Block, Distribution)>>,
    rows: f64,
    query: Option<u64>,
}

impl IndexedLayout {
    /// Looks up the blocks of a layout; None if none of them is indexed.
    fn new(blocks: i32, indexed: &[&IndexedBlock], rows: f64, query: Option<u64>) -> Option<Self> {
        let rows = rows.max(1.0);
        let found = (0..blocks).map(|number| {
            let found = **indexed.iter().find(|found| (found.block, found.blocks) == (number, blocks))?;
            let block = Block::new(number, blocks)?;
            Some((found, block, distribution(found.statistics, block, rows)))
        });
        let found: Vec<_> = found.collect();
        found.iter().any(Option::is_some).then_some(Self { found, rows, query })
    }

    fn blocks(&self) -> i32 {
        self.found.len() as i32
    }

    /// The number of probes of a block within a radius, and what they visit; None if the block is not indexed, or has
    /// too many probes.
    fn visited(&self, block: i32, radius: u32) -> Option<(u64, Visited)> {
        let (_, block, distribution) = self.found[block as usize].as_ref()?;
        let probes = block.probe_count(Some(radius));
        (probes <= MOST_PROBES).then(|| (probes, distribution.visited(*block, radius, self.query)))
    }

    /// The cost of a search with these radii; None if a block that it probes is not indexed, or has too many probes.
    fn cost(&self, radii: &[Option<u32>]) -> Option<f64> {
        let looked_at = (0..).zip(radii).filter_map(|(block, radius)| radius.map(|radius| self.visited(block, radius)));
        let looked_at: Vec<_> = looked_at.collect::<Option<_>>()?;
        let probes = looked_at.iter().map(|(probes, _)| probes).sum();
        let visited = Visited::in_any(looked_at.iter().map(|(_, visited)| *visited));
        Some(cost::cost(probes, self.rows * visited))
    }

    /// The usual radii, which do not depend on statistics.
    fn even_radii(&self, distance: i32) -> Vec<Option<u32>> {
        (0..self.blocks()).map(|block| radius(block, self.blocks(), distance)).collect()
    }

    /// The cheapest radii by the statistics, and their cost.
    fn uneven_radii(&self, distance: i32) -> Option<(f64, Vec<Option<u32>>)> {
        // Assume that no row is visited in two blocks.
        let cost_of = |block, radius| {
            let (probes, visited) = self.visited(block, radius)?;
            Some(cost::cost(probes, self.rows * (visited.common + visited.rest)))
        };
        let (_, radii) = cost::cheapest_radii(self.blocks(), distance, cost_of)?;
        Some((self.cost(&radii)?, radii))
    }

    /// How to search with the layout if the distance is not known; None unless all of its blocks are indexed.
    fn choose_for_any_distance(self) -> Option<Choice> {
        // Any distance may come; with few blocks, that takes one more condition.
        let cost = self.cost(&self.even_radii(USUAL_DISTANCE))?;
        let (blocks, detour) = (self.blocks(), if self.blocks() < SMALL_BLOCKS { DETOUR } else { 1.0 });
        let probed = self.found.into_iter().map(|found| Some(ProbedBlock { indexed: found?.0, radius: None }));
        Some(Choice { blocks, probed: probed.collect::<Option<_>>()?, cost: cost * detour })
    }

    /// How to search with the layout within a distance; None if the layout is of no use.
    fn choose(&self, distance: i32) -> Option<Choice> {
        let even = self.even_radii(distance);
        let (cost, radii) = match (self.cost(&even), self.uneven_radii(distance)) {
            (Some(cost), Some((least, radii))) if least < cost * MUCH_CHEAPER => (least, radii),
            (Some(cost), _) => (cost, even),
            (None, uneven) => uneven?,
        };
        let probed: Vec<_> =
            self.found.iter().zip(radii).filter_map(|(found, radius)| found.as_ref().zip(radius)).collect();
        let blocks_and_radii = || probed.iter().map(|((_, block, _), radius)| (*block, *radius));
        let probes: u64 = blocks_and_radii().map(|(block, radius)| block.probe_count(Some(radius))).sum();
        let is_useful = (1..=MOST_PROBES).contains(&probes) && cost::share_of(blocks_and_radii()) <= LARGEST_SHARE;
        let probed =
            probed.iter().map(|((indexed, ..), radius)| ProbedBlock { indexed: *indexed, radius: Some(*radius) });
        is_useful.then(|| Choice { blocks: self.blocks(), probed: probed.collect(), cost })
    }
}
