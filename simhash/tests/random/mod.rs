//! Random fingerprints for tests and benchmarks: the same in every run.
#![allow(dead_code)] // Each user needs only a part.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), which starts from a seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number from 0 to `end` - 1.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// A fingerprint with `bits` random bits flipped; the same bit may be flipped more than once.
    pub fn near(&mut self, fingerprint: u64, bits: u64) -> u64 {
        (0..bits).fold(fingerprint, |fingerprint, _| fingerprint ^ 1 << self.below(64))
    }
}
