//! What a search costs, depending on the number of blocks that fingerprints are cut into.
//!
//! A search looks up probes in indexes, and then visits the rows that it finds, its candidates, to compare distances.
//! Few wide blocks need many probes at larger distances, and find few candidates. Many narrow blocks need few probes,
//! but the number of candidates grows with the table.

use super::blocks::{Block, MAX_PROBES, radius};

/// Cost of one probe in microseconds: a descent of a warm btree within `= ANY (...)`.
///
/// Measured on 10 million uniform fingerprints at distance 3 (PostgreSQL 15, in memory, a prepared statement): two
/// blocks take 0.17 ms for 66 probes and almost no candidates.
pub const PROBE_MICROSECONDS: f64 = 2.5;
/// Cost of one candidate in microseconds: a visit to a warm heap page of its own, and the distance.
///
/// Measured on the same table: four blocks take 0.9 to 2.6 ms for 4 probes and 610 candidates, so 1.5 to 4.2 a
/// candidate, of which this is the geometric mean. It agrees with a measurement on one million rows, where two blocks
/// (66 probes) and four (4 probes, 61 candidates) take the same time.
pub const CANDIDATE_MICROSECONDS: f64 = 2.5;

/// The blocks of a layout that a search at a distance of at most `max_distance` must look at, each with its radius;
/// empty if there is no such layout.
pub fn probed_blocks(blocks: i32, max_distance: i32) -> impl Iterator<Item = (Block, u32)> {
    // The radii descend: once a block has none, no later block has one.
    (0..blocks).map_while(move |number| Some((Block::new(number, blocks)?, radius(number, blocks, max_distance)?)))
}

/// Number of probes of a search in all blocks. None if the layout cannot serve the search: there is no layout of so
/// many blocks, or one block needs more than [`MAX_PROBES`].
pub fn probes(blocks: i32, max_distance: i32) -> Option<u64> {
    Block::new(0, blocks)?;
    probed_blocks(blocks, max_distance).try_fold(0, |sum, (block, radius)| {
        let count = block.probe_count(Some(radius));
        (count <= MAX_PROBES).then_some(sum + count)
    })
}

/// The largest distance that a layout can serve; -1 if there is no such layout.
pub fn largest_distance(blocks: i32) -> i32 {
    (0..=64).take_while(|&distance| probes(blocks, distance).is_some()).last().unwrap_or(-1)
}

/// The share of all possible fingerprints that a search visits: those with at least one block within its radius.
pub fn uniform_share(blocks: i32, max_distance: i32) -> f64 {
    share_of(probed_blocks(blocks, max_distance))
}

/// The share of all possible fingerprints that have at least one of these blocks within its radius.
pub fn share_of(probed: impl Iterator<Item = (Block, u32)>) -> f64 {
    // The blocks of a uniform fingerprint are independent. Sum logarithms, since shares of 1e-9 would vanish in a
    // difference of products.
    let missed_by_all: f64 = probed
        .map(|(block, radius)| -(block.probe_count(Some(radius)) as f64 / (block.width() as f64).exp2()))
        .map(f64::ln_1p)
        .sum();
    -missed_by_all.exp_m1()
}

/// Number of rows that a search visits in a table of `rows` uniform fingerprints.
pub fn uniform_candidates(rows: f64, blocks: i32, max_distance: i32) -> f64 {
    rows * uniform_share(blocks, max_distance)
}

/// The cost of a search, in microseconds if everything is in memory. It is meant for comparing layouts: a disk, or many
/// candidates on a page, change the figure.
pub fn cost(probes: u64, candidates: f64) -> f64 {
    probes as f64 * PROBE_MICROSECONDS + candidates * CANDIDATE_MICROSECONDS
}

/// How the values of one block are distributed over the rows of a table, and over queries that resemble these rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// The commonest values, with their shares of all rows, in descending order of the shares.
    pub commonest: Vec<(i32, f64)>,
    /// The share of all rows that have none of the commonest values.
    pub rest: f64,
    /// Number of values that these other rows have.
    pub rest_values: f64,
}

impl Distribution {
    /// The distribution in which all values of the block are equally common.
    pub fn uniform(block: Block) -> Self {
        Self { commonest: Vec::new(), rest: 1.0, rest_values: f64::from(block.width()).exp2() }
    }

    /// The shares of rows that a search visits in this block. Without a query, the average over queries that are rows
    /// of the table.
    pub fn visited(&self, block: Block, radius: u32, query: Option<u64>) -> Visited {
        let probes = block.probe_count(Some(radius)) as f64;
        let rest_of_probes = probes * self.rest / f64::from(block.width()).exp2();
        let common_near = |value: i32, among: &[(i32, f64)]| -> f64 {
            let near = |other: i32| (value ^ other).count_ones() <= radius;
            among.iter().filter(|(other, _)| near(*other)).map(|(_, share)| share).sum()
        };
        match query.map(|query| block.value(query)) {
            Some(value) => Visited { common: common_near(value, &self.commonest), rest: rest_of_probes },
            None => {
                // Compare only the very commonest values with each other, and count each of the others by itself: this
                // is planning time.
                let (first, others) = self.commonest.split_at(self.commonest.len().min(MOST_IN_PAIRS));
                let first: f64 = first.iter().map(|&(value, share)| share * common_near(value, first)).sum();
                let others: f64 = others.iter().map(|(_, share)| share * share).sum();
                // The rows that share the query's own value.
                let own = self.rest * self.rest / self.rest_values.max(1.0);
                Visited { common: first + others, rest: rest_of_probes + own }
            }
        }
    }
}

