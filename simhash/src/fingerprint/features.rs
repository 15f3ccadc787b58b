//! The features of a text.

use std::ops::Range;

use super::hash::{Seeded, bytes_at, length_of, lowest_bytes};
use super::options::{Options, Tokens};
use super::units::each_unit;
use crate::error::Result;
use crate::text::mask::{CASE_BITS, HIGH_BITS};
use crate::text::shingle::Shingler;
use crate::text::tokens::{LETTER_BYTES, TokenSink, next_start, tokenize};

/// Receives the features of a text, each time that they occur.
pub trait FeatureSink {
    /// Any feature, with its hash by the seed of the options. Unless `pair` is implemented, also each pair, without
    /// bytes.
    fn feature(&mut self, feature: &[u8], hash: u64) -> Result<()>;
    /// A word of 1 to 8 bytes. They are the lowest ones of `bytes`, and none of them is 0.
    #[inline(always)]
    fn short_word(&mut self, bytes: u64, hash: Seeded) -> Result<()> {
        let length = length_of(bytes);
        self.feature(&bytes.to_le_bytes()[..length], hash.hash_1_to_8(bytes, length))
    }
    /// A pair of neighbouring features.
    #[inline(always)]
    fn pair(&mut self, hash: u64) -> Result<()> {
        self.feature(&[], hash)
    }
    /// Ends a run: the next feature and the last one are not neighbours.
    #[inline(always)]
    fn end_run(&mut self) {}
}

impl<F: FnMut(&[u8], u64) -> Result<()>> FeatureSink for F {
    #[inline]
    fn feature(&mut self, feature: &[u8], hash: u64) -> Result<()> {
        self(feature, hash)
    }
}

/// Passes `emit` each feature of a text in normal form: once for each occurrence, in the order in which these end.
///
/// If `has_capitals` is true, the text is in normal form except for ASCII capitals, which are taken for small letters.
/// This saves a copy of the text, and reading the copy right after it was written. It needs [`takes_capitals`].
#[inline]
pub fn each_feature(
    normal: &str,
    has_capitals: bool,
    options: &Options,
    tick: &dyn Fn(),
    emit: impl FeatureSink,
) -> Result<()> {
    debug_assert!(!has_capitals || takes_capitals(options));
    let hash = Seeded(options.seed);
    let text = normal.as_bytes();
    match options.tokens {
        Tokens::Words => {
            let mut sink = WordFeatures {
                text,
                words: match options.tokens_per_feature(1) {
                    1 => None,
                    n => Some(Shingler::new(text, n, Some(b' '))),
                },
                small: if has_capitals { CASE_BITS } else { 0 },
                high: if has_capitals { HIGH_BITS } else { 0 },
                folded: Vec::new(),
                spaceless: None,
                spaceless_length: options.tokens_per_feature(3),
                hash,
                emit,
            };
            tokenize(normal, &mut sink, tick)?;
            sink.end_words()?;
            sink.end_spaceless()
        }
        Tokens::Chars => {
            let characters = Shingler::new(text, options.tokens_per_feature(4), None);
            let mut sink = CharFeatures { characters, hash, emit };
            each_unit(normal, Tokens::Chars, &mut sink, tick)?;
            emit_hashed(sink.characters.end_run()?, hash, &mut sink.emit)
        }
    }
}

/// Not inlined: it has many callers, and the commonest features, single words and three Chinese letters, are passed on
/// elsewhere.
#[inline(never)]
fn emit_hashed(feature: Option<&[u8]>, hash: Seeded, emit: &mut impl FeatureSink) -> Result<()> {
    feature.map_or(Ok(()), |feature| emit.feature(feature, hash.hash(feature)))
}

/// Whether [`each_feature`] takes a text with capitals: if words are features by themselves, and all count.
pub fn takes_capitals(options: &Options) -> bool {
    options.tokens == Tokens::Words && options.tokens_per_feature(1) == 1 && options.ignore.is_nothing()
}

/// Shingles of words and of spaceless tokens. A token of one kind ends a run of the other.
struct WordFeatures<'t, E> {
    text: &'t [u8],
    /// None if words are features by themselves.
    words: Option<Shingler<'t>>,
    /// [`CASE_BITS`] if the text has ASCII capitals that stand for small letters; otherwise 0.
    small: u64,
    /// [`HIGH_BITS`] in such a text, since `small` would change bytes that are not ASCII; otherwise 0.
    high: u64,
    /// Memory for the small letters of one word.
    folded: Vec<u8>,
    /// None before the first spaceless token: most texts have none, and a shingler takes 256 bytes.
    spaceless: Option<Shingler<'t>>,
    spaceless_length: usize,
    hash: Seeded,
    emit: E,
}

