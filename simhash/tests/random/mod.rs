//! Random fingerprints for tests and benchmarks: the same in every run.
#![allow(dead_code)] // Each user needs some of it.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), from its seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// One of the numbers from 0 that are less than `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// A fingerprint with so many bits flipped, or some of them twice.
    pub fn near(&mut self, fingerprint: u64, bits: u64) -> u64 {
        (0..bits).fold(fingerprint, |fingerprint, _| fingerprint ^ 1 << self.below(64))
    }
}
