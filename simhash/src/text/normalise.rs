//! Normalisation, by tables of Unicode:
//!
//! 1. What is only written in another way is made the same: a word that a line break cuts after a soft hyphen or a
//!    hyphen (U+2010) is joined, and sequences with a joiner, by which letters of Malayalam and Bengali were once
//!    written, become the letters that Unicode has for them.
//! 2. Characters that nobody sees are removed: Default_Ignorable_Code_Point, such as soft hyphens and joiners.
//! 3. NFKC, then full case folding (UAX #15; Unicode chapter 3.13, without the Turkic mappings).
//! 4. Characters that writing may leave out are removed: Arabic and Hebrew points, and tatweel.
//! 5. Characters that look the same become one ([`look_alike`](super::classes::look_alike)), and decimal digits of all
//!    scripts 0 to 9.
//! 6. With case folding, what capitals leave out is removed: the marks of Greek letters, and the difference between the
//!    dotted and the dotless i of Turkish.
//! 7. If marks may compose now, steps 3 to 6 are repeated until they change nothing.
//!
//! Most text is already in that form except for ASCII capitals: such spans are copied, and ASCII is lower-cased. All
//! other spans go through ICU4X. They start and end at boundaries: before characters from which normalisation never
//! looks back.
//!
//! ICU4X is used rather than the unicode-rs crates: it is 0.9 to 1.5 times as fast at normalising, and 5 to 13 times at
//! looking up properties (record `unicode` of 2026-11-25 in `benches/records`).

use std::fmt::{self, Write as _};
use std::ops::Range;

use icu_casemap::{CaseMapper, CaseMapperBorrowed};
use icu_normalizer::properties::{CanonicalDecomposition, CanonicalDecompositionBorrowed, Decomposed};
use icu_normalizer::{ComposingNormalizer, ComposingNormalizerBorrowed};
use writeable::Writeable;

use super::classes::{
    Alphabet, BOUNDARY, HYPHEN, INVISIBLE, MARK, OPTIONAL, REORDERS, SEPARATOR, UNCHANGED, alphabet, class, decode,
    is_greek_mark, kind, stand_in,
};
use super::mask::{CHUNK, mask};
use super::places::{Edits, Rewriting};
use crate::error::{Error, MAX_COMBINING_SEQUENCE, MAX_VALUE_BYTES, Result};
use crate::memory::check_available;
use crate::ticking::{BYTES_BETWEEN_TICKS, ITEMS_BETWEEN_TICKS, ticking};

/// After this many bytes, a span for ICU4X is cut at the next boundary, so that its scratch memory stays small.
const MIN_SPAN_BYTES: usize = 4 * 1024;
/// Most bytes of NFKC that a byte of text can become: U+FDFA becomes 33 bytes from 3.
const LONGEST_NFKC: usize = 11;
/// Most characters that one character can decompose into: U+FDFA again.
const LONGEST_DECOMPOSITION: usize = 18;
/// Below this many marks (1 kB), skip the trial allocation: if the allocator cannot provide that, nothing else can go
/// on.
const FEW_MARKS: usize = 256;
const JOINER: char = '\u{200d}';
/// Bytes of a consonant and the sign that removes its vowel.
const SEQUENCE_BYTES: usize = 6;

const NFKC: ComposingNormalizerBorrowed<'static> = ComposingNormalizer::new_nfkc();
const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizer::new_nfc();
const FOLD: CaseMapperBorrowed<'static> = CaseMapper::new();
const DECOMPOSE: CanonicalDecompositionBorrowed<'static> = CanonicalDecomposition::new();

/// Appends the normal form of `text` to `out`: usually no longer than the text, at most [`LONGEST_NFKC`] times as long,
/// and never longer than [`MAX_VALUE_BYTES`].
///
/// Full-width punctuation, and other separators that NFKC would turn into separators, may stay as they are, since no
/// token contains them. `tick` is called at least every 64 kB.
pub fn normalise(text: &str, case_fold: bool, out: &mut String, tick: &dyn Fn()) -> Result<()> {
    if !normalise_beyond_capitals(text, case_fold, out, tick)? {
        copy(text, case_fold, out, tick)?;
    }
    Ok(())
}

/// Appends the normal form of a text, as [`normalise`] does, if that changes more than ASCII capitals. Otherwise
/// appends nothing, and returns false.
#[inline]
pub fn normalise_beyond_capitals(text: &str, case_fold: bool, out: &mut String, tick: &dyn Fn()) -> Result<bool> {
    match next_changing_span(text, 0, MIN_SPAN_BYTES, tick)? {
        Some(span) => normalise_from(text, span, case_fold, out, None, tick).map(|()| true),
        None if text.len() > MAX_VALUE_BYTES => Err(Error::NormalFormTooLong),
        None => Ok(false),
    }
}

