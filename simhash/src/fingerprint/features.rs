//! The features of a text.

use std::ops::Range;

use super::hash::{FeatureHash, Seeded, Unseeded};
use super::options::{Options, Tokens};
use crate::error::Error;
use crate::text::dictionary::Dictionary;
use crate::text::shingle::Shingler;
use crate::text::tokens::{TokenSink, tokenize};
use crate::ticking::EVERY;

/// Calls `emit` with each feature of a text in normal form and with its hash: once for each occurrence, in the order in
/// which the occurrences end.
#[inline]
pub fn each_feature(
    normal: &str,
    options: &Options,
    tick: &impl Fn(),
    emit: impl FnMut(&[u8], u64) -> Result<(), Error>,
) -> Result<(), Error> {
    match options.seed {
        0 => each_hashed(normal, options, Unseeded, tick, emit),
        seed => each_hashed(normal, options, Seeded(seed), tick, emit),
    }
}

#[inline]
fn each_hashed(
    normal: &str,
    options: &Options,
    hash: impl FeatureHash,
    tick: &impl Fn(),
    emit: impl FnMut(&[u8], u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let text = normal.as_bytes();
    match options.tokens {
        Tokens::Words => {
            let mut sink = WordFeatures {
                text,
                words: Shingler::new(text, options.words_per_feature(), Some(b' ')),
                single_words: options.words_per_feature() == 1,
                spaceless: Shingler::new(text, options.spaceless_per_feature(), None),
                hash,
                emit,
            };
            tokenize(normal, &mut sink, tick)?;
            sink.end_words()?;
            sink.end_spaceless()
        }
        Tokens::Dictionary => {
            let mut sink = DictionaryFeatures {
                text: normal,
                dictionary: Dictionary::new(),
                stretch: 0..0,
                words: Shingler::new(text, options.words_per_feature(), Some(b' ')),
                spaceless: Shingler::new(text, options.dictionary_words_per_feature(), None),
                hash,
                emit,
                tick,
            };
            tokenize(normal, &mut sink, tick)?;
            sink.end_stretch()?;
            emit_hashed(sink.words.end_run()?, hash, &mut sink.emit)?;
            emit_hashed(sink.spaceless.end_run()?, hash, &mut sink.emit)
        }
        Tokens::Chars => {
            let characters = Shingler::new(text, options.chars_per_feature(), None);
            let mut sink = CharFeatures { text, characters, hash, emit, tick };
            tokenize(normal, &mut sink, tick)?;
            emit_hashed(sink.characters.end_run()?, hash, &mut sink.emit)
        }
    }
}

#[inline(always)]
fn emit_hashed(
    feature: Option<&[u8]>,
    hash: impl FeatureHash,
    emit: &mut impl FnMut(&[u8], u64) -> Result<(), Error>,
) -> Result<(), Error> {
    feature.map_or(Ok(()), |feature| emit(feature, hash.hash(feature)))
}

/// Shingles of words and of spaceless tokens. A token of one kind ends a run of the other.
struct WordFeatures<'t, H, E> {
    text: &'t [u8],
    words: Shingler<'t>,
    single_words: bool,
    spaceless: Shingler<'t>,
    hash: H,
    emit: E,
}

impl<H: FeatureHash, E: FnMut(&[u8], u64) -> Result<(), Error>> WordFeatures<'_, H, E> {
    #[inline]
    fn end_words(&mut self) -> Result<(), Error> {
        emit_hashed(self.words.end_run()?, self.hash, &mut self.emit)
    }

    #[inline]
    fn end_spaceless(&mut self) -> Result<(), Error> {
        emit_hashed(self.spaceless.end_run()?, self.hash, &mut self.emit)
    }
}

impl<H: FeatureHash, E: FnMut(&[u8], u64) -> Result<(), Error>> TokenSink for WordFeatures<'_, H, E> {
    #[inline(always)]
    fn word(&mut self, token: Range<usize>) -> Result<(), Error> {
        self.end_spaceless()?;
        if self.single_words {
            let hash = self.hash.hash_at(self.text, token.start, token.end);
            return (self.emit)(&self.text[token], hash);
        }
        emit_hashed(self.words.push(token)?, self.hash, &mut self.emit)
    }

    #[inline(always)]
    fn spaceless(&mut self, token: Range<usize>) -> Result<(), Error> {
        self.end_words()?;
        emit_hashed(self.spaceless.push(token)?, self.hash, &mut self.emit)
    }
}

/// Shingles of words, and of the words that a dictionary finds in stretches of spaceless tokens. A word of one kind ends
/// a run of the other.
struct DictionaryFeatures<'t, H, E, T> {
    text: &'t str,
    dictionary: Dictionary,
    /// Spaceless tokens next to each other that are not yet cut into words.
    stretch: Range<usize>,
    words: Shingler<'t>,
    spaceless: Shingler<'t>,
    hash: H,
    emit: E,
    tick: &'t T,
}

impl<H: FeatureHash, E: FnMut(&[u8], u64) -> Result<(), Error>, T: Fn()> DictionaryFeatures<'_, H, E, T> {
    fn end_stretch(&mut self) -> Result<(), Error> {
        let stretch = std::mem::take(&mut self.stretch);
        let Self { text, dictionary, spaceless, hash, emit, tick, .. } = self;
        dictionary.each_word(text, stretch, *tick, |word| emit_hashed(spaceless.push(word)?, *hash, emit))
    }
}

impl<H: FeatureHash, E: FnMut(&[u8], u64) -> Result<(), Error>, T: Fn()> TokenSink for DictionaryFeatures<'_, H, E, T> {
    #[inline]
    fn word(&mut self, token: Range<usize>) -> Result<(), Error> {
        self.end_stretch()?;
        emit_hashed(self.spaceless.end_run()?, self.hash, &mut self.emit)?;
        emit_hashed(self.words.push(token)?, self.hash, &mut self.emit)
    }

    #[inline]
    fn spaceless(&mut self, token: Range<usize>) -> Result<(), Error> {
        emit_hashed(self.words.end_run()?, self.hash, &mut self.emit)?;
        if self.stretch.end != token.start {
            self.end_stretch()?;
            self.stretch.start = token.start;
        }
        self.stretch.end = token.end;
        Ok(())
    }
}

/// Shingles of the characters of all tokens, as one run: of the text without its separators.
struct CharFeatures<'t, H, E, T> {
    text: &'t [u8],
    characters: Shingler<'t>,
    hash: H,
    emit: E,
    tick: &'t T,
}

impl<H: FeatureHash, E: FnMut(&[u8], u64) -> Result<(), Error>, T: Fn()> TokenSink for CharFeatures<'_, H, E, T> {
    #[inline]
    fn word(&mut self, token: Range<usize>) -> Result<(), Error> {
        let mut start = token.start;
        let characters = self.text[token].chunk_by(|_, next| next & 0b1100_0000 == 0b1000_0000);
        // A token may be as long as the text, and the tokenizer ticks only between tokens.
        for (place, character) in characters.enumerate() {
            if place % EVERY == EVERY - 1 {
                (self.tick)();
            }
            let end = start + character.len();
            emit_hashed(self.characters.push(start..end)?, self.hash, &mut self.emit)?;
            start = end;
        }
        Ok(())
    }

    #[inline]
    fn spaceless(&mut self, token: Range<usize>) -> Result<(), Error> {
        self.word(token)
    }
}
