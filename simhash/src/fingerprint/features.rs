//! The features of a text.

use std::ops::Range;

use super::hash::{SeededHasher, bytes_at, length_of, lowest_bytes};
use super::options::{Options, Tokens};
use super::units::each_unit;
use crate::error::Result;
use crate::text::mask::{CASE_BITS, HIGH_BITS};
use crate::text::shingle::Shingler;
use crate::text::tokens::{LETTER_BYTES, TokenSink, next_start, tokenize};

// The tokens of a feature, unless the option `ngram` gives their number.
const WORDS_PER_FEATURE: u8 = 1;
const SPACELESS_PER_FEATURE: u8 = 3;
const CHARACTERS_PER_FEATURE: u8 = 4;

/// Receives the features of a text, each time that they occur.
pub trait FeatureSink {
    /// A feature, with its hash by the seed of the options.
    fn feature(&mut self, feature: &[u8], hash: u64) -> Result<()>;
    /// A word of 1 to 8 bytes. They are the lowest ones of `bytes`, and none of them is 0.
    #[inline(always)]
    fn short_word(&mut self, bytes: u64, hasher: SeededHasher) -> Result<()> {
        let length = length_of(bytes);
        self.feature(&bytes.to_le_bytes()[..length], hasher.hash_1_to_8(bytes, length))
    }
    /// Ends a run: the next feature and the last one are not neighbours.
    #[inline(always)]
    fn end_run(&mut self) {}
}

/// Receives the pairs of neighbouring features too, by their hashes.
pub trait PairSink: FeatureSink {
    fn pair(&mut self, hash: u64) -> Result<()>;
}

impl<F: FnMut(&[u8], u64) -> Result<()>> FeatureSink for F {
    #[inline]
    fn feature(&mut self, feature: &[u8], hash: u64) -> Result<()> {
        self(feature, hash)
    }
}

/// Passes `sink` each feature of a text in normal form: once for each occurrence, in the order in which these end.
///
/// If `may_have_capitals` is true, ASCII capitals are taken for small letters, and the text is in normal form except
/// for them. So no copy of the text is written and read. Only for options of which [`takes_capitals`] is true.
#[inline]
pub fn each_feature(
    normal: &str,
    may_have_capitals: bool,
    options: &Options,
    tick: &dyn Fn(),
    sink: impl FeatureSink,
) -> Result<()> {
    debug_assert!(!may_have_capitals || takes_capitals(options));
    let hasher = SeededHasher(options.seed);
    let text = normal.as_bytes();
    match options.tokens {
        Tokens::Words => {
            let mut features = WordFeatures {
                text,
                word_shingler: match options.tokens_per_feature(WORDS_PER_FEATURE) {
                    1 => None,
                    n => Some(Shingler::new(text, n, Some(b' '))),
                },
                fold: if may_have_capitals { CaseFold::ASCII } else { CaseFold::NONE },
                folded: Vec::new(),
                spaceless_shingler: None,
                spaceless_length: options.tokens_per_feature(SPACELESS_PER_FEATURE),
                hasher,
                sink,
            };
            tokenize(normal, &mut features, tick)?;
            features.end_words()?;
            features.end_spaceless()
        }
        Tokens::Chars => {
            let shingler = Shingler::new(text, options.tokens_per_feature(CHARACTERS_PER_FEATURE), None);
            let mut features = CharFeatures { shingler, hasher, sink };
            each_unit(normal, Tokens::Chars, &mut features, tick)?;
            emit_hashed(features.shingler.end_run()?, hasher, &mut features.sink)
        }
    }
}

/// Passes on a feature, if there is one, with its hash. Not inlined, because it has many callers: the commonest
/// features, single words and three Chinese letters, are passed on elsewhere.
#[inline(never)]
fn emit_hashed(feature: Option<&[u8]>, hasher: SeededHasher, sink: &mut impl FeatureSink) -> Result<()> {
    feature.map_or(Ok(()), |feature| sink.feature(feature, hasher.hash(feature)))
}