/// Appends the normal form of a text, as [`normalise`] does, and adds what changed to `edits`, in the shortest parts.
pub fn normalise_with_edits(
    text: &str,
    case_fold: bool,
    out: &mut String,
    edits: &mut Edits,
    tick: &dyn Fn(),
) -> Result<()> {
    match next_changing_span(text, 0, 0, tick)? {
        Some(span) => normalise_from(text, span, case_fold, out, Some(edits), tick),
        None => copy(text, case_fold, out, tick),
    }
}

/// Appends the normal form of a text, of which `first` is the first span that may change.
#[inline(never)]
fn normalise_from(
    text: &str,
    first: Range<usize>,
    case_fold: bool,
    out: &mut String,
    mut edits: Option<&mut Edits>,
    tick: &dyn Fn(),
) -> Result<()> {
    reserve(out, text.len())?;
    let min_bytes = if edits.is_some() { 0 } else { MIN_SPAN_BYTES };
    let (mut scratch, mut copied, mut changing) = (String::new(), 0, Some(first));
    while let Some(span) = changing {
        copy(&text[copied..span.start], case_fold, out, tick)?;
        let mut part = span.start;
        while part < span.end {
            let end = if edits.is_some() { part_end(&text[..span.end], part) } else { span.end };
            let start = out.len();
            normalise_span(&text[part..end], case_fold, &mut scratch, out, tick)?;
            if let Some(edits) = &mut edits {
                edits.push(part..end, start..out.len())?;
            }
            part = end;
        }
        copied = span.end;
        tick();
        changing = next_changing_span(text, copied, min_bytes, tick)?;
    }
    copy(&text[copied..], case_fold, out, tick)
}

/// The next span at or after the boundary `from` that normalisation may change. It starts and ends at boundaries. After
/// `min_bytes` it ends as soon as it can.
#[inline]
fn next_changing_span(text: &str, from: usize, min_bytes: usize, tick: &dyn Fn()) -> Result<Option<Range<usize>>> {
    let bytes = text.as_bytes();
    let (mut boundary, mut at, mut reorders) = (from, from, false);
    let mut next_tick = from.saturating_add(BYTES_BETWEEN_TICKS);
    while at < bytes.len() {
        if at >= next_tick {
            tick();
            next_tick = at + BYTES_BETWEEN_TICKS;
        }
        let ahead = &bytes[at..bytes.len().min(next_tick)];
        let unchanged = match ahead[0] {
            0..0x80 => ascii_prefix(ahead),
            0xe0..0xf0 => unchanged_prefix(ahead),
            _ => 0,
        };
        if unchanged > 0 {
            at += unchanged;
            boundary = last_character(&bytes[..at]);
            reorders = false;
            continue;
        }
        let (c, length) = decode(bytes, at);
        let class = class(c);
        if class & UNCHANGED == 0 || (reorders && class & REORDERS != 0) {
            if class & BOUNDARY != 0 {
                boundary = at;
            }
            let end = changing_span_end(text, boundary, at + length, min_bytes, tick)?;
            return Ok(Some(boundary..end));
        }
        if class & BOUNDARY != 0 {
            boundary = at;
        }
        reorders = class & REORDERS != 0;
        at += length;
    }
    Ok(None)
}

/// The end, at `from` or later, of a span that starts at `start`: the next boundary at which two characters are
/// unchanged or, after `min_bytes`, any boundary. It is not between a hyphen and a line break.
fn changing_span_end(text: &str, start: usize, from: usize, min_bytes: usize, tick: &dyn Fn()) -> Result<usize> {
    let (mut end, mut removed, mut next_tick) = (from, 0, start + BYTES_BETWEEN_TICKS);
    loop {
        // There may be any number of characters that are removed first.
        if end >= next_tick {
            tick();
            next_tick = end + BYTES_BETWEEN_TICKS;
        }
        if text[..end].ends_with(is_line_hyphen) {
            let cut = line_break(&text[end..]);
            end += cut;
            removed += cut;
        }
        let Some(c) = text[end..].chars().next() else { return Ok(end) };
        let class = class_of(c);
        let next = || text[end + c.len_utf8()..].chars().next();
        let is_next_unchanged = || next().is_none_or(|next| class_of(next) & UNCHANGED != 0);
        if class & BOUNDARY != 0 && (class & UNCHANGED != 0 && is_next_unchanged() || end - start >= min_bytes) {
            return Ok(end);
        }
        if end - start - removed > MAX_COMBINING_SEQUENCE {
            return Err(Error::CombiningSequenceTooLong);
        }
        end += c.len_utf8();
        if is_removed_first(class) {
            removed += c.len_utf8();
        }
    }
}

