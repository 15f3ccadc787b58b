//! The tokenizer: cuts normalised text into tokens.
//!
//! A word is a maximal run of letters of scripts written with spaces, and of numbers of any script. A letter of a
//! script written without spaces is a token of its own. A mark belongs to the token right before it, and is dropped if
//! there is none. All other characters separate tokens.
//!
//! A chunk of 64 ASCII bytes is read as one bit mask. So are the letters of three bytes, of scripts written without
//! spaces, in a chunk; one call passes them on together. All other text is read character by character.
//! `tests/properties.rs` compares all of it with one obvious loop.

use std::ops::Range;

use super::classes::{MARK, SEPARATOR, SPACELESS, WORD, decode, kind};
use super::mask::{CHUNK, HIGH_BITS, collect, highest_bits, mask};
use crate::error::Result;
use crate::ticking::BYTES_BETWEEN_TICKS;

/// Bytes of a letter that is passed on together with others.
pub const LETTER_BYTES: usize = 3;

/// Receives the tokens of a text in order, as ranges of its bytes.
pub trait TokenSink {
    /// A token of a script written with spaces, or a number.
    fn word(&mut self, token: Range<usize>) -> Result<()>;
    /// A letter, with its marks, of a script written without spaces.
    #[inline]
    fn spaceless(&mut self, token: Range<usize>) -> Result<()> {
        self.word(token)
    }
    /// One or more letters without marks, of [`LETTER_BYTES`] bytes each, of scripts written without spaces. Bit `i` of
    /// `starts` is 1 if one starts at byte `base + i`.
    fn letters(&mut self, base: usize, mut starts: u64) -> Result<()> {
        while let Some(start) = next_start(base, &mut starts) {
            self.spaceless(start..start + LETTER_BYTES)?;
        }
        Ok(())
    }
}

impl<F: FnMut(Range<usize>) -> Result<()>> TokenSink for F {
    fn word(&mut self, token: Range<usize>) -> Result<()> {
        self(token)
    }
}

/// Passes each token of a text in normal form to `sink`. One pass, no memory; `tick` is called every 64 kB.
#[inline]
pub fn tokenize(normal: &str, sink: &mut impl TokenSink, tick: &dyn Fn()) -> Result<()> {
    let mut open = OpenToken { start: 0, kind: SEPARATOR };
    let (mut at, mut next_tick) = (0, BYTES_BETWEEN_TICKS);
    while at < normal.len() {
        if at >= next_tick {
            tick();
            next_tick = at + BYTES_BETWEEN_TICKS;
        }
        if let Some(words) = ascii_words(&normal.as_bytes()[at..]) {
            at = open.ascii_chunk(at, words, sink)?;
            continue;
        }
        let end = normal.len().min(at + CHUNK);
        while at < end {
            // A character of three bytes.
            if matches!(normal.as_bytes()[at], 0xe0..0xf0) {
                let after = open.letters(normal.as_bytes(), at, sink)?;
                if after > at {
                    at = after;
                    continue;
                }
            }
            let (c, length) = decode(normal.as_bytes(), at);
            open.character(at, kind(c), sink)?;
            at += length;
        }
    }
    open.close(normal.len(), sink)
}

/// The token that is being read; `kind` is [`SEPARATOR`] between tokens.
struct OpenToken {
    start: usize,
    kind: u8,
}

impl OpenToken {
    /// Passes on the token, if there is one. Not inlined, because most words and letters are passed on elsewhere.
    #[inline(never)]
    fn close(&mut self, end: usize, sink: &mut impl TokenSink) -> Result<()> {
        let token = self.start..end;
        let kind = std::mem::replace(&mut self.kind, SEPARATOR);
        match kind {
            WORD => sink.word(token),
            SPACELESS => sink.spaceless(token),
            _ => Ok(()),
        }
    }

    /// Reads the character at byte `at`.
    #[inline(always)]
    fn character(&mut self, at: usize, kind: u8, sink: &mut impl TokenSink) -> Result<()> {
        let continues = kind == MARK || (kind == WORD && self.kind == WORD);
        if !continues {
            if self.kind != SEPARATOR {
                self.close(at, sink)?;
            }
            *self = Self { start: at, kind };
        }
        Ok(())
    }

