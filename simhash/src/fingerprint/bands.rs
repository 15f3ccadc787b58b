//! The bands of a text: keys that texts with many common features probably share, to look them up by.
//!
//! A minimum is the smallest value that a hash function gives the features and pairs of a text. Of two texts, the one
//! that has the smallest value of both together has it alone unless the texts have that feature in common, so their
//! minima are equal with a probability that is their resemblance (Broder, SEQUENCES 1997). A band is a key of
//! [`MINIMA_PER_BAND`] minima with hash functions of their own: texts of resemblance J share one with probability J^4,
//! and at least one of six with 1 - (1 - J^4)^6 (Indyk, Motwani, STOC 1998). That is .998 for J = .9, .13 for J = .4,
//! and .0006 for J = .1.
//!
//! Bands are stored, so everything here is a format:
//!
//! - Hash function `j` multiplies a feature's 64-bit hash by [`FACTORS`]`[j]`. The value is the product's lower half,
//!   XORed with the upper half of the feature's hash.
//! - Band `i` is made of the minima from `4 * i` on, as little-endian numbers: the lower half of their [`hash`].
//! - With weights, a feature takes part in minimum `j` if the product's upper half, as a fraction of 2^32, is less than
//!   its weight. So minima are equal with the probability of the weighted resemblance. A feature that occurs several
//!   times has a hash for each time if the option `weight` counts them ([`level`]), each with the weight that it adds.
//! - A minimum of 2^32 - 1, as of no feature that takes part, is replaced by that of all features that weigh anything.

use multiversion::multiversion;

use super::feature_table::FEATURE_BATCH;
use super::hash::hash;
use super::neighbours::join;
use crate::random::Random;

pub const MINIMA_PER_BAND: usize = 4;
/// The bands of a table by default.
pub const DEFAULT_BANDS: usize = 6;
/// There are bands from 0 to 63.
pub const MAX_BANDS: usize = 64;

/// Bands that are computed together, with their minima in registers.
const BANDS_PER_GROUP: usize = DEFAULT_BANDS;
const GROUP: usize = BANDS_PER_GROUP * MINIMA_PER_BAND;
const GROUPS: usize = MAX_BANDS.div_ceil(BANDS_PER_GROUP);

/// The odd factor of each hash function: the numbers of SplitMix64 from seed 0 on, with the lowest bit set.
static FACTORS: [[u64; GROUP]; GROUPS] = {
    let (mut factors, mut random) = ([[0; GROUP]; GROUPS], Random(0));
    let mut j = 0;
    while j < GROUP * GROUPS {
        factors[j / GROUP][j % GROUP] = random.next() | 1;
        j += 1;
    }
    factors
};

/// The minima of the features that were added.
#[derive(Debug, Default)]
pub struct Minima {
    groups: Vec<Group>,
}

#[derive(Clone, Debug)]
struct Group {
    /// The minima of the features that take part in each.
    minima: [u32; GROUP],
    /// The minima of all features that weigh anything, if some weigh less than 1.
    of_all: [u32; GROUP],
}

impl Minima {
    /// Forgets all features. `bands` is the number of bands that will be asked for.
    pub fn reset(&mut self, bands: usize) {
        self.groups.clear();
        let none = Group { minima: [u32::MAX; _], of_all: [u32::MAX; _] };
        self.groups.resize(bands.min(MAX_BANDS).div_ceil(BANDS_PER_GROUP), none);
    }

    /// Adds features of weight 1 by their hashes. About 1.5 ns for each feature and six bands.
    pub fn add_all(&mut self, hashes: &[u64]) {
        for (group, factors) in self.groups.iter_mut().zip(&FACTORS) {
            add_all(&mut group.minima, factors, hashes);
        }
    }

    /// Adds a feature that weighs `weight / one`, which is from 0 to 1.
    pub fn add(&mut self, feature: u64, weight: u64, one: u64) {
        if weight == 0 {
            return;
        }
        for (Group { minima, of_all }, factors) in self.groups.iter_mut().zip(&FACTORS) {
            for ((minimum, of_all), factor) in minima.iter_mut().zip(of_all).zip(factors) {
                let product = feature.wrapping_mul(*factor);
                let value = product as u32 ^ (feature >> 32) as u32;
                let takes_part = u128::from(product >> 32) * u128::from(one) < u128::from(weight) << 32;
                *minimum = if takes_part { value.min(*minimum) } else { *minimum };
                *of_all = value.min(*of_all);
            }
        }
    }

    /// A band of the text. The features that were added weigh more than 0 together.
    pub fn band(&self, band: usize) -> i32 {
        let Group { minima, of_all } = &self.groups[band / BANDS_PER_GROUP];
        let first = band % BANDS_PER_GROUP * MINIMA_PER_BAND;
        let mut bytes = [[0; 4]; MINIMA_PER_BAND];
        for (j, bytes) in (first..).zip(&mut bytes) {
            *bytes = if minima[j] == u32::MAX { of_all[j] } else { minima[j] }.to_le_bytes();
        }
        hash(bytes.as_flattened()) as i32
    }
}

/// The hash of a feature that occurs for the `level`th time, from 1 on.
pub fn level(feature: u64, level: u32) -> u64 {
    if level == 1 { feature } else { join(feature, level.into()) }
}

/// Hashes whose values are compared at once, in vectors.
const LANES: usize = 16;

/// Adds features of weight 1 to the minima of a group.
///
/// For each minimum, the compiler vectorises the loop over the lanes. A loop over the minima for each hash would stay
/// scalar, and take five times as long.
#[multiversion(targets("x86_64+avx2", "x86_64+sse4.1"))]
fn add_all(minima: &mut [u32; GROUP], factors: &[u64; GROUP], hashes: &[u64]) {
    for batch in hashes.chunks(FEATURE_BATCH) {
        // The last vector is filled up with a hash that is added anyway.
        let mut hashes = [batch[0]; FEATURE_BATCH];
        hashes[..batch.len()].copy_from_slice(batch);
        let (lower, upper) = (hashes.map(|hash| hash as u32), hashes.map(|hash| (hash >> 32) as u32));
        let (lower, upper) = (lower.as_chunks::<LANES>().0, upper.as_chunks::<LANES>().0);
        let len = batch.len().div_ceil(LANES);
        for (minimum, factor) in minima.iter_mut().zip(factors) {
            let mut least = [*minimum; LANES];
            for (lower, upper) in lower[..len].iter().zip(upper) {
                for i in 0..LANES {
                    least[i] = (lower[i].wrapping_mul(*factor as u32) ^ upper[i]).min(least[i]);
                }
            }
            *minimum = least.into_iter().fold(u32::MAX, u32::min);
        }
    }
}
