//! Reads an HTML document for html5gum: in pieces, with ticks between them, and without most of its tags.
//!
//! html5gum takes more than a thousand instructions for a tag, and documents have one in every 25 to 50 bytes. So plain
//! tags are skipped here: those that do no more than separate words. html5gum reads all others, and those in unusual
//! writing. In Debian's documentation of Python and PostgreSQL, that leaves 18 of 60 instructions a byte.
//! `tests/properties.rs` compares the texts of documents with those that html5gum finds alone.

use std::cell::Cell;

use html5gum::{Readable, Reader};

use super::elements::Element;
use crate::error::{Error, Result};
use crate::memory::check_available;
use crate::text::mask::{CASE_BITS, HIGH_BITS, LOW_BITS};
use crate::ticking::BYTES_BETWEEN_TICKS;

/// Stands for a tag that separates words. A word that was cut goes on after one line break, but not after two.
pub const SEPARATOR: &[u8] = b"\n\n";
/// The characters that html5gum looks for in text between tags, and in a title.
const ENDS_OF_TEXT: &[u8] = b"&<\0\r";
/// Below this many bytes, skip the trial allocation: if the allocator cannot provide that, nothing else can go on.
const FEW_BYTES: usize = 256;

/// The part of the document that html5gum has not read.
pub struct HtmlSource<'a> {
    rest: &'a [u8],
    /// Bytes that are left when the next tick is due.
    next_tick: usize,
    /// Bytes that html5gum has read one by one since it last read until a needle.
    single_bytes: usize,
    /// Whether plain tags may be skipped here.
    skips_tags: &'a Cell<bool>,
    /// Bytes that html5gum has not read, because they were skipped.
    skipped: &'a Cell<usize>,
    tick: &'a dyn Fn(),
}

impl<'a> HtmlSource<'a> {
    pub fn new(html: &'a str, skips_tags: &'a Cell<bool>, skipped: &'a Cell<usize>, tick: &'a dyn Fn()) -> Self {
        let rest = html.as_bytes();
        Self { rest, next_tick: rest.len(), single_bytes: 0, skips_tags, skipped, tick }
    }

    /// Goes on by some bytes, and ticks if a tick is due.
    #[inline(always)]
    fn advance(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
        if self.rest.len() < self.next_tick {
            self.next_tick = self.rest.len().saturating_sub(BYTES_BETWEEN_TICKS);
            (self.tick)();
        }
    }

    /// The next bytes, as many as are read between two ticks.
    fn ahead(&self) -> &'a [u8] {
        &self.rest[..self.rest.len().min(BYTES_BETWEEN_TICKS)]
    }

    /// Skips plain tags, and white space after them. Returns whether the tags separate words: one is a box's.
    #[inline]
    fn skip_tags(&mut self) -> bool {
        let ahead = self.ahead();
        let (mut offset, mut has_box) = (0, false);
        while let Some((end, is_box)) = plain_tag(ahead, offset) {
            offset = end;
            has_box |= is_box;
            if has_box && ahead.get(offset).is_some_and(|byte| *byte <= b' ') {
                offset = find(ahead, offset, |bytes| at_least(b'!', bytes)).unwrap_or(ahead.len());
            }
        }
        self.advance(offset);
        // html5gum reads a single separator in place of these tags.
        let separator = if has_box { SEPARATOR.len() } else { 0 };
        self.skipped.set(self.skipped.get() + offset - separator);
        has_box
    }
}

impl Reader for HtmlSource<'_> {
    type Error = Error;

    #[inline(always)]
    fn read_byte(&mut self) -> Result<Option<u8>> {
        let Some(byte) = self.rest.first().copied() else { return Ok(None) };
        self.advance(1);
        self.single_bytes += 1;
        // Where a script may end, html5gum collects the name of the tag in a vector that doubles as it grows. If that
        // memory were refused, the process would end.
        if self.single_bytes >= FEW_BYTES && self.single_bytes.is_power_of_two() {
            check_available(4 * self.single_bytes)?;
        }
        Ok(Some(byte))
    }

    #[inline(always)]
    fn try_read_string(&mut self, string: &[u8], case_sensitive: bool) -> Result<bool> {
        let Ok(is_next) = self.rest.to_reader().try_read_string(string, case_sensitive);
        if is_next {
            self.advance(string.len());
        }
        Ok(is_next)
    }

    #[inline(always)]
    fn read_until<'b>(&'b mut self, needle: &[u8], buffer: &'b mut [u8; 4]) -> Result<Option<&'b [u8]>> {
        self.single_bytes = 0;
        if needle == ENDS_OF_TEXT && self.skips_tags.get() && self.skip_tags() {
            return Ok(Some(SEPARATOR));
        }
        let ahead = self.ahead();
        let Ok(length) = ahead.to_reader().read_until(needle, buffer).map(|piece| piece.map(<[u8]>::len));
        let piece = length.map(|length| &ahead[..length]);
        self.advance(length.unwrap_or_default());
        Ok(piece)
    }
}

