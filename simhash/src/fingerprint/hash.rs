//! The hash of a feature: xxh3-64 of its UTF-8 bytes, with seed 0 unless the options give another.

/// The hash of a feature.
#[inline]
pub fn hash(feature: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(feature)
}

/// The hash of the feature at `start..end` of `text`; the same as [`hash`], which `tests/properties.rs` checks.
///
/// xxh3 has one path for 1 to 3 bytes and another for 4 to 8; on words of natural text, the branch is mispredicted
/// every third time. Here both are computed, from one read past the end of the word, and one is chosen without a
/// branch: Reuters news took 2.9 ns a byte instead of 3.2, licences 2.3 instead of 2.6.
#[inline(always)]
pub fn hash_at(text: &[u8], start: usize, end: usize) -> u64 {
    let length = end - start;
    match text[start..].first_chunk() {
        Some(bytes) if (1..=8).contains(&length) => short(u64::from_le_bytes(*bytes), length),
        _ => hash(&text[start..end]),
    }
}

/// A hash function of features. Every way through a text is compiled for both, so that a seed costs texts without one
/// nothing.
pub trait FeatureHash: Copy {
    fn hash(self, feature: &[u8]) -> u64;
    /// The hash of the feature at `start..end` of `text`.
    fn hash_at(self, text: &[u8], start: usize, end: usize) -> u64;
}

/// xxh3-64 with seed 0.
#[derive(Clone, Copy, Debug)]
pub struct Unseeded;

impl FeatureHash for Unseeded {
    #[inline(always)]
    fn hash(self, feature: &[u8]) -> u64 {
        hash(feature)
    }

    #[inline(always)]
    fn hash_at(self, text: &[u8], start: usize, end: usize) -> u64 {
        hash_at(text, start, end)
    }
}

/// xxh3-64 with this seed. Other hash functions of the same features make independent fingerprints of a text.
#[derive(Clone, Copy, Debug)]
pub struct Seeded(pub u64);

impl FeatureHash for Seeded {
    #[inline]
    fn hash(self, feature: &[u8]) -> u64 {
        xxhash_rust::xxh3::xxh3_64_with_seed(feature, self.0)
    }

    #[inline]
    fn hash_at(self, text: &[u8], start: usize, end: usize) -> u64 {
        self.hash(&text[start..end])
    }
}

/// The first 24 bytes of xxh3's default secret, as xxh3 uses them for short inputs: bytes 0..4 ^ 4..8 for 1 to 3 bytes,
/// 8..16 ^ 16..24 for 4 to 8.
const SECRET_1_TO_3: u64 = 0x396c_feb8 ^ 0xbe4b_a423;
const SECRET_4_TO_8: u64 = 0x1cad_21f7_2c81_017c ^ 0xdb97_9083_e96d_d4de;

/// xxh3-64 of the lowest `length` (1 to 8) bytes of `word`, by the xxHash specification.
#[inline(always)]
fn short(word: u64, length: usize) -> u64 {
    const PRIME64_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
    const PRIME64_3: u64 = 0x1656_67b1_9e37_79f9;
    const PRIME_MX2: u64 = 0x9fb2_1c65_1e98_df25;

    let word = word & (!0 >> (64 - 8 * length));
    let byte = |i: usize| word >> (8 * i) & 0xff;

    let mut tiny = byte(0) << 16 | byte(length >> 1) << 24 | byte(length - 1) | (length as u64) << 8;
    tiny ^= SECRET_1_TO_3;
    tiny = (tiny ^ tiny >> 33).wrapping_mul(PRIME64_2);
    tiny = (tiny ^ tiny >> 29).wrapping_mul(PRIME64_3);
    tiny ^= tiny >> 32;

    let (first, last) = (word << 32, word >> (8 * length.saturating_sub(4)) & 0xffff_ffff);
    let mut small = (first | last) ^ SECRET_4_TO_8;
    small ^= small.rotate_left(49) ^ small.rotate_left(24);
    small = small.wrapping_mul(PRIME_MX2);
    small ^= (small >> 35).wrapping_add(length as u64);
    small = small.wrapping_mul(PRIME_MX2);
    small ^= small >> 28;

    std::hint::select_unpredictable(length < 4, tiny, small)
}
