//! The rows that are kept if each row that duplicates an earlier kept row is dropped.

use std::collections::HashMap;

use super::compare::{Cursor, LANES, advance};
use super::verification::{Component, ReadCandidate};
use crate::criterion::Criterion;
use crate::error::Result;
use crate::fingerprint::feature_set::FeatureSet;
use crate::memory::{fill, push};
use crate::ticking::{NUMBERS_BETWEEN_TICKS, PAIRS_BETWEEN_TICKS};

/// The rows of a component that are kept. A kept row represents itself. A row that is a confirmed near-duplicate of an
/// earlier kept row is dropped, and the kept row represents it: of several, the nearest one and, among equally near
/// ones, the earliest.
///
/// A guard decides in the same way, if the rows are stored one by one. Unlike in a cluster, a row is never dropped
/// because of a row that is itself dropped. Each row is compared with all kept rows before it. Nothing is stored of
/// dropped rows.
#[derive(Default)]
pub struct Kept {
    rows: Vec<u32>,
    /// The fingerprint of the row that is compared, those of the kept rows, and [`LANES`] more.
    fingerprints: Vec<u64>,
    /// Empty if the criterion does not ask for texts.
    features: Vec<FeatureSet>,
    /// Indexes in `rows`, by [`ReadCandidate::key`]. Of several kept rows with the same key, only the first.
    by_key: HashMap<u64, u32>,
    /// Bytes that the features take.
    memory: usize,
}

impl Component for Kept {
    fn add(
        &mut self,
        candidate: ReadCandidate,
        criterion: &Criterion,
        results: &mut [u32],
        tick: &dyn Fn(),
    ) -> Result<()> {
        if !criterion.applies(candidate.features.as_ref()) {
            return Ok(());
        }
        let (row, key) = (candidate.row as usize, candidate.key());
        if let Some(position) = self.duplicated(&candidate, key, criterion, tick)? {
            results[row] = self.rows[position];
            return Ok(());
        }
        self.by_key.try_reserve(1)?;
        self.by_key.entry(key).or_insert(self.rows.len() as u32);
        push(&mut self.rows, candidate.row)?;
        self.fingerprints[self.rows.len()] = candidate.fingerprint;
        push(&mut self.fingerprints, 0)?;
        if let Some(features) = candidate.features {
            self.memory += features.memory();
            push(&mut self.features, features)?;
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.memory + self.rows.capacity() * 4 + self.fingerprints.capacity() * 8 + self.by_key.capacity() * 16
    }
}

impl Kept {
    /// The position of the kept row that a row duplicates; None if there is none.
    fn duplicated(
        &mut self,
        candidate: &ReadCandidate,
        key: u64,
        criterion: &Criterion,
        tick: &dyn Fn(),
    ) -> Result<Option<usize>> {
        // An identical kept row is at distance 0. If an earlier kept row at distance 0 were confirmed for this row, it
        // would have been confirmed for the identical row, which would then not be kept.
        if let Some(&position) = self.by_key.get(&key) {
            let position = position as usize;
            let is_identical = self.fingerprints[1 + position] == candidate.fingerprint
                && self.features.get(position) == candidate.features.as_ref();
            if is_identical {
                return Ok(Some(position));
            }
        }
        let max_distance = criterion.near.max_distance().max(0).cast_unsigned();
        fill(&mut self.fingerprints, 1 + LANES, 0, tick)?;
        self.fingerprints[0] = candidate.fingerprint;
        let mut near = Vec::new();
        let mut cursor = Cursor::between(0..1, 1..1 + self.rows.len());
        let mut left = NUMBERS_BETWEEN_TICKS;
        while !cursor.is_done() {
            let found = advance(&self.fingerprints, &mut cursor, max_distance, &mut left);
            for (_, found) in found.into_iter().flatten() {
                let difference = self.fingerprints[found] ^ candidate.fingerprint;
                if criterion.near.contains(difference) {
                    push(&mut near, (difference.count_ones(), found - 1))?;
                }
            }
            if left == 0 {
                left = NUMBERS_BETWEEN_TICKS;
                tick();
            }
        }
        near.sort_unstable();
        for (number, &(_, position)) in near.iter().enumerate() {
            if number % PAIRS_BETWEEN_TICKS == PAIRS_BETWEEN_TICKS - 1 {
                tick();
            }
            if criterion.confirms(self.features.get(position), candidate.features.as_ref(), tick) {
                return Ok(Some(position));
            }
        }
        Ok(None)
    }
}