impl<E: FeatureSink> WordFeatures<'_, E> {
    #[inline(always)]
    fn end_words(&mut self) -> Result<()> {
        match &mut self.words {
            Some(run) if !run.is_between_runs() => emit_hashed(run.end_run()?, self.hash, &mut self.emit),
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn end_spaceless(&mut self) -> Result<()> {
        match &mut self.spaceless {
            Some(run) if !run.is_between_runs() => {
                emit_hashed(run.end_run()?, self.hash, &mut self.emit)?;
                self.emit.end_run();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn single_word(&mut self, token: Range<usize>) -> Result<()> {
        match bytes_at(self.text, token.start, token.end) {
            Some(bytes) if bytes & self.high == 0 => {
                self.emit.short_word(bytes | self.small & lowest_bytes(token.end - token.start), self.hash)
            }
            _ => {
                let fold = [self.small, self.high];
                let emit = |feature: &[u8], hash| self.emit.feature(feature, hash);
                long_word(&self.text[token], fold, &mut self.folded, self.hash, emit)
            }
        }
    }

    /// The last two tokens of a run of spaceless tokens, if three make a feature and these two have three bytes each.
    #[inline]
    fn two_letters(&self) -> Option<[Range<usize>; 2]> {
        let last_two = self.spaceless.as_ref().filter(|_| self.spaceless_length == 3)?.last_two()?;
        last_two.iter().all(|token| token.len() == LETTER_BYTES).then_some(last_two)
    }
}

impl<E: FeatureSink> TokenSink for WordFeatures<'_, E> {
    #[inline(always)]
    fn word(&mut self, token: Range<usize>) -> Result<()> {
        self.end_spaceless()?;
        match &mut self.words {
            None => self.single_word(token),
            Some(run) => emit_hashed(run.push(token)?, self.hash, &mut self.emit),
        }
    }

    #[inline(always)]
    fn spaceless(&mut self, token: Range<usize>) -> Result<()> {
        self.end_words()?;
        let run = self.spaceless.get_or_insert_with(|| Shingler::new(self.text, self.spaceless_length, None));
        if run.is_between_runs() {
            self.emit.end_run();
        }
        emit_hashed(run.push(token)?, self.hash, &mut self.emit)
    }

    /// Three letters of three bytes, the commonest feature of Chinese and Japanese, are put together in registers,
    /// whether or not there is punctuation between them.
    #[inline]
    fn letters(&mut self, base: usize, mut starts: u64) -> Result<()> {
        self.end_words()?;
        let last_two = loop {
            if let Some(last_two) = self.two_letters() {
                break last_two.map(|letter| letter.start);
            }
            let Some(start) = next_start(base, &mut starts) else { return Ok(()) };
            self.spaceless(start..start + LETTER_BYTES)?;
        };
        let Some(last) = starts.checked_ilog2() else { return Ok(()) };
        let before_last = (starts ^ 1 << last).checked_ilog2().map_or(last_two[1], |start| base + start as usize);
        let count = starts.count_ones() as usize;
        let text = self.text;
        let [first, second] = last_two.map(|start| read_letter(text, start));
        let mut two = first | second << 24;
        while let Some(start) = next_start(base, &mut starts) {
            let third = read_letter(text, start) << 40;
            let (begin, end) = (two | third << 8, two >> 8 | third);
            two = end >> 16;
            let feature = (u128::from(end) << 8 | u128::from(begin)).to_le_bytes();
            self.emit.feature(&feature[..3 * LETTER_BYTES], self.hash.hash_9_to_16(begin, end, 3 * LETTER_BYTES))?;
        }
        if let Some(run) = &mut self.spaceless {
            run.skip(count, [before_last, base + last as usize].map(|start| start..start + LETTER_BYTES));
        }
        Ok(())
    }
}

/// Passes `emit` a word, with its hash, that [`bytes_at`] does not read (it has more than eight bytes, or the text has
/// fewer), or that is not ASCII in a text with capitals. `small` and `high` are as in [`WordFeatures`], except that
/// `high` may be 0 if the word is ASCII. `folded` is memory for the small letters.
#[inline(never)]
pub(super) fn long_word<T>(
    word: &[u8],
    [small, high]: [u64; 2],
    folded: &mut Vec<u8>,
    hash: Seeded,
    emit: impl FnOnce(&[u8], u64) -> Result<T>,
) -> Result<T> {
    if let (9..=16, Some(first), Some(last)) = (word.len(), word.first_chunk(), word.last_chunk()) {
        let [first, last] = [*first, *last].map(u64::from_le_bytes);
        if (first | last) & high == 0 {
            let (first, last) = (first | small, last | small);
            let mut feature = [0; 16];
            feature[..8].copy_from_slice(&first.to_le_bytes());
            feature[word.len() - 8..word.len()].copy_from_slice(&last.to_le_bytes());
            return emit(&feature[..word.len()], hash.hash_9_to_16(first, last, word.len()));
        }
    }
    if small == 0 {
        return emit(word, hash.hash(word));
    }
    folded.clear();
    folded.try_reserve(word.len())?;
    folded.extend_from_slice(word);
    folded.make_ascii_lowercase();
    emit(folded, hash.hash(folded))
}

/// The letter of three bytes that starts at byte `at`, as a little-endian number.
#[inline(always)]
fn read_letter(text: &[u8], at: usize) -> u64 {
    match text[at..].first_chunk() {
        Some(bytes) => u64::from(u32::from_le_bytes(*bytes) & 0xff_ffff),
        None => text[at..at + LETTER_BYTES].iter().rev().fold(0, |letter, byte| letter << 8 | u64::from(*byte)),
    }
}

/// Shingles of the characters of all tokens, as one run: of the text without its separators.
struct CharFeatures<'t, E> {
    characters: Shingler<'t>,
    hash: Seeded,
    emit: E,
}

impl<E: FeatureSink> TokenSink for CharFeatures<'_, E> {
    #[inline]
    fn word(&mut self, character: Range<usize>) -> Result<()> {
        emit_hashed(self.characters.push(character)?, self.hash, &mut self.emit)
    }
}
