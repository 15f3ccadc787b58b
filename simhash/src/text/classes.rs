//! The class of each character: two loads from a table that `build.rs` makes from ICU4X.
//!
//! Looking up general category and script in ICU4X's own tries takes 3.8 times as long on Chinese text
//! (record `unicode` of 2026-11-25). The table is in the library's read-only pages, which all backends share.

/// Alphabets in which marks on letters may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    Latin,
    Greek,
    Cyrillic,
}

include!("class_bits.rs");
include!(concat!(env!("OUT_DIR"), "/classes.rs"));

/// The class of a code point: its kind and flags, as `class_bits.rs` defines them.
#[inline]
pub fn class(c: u32) -> u8 {
    let c = c as usize;
    CLASSES[usize::from(INDEX[c >> 8]) * 256 + (c & 255)]
}

/// The alphabet of a letter; None for letters of all other scripts, and for characters that are not letters.
pub fn alphabet(c: char) -> Option<Alphabet> {
    let range = ALPHABETS.partition_point(|(_, last, _)| *last < c);
    ALPHABETS.get(range).filter(|(first, ..)| *first <= c).map(|(.., alphabet)| *alphabet)
}

/// The character that represents this one, which has this class, in a normal form.
pub fn stand_in(c: char, class: u8) -> char {
    if class & DIGIT != 0 { ascii_digit(c, &ZEROS) } else { look_alike(c) }
}

/// Whether the mark is in the canonical decomposition of a Greek letter.
pub fn is_greek_mark(c: char) -> bool {
    GREEK_MARKS.contains(&c)
}

/// The kind of a code point: [`SEPARATOR`], [`WORD`], [`SPACELESS`] or [`MARK`].
#[inline]
pub fn kind(c: u32) -> u8 {
    class(c) & KIND
}

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
