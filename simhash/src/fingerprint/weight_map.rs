//! The option `weights`: how much single features weigh.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::hash::SeededHasher;
use super::weights::ONE_IN_BILLIONTHS;
use crate::error::Result;
use crate::memory::with_capacity;
use crate::random::{secret_factor, spread};
use crate::text::ignore::Ignored;
use crate::text::normalise::normalise;

/// Numbers by the hashes of features or pairs.
pub type ByHash = HashMap<u64, u64, BuildHasherDefault<SpreadHasher>>;

/// Weights of features, from 0 to 1. All other features weigh 1.
///
/// Weights are whole numbers of billionths. The units of a map are the largest that express all its weights, so that
/// the sums of votes stay short: a common factor of all weights changes no fingerprint and no resemblance.
///
/// Takes about 100 bytes a feature, and the features' bytes.
#[derive(Debug)]
pub struct WeightMap {
    /// Features in normal form with their weights in billionths, in byte order; none weighs 1.
    features: Vec<(String, u32)>,
    /// The weights in units, by the features' hashes.
    weights: ByHash,
    /// A weight of 1, in units.
    unit_weight: u64,
}

impl WeightMap {
    /// Makes a map of features and their weights in billionths, each at most 10^9. Features are normalised as texts
    /// are, and hashed with this seed. If two of them have the same normal form, that is the inner error.
    pub fn new(
        weighted: Vec<(String, u32)>,
        case_fold: bool,
        ignored: Ignored,
        seed: u64,
    ) -> Result<Result<Self, String>> {
        // Only the class `accents` changes how a feature is written. The other classes remove tokens, which are not
        // features.
        let ignored = Ignored { accents: ignored.accents, ..Ignored::default() };
        let mut features = with_capacity(weighted.len())?;
        for (feature, weight) in weighted {
            let mut normal = String::new();
            normalise(&feature, case_fold, &mut normal, &|| ())?;
            ignored.remove(&mut normal, None, &|| ())?;
            normal.shrink_to_fit();
            features.push((normal, weight));
        }
        features.sort_unstable();
        if let Some(index) = features.windows(2).position(|pair| pair[0].0 == pair[1].0) {
            return Ok(Err(features.swap_remove(index).0));
        }
        features.retain(|(_, weight)| *weight != ONE_IN_BILLIONTHS);
        let unit = features.iter().fold(ONE_IN_BILLIONTHS, |unit, (_, weight)| common_divisor(unit, *weight));
        let mut weights = HashMap::default();
        weights.try_reserve(features.len())?;
        for (feature, weight) in &features {
            weights.insert(SeededHasher(seed).hash(feature.as_bytes()), u64::from(weight / unit));
        }
        Ok(Ok(Self { features, weights, unit_weight: (ONE_IN_BILLIONTHS / unit).into() }))
    }

    /// Whether every feature weighs 1.
    pub fn is_empty(&self) -> bool {
        self.features.is_empty()
    }

    /// Each feature in normal form that does not weigh 1, with its weight in billionths, in byte order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.features.iter().map(|(feature, weight)| (&**feature, *weight))
    }

    /// The weight, in units, of the feature with this hash.
    #[inline]
    pub(super) fn weight(&self, hash: u64) -> u64 {
        self.weights.get(&hash).copied().unwrap_or(self.unit_weight)
    }

    pub(super) fn unit_weight(&self) -> u64 {
        self.unit_weight
    }
}

/// Maps with the same weights are equal, whatever seed they are for.
impl PartialEq for WeightMap {
    fn eq(&self, other: &Self) -> bool {
        self.features == other.features
    }
}

impl Eq for WeightMap {}

fn common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Hashes a key that is a hash itself, by [`spread`].
#[derive(Default)]
pub struct SpreadHasher(u64);

impl Hasher for SpreadHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("the keys are numbers");
    }

    fn write_u64(&mut self, hash: u64) {
        // The result of `spread` has 32 bits. A map takes a slot from the low bits, and compares the highest seven.
        self.0 = spread(hash, secret_factor()).wrapping_mul(1 << 32 | 1);
    }
}