    /// Reads letters of three bytes of scripts written without spaces, and separators, from `from` on. Returns the
    /// offset of the character after them.
    #[inline]
    fn letters(&mut self, text: &[u8], from: usize, sink: &mut impl TokenSink) -> Result<usize> {
        let (mut starts, length) = match text[from..].first_chunk() {
            // Chinese characters, kana and their punctuation; in other scripts, marks are frequent.
            Some(chunk) if matches!(chunk[0], 0xe3..=0xe9) => chunk_letters(chunk),
            _ => letters_by_character(&text[from..]),
        };
        if length == 0 {
            return Ok(from);
        }
        if self.kind != SEPARATOR {
            self.close(from, sink)?;
        }
        // A mark belongs to the letter right before it.
        if from + length < text.len()
            && let Some(last) = starts.checked_ilog2()
            && last as usize + LETTER_BYTES == length
            && kind(decode(text, from + length).0) == MARK
        {
            *self = Self { start: from + length - LETTER_BYTES, kind: SPACELESS };
            starts ^= 1 << last;
        }
        // Separators alone, without a letter, do not end a run of words.
        if starts != 0 {
            sink.letters(from, starts)?;
        }
        Ok(from + length)
    }

    /// Reads 64 ASCII bytes; bit i of `words` is 1 if byte `at + i` belongs to a word. Returns the offset of the next
    /// chunk: where the last word starts, unless it ends in this chunk or fills it.
    #[inline(always)]
    fn ascii_chunk(&mut self, at: usize, mut words: u64, sink: &mut impl TokenSink) -> Result<usize> {
        if self.kind != SEPARATOR {
            let more = if self.kind == WORD { words.trailing_ones() } else { 0 };
            if more == u64::BITS {
                return Ok(at + CHUNK);
            }
            self.close(at + more as usize, sink)?;
            words &= !0 << more;
        }
        // The last word may go on after the chunk. The next chunk begins with it.
        let unfinished = words.leading_ones();
        if unfinished == u64::BITS {
            *self = Self { start: at, kind: WORD };
            return Ok(at + CHUNK);
        }
        words &= !0 >> unfinished;
        while words != 0 {
            let start = words.trailing_zeros();
            let length = (words >> start).trailing_ones();
            let start = at + start as usize;
            sink.word(start..start + length as usize)?;
            // The carry of the sum removes the lowest run of ones.
            words &= words + (words & words.wrapping_neg());
        }
        Ok(at + CHUNK - unfinished as usize)
    }
}

/// Takes the lowest bit from `starts`, and returns the offset that it stands for.
#[inline(always)]
pub fn next_start(base: usize, starts: &mut u64) -> Option<usize> {
    let start = base + starts.trailing_zeros() as usize;
    (*starts != 0).then(|| {
        *starts &= *starts - 1;
        start
    })
}

/// The letters of three bytes of scripts written without spaces that start in the first 64 bytes of a text, up to the
/// first character that is neither such a letter nor a separator. Returns a bit for each letter's start, and their
/// length with the separators between and after them. The last letter may need the two bytes after the 64.
///
/// Chinese characters are recognised by their first two bytes, many bytes at a time; only other letters and punctuation
/// are looked up. That takes a quarter of the instructions of [`letters_by_character`] for Chinese.
#[inline(always)]
fn chunk_letters(text: &[u8; CHUNK + 2]) -> (u64, usize) {
    // U+4000 to U+9FFF are letters, but for the hexagrams from U+4DC0 to U+4DFF.
    let (mut letters, mut others) = ([0; CHUNK], [0; CHUNK]);
    for i in 0..CHUNK {
        let (first, second) = (text[i], text[i + 1]);
        let is_letter = (first.wrapping_sub(0xe4) < 6) & ((first != 0xe4) | (second != 0xb7));
        let is_other = (first >= 0xc0) | is_ascii_word(first);
        letters[i] = u8::from(is_letter) << 7;
        others[i] = u8::from(is_other & !is_letter) << 7;
    }
    let (mut starts, mut others) = (highest_bits(&letters), highest_bits(&others));
    while others != 0 {
        let at = others.trailing_zeros();
        let kind = match text[at as usize] {
            0xe0..0xf0 => kind(decode(text, at as usize).0),
            // Ends the letters: an ASCII letter or digit, or a character of two or four bytes, whatever it is.
            _ => WORD,
        };
        if kind != SEPARATOR && kind != SPACELESS {
            return (starts & !(!0 << at), at as usize);
        }
        starts |= u64::from(kind == SPACELESS) << at;
        others &= others - 1;
    }
    // A letter that starts in the last bytes of the chunk ends after them.
    (starts, CHUNK + text[CHUNK..].iter().take_while(|byte| **byte & 0xc0 == 0x80).count())
}