/// Length of a prefix of unchanged characters that are boundaries, as all Chinese characters are.
///
/// In chunks of 64 bytes, Chinese characters and ASCII are recognised by their first bytes, many bytes at a time; only
/// other characters are looked up. That takes a fifth of the instructions of looking up all of them. A chunk of ASCII
/// ends the prefix, because [`ascii_prefix`] reads it faster.
#[inline]
fn unchanged_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(chunk) = bytes[at..].first_chunk()
        && !chunk.is_ascii()
    {
        // All characters from U+4000 to U+9FFF are unchanged, and are boundaries.
        let mut others = mask(chunk, |byte| byte >= 0xc0 && byte.wrapping_sub(0xe4) >= 6);
        while others != 0 {
            let other = at + others.trailing_zeros() as usize;
            if !bytes[other..].first_chunk().is_some_and(is_unchanged_boundary) {
                return other;
            }
            others &= others - 1;
        }
        at += CHUNK;
    }
    // The last character of a chunk may end in the next one.
    at = last_character(&bytes[..at]);
    while bytes[at..].first_chunk().is_some_and(is_unchanged_boundary) {
        at += 3;
    }
    at
}

/// Whether three bytes are an unchanged character that is a boundary.
#[inline]
fn is_unchanged_boundary(character: &[u8; 3]) -> bool {
    let &[first, second, third] = character;
    let c = u32::from(first & 0xf) << 12 | u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f);
    matches!(first, 0xe0..0xf0) && class(c) & (UNCHANGED | BOUNDARY | REORDERS) == UNCHANGED | BOUNDARY
}

/// Length of the ASCII prefix, searched 64 and then eight bytes at a time.
#[inline]
fn ascii_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    for size in [64, 8, 1] {
        at += size * bytes[at..].chunks_exact(size).take_while(|chunk| chunk.is_ascii()).count();
    }
    at
}

/// The offset of the last character of valid UTF-8, or of its part that is there; 0 if the text is empty.
#[inline]
fn last_character(utf8: &[u8]) -> usize {
    utf8.iter().rposition(|byte| byte & 0xc0 != 0x80).unwrap_or(0)
}

/// Appends a span in which normalisation changes only ASCII capitals.
fn copy(span: &str, case_fold: bool, out: &mut String, tick: &dyn Fn()) -> Result<()> {
    reserve(out, span.len())?;
    let mut rest = span;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rest.floor_char_boundary(BYTES_BETWEEN_TICKS));
        let start = out.len();
        out.push_str(part);
        if case_fold {
            out[start..].make_ascii_lowercase();
        }
        rest = after;
        tick();
    }
    Ok(())
}

fn reserve(out: &mut String, bytes: usize) -> Result<()> {
    if out.len() + bytes > MAX_VALUE_BYTES {
        return Err(Error::NormalFormTooLong);
    }
    Ok(out.try_reserve(bytes)?)
}

/// The end of the part of a span that starts at `start`: the next hyphen, or the end of the text. A hyphen is in the
/// span of the letter before it. It ends this letter's part, unless the next line begins with marks.
fn part_end(text: &str, start: usize) -> usize {
    let joins_marks = |after: &str| {
        let cut = line_break(after);
        cut > 0 && after[cut..].starts_with(|c| class_of(c) & BOUNDARY == 0)
    };
    let hyphens = text[start..].match_indices(HYPHEN).map(|(offset, hyphen)| (start + offset, hyphen.len()));
    let mut ends = hyphens.filter(|(at, length)| *at > start && !joins_marks(&text[at + length..]));
    ends.next().map_or(text.len(), |(at, _)| at)
}

