//! Reads code points of text that is known to be valid UTF-8.

/// The code point that starts at byte `at` of valid UTF-8, and its length in bytes.
///
/// Unlike `str::chars`, this neither checks that `at` is a boundary nor makes a `char`. On text without ASCII, the
/// tokenizer spends most of its time here.
#[inline(always)]
pub fn decode(utf8: &[u8], at: usize) -> (u32, usize) {
    let tail = |i: usize| u32::from(utf8[at + i] & 0x3f);
    let first = u32::from(utf8[at]);
    match first {
        0..0x80 => (first, 1),
        0x80..0xe0 => ((first & 0x1f) << 6 | tail(1), 2),
        0xe0..0xf0 => ((first & 0xf) << 12 | tail(1) << 6 | tail(2), 3),
        _ => ((first & 0x7) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4),
    }
}