/// The end of the plain tag at this offset of a text, and whether it is a box's. None if html5gum must read what is
/// there.
#[inline]
fn plain_tag(text: &[u8], offset: usize) -> Option<(usize, bool)> {
    if *text.get(offset)? != b'<' {
        return None;
    }
    let start = offset + 1 + usize::from(*text.get(offset + 1)? == b'/');
    let letters = first_eight(&text[start..]);
    // html5gum reads names that do not end within eight bytes.
    let length = ends_name(letters).trailing_zeros() / 8;
    let name = (letters | CASE_BITS) & !(!0u64).checked_shl(8 * length)?;
    let element = Element::of(&name.to_le_bytes()[..length as usize]);
    if !(name as u8).is_ascii_lowercase() || !matches!(element, Element::Inline | Element::Box) {
        return None;
    }
    let mut end = start + length as usize;
    while *text.get(end)? != b'>' {
        end = attribute_end(text, end)?;
    }
    Some((end + 1, element == Element::Box))
}

/// The end of the white space, or slashes, and the attribute at this offset of a text. None if the text ends before
/// that, or if html5gum must read it.
#[inline(always)]
fn attribute_end(text: &[u8], offset: usize) -> Option<usize> {
    let mut start = offset;
    while matches!(text.get(start)?, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'/') {
        start += 1;
    }
    let end = find(text, start, |bytes| ends_name(bytes) | equal(b'=', bytes))?;
    if text[end] != b'=' {
        // A control character that is not white space belongs to the name.
        return (end > offset).then_some(end);
    }
    match *text.get(end + 1)? {
        // The attribute has no name before the equals sign.
        _ if end == start => None,
        quote @ (b'"' | b'\'') => Some(find(text, end + 2, |bytes| equal(quote, bytes))? + 1),
        0..=b' ' | b'>' => None,
        _ => find(text, end + 1, |bytes| !at_least(b'!', bytes) & HIGH_BITS | equal(b'>', bytes)),
    }
}

/// The offset of the first byte, at or after this offset, that `marked` marks; None if there is none. `marked` takes
/// eight bytes, and sets the highest bit of each that it marks.
#[inline(always)]
fn find(text: &[u8], mut offset: usize, marked: impl Fn(u64) -> u64) -> Option<usize> {
    loop {
        let rest = &text[offset..];
        let found = marked(first_eight(rest)).trailing_zeros() as usize / 8;
        if found >= rest.len() {
            return None;
        }
        if found < 8 {
            return Some(offset + found);
        }
        offset += 8;
    }
}

/// The first eight bytes of a text as a little-endian number. Bytes after its end are 0.
#[inline(always)]
fn first_eight(text: &[u8]) -> u64 {
    match text.first_chunk() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => text.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}

/// Marks bytes that are at least `least`, which is ASCII.
#[inline(always)]
fn at_least(least: u8, bytes: u64) -> u64 {
    (((bytes & !HIGH_BITS) + LOW_BITS * u64::from(0x80 - least)) | bytes) & HIGH_BITS
}

/// Marks bytes that are `byte`.
#[inline(always)]
fn equal(byte: u8, bytes: u64) -> u64 {
    !at_least(1, bytes ^ (LOW_BITS * u64::from(byte))) & HIGH_BITS
}

/// Marks bytes that end the name of an element: white space, slashes and the end of the tag. It also marks other
/// control characters.
#[inline(always)]
fn ends_name(bytes: u64) -> u64 {
    !at_least(b'!', bytes) & HIGH_BITS | equal(b'/', bytes) | equal(b'>', bytes)
}
