//! The order in which a search looks up the blocks of a fingerprint.
//!
//! A search consists of steps. A [`Step`] looks up the values of one block that differ from the query's value in
//! exactly r bits. Let n_i be the number of complete steps of block i of a layout. They had the radii 0 to n_i - 1. A
//! fingerprint that no step has found differs from the query in at least n_i bits in each block i, so in at least the
//! sum of all n_i bits. Therefore everything at a distance below that sum has been found ([`Growth::complete_within`]).
//! This is the pigeonhole principle of multi-index hashing (Norouzi, Punjani, Fleet, CVPR 2012), for any radii.
//!
//! For example, radius 0 in each of four blocks makes 4 probes. A fingerprint that they have not found differs in each
//! block, so in at least 4 bits: everything within 3 bits has been found. To find everything within 5 bits, two of the
//! blocks are looked up with radius 1 as well, 16 values each. What is left then differs in at least 2 + 2 + 1 + 1 = 6
//! bits. Looking up radius 1 in all blocks would find more than was asked for.
//!
//! The next step is the cheapest one of the cheapest sequence of steps to the distance of the search. Costs rise with
//! the radius, so always taking the cheapest step gives the cheapest radii. Costs are estimated for uniform
//! fingerprints. If a value turns out to be much more common, the caller gives the step up ([`Growth::give_up`]), and
//! the search goes on with other blocks.

use super::blocks::Block;
use super::cost::{ENTRY_MICROSECONDS, PROBE_MICROSECONDS};

/// All fingerprints are within this distance.
pub const MAX_DISTANCE: i32 = 64;
/// A step is given up only after it has cost this many times its expected cost.
const MIN_COST_FACTOR: f64 = 8.0;

/// A search in progress.
#[derive(Clone, Debug)]
pub struct Growth {
    rows: f64,
    layouts: Vec<Vec<BlockProgress>>,
    spent: f64,
}

/// The progress of a search in a block.
#[derive(Clone, Debug)]
struct BlockProgress {
    block: Block,
    /// Number of radii, from 0 on, that have been looked up.
    radii: u32,
    /// A lower bound of the cost of the next step, in microseconds; 0 if none is known.
    least_cost: f64,
}

/// A step of a search: it looks up the values of a block that are at a radius from the query's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The index of the layout in the argument of [`Growth::new`].
    pub layout: usize,
    /// The index of the block in the layout.
    pub block: usize,
    /// The number of bits in which the values to look up differ from the query's.
    pub radius: u32,
    /// The expected cost in microseconds.
    cost: f64,
    /// Give the step up when its entries that are not near have cost this many microseconds.
    pub limit: f64,
}

/// The expected work of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExpectedWork {
    /// Number of values that are looked up.
    pub probes: f64,
    /// Number of index entries that are read.
    pub entries: f64,
    pub microseconds: f64,
}

/// The cheapest sequence of the steps that remain to a distance.
struct StepSequence {
    /// The expected cost of all of them, in microseconds.
    cost: f64,
    /// The index of the block that comes next.
    first: usize,
    /// For each block, the number of radii, from 0 on, that have then been looked up.
    radii: Vec<u32>,
}

impl Growth {
    /// The beginning of a search among `rows` rows by the indexed blocks of one or more layouts.
    pub fn new(rows: f64, layouts: impl IntoIterator<Item = Vec<Block>>) -> Self {
        let progress = |block| BlockProgress { block, radii: 0, least_cost: 0.0 };
        let layouts = layouts.into_iter().map(|blocks| blocks.into_iter().map(progress).collect()).collect();
        Self { rows: rows.max(1.0), layouts, spent: 0.0 }
    }

    /// The largest distance within which everything has been found; -1 at the beginning.
    pub fn complete_within(&self) -> i32 {
        self.layouts.iter().map(|blocks| complete_within(blocks)).max().unwrap_or(-1)
    }

    /// The values that a step looks up, in a search for `query`.
    pub fn values(&self, step: Step, query: u64) -> impl Iterator<Item = i32> + use<> {
        self.layouts[step.layout][step.block].block.ring(query, step.radius)
    }

    /// The next step of a search for everything within `distance`; None if everything has been found, or if the
    /// remaining steps cost more than `cost_limit` microseconds, the cost of an alternative.
    ///
    /// Takes time proportional to the number of blocks times the distance.
    pub fn next(&self, distance: i32, cost_limit: f64) -> Option<Step> {
        if self.complete_within() >= distance.min(MAX_DISTANCE) {
            return None;
        }
        let (layout, sequence) = self.cheapest_sequence(distance, None).filter(|(_, all)| all.cost <= cost_limit)?;
        let progress = &self.layouts[layout][sequence.first];
        let cost = self.step_cost(progress, progress.radii);
        // Once the step has cost more than this, the cheapest sequence without its block is cheaper.
        let others = self.cheapest_sequence(distance, Some((layout, sequence.first)));
        let others = others.map_or(cost_limit, |(_, other)| other.cost.min(cost_limit));
        let limit = (others - (sequence.cost - cost)).max(cost * MIN_COST_FACTOR);
        Some(Step { layout, block: sequence.first, radius: progress.radii, cost, limit })
    }

