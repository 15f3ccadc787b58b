//! The list of a text's features, for people to read.

use crate::error::{Error, MAX_VALUE_BYTES, Result};
use crate::memory::push;

/// The distinct features of a text, in the order in which they first end in it.
#[derive(Debug, Default)]
pub struct FeatureList {
    /// The features, one after the other.
    texts: String,
    /// Where each feature ends in `texts`, in bytes.
    ends: Vec<usize>,
    pub(super) hashes: Vec<u64>,
    /// The weight of each feature; 0 if the option `weights` leaves the feature out.
    pub(super) weights: Vec<u64>,
    pub(super) unit_weight: u64,
}

/// A feature of a text. Its weight is added to, or subtracted from, the sum of each bit. With the option `weights`, it
/// is in units of which [`FeatureList::unit_weight`] make a weight of 1.
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
        (0..self.position_count()).filter_map(|position| self.get(position))
    }

    /// The number of features, including the features that the option `weights` leaves out.
    pub fn position_count(&self) -> usize {
        self.hashes.len()
    }

    /// A weight of 1, in the units of the weights.
    pub fn unit_weight(&self) -> u64 {
        self.unit_weight
    }

    /// The feature at a position; None if the option `weights` leaves it out of the fingerprint. Panics unless
    /// `position` is below [`Self::position_count`].
    pub fn get(&self, position: usize) -> Option<Feature<'_>> {
        let start = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        let weight = self.weights[position];
        if weight == 0 {
            return None;
        }
        Some(Feature { text: &self.texts[start..self.ends[position]], weight, hash: self.hashes[position] })
    }

    pub(super) fn push(&mut self, feature: &[u8], hash: u64) -> Result<()> {
        if self.texts.len() + feature.len() > MAX_VALUE_BYTES {
            return Err(Error::FeaturesTooLong);
        }
        self.texts.try_reserve(feature.len())?;
        // Nothing is lost, because a feature is cut from valid text between characters.
        self.texts.push_str(&String::from_utf8_lossy(feature));
        push(&mut self.ends, self.texts.len())?;
        push(&mut self.hashes, hash)
    }
}
