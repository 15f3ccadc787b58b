//! Clusters: the connected components of the graph in which near pairs are edges.

use super::groups::{Groups, Rows, ascending};
use super::progress::{Phase, Progress};
use super::search::Search;
use crate::error::Error;
use crate::ticking::CHUNK;

/// For each row, the position of the first row of its cluster, which consists of all rows that can be reached from it
/// by steps of at most `max_distance`. A row without a fingerprint is alone and gets its own position. Fails if memory
/// is refused.
///
/// Searches pairs only among distinct fingerprints, however many rows share one. Needs 4 bytes more for each distinct
/// fingerprint than [`super::near_pairs::Pairs`].
pub fn clusters(rows: Rows, max_distance: u32, tick: &dyn Fn(Progress)) -> Result<Vec<u32>, Error> {
    let len = rows.len();
    let (groups, buffers, count) = Groups::new(rows, tick)?;
    let mut parents = Parents(ascending(groups.numbers(len), &|| tick(Progress { phase: Phase::Sort, share: 1.0 }))?);
    let mut search = Search::new(buffers, count, max_distance)?;
    let mut done = 0;
    while let Some(near) = search.next(tick)? {
        // In a large forest, joins take much longer than the comparisons for which the search ticks.
        done += 1;
        if done % CHUNK == 0 {
            tick(Progress { phase: Phase::Near, share: search.share() });
        }
        parents.join(near.a, near.b, &groups);
    }
    drop(search);

    let end = || tick(Progress { phase: Phase::Near, share: 1.0 });
    let mut clusters = ascending(len, &end)?;
    let mut done = 0;
    for number in 0..groups.numbers(len) as u32 {
        let first = first(&groups, parents.root(number));
        for &row in groups.rows(&number) {
            if done % CHUNK == 0 {
                end();
            }
            done += 1;
            clusters[row as usize] = first;
        }
    }
    Ok(clusters)
}

/// The parents of a forest with a tree of groups for each cluster; at first, each group is a tree. The root of a tree
/// is the group of the cluster's first row.
struct Parents(Vec<u32>);

impl Parents {
    /// The root of a group's tree. Halves the path to it (van Leeuwen and van der Weide, 1977).
    fn root(&mut self, mut group: u32) -> u32 {
        loop {
            let parent = self.0[group as usize];
            if parent == group {
                return group;
            }
            let grandparent = self.0[parent as usize];
            self.0[group as usize] = grandparent;
            group = grandparent;
        }
    }

    fn join(&mut self, a: u32, b: u32, groups: &Groups) {
        let (a, b) = (self.root(a), self.root(b));
        let (root, child) = if first(groups, a) <= first(groups, b) { (a, b) } else { (b, a) };
        self.0[child as usize] = root;
    }
}

/// The first row of a group.
fn first(groups: &Groups, group: u32) -> u32 {
    groups.rows(&group).first().copied().unwrap_or(u32::MAX)
}
