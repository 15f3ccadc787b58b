//! Pseudo-random numbers for samples, tests and benchmarks, where the same seed gives the same numbers; and a secret.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::LazyLock;

/// 2^64 divided by the golden ratio, a factor for hashes (Knuth, The Art of Computer Programming, volume 3, section
/// 6.4).
pub const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

/// The generator SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Its value is the seed.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_RATIO);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// A random one of the choices, which must not be empty.
    pub fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// The fingerprint with `bits` random bits flipped. The same bit may be flipped more than once.
    pub fn near(&mut self, fingerprint: u64, bits: u64) -> u64 {
        (0..bits).fold(fingerprint, |fingerprint, _| fingerprint ^ 1 << self.below(64))
    }
}

/// A number in place of a hash, in a hash table. Nobody can write words whose numbers have their low bits in common,
/// which would make the table take quadratic time. `secret` is [`secret_factor`].
#[inline(always)]
pub fn spread(hash: u64, secret: u64) -> u64 {
    let product = hash.wrapping_mul(secret);
    (product ^ product >> 32).wrapping_mul(secret) >> 32
}

/// An odd number that each process draws at random, except in WebAssembly.
pub fn secret_factor() -> u64 {
    static SECRET: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0) | 1);
    *SECRET
}
