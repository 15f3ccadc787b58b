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

/// The alphabet of a letter; None for letters of all other scripts, and for what is no letter.
pub fn alphabet(c: char) -> Option<Alphabet> {
    let range = ALPHABETS.partition_point(|(_, last, _)| *last < c);
    ALPHABETS.get(range).filter(|(first, ..)| *first <= c).map(|(.., alphabet)| *alphabet)
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
