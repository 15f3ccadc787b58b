//! Verified clusters: the connected components of the graph in which confirmed near-duplicates are edges.

use std::collections::HashMap;

use super::forest::Forest;
use super::groups::{Groups, Rows};
use super::memory::{push, resize};
use super::rule::Rule;
use super::search::Search;
use super::verification::{Candidate, Component};
use crate::error::Error;
use crate::ticking::CHUNK;

/// The verified clusters of a component of near rows. The first row of a cluster stands for each of its rows.
///
/// Rows with the same fingerprint and features are one entry, so that a million identical rows cost a million.
#[derive(Default)]
pub struct Confirmed {
    /// The first of identical rows each, in ascending order.
    entries: Vec<Candidate>,
    /// The other rows, with the entry of each.
    copies: Vec<(u32, u32)>,
    /// Entries by the digest of their features. Of several with the same digest, only the first.
    by_digest: HashMap<u64, u32>,
    /// Bytes that the features take.
    features: usize,
}

impl Component for Confirmed {
    fn add(&mut self, candidate: Candidate, rule: &Rule, _: &mut [u32], _: &dyn Fn(f64)) -> Result<(), Error> {
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
            joining.whole[group as usize] = joining.within(groups.rows(&group), &|| tick(0.0));
        }
        let mut search = Search::new(buffers, count, rule.max_distance)?;
        while let Some(near) = search.next(&|progress| tick(progress.share))? {
            let share = search.share();
            joining.between(&groups, near.a, near.b, &|| tick(share));
        }
        let mut forest = joining.forest;
        let row_of = |entry: u32| self.entries[entry as usize].row;
        for entry in 0..self.entries.len() as u32 {
            if (entry as usize).is_multiple_of(CHUNK) {
                tick(1.0);
            }
            results[row_of(entry) as usize] = row_of(forest.root(entry));
        }
        for (place, &(row, entry)) in self.copies.iter().enumerate() {
            if place.is_multiple_of(CHUNK) {
                tick(1.0);
            }
            results[row as usize] = row_of(forest.root(entry));
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.features
            + self.entries.capacity() * size_of::<Candidate>()
            + (self.copies.capacity() + 2 * self.by_digest.capacity()) * size_of::<(u32, u32)>()
    }
}

/// Entries that are being joined.
struct Joining<'a> {
    entries: &'a [Candidate],
    rule: &'a Rule,
    forest: Forest,
    /// Whether all entries of a group are known to be in one tree.
    whole: Vec<bool>,
    /// Number of pairs of entries that were tried.
    tried: usize,
}

impl Joining<'_> {
    /// Joins entries with equal fingerprints. Returns whether all are in one tree then.
    fn within(&mut self, entries: &[u32], tick: &impl Fn()) -> bool {
        // Each join lowers the number of trees of the first entries by one, since no entry is in any other tree yet.
        let mut trees = 0;
        for (place, &entry) in entries.iter().enumerate() {
            trees += 1;
            for &earlier in entries[..place].iter() {
                if trees == 1 {
                    break;
                }
                trees -= usize::from(self.join(earlier, entry, tick));
            }
        }
        trees == 1
    }

    /// Joins the entries of two groups.
    fn between(&mut self, groups: &Groups, a: u32, b: u32, tick: &impl Fn()) {
        let whole = self.is_whole(groups, a, tick) && self.is_whole(groups, b, tick);
        for &one in groups.rows(&a) {
            for &other in groups.rows(&b) {
                let joined = self.join(one, other, tick);
                if whole && (joined || self.forest.root(one) == self.forest.root(other)) {
                    return;
                }
            }
        }
    }

    fn is_whole(&mut self, groups: &Groups, group: u32, tick: &impl Fn()) -> bool {
        if !self.whole[group as usize] {
            let entries = groups.rows(&group);
            let root = self.forest.root(entries[0]);
            let mut is_whole = true;
            for chunk in entries.chunks(CHUNK) {
                tick();
                is_whole = is_whole && chunk.iter().all(|entry| self.forest.root(*entry) == root);
            }
            self.whole[group as usize] = is_whole;
        }
        self.whole[group as usize]
    }

    /// Joins the trees of two near entries if these are not in one tree, and their texts confirm them.
    fn join(&mut self, a: u32, b: u32, tick: &impl Fn()) -> bool {
        self.tried += 1;
        if self.tried.is_multiple_of(TRIED) {
            tick();
        }
        if self.forest.root(a) == self.forest.root(b) {
            return false;
        }
        let [one, other] = [a, b].map(|entry| self.entries[entry as usize].features.as_ref());
        let confirmed = self.rule.confirms(one, other, tick);
        if confirmed {
            // Entries are in the order of their rows.
            self.forest.join(a, b, |entry| entry);
        }
        confirmed
    }
}

/// Pairs of entries between two ticks.
const TRIED: usize = 1 << 10;
