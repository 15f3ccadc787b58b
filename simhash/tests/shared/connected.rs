//! Connected components, by a breadth-first search.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Each id of these pairs, in ascending order, and the smallest id that it reaches.
pub fn connected(pairs: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut neighbours = BTreeMap::<u64, BTreeSet<u64>>::new();
    for (a, b) in pairs {
        neighbours.entry(a).or_default().insert(b);
        neighbours.entry(b).or_default().insert(a);
    }
    let mut components = BTreeMap::new();
    for &start in neighbours.keys() {
        let mut queue = VecDeque::from([start]);
        while let Some(id) = queue.pop_front() {
            if let Entry::Vacant(vacant) = components.entry(id) {
                vacant.insert(start);
                queue.extend(&neighbours[&id]);
            }
        }
    }
    components.into_iter().collect()
}
