//! Verified clusters: the connected components of the graph in which confirmed near-duplicates are edges.

use std::collections::HashMap;

use super::forest::Forest;
use super::groups::{Groups, Rows};
use super::search::PairSearch;
use super::verification::{Component, ReadCandidate};
use crate::criterion::Criterion;
use crate::error::Result;
use crate::memory::{fill, push};
use crate::ticking::{PAIRS_BETWEEN_TICKS, ticking};

/// The verified clusters of a component of near rows. The first row of a cluster represents each of its rows.
///
/// Rows with the same fingerprint and features are one node, so that identical rows are not compared with each other.
#[derive(Default)]
pub struct Confirmed {
    /// For each distinct fingerprint and features, the first row, in ascending order.
    nodes: Vec<ReadCandidate>,
    /// The other rows, with the node of each.
    identical: Vec<(u32, u32)>,
    /// Nodes by [`ReadCandidate::key`]. Of several nodes with the same key, only the first.
    by_key: HashMap<u64, u32>,
    /// Bytes that the features take.
    features: usize,
}

impl Component for Confirmed {
    fn add(&mut self, candidate: ReadCandidate, criterion: &Criterion, _: &mut [u32], _: &dyn Fn()) -> Result<()> {
        if !criterion.applies(candidate.features.as_ref()) {
            return Ok(());
        }
        let key = candidate.key();
        match self.by_key.get(&key) {
            Some(&node) if self.nodes[node as usize].is_identical(&candidate) => {
                return push(&mut self.identical, (candidate.row, node));
            }
            Some(_) => (),
            None => {
                self.by_key.try_reserve(1)?;
                self.by_key.insert(key, self.nodes.len() as u32);
            }
        }
        self.features += candidate.features.as_ref().map_or(0, |features| features.memory());
        push(&mut self.nodes, candidate)
    }

    fn finish(&mut self, criterion: &Criterion, results: &mut [u32], tick: &dyn Fn()) -> Result<()> {
        let mut rows = Rows::with_capacity(self.nodes.len())?;
        for node in &self.nodes {
            rows.push(Some(node.fingerprint))?;
        }
        let (groups, buffers) = Groups::new(rows, tick)?;
        let forest = Forest::new(self.nodes.len(), tick)?;
        let mut joining = Joining { nodes: &self.nodes, criterion, forest, whole: Vec::new(), tried: 0 };
        fill(&mut joining.whole, groups.len(), false, tick)?;
        for group in 0..groups.len() as u32 {
            joining.whole[group as usize] = joining.within(groups.rows(group), tick)?;
        }
        let mut search = PairSearch::new(buffers, criterion.near)?;
        while let Some(near) = search.next(tick)? {
            joining.between(&groups, near.a, near.b, tick)?;
        }
        let mut forest = joining.forest;
        let rows = (0..).zip(&self.nodes).map(|(node, read)| (read.row, node)).chain(self.identical.iter().copied());
        for (row, node) in ticking(rows, tick) {
            results[row as usize] = self.nodes[forest.root(node) as usize].row;
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.features
            + self.nodes.capacity() * size_of::<ReadCandidate>()
            + (self.identical.capacity() + 2 * self.by_key.capacity()) * size_of::<(u32, u32)>()
    }
}

struct Joining<'a> {
    nodes: &'a [ReadCandidate],
    criterion: &'a Criterion,
    forest: Forest,
    /// Whether all nodes of a group are known to be in one tree.
    whole: Vec<bool>,
    /// Number of pairs of nodes that were compared.
    tried: usize,
}

impl Joining<'_> {
    /// Joins nodes with equal fingerprints, which are in no tree yet. Returns whether all are in one tree then.
    fn within(&mut self, nodes: &[u32], tick: &dyn Fn()) -> Result<bool> {
        if nodes.len() == 1 {
            return Ok(true);
        }
        // The nodes of each tree. A node is compared with those of a tree until one is confirmed.
        let mut trees: Vec<Vec<u32>> = Vec::new();
        for &node in nodes {
            let mut own = Vec::new();
            push(&mut own, node)?;
            let mut position = 0;
            while position < trees.len() {
                if self.join(&trees[position], &[node], tick) {
                    let mut other = trees.swap_remove(position);
                    if own.len() < other.len() {
                        std::mem::swap(&mut own, &mut other);
                    }
                    own.try_reserve(other.len())?;
                    own.extend(other);
                } else {
                    position += 1;
                }
            }
            push(&mut trees, own)?;
        }
        Ok(trees.len() == 1)
    }

    fn between(&mut self, groups: &Groups, a: u32, b: u32, tick: &dyn Fn()) -> Result<()> {
        let nodes = [groups.rows(a), groups.rows(b)];
        if self.whole[a as usize] && self.whole[b as usize] {
            self.join(nodes[0], nodes[1], tick);
            return Ok(());
        }
        let [of_a, of_b] = [self.by_tree(nodes[0], tick)?, self.by_tree(nodes[1], tick)?];
        (self.whole[a as usize], self.whole[b as usize]) = (of_a.len() == 1, of_b.len() == 1);
        for one in &of_a {
            for other in &of_b {
                self.join(one, other, tick);
            }
        }
        Ok(())
    }

    /// The nodes of each tree.
    fn by_tree(&mut self, nodes: &[u32], tick: &dyn Fn()) -> Result<Vec<Vec<u32>>> {
        let (mut trees, mut positions) = (Vec::new(), HashMap::new());
        for &node in ticking(nodes, tick) {
            positions.try_reserve(1)?;
            let position = *positions.entry(self.forest.root(node)).or_insert(trees.len());
            if position == trees.len() {
                push(&mut trees, Vec::new())?;
            }
            push(&mut trees[position], node)?;
        }
        Ok(trees)
    }

    /// Joins two trees if they differ and a pair of their nodes is confirmed. All nodes of one must be near all
    /// nodes of the other. Returns whether it has joined them.
    fn join(&mut self, ones: &[u32], others: &[u32], tick: &dyn Fn()) -> bool {
        if self.forest.root(ones[0]) == self.forest.root(others[0]) {
            return false;
        }
        for &one in ones {
            for &other in others {
                self.tried += 1;
                if self.tried.is_multiple_of(PAIRS_BETWEEN_TICKS) {
                    tick();
                }
                let features = [one, other].map(|node| self.nodes[node as usize].features.as_ref());
                if self.criterion.confirms(features[0], features[1], tick) {
                    // Nodes are in the order of their rows.
                    self.forest.join(one, other, |node| node);
                    return true;
                }
            }
        }
        false
    }
}