/// Does what [`chunk_letters`] does for any text, character by character.
///
/// The only branch on what a character is tells ASCII from others. A branch that tells letters from punctuation would
/// be mispredicted often.
#[inline]
fn letters_by_character(text: &[u8]) -> (u64, usize) {
    let (mut starts, mut at) = (0, 0);
    while at < CHUNK && at + LETTER_BYTES <= text.len() {
        let (c, length) = match text[at] {
            0..0x80 => (u32::from(text[at]), 1),
            0xe0..0xf0 => (decode(text, at).0, LETTER_BYTES),
            _ => break,
        };
        let kind = kind(c);
        if kind != SEPARATOR && kind != SPACELESS {
            break;
        }
        starts |= u64::from(kind == SPACELESS) << at;
        at += length;
    }
    (starts, at)
}

/// A mask of the first 64 bytes of a text: 1 for a letter or digit, 0 past the end. None if one of the bytes is not
/// ASCII. The text is not empty.
#[inline(always)]
fn ascii_words(text: &[u8]) -> Option<u64> {
    match text.first_chunk() {
        Some(chunk) => chunk.is_ascii().then(|| mask(chunk, is_ascii_word)),
        None => ascii_words_at_end(text),
    }
}

#[inline(always)]
fn is_ascii_word(byte: u8) -> bool {
    ((byte | 0x20).wrapping_sub(b'a') < 26) | (byte.wrapping_sub(b'0') < 10)
}

/// Does what [`ascii_words`] does, for 1 to 63 bytes. They are not copied to a padded chunk: a CPU would have to wait
/// until such a chunk, which is written in several parts, can be read.
#[inline(always)]
fn ascii_words_at_end(text: &[u8]) -> Option<u64> {
    let (eights, tail) = text.as_chunks::<8>();
    let mut mask = 0;
    for (i, eight) in eights.iter().enumerate() {
        mask |= alphanumeric(u64::from_le_bytes(*eight))? << (8 * i);
    }
    let last = match text.last_chunk() {
        _ if tail.is_empty() => return Some(mask),
        Some(last) => u64::from_le_bytes(*last) >> (64 - 8 * tail.len()),
        None => tail.iter().rev().fold(0, |last, byte| last << 8 | u64::from(*byte)),
    };
    Some(mask | alphanumeric(last)? << (8 * eights.len()))
}

/// A mask of 8 bytes: 1 for a letter or digit. None if one of the bytes is not ASCII.
///
/// Adding 0x80 - x to a byte below 0x80 sets its high bit exactly if the byte is at least x, and carries nothing into
/// the next byte.
#[inline(always)]
fn alphanumeric(bytes: u64) -> Option<u64> {
    const fn in_each_byte(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    if bytes & HIGH_BITS != 0 {
        return None;
    }
    let lower = bytes | in_each_byte(0x20);
    let letter = (lower + in_each_byte(0x80 - b'a')) & !(lower + in_each_byte(0x80 - (b'z' + 1)));
    let digit = (bytes + in_each_byte(0x80 - b'0')) & !(bytes + in_each_byte(0x80 - (b'9' + 1)));
    Some(collect(((letter | digit) & in_each_byte(0x80)) >> 7))
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, chunk_letters, letters_by_character};
    use crate::random::Random;
    use crate::text::classes::{BOUNDARY, SEPARATOR, SPACELESS, UNCHANGED, class};

    #[test]
    fn ideographs_have_assumed_class() {
        for c in 0x4000..=0x9fff {
            let kind = if (0x4dc0..=0x4dff).contains(&c) { SEPARATOR } else { SPACELESS };
            assert_eq!(class(c), kind | UNCHANGED | BOUNDARY, "U+{c:04X}");
        }
    }

    #[test]
    fn chunk_matches_letters_by_character() {
        let others =
            ['a', '7', ' ', '\u{3042}', '\u{30fc}', '\u{3099}', '\u{ff0c}', '\u{4dc0}', '\u{4dff}', '\u{4dbf}'];
        let more = ['\u{4e00}', '\u{9fff}', '\u{3002}', '\u{e9}', '\u{20000}', '\u{ac00}', '\u{a000}', '\u{3400}'];
        let mut random = Random(0);
        for round in 0..20_000 {
            let one_in = 1 + round % 30;
            let text: String = (0..CHUNK)
                .map(|_| match random.next() as usize {
                    n if n % one_in > 0 => char::from_u32(0x4e00 + (n / one_in % 0x5200) as u32).unwrap_or('a'),
                    n => *others.iter().chain(&more).nth(n / one_in % 18).unwrap_or(&'a'),
                })
                .collect();
            let chunk = text.as_bytes().first_chunk().expect("the text is long enough");
            assert_eq!(chunk_letters(chunk), letters_by_character(text.as_bytes()), "{text}");
        }
    }
}
