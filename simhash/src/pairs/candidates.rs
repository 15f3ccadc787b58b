//! The rows that have a near row, by component of the graph in which near rows are connected.

use super::cluster::clusters;
use super::groups::Rows;
use crate::error::Result;
use crate::memory::{fill, push};
use crate::search::nearness::Nearness;
use crate::ticking::ticking;

/// The rows that are in a component of several rows, in ascending order.
pub struct Candidates {
    pub rows: Vec<u32>,
    pub fingerprints: Vec<u64>,
    /// The component of each row of `rows`, numbered from 0 in the order of the components' first rows.
    pub components: Vec<u32>,
    /// Number of rows of each component.
    pub sizes: Vec<u32>,
}

impl Candidates {
    /// Finds the components of all rows. Fails if memory is refused.
    ///
    /// Needs 8 bytes a row more than [`clusters`], and afterwards 16 bytes for each row of a component.
    pub fn new(rows: Rows, near: Nearness, tick: &dyn Fn()) -> Result<Self> {
        let fingerprints = rows.by_position(tick)?;
        let firsts = clusters(rows, near, tick)?;
        let mut sizes = Vec::new();
        fill(&mut sizes, firsts.len(), 0, tick)?;
        for first in ticking(&firsts, tick) {
            sizes[*first as usize] += 1;
        }
        let several = |first: &u32| sizes[*first as usize] > 1;
        let len = ticking(&firsts, tick).filter(|first| several(first)).count();
        let mut found = Self { rows: Vec::new(), fingerprints: Vec::new(), components: Vec::new(), sizes: Vec::new() };
        found.rows.try_reserve_exact(len)?;
        found.fingerprints.try_reserve_exact(len)?;
        found.components.try_reserve_exact(len)?;
        // From here on, the size of a component is replaced by its number once its first row has been met.
        for (row, &first) in ticking(firsts.iter().enumerate(), tick) {
            let size = sizes[first as usize];
            if row == first as usize {
                if size == 1 {
                    continue;
                }
                sizes[row] = found.sizes.len() as u32;
                push(&mut found.sizes, size)?;
            }
            found.rows.push(row as u32);
            found.fingerprints.push(fingerprints[row]);
            found.components.push(sizes[first as usize]);
        }
        Ok(found)
    }
}