    /// Records that a step has been made.
    pub fn complete(&mut self, step: Step) {
        let progress = &mut self.layouts[step.layout][step.block];
        progress.radii = step.radius + 1;
        progress.least_cost = 0.0;
        self.spent += step.cost;
    }

    /// Records that a step has been given up. Other steps may find its fingerprints again.
    pub fn give_up(&mut self, step: Step) {
        // The limit doubles each time. So a step that is given up several times costs little in total.
        let progress = &mut self.layouts[step.layout][step.block];
        progress.least_cost = 2.0 * step.limit;
    }

    /// Whether no complete step has found a fingerprint that differs from the query in these bits.
    #[inline]
    pub fn is_new(&self, difference: u64) -> bool {
        let has_found = |progress: &BlockProgress| progress.block.ones(difference) < progress.radii;
        !self.layouts.iter().flatten().any(has_found)
    }

    /// The expected cost of all complete steps, in microseconds.
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// For each block of each layout, the radius within which it has been looked up; None if it has not been looked up.
    pub fn radii(&self) -> impl Iterator<Item = Vec<Option<u32>>> {
        self.layouts.iter().map(|blocks| blocks.iter().map(|progress| progress.radii.checked_sub(1)).collect())
    }

    /// The largest distance within which steps that cost at most `cost_limit` microseconds find everything near.
    pub fn reach(&self, cost_limit: f64) -> i32 {
        let mut growth = self.clone();
        while let Some(step) = growth.next(growth.complete_within() + 1, cost_limit - growth.spent) {
            growth.complete(step);
        }
        growth.complete_within()
    }

    /// The expected work of the steps that are left until everything within a distance is found; None if there is no
    /// block.
    pub fn remaining_work(&self, distance: i32) -> Option<ExpectedWork> {
        let mut total = ExpectedWork::default();
        if self.complete_within() >= distance.min(MAX_DISTANCE) {
            return Some(total);
        }
        let (layout, sequence) = self.cheapest_sequence(distance, None)?;
        for (progress, &radii) in self.layouts[layout].iter().zip(&sequence.radii) {
            for (probes, found) in (progress.radii..radii).map(|radius| self.expected(progress.block, radius)) {
                total.probes += probes;
                total.entries += found;
            }
        }
        total.microseconds = sequence.cost;
        Some(total)
    }

    /// The cheapest sequence of steps that finds everything within a distance, and the index of its layout. It leaves
    /// out the block `except`, given by the indexes of its layout and of itself. None if no step is left.
    fn cheapest_sequence(&self, distance: i32, except: Option<(usize, usize)>) -> Option<(usize, StepSequence)> {
        let sequences = self.layouts.iter().enumerate().filter_map(|(layout, blocks)| {
            let except = except.filter(|(of, _)| *of == layout).map(|(_, block)| block);
            Some((layout, self.cheapest_steps(blocks, distance, except)?))
        });
        sequences.min_by(|(_, a), (_, b)| a.cost.total_cmp(&b.cost))
    }

    /// The cheapest steps to find everything within a distance by the blocks of one layout, without the block at
    /// `except`; None if the layout has no other block.
    fn cheapest_steps(&self, blocks: &[BlockProgress], distance: i32, except: Option<usize>) -> Option<StepSequence> {
        let radii = blocks.iter().map(|progress| progress.radii).collect();
        let mut sequence = StepSequence { cost: 0.0, first: 0, radii };
        let mut first_cost = f64::INFINITY;
        let mut costs: Vec<_> = blocks.iter().map(|progress| self.step_cost(progress, progress.radii)).collect();
        for _ in complete_within(blocks)..distance.min(MAX_DISTANCE) {
            let others = costs.iter().enumerate().filter(|(block, _)| Some(*block) != except);
            let (block, &cost) = others.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
            sequence.cost += cost;
            sequence.radii[block] += 1;
            if cost < first_cost {
                (sequence.first, first_cost) = (block, cost);
            }
            // If all values of a block have been looked up, everything has been found.
            if sequence.radii[block] > blocks[block].block.width() {
                break;
            }
            costs[block] = self.step_cost(&blocks[block], sequence.radii[block]);
        }
        (first_cost < f64::INFINITY).then_some(sequence)
    }

    fn step_cost(&self, progress: &BlockProgress, radius: u32) -> f64 {
        let (probes, found) = self.expected(progress.block, radius);
        let expected = probes * PROBE_MICROSECONDS + found * ENTRY_MICROSECONDS;
        if radius == progress.radii { expected.max(progress.least_cost) } else { expected }
    }

    /// The probes of a step, and the index entries that they find among uniform fingerprints.
    fn expected(&self, block: Block, radius: u32) -> (f64, f64) {
        let probes = block.ring_count(radius) as f64;
        (probes, probes * self.rows / (1u64 << block.width()) as f64)
    }
}

/// The largest distance within which the blocks of one layout have found everything.
fn complete_within(blocks: &[BlockProgress]) -> i32 {
    if blocks.iter().any(|progress| progress.radii > progress.block.width()) {
        return MAX_DISTANCE;
    }
    blocks.iter().map(|progress| progress.radii as i32).sum::<i32>() - 1
}
