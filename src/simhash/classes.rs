//! What each character is: two loads from a table that `build.rs` makes from ICU4X.
//!
//! Against looking up general category and script in ICU4X's own tries this takes a third of the time on Chinese
//! text, and it is in the library's read-only pages, shared by all backends (`benches/unicode.rs` measures it).

include!("class_bits.rs");
include!(concat!(env!("OUT_DIR"), "/classes.rs"));

/// The class of a character: a kind and the flags of `class_bits.rs`.
#[inline]
pub fn class(c: char) -> u8 {
    let c = c as usize;
    CLASSES[INDEX[c >> 8] as usize * 256 + (c & 255)]
}

/// The kind of a character: [`SEPARATOR`], [`WORD`], [`SPACELESS`] or [`MARK`].
#[inline]
pub fn kind(c: char) -> u8 {
    class(c) & KIND
}
