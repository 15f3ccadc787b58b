//! Verified clusters: the connected components of the graph in which confirmed near-duplicates are edges.

use std::collections::HashMap;

use super::forest::Forest;
use super::groups::{Groups, Rows};
use super::memory::{push, resize};
use super::rule::Rule;
use super::search::PairSearch;
use super::verification::{Component, ReadCandidate};
use crate::error::Error;
use crate::ticking::{CHUNK, ticking};

/// The verified clusters of a component of near rows. The first row of a cluster represents each of its rows.
///
/// Rows with the same fingerprint and features are one entry, so that identical rows are not compared with each other.
#[derive(Default)]
pub struct Confirmed {
    /// For each distinct fingerprint and features, the first row, in ascending order.
    entries: Vec<ReadCandidate>,
    /// The other rows, with the entry of each.
    copies: Vec<(u32, u32)>,
    /// Entries by the digest of their features. Of several with the same digest, only the first.
    by_digest: HashMap<u64, u32>,
    /// Bytes that the features take.
    features: usize,
}

impl Component for Confirmed {
    fn add(&mut self, candidate: ReadCandidate, rule: &Rule, _: &mut [u32], _: &dyn Fn(f64)) -> Result<(), Error> {
        if !rule.applies(candidate.features.as_ref()) {
            return Ok(());
        }
        let key = candidate.key();
        match self.by_digest.get(&key) {
            Some(&entry) if self.entries[entry as usize].is_identical(&candidate) => {
                return push(&mut self.copies, (candidate.row, entry));
            }
            Some(_) => (),
            None => {
                self.by_digest.try_reserve(1)?;
                self.by_digest.insert(key, self.entries.len() as u32);
            }
        }
        self.features += candidate.features.as_ref().map_or(0, |features| features.memory());
        push(&mut self.entries, candidate)
    }

    fn finish(&mut self, rule: &Rule, results: &mut [u32], tick: &dyn Fn(f64)) -> Result<(), Error> {
        let mut rows = Rows::with_capacity(self.entries.len())?;
        for entry in &self.entries {
            rows.push(Some(entry.fingerprint))?;
        }
        let (groups, buffers, count) = Groups::new(rows, &|_| tick(0.0))?;
        let forest = Forest::new(self.entries.len(), &|| tick(0.0))?;
        let mut joining = Joining { entries: &self.entries, rule, forest, whole: Vec::new(), tried: 0 };
        let numbers = groups.numbers(self.entries.len()) as u32;
        resize(&mut joining.whole, numbers as usize, false)?;
        for group in 0..numbers {
            joining.whole[group as usize] = joining.within(groups.rows(&group), &|| tick(0.0))?;
        }
        let mut search = PairSearch::new(buffers, count, rule.near)?;
        while let Some(near) = search.next(&|progress| tick(progress.share))? {
            let share = search.share();
            joining.between(&groups, near.a, near.b, &|| tick(share))?;
        }
        let mut forest = joining.forest;
        let row_of = |entry: u32| self.entries[entry as usize].row;
        for entry in 0..self.entries.len() as u32 {
            if (entry as usize).is_multiple_of(CHUNK) {
                tick(1.0);
            }
            results[row_of(entry) as usize] = row_of(forest.root(entry));
        }
        for (position, &(row, entry)) in self.copies.iter().enumerate() {
            if position.is_multiple_of(CHUNK) {
                tick(1.0);
            }
            results[row as usize] = row_of(forest.root(entry));
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.features
            + self.entries.capacity() * size_of::<ReadCandidate>()
            + (self.copies.capacity() + 2 * self.by_digest.capacity()) * size_of::<(u32, u32)>()
    }
}

/// Entries that are being joined.
struct Joining<'a> {
    entries: &'a [ReadCandidate],
    rule: &'a Rule,
    forest: Forest,
    /// Whether all entries of a group are known to be in one tree.
    whole: Vec<bool>,
    /// Number of pairs of entries that were compared.
    tried: usize,
}

impl Joining<'_> {
    /// Joins entries with equal fingerprints, which are in no tree yet. Returns whether all are in one tree then.
    fn within(&mut self, entries: &[u32], tick: &dyn Fn()) -> Result<bool, Error> {
        if entries.len() == 1 {
            return Ok(true);
        }
        // The entries of each tree. An entry is compared with those of a tree until one is confirmed.
        let mut trees: Vec<Vec<u32>> = Vec::new();
        for &entry in entries {
            let mut own = Vec::new();
            push(&mut own, entry)?;
            let mut position = 0;
            while position < trees.len() {
                if self.join(&trees[position], &[entry], tick) {
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

    /// Joins the entries of two groups.
    fn between(&mut self, groups: &Groups, a: u32, b: u32, tick: &dyn Fn()) -> Result<(), Error> {
        let entries = [groups.rows(&a), groups.rows(&b)];
        if self.whole[a as usize] && self.whole[b as usize] {
            self.join(entries[0], entries[1], tick);
            return Ok(());
        }
        let mut trees = [Vec::new(), Vec::new()];
        for ((entries, group), trees) in entries.iter().zip([a, b]).zip(&mut trees) {
            self.by_tree(entries, trees, tick)?;
            self.whole[group as usize] = trees.len() == 1;
        }
        for one in &trees[0] {
            for other in &trees[1] {
                self.join(one, other, tick);
            }
        }
        Ok(())
    }

    /// The entries of each tree.
    fn by_tree(&mut self, entries: &[u32], trees: &mut Vec<Vec<u32>>, tick: &dyn Fn()) -> Result<(), Error> {
        let mut positions: HashMap<u32, usize> = HashMap::new();
        for &entry in ticking(entries, tick) {
            positions.try_reserve(1)?;
            let position = *positions.entry(self.forest.root(entry)).or_insert(trees.len());
            if position == trees.len() {
                push(trees, Vec::new())?;
            }
            push(&mut trees[position], entry)?;
        }
        Ok(())
    }

    /// Joins two trees if they differ and a pair of their entries is confirmed. All entries of one must be near all
    /// entries of the other. Returns whether it has joined them.
    fn join(&mut self, ones: &[u32], others: &[u32], tick: &dyn Fn()) -> bool {
        if self.forest.root(ones[0]) == self.forest.root(others[0]) {
            return false;
        }
        for &one in ones {
            for &other in others {
                self.tried += 1;
                if self.tried.is_multiple_of(TRIED) {
                    tick();
                }
                let features = [one, other].map(|entry| self.entries[entry as usize].features.as_ref());
                if self.rule.confirms(features[0], features[1], tick) {
                    // Entries are in the order of their rows.
                    self.forest.join(one, other, |entry| entry);
                    return true;
                }
            }
        }
        false
    }
}

/// Pairs of entries between two ticks.
const TRIED: usize = 1 << 10;