/// Number of the commonest values that are compared with each other.
const MOST_IN_PAIRS: usize = 16;

/// The shares of all rows that a search visits in a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visited {
    /// The share of rows with one of the commonest values.
    pub common: f64,
    /// The share of the other rows.
    pub rest: f64,
}

impl Visited {
    /// The share of rows that is visited in at least one block. Rows that share one of the commonest values mostly
    /// share others as well, and are visited once.
    pub fn in_any(blocks: impl Iterator<Item = Self>) -> f64 {
        let all = blocks.fold((0f64, 0.0), |(common, rest), visited| (common.max(visited.common), rest + visited.rest));
        (all.0 + all.1).min(1.0)
    }
}

/// The radii, one for each block, with which a search at a distance of at most `max_distance` costs least, and the
/// cost; None if there are no such radii. `cost_of` returns what a block costs with a radius, None if it cannot be
/// looked at; costs of blocks add up.
///
/// No match is missed if the radii, each plus 1, add up to `max_distance` + 1 over the blocks that are looked at: two
/// fingerprints that differ in each block by more than its radius differ in more than `max_distance` bits. The function
/// [`radius`] gives radii as small and as even as possible; if a value of a block is very common, it is better to look
/// closer at the other blocks. Takes time and space proportional to at most `blocks` times `max_distance` squared.
pub fn cheapest_radii(
    blocks: i32,
    max_distance: i32,
    cost_of: impl Fn(i32, u32) -> Option<f64>,
) -> Option<(f64, Vec<Option<u32>>)> {
    let needed = usize::try_from(max_distance.clamp(-1, 64) + 1).ok()?;
    // For each sum, the least cost with which the blocks so far reach it, and the radii.
    let mut best: Vec<Option<(f64, Vec<Option<u32>>)>> = vec![None; needed + 1];
    best[0] = Some((0.0, Vec::new()));
    for block in 0..blocks {
        let costs: Vec<_> = (0..needed as u32).map_while(|radius| cost_of(block, radius)).collect();
        let mut next = vec![None; needed + 1];
        for (sum, so_far) in best.iter().enumerate() {
            let Some((cost, radii)) = so_far else { continue };
            let ways = std::iter::once((None, 0.0)).chain((0..).map(Some).zip(costs.iter().copied()));
            for (radius, of_block) in ways.take(needed - sum + 1) {
                let reached = &mut next[sum + radius.map_or(0, |radius: u32| radius as usize + 1)];
                if reached.as_ref().is_none_or(|&(least, _)| cost + of_block < least) {
                    *reached = Some((cost + of_block, radii.iter().copied().chain([radius]).collect()));
                }
            }
        }
        best = next;
    }
    best.pop().flatten()
}

