//! Which of the layouts that a table has indexed to search with, and how.
//!
//! Every layout finds the same rows. What differs is the number of probes and of candidates, which depends on the
//! distance, on the size of the table, and on how evenly a block's values are spread.

use simhash::search::blocks::{Block, LAYOUTS, radius};
use simhash::search::cost::{self, Distribution, Visited};

use super::layouts::{Indexed, IndexedBlock};
use crate::postgres::catalog::statistics::{Statistics, Values};

/// Most probes that a search with a distance known to the planner is made into. It estimates each of them.
const MOST_PROBES: u64 = 1 << 16;
/// Largest share of all rows that is worth finding by an index.
const LARGEST_SHARE: f64 = 0.1;
/// What is assumed of a distance that is not known to the planner.
pub const USUAL_DISTANCE: i32 = 3;
/// The fewest blocks with which any distance can be searched: a block has fewer values than there may be probes.
pub const SMALL_BLOCKS: i32 = 4;
/// How many times as expensive a layout of fewer blocks must seem to be taken for a distance that is not known.
const DETOUR: f64 = 100.0;
/// What other radii than the usual ones may cost of what these do, so that small differences in statistics do not
/// change plans.
const MUCH_CHEAPER: f64 = 1.0 / 3.0;

/// How to search with one layout.
pub struct Choice {
    /// Number of blocks.
    pub blocks: i32,
    /// The blocks that are looked at.
    pub probed: Vec<ProbedBlock>,
    cost: f64,
}

/// A block that is looked at.
pub struct ProbedBlock {
    pub indexed: IndexedBlock,
    /// None if the distance is not known.
    pub radius: Option<u32>,
}

/// The cheapest way to search a table for what is within a distance of a query, as far as these are known; None if no
/// index is of use.
///
/// Indexes that only some searches can use are used where there are no others.
pub fn cheapest(indexed: &Indexed, distance: Option<i32>, query: Option<u64>) -> Option<Choice> {
    let all: Vec<_> = indexed.blocks.iter().collect();
    [unconditional(indexed), all].iter().find_map(|usable| of_cheapest_layout(usable, indexed.rows, distance, query))
}

/// The cheapest way to search a table with nothing but its indexes: each has all rows, and the block first. Of two on
/// a block, one that has the fingerprint too.
pub fn cheapest_unconditional(indexed: &Indexed, distance: i32) -> Option<Choice> {
    let mut usable = unconditional(indexed);
    usable.sort_by_key(|found| found.fingerprint.is_none());
    of_cheapest_layout(&usable, indexed.rows, Some(distance), None)
}

/// The distribution of a block's values by the statistics; uniform where nothing is known.
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

fn of_cheapest_layout(
    usable: &[&IndexedBlock],
    rows: f64,
    distance: Option<i32>,
    query: Option<u64>,
) -> Option<Choice> {
    let choices = LAYOUTS.filter_map(|blocks| choice(blocks, usable, rows, distance, query));
    choices.min_by(|a, b| a.cost.total_cmp(&b.cost))
}

/// The way to search a table with a layout; None if it is not indexed or no use.
fn choice(
    blocks: i32,
    indexed: &[&IndexedBlock],
    rows: f64,
    distance: Option<i32>,
    query: Option<u64>,
) -> Option<Choice> {
    let rows = rows.max(1.0);
    let of_block = |block| indexed.iter().find(move |found| (found.block, found.blocks) == (block, blocks));
    let found: Vec<_> = (0..blocks)
        .map(|block| {
            let found = **of_block(block)?;
            let block = Block::new(block, blocks)?;
            Some((found, block, distribution(found.statistics, block, rows)))
        })
        .collect();
    if found.iter().all(Option::is_none) {
        return None;
    }
    let visited = |block: i32, radius| {
        let (_, block, distribution) = found[block as usize].as_ref()?;
        let probes = block.probe_count(Some(radius));
        (probes <= MOST_PROBES).then(|| (probes, distribution.visited(*block, radius, query)))
    };
    let even_radii = |distance| (0..blocks).map(move |block| radius(block, blocks, distance));
    let cost_of_all = |radii: &[Option<u32>]| {
        let looked_at = (0..).zip(radii).filter_map(|(block, radius)| radius.map(|radius| visited(block, radius)));
        let looked_at: Vec<_> = looked_at.collect::<Option<_>>()?;
        let probes = looked_at.iter().map(|(probes, _)| probes).sum();
        Some(cost::cost(probes, rows * Visited::in_any(looked_at.iter().map(|(_, visited)| *visited))))
    };

    let Some(distance) = distance else {
        // Any distance may come, and with few blocks it takes one more condition.
        let cost = cost_of_all(&even_radii(USUAL_DISTANCE).collect::<Vec<_>>())?;
        let cost = if blocks < SMALL_BLOCKS { cost * DETOUR } else { cost };
        let probed = found.into_iter().map(|found| Some(ProbedBlock { indexed: found?.0, radius: None }));
        return Some(Choice { blocks, probed: probed.collect::<Option<_>>()?, cost });
    };
    let even: Vec<_> = even_radii(distance).collect();
    // As if no row were visited in two blocks.
    let cost_of = |block, radius| {
        visited(block, radius).map(|(probes, visited)| cost::cost(probes, rows * (visited.common + visited.rest)))
    };
    let uneven = cost::cheapest_radii(blocks, distance, cost_of);
    let uneven = uneven.and_then(|(_, radii)| Some((cost_of_all(&radii)?, radii)));
    let (cost, radii) = match (cost_of_all(&even), uneven) {
        (Some(cost), Some((least, radii))) if least < cost * MUCH_CHEAPER => (least, radii),
        (Some(cost), _) => (cost, even),
        (None, uneven) => uneven?,
    };
    let probed: Vec<_> = found.iter().zip(radii).filter_map(|(found, radius)| found.as_ref().zip(radius)).collect();
    let blocks_and_radii = || probed.iter().map(|((_, block, _), radius)| (*block, *radius));
    let probes: u64 = blocks_and_radii().map(|(block, radius)| block.probe_count(Some(radius))).sum();
    let useful = (1..=MOST_PROBES).contains(&probes) && cost::share_of(blocks_and_radii()) <= LARGEST_SHARE;
    let probed = probed.iter().map(|((indexed, ..), radius)| ProbedBlock { indexed: *indexed, radius: Some(*radius) });
    useful.then(|| Choice { blocks, probed: probed.collect(), cost })
}
