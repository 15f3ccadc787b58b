//! Clusters: the connected components of the graph in which near pairs are edges.

use super::groups::{Groups, RowFingerprints};
use super::search::{Pair, PairSearch};
use crate::error::Result;
use crate::memory::numbers_below;
use crate::pairs::forest::Forest;
use crate::ticking::{NUMBERS_BETWEEN_TICKS, ticking};

/// For each row, the position of the first row of its cluster: of all rows that are connected with it by pairs of near
/// rows. A row without a fingerprint is alone and gets its own position.
///
/// Searches pairs only among distinct fingerprints, however many rows share one. Needs 4 bytes more for each distinct
/// fingerprint than [`super::near_pairs::Pairs`].
pub fn clusters(rows: RowFingerprints, max_distance: i32, tick: &dyn Fn()) -> Result<Vec<u32>> {
    let len = rows.len();
    if max_distance < 0 {
        return numbers_below(len, tick);
    }
    let (groups, buffers) = Groups::new(rows, tick)?;
    let mut forest = Forest::new(groups.len(), tick)?;
    let mut search = PairSearch::new(buffers, max_distance)?;
    let mut joins = 0;
    while let Some(Pair { a, b, .. }) = search.next(tick)? {
        // In a large forest, joins take much longer than the comparisons for which the search ticks.
        joins += 1;
        if joins % NUMBERS_BETWEEN_TICKS == 0 {
            tick();
        }
        forest.join(a, b, |group| groups.first(group));
    }
    drop(search);

    let mut clusters = numbers_below(len, tick)?;
    let roots = forest.into_roots(tick);
    for (group, row) in ticking(groups.all_rows(), tick) {
        clusters[row as usize] = groups.first(roots[group as usize]);
    }
    Ok(clusters)
}
