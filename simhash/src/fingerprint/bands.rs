//! The bands of a text: keys that texts with many common features probably share, to look them up by.
//!
//! A minimum is the smallest value that a hash function gives the features and pairs of a text. Of two texts, the one
//! that has the smallest value of both together has it alone unless the texts have that feature in common, so their
//! minima are equal with a probability that is their resemblance (Broder, SEQUENCES 1997). A band is a key of
//! [`MINIMA_PER_BAND`] minima with hash functions of their own: texts of resemblance J share one with probability J^4,
//! and at least one of six with 1 - (1 - J^4)^6 (Indyk, Motwani, STOC 1998). That is .998 for J = .9, .13 for J = .4,
//! and .0006 for J = .1.
//!
//! # The format
//!
//! Bands are stored, so this is a format, of version [`BAND_FORMAT`](crate::BAND_FORMAT). `tests/golden/bands.py` is the
//! same as a program. All numbers are unsigned, of 64 bits, and overflow without an error.
//!
//! 1. A text has parts: each distinct feature by its hash, xxh3-64 with the seed of the options, and each distinct pair
//!    of neighbours by the hash that [`neighbours`](super::neighbours) defines. Shingles of characters have no pairs.
//! 2. A part weighs 1. With the option `weights`, a feature weighs what it says, in billionths, and a pair as much as
//!    the lighter of its two features. A part that weighs 0 is none. A text without a part has no bands.
//! 3. If the option `weight` is `tf` or `log`, each occurrence of a part is a part, by [`level`]. It weighs what it adds
//!    to the weight of the occurrences before it, as a share of what one occurrence weighs: 1 for `tf`; for `log`,
//!    `round(256 * (1 + ln(n))) - round(256 * (1 + ln(n - 1)))` of 256, which may be 0 from the 262nd on.
//! 4. Minimum `j` multiplies the hash of each part by [`FACTORS`]`[j]`. The value of the part is the product's lower
//!    half, XORed with the upper half of its hash. The part takes part in the minimum if the product's upper half is
//!    less than 2^32 times its weight: so minima are equal with the probability of the weighted resemblance.
//! 5. The minimum is the least value of those that take part. If none does, or if it is 2^32 - 1, it is the least value
//!    of all parts.
//! 6. Band `i` is made of the minima from `4 * i` to `4 * i + 3`, in 16 bytes, each little-endian: the lower half of
//!    their xxh3-64 with seed 0, whatever the seed of the options, as a signed integer.
//! 7. By the option `same`, each band is XORed with the upper half of a 64-bit product, the digest of what must be the
//!    same times 0x9e3779b97f4a7c15. So texts that differ in it share no band, and of others a band is equal if it is
//!    without the option. The digest is the XOR of three numbers: how many [`numbers`](super::numbers) the text has,
//!    with each group of digits counted; their hash, which begins as 0, and of which each group, in its canonical form
//!    (after `|` if it has three digits, and words are between it and the number before it), makes
//!    `(hash.rotate_left(5) ^ xxh3-64(group)) * 0x9e3779b97f4a7c15`; and a bit for each word of the option that the
//!    text has, from the lowest bit on in the order of the words' tokens, their last one first.
//!
//! A band does not depend on how many there are.

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

/// The odd factor of each minimum: the numbers of SplitMix64 from seed 0 on, with the lowest bit set.
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

/// The hash of a feature or pair that occurs for the `level`th time: its own for the first time, then [`join`]ed with
/// the number.
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
