//! The bands of a text: keys by which it is looked up. Texts with many common features probably share some of them.
//!
//! A minimum is the smallest value that a hash function gives the features and pairs of a text. Take the smallest value
//! over two texts together: if both texts have the feature that has this value, it is the minimum of both, and
//! otherwise of only one. So their minima are equal with a probability that is their resemblance (Broder, SEQUENCES
//! 1997). A band is a key of [`MINIMA_PER_BAND`] minima with hash functions of their own: texts of resemblance J share
//! one with probability J^4, and at least one of six with 1 - (1 - J^4)^6 (Indyk, Motwani, STOC 1998). That is .998 for
//! J = .9, .13 for J = .4, and .0006 for J = .1.
//!
//! With 24 independent functions, chance would make some features of a short text several minima, and others none. So a
//! feature stands at (competes for) one minimum first, which its hash draws, and at others only where no feature stands
//! yet. Each feature is then as probable as before at each minimum, but a few changed features spoil few minima: of the
//! short texts of resemblance .84 and more, .998 share a band, instead of .99. A long text costs one multiplication for
//! each feature and six bands (Ertl, arXiv:1706.05698; Li, Owen and Zhang, NIPS 2012).
//!
//! # The format
//!
//! Bands are stored, so this is a format, of version [`BAND_FORMAT`](crate::BAND_FORMAT). `tests/golden/bands.py` is
//! the same as a program. All numbers are unsigned, of 64 bits, and overflow without an error.
//!
//! 1. A text has parts: each distinct feature by its hash, xxh3-64 with the seed of the options, and each distinct pair
//!    of neighbours by the hash that [`neighbours`](super::neighbours) defines. Shingles of characters have no pairs.
//! 2. A part weighs 1. With the option `weights`, a feature weighs what it says, in billionths, and a pair as much as
//!    the lighter of its two features. A part that weighs 0 is none. A text without a part has no bands.
//! 3. If the option `weight` is `tf` or `log`, each occurrence of a part is a part, by [`occurrence`]. It weighs what
//!    it adds to the weight of the occurrences before it, as a share of what one occurrence weighs: 1 for `tf`; for
//!    `log`, `round(256 * (1 + ln(n))) - round(256 * (1 + ln(n - 1)))` of 256, which may be 0 from the 262nd on.
//! 4. Six bands in a row, from band 0 on, are a group, with 24 minima. In round `r` of group `g`, from 0 to 47, the
//!    hash of each part is multiplied by [`FACTORS`]`[g][r]`. Up to round 23 the part stands at one minimum: the
//!    product's upper half, times 24, divided by 2^32. In round `24 + j` it stands at minimum `j`. Its value there is
//!    the product's lower half, XORed with the upper half of its hash.
//! 5. A minimum is the least value that stands there in the first round in which any does. A part counts for minimum
//!    `j` if the upper half of its hash's product with `FACTORS[g][24 + j]` is less than 2^32 times its weight: so
//!    minima are equal with the probability of the weighted resemblance. If no part counts, all do.
//! 6. Band `i` is made of the minima from `4 * (i % 6)` to `4 * (i % 6) + 3` of its group, in 16 bytes, each
//!    little-endian: the lower half of their xxh3-64 with seed 0, whatever the options' seed, as a signed integer.
//! 7. By the option `same`, each band is XORed with the upper half of a 64-bit product, the digest of what must be the
//!    same times 0x9e3779b97f4a7c15. So texts that differ in it share no band, and others share a band if they do
//!    without the option. The digest is the XOR of three numbers: how many [`numbers`](super::numbers) the text has,
//!    with each group of digits counted; their hash, which begins as 0, and of which each group, in its canonical form
//!    (after `|` if it has three digits, and words are between it and the number before it), makes
//!    `(hash.rotate_left(5) ^ xxh3-64(group)) * 0x9e3779b97f4a7c15`; and a bit for each word of the option that the
//!    text has, from the lowest bit on in the order of the words' tokens, their last one first.
//!
//! The value of a band does not depend on the number of bands.

use super::hash::hash;
use super::neighbours::join;
use crate::random::Random;

/// The number of minima that make a band.
pub const MINIMA_PER_BAND: usize = 4;
/// The number of bands of a table by default.
pub const DEFAULT_BANDS: usize = 6;
/// The most bands of a text: their numbers are 0 to 63.
pub const MAX_BANDS: usize = 64;