/// A distance at which [`radius`] returns `radius` for every block of a layout.
pub fn distance_of_radius(blocks: i32, radius: u32) -> i32 {
    (radius as i32 + 1) * blocks - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_and_candidates_are_those_of_the_literature() {
        // Blocks, distance, probes, and candidates among 10 million rows; the first line as Manku, Jain and Das Sarma
        // count them.
        for (blocks, max_distance, expected_probes, expected_candidates) in [
            (4, 3, 4, 610.3),
            (2, 3, 66, 0.1537),
            (3, 3, 25, 64.37),
            (3, 5, 67, 264.5),
            (4, 5, 36, 5492.0),
            (2, 5, 1058, 2.463),
            (8, 0, 1, 39062.5),
        ] {
            assert_eq!(probes(blocks, max_distance), Some(expected_probes), "{blocks} blocks, {max_distance}");
            let candidates = uniform_candidates(1e7, blocks, max_distance);
            assert!((candidates / expected_candidates - 1.0).abs() < 2e-3, "{blocks} blocks: {candidates}");
        }
    }

    #[test]
    fn the_cheapest_radii_are_the_cheapest_of_all() {
        // Compare with every choice of radii, on pseudo-random costs of which some are impossible.
        let mut state = 1u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        for _ in 0..2000 {
            let blocks = 2 + random(3) as i32;
            let max_distance = random(6) as i32 - 1;
            let costs: Vec<Vec<f64>> =
                (0..blocks).map(|_| (0..random(7)).map(|_| f64::from(random(1000))).collect()).collect();
            let cost_of = |block: i32, radius: u32| costs[block as usize].get(radius as usize).copied();
            let mut least = None;
            let choices = (max_distance + 2).max(1) as u32;
            for choice in 0..choices.pow(blocks as u32) {
                let radii: Vec<_> =
                    (0..blocks as u32).map(|block| (choice / choices.pow(block) % choices).checked_sub(1)).collect();
                let sum: i32 = radii.iter().map(|radius| radius.map_or(0, |radius| radius as i32 + 1)).sum();
                let cost: Option<f64> =
                    (0..).zip(&radii).map(|(block, radius)| radius.map_or(Some(0.0), |r| cost_of(block, r))).sum();
                if let Some(cost) = cost.filter(|_| sum == max_distance + 1) {
                    least = Some(least.map_or(cost, |least: f64| least.min(cost)));
                }
            }
            let found = cheapest_radii(blocks, max_distance, cost_of);
            assert_eq!(found.as_ref().map(|(cost, _)| *cost), least);
            if let Some((cost, radii)) = found {
                assert_eq!(radii.len(), blocks as usize);
                let sum: i32 = radii.iter().map(|radius| radius.map_or(0, |radius| radius as i32 + 1)).sum();
                assert_eq!(sum, max_distance + 1);
                let costs = (0..).zip(&radii).filter_map(|(block, radius)| cost_of(block, (*radius)?));
                assert_eq!(costs.sum::<f64>(), cost);
            }
        }
    }

    #[test]
    fn equal_blocks_need_the_radii_of_the_definition() {
        for blocks in 2..=8 {
            for max_distance in 0..=12 {
                // Costs so steep that radii become as even as possible.
                let cost_of = |_, radius: u32| Some(100f64.powi(radius as i32));
                let (_, mut radii) = cheapest_radii(blocks, max_distance, cost_of).unwrap();
                radii.sort_by_key(|radius| std::cmp::Reverse(radius.map_or(-1, i64::from)));
                let defined: Vec<_> = (0..blocks).map(|block| radius(block, blocks, max_distance)).collect();
                assert_eq!(radii, defined);
            }
        }
    }

    #[test]
    fn every_radius_has_its_distance() {
        for blocks in 2..=8 {
            for wanted in 0..=16 {
                let max_distance = distance_of_radius(blocks, wanted).min(64);
                for block in 0..blocks {
                    let found = radius(block, blocks, max_distance).unwrap();
                    assert!(found == wanted || max_distance == 64, "{blocks} blocks, {wanted}");
                }
            }
        }
    }

    #[test]
    fn a_common_value_is_visited_where_the_query_is_near_it() {
        let block = Block::new(3, 4).unwrap();
        let uniform = Distribution::uniform(block);
        assert_eq!(uniform.visited(block, 0, Some(7)), Visited { common: 0.0, rest: 1.0 / 65536.0 });
        assert_eq!(uniform.visited(block, 1, Some(7)), Visited { common: 0.0, rest: 17.0 / 65536.0 });
        assert_eq!(uniform.visited(block, 0, None), Visited { common: 0.0, rest: 2.0 / 65536.0 });
        let skewed = Distribution { commonest: vec![(5, 0.25)], rest: 0.75, rest_values: 60_000.0 };
        let rest = 0.75 / 65536.0;
        assert_eq!(skewed.visited(block, 0, Some(5)), Visited { common: 0.25, rest });
        assert_eq!(skewed.visited(block, 0, Some(7)), Visited { common: 0.0, rest });
        assert_eq!(skewed.visited(block, 1, Some(7)), Visited { common: 0.25, rest: 17.0 * rest });
        let expected = skewed.visited(block, 0, None);
        assert_eq!(expected.common, 0.0625);
        assert!((expected.rest - rest - 0.75 * 0.75 / 60_000.0).abs() < 1e-12);
        let all = Distribution { commonest: vec![(5, 1.0)], rest: 0.0, rest_values: 0.0 };
        assert_eq!(all.visited(block, 0, None), Visited { common: 1.0, rest: 0.0 });
        assert_eq!(Visited::in_any([skewed.visited(block, 0, Some(5)); 4].into_iter()), 0.25 + 4.0 * rest);
        assert_eq!(Visited::in_any([all.visited(block, 0, None), uniform.visited(block, 0, None)].into_iter()), 1.0);
    }

    #[test]
    fn a_layout_serves_what_its_probes_allow() {
        assert_eq!(probes(2, -1), Some(0));
        assert_eq!(uniform_share(2, -1), 0.0);
        assert_eq!(probes(2, 12), None);
        assert_eq!(probes(3, 64), None);
        assert_eq!(probes(8, 64), Some(256 + 7 * 255));
        assert_eq!(uniform_share(8, 64), 1.0);
        for blocks in [i32::MIN, 0, 1, 9, i32::MAX] {
            assert_eq!(probes(blocks, 3), None);
            assert_eq!(uniform_share(blocks, 3), 0.0);
        }
    }
}