/// Appends the normal form of a span that starts and ends at boundaries. `scratch` is overwritten.
fn normalise_span(span: &str, case_fold: bool, scratch: &mut String, out: &mut String, tick: &dyn Fn()) -> Result<()> {
    let mut visible = String::new();
    let visible_span = if span.contains(|c| is_removed_first(class_of(c)) || c == HYPHEN) {
        visible.try_reserve(span.len())?;
        push_visible(span, &mut visible, tick);
        &visible
    } else {
        span
    };
    let start = out.len();
    let mut has_marks = normalise_visible(visible_span, case_fold, scratch, out)?;
    // Without a removed mark, or after case folding, marks may compose. `scratch` has the NFKC. This ends: what folding
    // takes apart again composes to the same.
    while has_marks && out[start..] != *scratch {
        tick();
        reserve_for_marks(out.len() - start)?;
        if NFC.is_normalized(&out[start..]) {
            break;
        }
        let mut before = String::new();
        before.try_reserve(out.len() - start)?;
        before.push_str(&out[start..]);
        out.truncate(start);
        has_marks = normalise_visible(&before, case_fold, scratch, out)?;
        if out[start..] == before {
            break;
        }
    }
    Ok(())
}

/// Appends a span of visible characters after one pass of steps 3 to 6. Writes its NFKC to `scratch`. Returns whether
/// it has appended characters that may compose with those before them.
fn normalise_visible(span: &str, case_fold: bool, scratch: &mut String, out: &mut String) -> Result<bool> {
    scratch.clear();
    scratch.try_reserve(span.len() * LONGEST_NFKC)?;
    let capacity = scratch.capacity();
    reserve_for_marks(span.len())?;
    let Ok(()) = NFKC.normalize_to(span, scratch) else { unreachable!("writing to a string does not fail") };
    debug_assert_eq!(scratch.capacity(), capacity, "longer than it can be");
    // Case folding turns one character into at most three, of two bytes each.
    reserve(out, scratch.len() * 3)?;
    let mut writer = SignificantWriter { out, case_fold, is_after_greek: false, has_marks: false };
    let result = if case_fold { FOLD.fold(scratch).write_to(&mut writer) } else { writer.write_str(scratch) };
    let Ok(()) = result else { unreachable!("writing to a string does not fail") };
    Ok(writer.has_marks)
}

/// Fails if the memory that ICU4X needs for a combining sequence of `bytes` bytes is not available.
///
/// ICU4X collects the marks in a vector of four bytes for each, which doubles as it grows, and sorts them with a second
/// vector. If that memory were refused, the process would end.
fn reserve_for_marks(bytes: usize) -> Result<()> {
    let marks = (bytes + LONGEST_DECOMPOSITION).next_power_of_two();
    if marks <= FEW_MARKS {
        return Ok(());
    }
    check_available(2 * marks * size_of::<u32>())
}

/// Appends the visible characters of a span: letters in place of sequences with a joiner, no invisible characters, and
/// no line breaks in words. The string has the capacity for it.
fn push_visible(span: &str, visible: &mut String, tick: &dyn Fn()) {
    let mut end = 0;
    for (number, (at, c)) in span.char_indices().enumerate() {
        // Most spans are short.
        if number % ITEMS_BETWEEN_TICKS == ITEMS_BETWEEN_TICKS - 1 {
            tick();
        }
        if at < end {
            continue; // A line break that is cut.
        }
        end = at + c.len_utf8();
        let cut = if is_line_hyphen(c) { line_break(&span[end..]) } else { 0 };
        let letter = if c == JOINER { joined_letter(&span[..at]) } else { None };
        if letter.is_some() {
            visible.truncate(visible.len() - SEQUENCE_BYTES);
            visible.extend(letter);
        } else if cut == 0 && !is_removed_first(class_of(c)) {
            visible.push(c);
        }
        end += cut;
    }
}

/// The letter that a joiner makes of the end of a text: Malayalam's chillus until Unicode 5.1, and Bengali's khanda ta
/// until Unicode 4.1.
fn joined_letter(before: &str) -> Option<char> {
    const LETTERS: [(&str, char); 7] = [
        ("\u{9a4}\u{9cd}", '\u{9ce}'),
        ("\u{d15}\u{d4d}", '\u{d7f}'),
        ("\u{d23}\u{d4d}", '\u{d7a}'),
        ("\u{d28}\u{d4d}", '\u{d7b}'),
        ("\u{d30}\u{d4d}", '\u{d7c}'),
        ("\u{d32}\u{d4d}", '\u{d7d}'),
        ("\u{d33}\u{d4d}", '\u{d7e}'),
    ];
    LETTERS.iter().find(|(sequence, _)| before.ends_with(sequence)).map(|(_, letter)| *letter)
}

/// Whether a word may go on in the next line after this character.
fn is_line_hyphen(c: char) -> bool {
    matches!(c, HYPHEN | '\u{ad}')
}