const BANDS_PER_GROUP: usize = DEFAULT_BANDS;
const MINIMA: usize = BANDS_PER_GROUP * MINIMA_PER_BAND;
const GROUPS: usize = MAX_BANDS.div_ceil(BANDS_PER_GROUP);
/// In the first half of the rounds, a part stands at the minimum that its hash draws; in the second half, at each
/// minimum once.
const ROUNDS: usize = 2 * MINIMA;

/// The odd factor of each round of each group: the numbers of SplitMix64 from seed 0 on, with the lowest bit set.
static FACTORS: [[u64; ROUNDS]; GROUPS] = {
    let (mut factors, mut random) = ([[0; ROUNDS]; GROUPS], Random(0));
    let mut j = 0;
    while j < ROUNDS * GROUPS {
        factors[j / ROUNDS][j % ROUNDS] = random.next() | 1;
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
    /// The minima, each over the features that count for it.
    minima: [Minimum; MINIMA],
    /// The minima of all features that weigh anything, if some of them weigh less than 1.
    of_all: [Minimum; MINIMA],
}

/// The round in the upper half, and the least value of this round in the lower half.
type Minimum = u64;

const NONE: Minimum = u64::MAX;

impl Minima {
    /// Forgets all features. `bands` is the number of bands that will be asked for.
    pub fn reset(&mut self, bands: usize) {
        self.groups.clear();
        let none = Group { minima: [NONE; _], of_all: [NONE; _] };
        self.groups.resize(bands.min(MAX_BANDS).div_ceil(BANDS_PER_GROUP), none);
    }

    /// Adds features of weight 1 by their hashes. About 1 ns for each feature and six bands in a long text.
    pub fn add_all(&mut self, hashes: &[u64]) {
        for (Group { minima, .. }, factors) in self.groups.iter_mut().zip(&FACTORS) {
            let mut round = 0;
            while round <= last_round(minima) {
                for &hash in hashes {
                    let (j, value) = place(hash, factors, round);
                    minima[j] = minima[j].min(value);
                }
                round += 1;
            }
        }
    }

    /// Adds a feature that weighs `weight / full_weight`, which is from 0 to 1.
    pub fn add(&mut self, hash: u64, weight: u64, full_weight: u64) {
        if weight == 0 {
            return;
        }
        for (Group { minima, of_all }, factors) in self.groups.iter_mut().zip(&FACTORS) {
            // More features count for `of_all`, so its minima are in no later round.
            for round in 0..=last_round(minima) {
                let (j, value) = place(hash, factors, round);
                let drawn = hash.wrapping_mul(factors[MINIMA + j]) >> 32;
                if u128::from(drawn) * u128::from(full_weight) < u128::from(weight) << 32 {
                    minima[j] = minima[j].min(value);
                }
                of_all[j] = of_all[j].min(value);
            }
        }
    }

    /// The band with this number, which must be below the number of bands that [`Self::reset`] was given. At least one
    /// feature that weighs more than 0 must have been added.
    pub fn band(&self, band: usize) -> i32 {
        let Group { minima, of_all } = &self.groups[band / BANDS_PER_GROUP];
        let first = band % BANDS_PER_GROUP * MINIMA_PER_BAND;
        let mut bytes = [[0; 4]; MINIMA_PER_BAND];
        for (j, bytes) in (first..).zip(&mut bytes) {
            *bytes = (if minima[j] == NONE { of_all[j] } else { minima[j] } as u32).to_le_bytes();
        }
        hash(bytes.as_flattened()) as i32
    }
}

/// The last round in which a further feature can be a minimum.
fn last_round(minima: &[Minimum; MINIMA]) -> usize {
    let last = minima.iter().fold(0, |last, minimum| last.max(minimum >> 32));
    (last as usize).min(ROUNDS - 1)
}

/// The minimum at which a feature stands in a round of a group, and its value there, as a [`Minimum`].
#[inline(always)]
fn place(hash: u64, factors: &[u64; ROUNDS], round: usize) -> (usize, Minimum) {
    let product = hash.wrapping_mul(factors[round]);
    let j = if round < MINIMA { (((product >> 32) * MINIMA as u64) >> 32) as usize } else { round - MINIMA };
    (j, (round as u64) << 32 | u64::from(product as u32 ^ (hash >> 32) as u32))
}

/// The hash of an occurrence of a feature or pair: its own for the first one, then [`join`]ed with the number.
pub fn occurrence(hash: u64, number: u32) -> u64 {
    if number == 1 { hash } else { join(hash, number.into()) }
}