/// Whether [`each_feature`] takes a text with capitals: words are features by themselves, and none is ignored.
pub fn takes_capitals(options: &Options) -> bool {
    options.tokens == Tokens::Words && options.tokens_per_feature(WORDS_PER_FEATURE) == 1 && options.ignore.is_nothing()
}

/// Shingles of words and of spaceless tokens. A token of one kind ends a run of the other.
struct WordFeatures<'t, S> {
    text: &'t [u8],
    /// None if words are features by themselves.
    word_shingler: Option<Shingler<'t>>,
    fold: CaseFold,
    /// Memory for the small letters of one word.
    folded: Vec<u8>,
    /// None before the first spaceless token: most texts have none, and a shingler takes 256 bytes.
    spaceless_shingler: Option<Shingler<'t>>,
    spaceless_length: usize,
    hasher: SeededHasher,
    sink: S,
}

impl<S: FeatureSink> WordFeatures<'_, S> {
    #[inline(always)]
    fn end_words(&mut self) -> Result<()> {
        match &mut self.word_shingler {
            Some(shingler) if !shingler.is_between_runs() => {
                emit_hashed(shingler.end_run()?, self.hasher, &mut self.sink)
            }
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn end_spaceless(&mut self) -> Result<()> {
        match &mut self.spaceless_shingler {
            Some(shingler) if !shingler.is_between_runs() => {
                emit_hashed(shingler.end_run()?, self.hasher, &mut self.sink)?;
                self.sink.end_run();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn single_word(&mut self, token: Range<usize>) -> Result<()> {
        match bytes_at(self.text, token.start, token.end) {
            Some(bytes) if bytes & self.fold.non_ascii_bits == 0 => {
                self.sink.short_word(bytes | self.fold.case_bits & lowest_bytes(token.end - token.start), self.hasher)
            }
            _ => {
                let emit = |feature: &[u8], hash| self.sink.feature(feature, hash);
                emit_word(&self.text[token], self.fold, &mut self.folded, self.hasher, emit)
            }
        }
    }

    /// Passes on a feature of three letters of three bytes, which are little-endian numbers: the first two as one.
    #[inline(always)]
    fn three_letters(&mut self, first_two: u64, third: u64) -> Result<()> {
        // The nine bytes are hashed by the first and the last eight of them.
        let (first_eight, last_eight) = (first_two | third << 48, first_two >> 8 | third << 40);
        let feature = (u128::from(last_eight) << 8 | u128::from(first_eight)).to_le_bytes();
        let hash = self.hasher.hash_9_to_16(first_eight, last_eight, 3 * LETTER_BYTES);
        self.sink.feature(&feature[..3 * LETTER_BYTES], hash)
    }

    /// The last two tokens of a run of spaceless tokens, if three make a feature and these two have three bytes each.
    #[inline]
    fn two_letters(&self) -> Option<[Range<usize>; 2]> {
        let last_two = self.spaceless_shingler.as_ref().filter(|_| self.spaceless_length == 3)?.last_two()?;
        last_two.iter().all(|token| token.len() == LETTER_BYTES).then_some(last_two)
    }
}

impl<S: FeatureSink> TokenSink for WordFeatures<'_, S> {
    #[inline(always)]
    fn word(&mut self, token: Range<usize>) -> Result<()> {
        self.end_spaceless()?;
        match &mut self.word_shingler {
            None => self.single_word(token),
            Some(shingler) => emit_hashed(shingler.push(token)?, self.hasher, &mut self.sink),
        }
    }

    #[inline(always)]
    fn spaceless(&mut self, token: Range<usize>) -> Result<()> {
        self.end_words()?;
        let new_shingler = || Shingler::new(self.text, self.spaceless_length, None);
        let shingler = self.spaceless_shingler.get_or_insert_with(new_shingler);
        if shingler.is_between_runs() {
            self.sink.end_run();
        }
        emit_hashed(shingler.push(token)?, self.hasher, &mut self.sink)
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
        // The last two letters of the chunk, for the shingler.
        let Some(last) = starts.checked_ilog2() else { return Ok(()) };
        let before_last = (starts ^ 1 << last).checked_ilog2().map_or(last_two[1], |start| base + start as usize);
        let count = starts.count_ones() as usize;
        let text = self.text;
        let [first, second] = last_two.map(|start| read_letter(text, start));
        let mut first_two = first | second << 24;
        while let Some(start) = next_start(base, &mut starts) {
            let third = read_letter(text, start);
            self.three_letters(first_two, third)?;
            first_two = first_two >> 24 | third << 24;
        }
        if let Some(shingler) = &mut self.spaceless_shingler {
            shingler.skip(count, [before_last, base + last as usize].map(|start| start..start + LETTER_BYTES));
        }
        Ok(())
    }
}

/// How ASCII capitals become small letters while a word is read.
#[derive(Clone, Copy)]
pub(super) struct CaseFold {
    /// The bits that make small letters of the capitals, and leave small letters and digits as they are.
    pub case_bits: u64,
    /// The bits by which bytes are recognised that are not ASCII: `case_bits` would change them.
    non_ascii_bits: u64,
}

impl CaseFold {
    pub const NONE: Self = Self { case_bits: 0, non_ascii_bits: 0 };
    pub const ASCII: Self = Self { case_bits: CASE_BITS, non_ascii_bits: HIGH_BITS };
}

/// Passes `emit` a word with its hash: a word that [`bytes_at`] does not read (it has more than eight bytes, or the
/// text has fewer), or one that is not ASCII in a text that may have capitals. `folded` is memory for small letters.
#[inline(never)]
pub(super) fn emit_word<T>(
    word: &[u8],
    fold: CaseFold,
    folded: &mut Vec<u8>,
    hasher: SeededHasher,
    emit: impl FnOnce(&[u8], u64) -> Result<T>,
) -> Result<T> {
    if let (9..=16, Some(first), Some(last)) = (word.len(), word.first_chunk(), word.last_chunk()) {
        let [first, last] = [*first, *last].map(u64::from_le_bytes);
        if (first | last) & fold.non_ascii_bits == 0 {
            let (first, last) = (first | fold.case_bits, last | fold.case_bits);
            let mut feature = [0; 16];
            feature[..8].copy_from_slice(&first.to_le_bytes());
            feature[word.len() - 8..word.len()].copy_from_slice(&last.to_le_bytes());
            return emit(&feature[..word.len()], hasher.hash_9_to_16(first, last, word.len()));
        }
    }
    if fold.case_bits == 0 {
        return emit(word, hasher.hash(word));
    }
    folded.clear();
    folded.try_reserve(word.len())?;
    folded.extend_from_slice(word);
    folded.make_ascii_lowercase();
    emit(folded, hasher.hash(folded))
}

/// The letter of three bytes that starts at byte `at`, as a little-endian number.
#[inline(always)]
fn read_letter(text: &[u8], at: usize) -> u64 {
    match text[at..].first_chunk() {
        Some(bytes) => u64::from(u32::from_le_bytes(*bytes) & 0xff_ffff),
        // Fewer than four bytes are left.
        None => text[at..at + LETTER_BYTES].iter().rev().fold(0, |letter, byte| letter << 8 | u64::from(*byte)),
    }
}

/// Shingles of the characters of all tokens, as one run: of the text without its separators.
struct CharFeatures<'t, S> {
    shingler: Shingler<'t>,
    hasher: SeededHasher,
    sink: S,
}

impl<S: FeatureSink> TokenSink for CharFeatures<'_, S> {
    /// Takes a character: [`each_unit`] passes each as a spaceless token, which is a word by default.
    #[inline]
    fn word(&mut self, character: Range<usize>) -> Result<()> {
        emit_hashed(self.shingler.push(character)?, self.hasher, &mut self.sink)
    }
}
