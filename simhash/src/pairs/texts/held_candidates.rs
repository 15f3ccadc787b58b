//! The candidates whose features are in memory, by their buckets.

use super::candidates::Candidates;
use super::outcome::Outcome;
use super::prefixes::PrefixIndex;
use crate::error::Result;
use crate::fingerprint::feature_set::FeatureSet;
use crate::fingerprint::sketch::{DifferenceSketch, MostDifferent};
use crate::memory::{push, repeated};
use crate::ticking::ticking;

/// Stands for the index of a held candidate where there is none.
pub const NO_INDEX: u32 = u32::MAX;
/// Most held candidates of a bucket that the next one is compared with. In a larger bucket, it is compared with those
/// that the [`PrefixIndex`] finds.
const MAX_IN_CHAIN: u32 = 128;

/// The candidates of a pass that later ones are compared with.
pub struct HeldCandidates {
    pub candidates: Vec<HeldCandidate>,
    pub features: Vec<FeatureSet>,
    /// For each band and bucket, the held candidates.
    pub chains: Vec<Vec<Chain>>,
    /// For each candidate and band, the index of the candidate before it in its bucket, or [`NO_INDEX`].
    pub before: Vec<u32>,
    /// The prefixes of the candidates that are in a large bucket.
    pub prefixes: Option<PrefixIndex>,
    /// Bytes that the candidates and their features take, without the prefixes.
    memory: usize,
}

/// A candidate whose features are in memory.
pub struct HeldCandidate {
    pub position: u32,
    pub sketch: DifferenceSketch,
    /// The position of the last candidate that found this one in one of its buckets; at first its own position.
    met_by: u32,
    /// Whether its prefix is in the index.
    has_prefix: bool,
}

/// The held candidates of a bucket.
#[derive(Clone, Copy)]
pub struct Chain {
    /// The index of the last one, or [`NO_INDEX`].
    pub last: u32,
    pub len: u32,
}

const NO_CHAIN: Chain = Chain { last: NO_INDEX, len: 0 };

impl HeldCandidate {
    /// How much this candidate and the next one differ at least; None if they have met before, or are not to be
    /// compared.
    pub fn meet(&mut self, next: usize, candidates: &Candidates, outcome: &mut impl Outcome) -> Option<i64> {
        if std::mem::replace(&mut self.met_by, next as u32) == next as u32 {
            return None;
        }
        let least = outcome.least_resemblance(self.position, next as u32)?;
        let sketch = &candidates.sketches[next];
        let difference = candidates.comparison.difference(&self.sketch, sketch);
        MostDifferent::with_resemblance(least).allows(difference, &self.sketch, sketch).then_some(difference)
    }
}

impl Chain {
    /// Whether the next candidate is compared only with those that the [`PrefixIndex`] finds.
    pub fn is_large(self) -> bool {
        self.len > MAX_IN_CHAIN
    }
}

impl HeldCandidates {
    /// Holds no candidate yet.
    pub fn new(candidates: &Candidates, tick: &dyn Fn()) -> Result<Self> {
        let mut chains = Vec::new();
        for buckets in &candidates.buckets {
            push(&mut chains, repeated(buckets.count as usize, NO_CHAIN, tick)?)?;
        }
        Ok(Self { candidates: Vec::new(), features: Vec::new(), chains, before: Vec::new(), prefixes: None, memory: 0 })
    }

    /// Holds the candidate at a position.
    pub fn push(
        &mut self,
        position: usize,
        features: FeatureSet,
        candidates: &Candidates,
        tick: &dyn Fn(),
    ) -> Result<()> {
        let index = self.candidates.len() as u32;
        self.memory += features.memory() + size_of::<HeldCandidate>() + candidates.buckets.len() * size_of::<u32>();
        push(&mut self.features, features)?;
        let sketch = candidates.sketches[position];
        let held = HeldCandidate { position: position as u32, sketch, met_by: position as u32, has_prefix: false };
        push(&mut self.candidates, held)?;
        self.before.try_reserve(candidates.buckets.len())?;
        let mut is_in_large = false;
        for (buckets, chains) in candidates.buckets.iter().zip(&mut self.chains) {
            let chain = chains.get_mut(buckets.numbers[position] as usize);
            self.before.push(chain.as_ref().map_or(NO_INDEX, |chain| chain.last));
            if let Some(chain) = chain {
                *chain = Chain { last: index, len: chain.len + 1 };
                is_in_large |= chain.is_large();
            }
        }
        if is_in_large { self.add_prefixes(position, candidates, tick) } else { Ok(()) }
    }

    /// Adds to the prefixes the last candidate, and all others of buckets that it has made large.
    fn add_prefixes(&mut self, position: usize, candidates: &Candidates, tick: &dyn Fn()) -> Result<()> {
        let prefixes = match &mut self.prefixes {
            Some(prefixes) => prefixes,
            none => none.insert(PrefixIndex::new(candidates.criterion.resemblance, tick)?),
        };
        for (band, (buckets, chains)) in candidates.buckets.iter().zip(&self.chains).enumerate() {
            let Some(chain) = chains.get(buckets.numbers[position] as usize) else { continue };
            let mut next = if chain.is_large() { chain.last } else { NO_INDEX };
            while let Some(held) = self.candidates.get_mut(next as usize) {
                if !std::mem::replace(&mut held.has_prefix, true) {
                    prefixes.add(next, &self.features[next as usize], tick)?;
                }
                if chain.len > MAX_IN_CHAIN + 1 {
                    break; // The bucket was large before.
                }
                next = self.before[next as usize * candidates.buckets.len() + band];
            }
        }
        if prefixes.needs_order() {
            prefixes.order(|index| &self.features[index as usize], tick)?;
        }
        Ok(())
    }

    /// Bytes that the candidates, their features and their prefixes take.
    pub fn memory(&self) -> usize {
        self.memory + self.prefixes.as_ref().map_or(0, PrefixIndex::memory)
    }

    /// Forgets the candidates, for the next pass.
    pub fn clear(&mut self, candidates: &Candidates, tick: &dyn Fn()) {
        ticking(self.features.drain(..), tick).for_each(drop);
        for held in ticking(self.candidates.drain(..), tick) {
            for (buckets, chains) in candidates.buckets.iter().zip(&mut self.chains) {
                if let Some(chain) = chains.get_mut(buckets.numbers[held.position as usize] as usize) {
                    *chain = NO_CHAIN;
                }
            }
        }
        self.before.clear();
        self.prefixes = None;
        self.memory = 0;
    }
}