/// Bytes of the line break, with the blanks around it, that a text starts with; 0 if it starts with none, or with more
/// than one.
pub fn line_break(text: &str) -> usize {
    const BLANKS: [char; 3] = [' ', '\t', '\x0c'];
    let rest = text.trim_start_matches(BLANKS);
    let after = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix(['\n', '\r']));
    let next_line = after.map(|after| after.trim_start_matches(BLANKS));
    next_line.filter(|line| !line.starts_with(['\n', '\r'])).map_or(0, |line| text.len() - line.len())
}

/// The [`class`] of a character. That of ASCII is not looked up: it has no other bits that count here.
fn class_of(c: char) -> u8 {
    if c.is_ascii() { UNCHANGED | BOUNDARY } else { class(c.into()) }
}

/// Whether a character of this class is removed before NFKC: nobody sees it, or it only stretches a connection. Those
/// that NFKC makes of others are removed afterwards.
fn is_removed_first(class: u8) -> bool {
    class & INVISIBLE != 0 || class & (OPTIONAL | REORDERS) == OPTIONAL
}

/// Appends the significant characters of a text after NFKC and case folding. The string has the capacity for all.
struct SignificantWriter<'a> {
    out: &'a mut String,
    case_fold: bool,
    /// Whether a Greek letter and its marks stand before the next character.
    is_after_greek: bool,
    /// Whether a character was appended that may compose with the one before it.
    has_marks: bool,
}

impl fmt::Write for SignificantWriter<'_> {
    fn write_str(&mut self, normal: &str) -> fmt::Result {
        for c in normal.chars() {
            let class = class_of(c);
            if class & (INVISIBLE | OPTIONAL) != 0 || self.case_fold && self.is_left_out_by_capitals(c) {
                continue;
            }
            self.has_marks |= class & BOUNDARY == 0;
            self.out.push(match c {
                // The dotless i of Turkish: its capital is I, the capital of i in all other languages.
                '\u{131}' if self.case_fold => 'i',
                _ if self.is_after_greek => base(c),
                _ => stand_in(c, class),
            });
        }
        Ok(())
    }
}

impl SignificantWriter<'_> {
    /// Whether the character is a mark of a Greek letter, or the dot of an i: U+0130 folds to i and a dot.
    fn is_left_out_by_capitals(&mut self, c: char) -> bool {
        if self.is_after_greek && is_greek_mark(c) {
            return true;
        }
        self.is_after_greek = !c.is_ascii() && alphabet(c) == Some(Alphabet::Greek);
        c == '\u{307}' && self.out.ends_with('i')
    }
}

/// The letter without its marks, by canonical decomposition.
pub fn base(c: char) -> char {
    match DECOMPOSE.decompose(c) {
        Decomposed::Default => c,
        Decomposed::Singleton(c) | Decomposed::Expansion(c, _) => base(c),
    }
}

/// Turns separators in a normal form into the separators that NFKC makes of them: see [`normalise`].
pub fn normalise_separators(normal: &str, out: &mut Rewriting<'_>, tick: &dyn Fn()) -> Result<()> {
    let mut separator = String::new();
    for (start, c) in ticking(normal.char_indices(), tick) {
        if !c.is_ascii() && kind(c.into()) == SEPARATOR {
            separator.clear();
            let result = NFKC.normalize_to(c.encode_utf8(&mut [0; 4]), &mut separator);
            let Ok(()) = result else { unreachable!("writing to a string does not fail") };
            out.replace(start..start + c.len_utf8(), &separator)?;
        }
    }
    Ok(())
}

/// Removes the marks on letters of the Latin, Greek and Cyrillic alphabets from a text in normal form.
pub fn remove_accents(normal: &str, out: &mut Rewriting<'_>, tick: &dyn Fn()) -> Result<()> {
    let mut characters = ticking(normal.char_indices(), tick).peekable();
    while let Some((start, letter)) = characters.next() {
        if !letter.is_ascii_alphabetic() && alphabet(letter).is_none() {
            continue;
        }
        let (bare, mut end) = (base(letter), start + letter.len_utf8());
        let mut is_changed = bare != letter;
        while let Some((at, mark)) = characters.next_if(|(_, c)| !c.is_ascii() && kind(u32::from(*c)) == MARK) {
            (end, is_changed) = (at + mark.len_utf8(), true);
        }
        if is_changed {
            out.replace(start..end, bare.encode_utf8(&mut [0; 4]))?;
        }
    }
    Ok(())
}
