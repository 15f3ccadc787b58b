//! Disjoint sets that are joined (union-find): a forest with a tree for each set (Galler and Fischer, 1964).

use crate::error::Result;
use crate::memory::numbers_below;
use crate::ticking::ticking;

/// The parents of the nodes of a forest; a root is its own parent.
pub struct Forest(Vec<u32>);

impl Forest {
    /// A forest in which each of `nodes` nodes is a tree.
    pub fn new(nodes: usize, tick: &dyn Fn()) -> Result<Self> {
        Ok(Self(numbers_below(nodes, tick)?))
    }

    /// The root of a node's tree. Halves the path to it (van Leeuwen and van der Weide, 1977).
    pub fn root(&mut self, mut node: u32) -> u32 {
        loop {
            let parent = self.0[node as usize];
            if parent == node {
                return node;
            }
            let grandparent = self.0[parent as usize];
            self.0[node as usize] = grandparent;
            node = grandparent;
        }
    }

    /// Joins the trees of two nodes. The root whose `first` is smaller becomes the root of both.
    pub fn join(&mut self, a: u32, b: u32, first: impl Fn(u32) -> u32) {
        let (a, b) = (self.root(a), self.root(b));
        let (root, child) = if first(a) <= first(b) { (a, b) } else { (b, a) };
        self.0[child as usize] = root;
    }

    pub fn into_roots(mut self, tick: &dyn Fn()) -> Vec<u32> {
        for node in ticking(0..self.0.len(), tick) {
            self.0[node] = self.root(node as u32);
        }
        self.0
    }
}
