//! The list of a text's features, for people to read.

use crate::error::{Error, MAX_VALUE_BYTES, Result};
use crate::memory::push;

/// The distinct features of a text, in the order in which they first end in it.
#[derive(Debug, Default)]
pub struct FeatureList {
    bytes: String,
    ends: Vec<usize>,
    pub(super) hashes: Vec<u64>,
    /// Weights of the features; 0 if the option `weights` leaves it out.
    pub(super) weights: Vec<u64>,
    pub(super) one: u64,
}

/// A feature of a text. Its weight is added to, or subtracted from, the sum of each bit. With the option `weights`, it
/// is in units of which [`FeatureList::one`] make a weight of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature<'a> {
    /// The feature: a word, or several tokens as the shingle joins them.
    pub text: &'a str,
    /// Its weight, more than 0.
    pub weight: u64,
    /// Its hash, whose bits vote.
    pub hash: u64,
}

impl FeatureList {
    /// The features that the fingerprint is made of, in the order in which they first end in the text.
    pub fn iter(&self) -> impl Iterator<Item = Feature<'_>> {
        (0..self.positions()).filter_map(|position| self.get(position))
    }

    /// The number of features, including the features that the option `weights` leaves out.
    pub fn positions(&self) -> usize {
        self.hashes.len()
    }

    /// The units in a weight of 1.
    pub fn one(&self) -> u64 {
        self.one
    }

    /// The feature at a position; None if the option `weights` leaves it out of the fingerprint.
    pub fn get(&self, position: usize) -> Option<Feature<'_>> {
        let start = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        let weight = self.weights[position];
        if weight == 0 {
            return None;
        }
        Some(Feature { text: &self.bytes[start..self.ends[position]], weight, hash: self.hashes[position] })
    }

    pub(super) fn push(&mut self, feature: &[u8], hash: u64) -> Result<()> {
        if self.bytes.len() + feature.len() > MAX_VALUE_BYTES {
            return Err(Error::FeaturesTooLong);
        }
        self.bytes.try_reserve(feature.len())?;
        // A feature is cut from valid text between characters.
        self.bytes.push_str(&String::from_utf8_lossy(feature));
        push(&mut self.ends, self.bytes.len())?;
        push(&mut self.hashes, hash)
    }
}
