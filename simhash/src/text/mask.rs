//! Masks of blocks of text: one bit for each byte, found many bytes at a time.

/// Bytes of a block.
pub const BLOCK: usize = 64;

/// One bit for each byte: 1 where `is` holds. The compiler makes 16 or more comparisons an operation of the loop.
#[inline(always)]
pub fn mask(block: &[u8; BLOCK], is: impl Fn(u8) -> bool) -> u64 {
    bits(&block.map(|byte| u8::from(is(byte))), 0)
}

/// Bit `which` of each of 64 bytes.
#[inline(always)]
pub fn bits(bytes: &[u8; BLOCK], which: u32) -> u64 {
    const LOWEST: u64 = 0x0101_0101_0101_0101;
    let (words, _) = bytes.as_chunks::<8>();
    let bits = |word: &[u8; 8]| collect(u64::from_le_bytes(*word) >> which & LOWEST);
    words.iter().rev().fold(0, |mask, word| mask << 8 | bits(word))
}

/// The lowest bits of eight bytes, of which all other bits are 0, in order: the product's top byte collects them.
#[inline(always)]
pub fn collect(ones: u64) -> u64 {
    ones.wrapping_mul(0x0102_0408_1020_4080) >> 56
}
