//! The features of a text.

use std::ops::Range;

use super::hash::{hash, hash_at};
use super::options::{Options, Tokens};
use crate::error::Error;
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
    let text = normal.as_bytes();
    match options.tokens {
        Tokens::Words => {
            let mut sink = WordFeatures {
                text,
                words: Shingler::new(text, options.words_per_feature(), Some(b' ')),
                single_words: options.words_per_feature() == 1,
                spaceless: Shingler::new(text, options.spaceless_per_feature(), None),
                emit,
            };
            tokenize(normal, &mut sink, tick)?;
            sink.end_words()?;
            sink.end_spaceless()
        }
        Tokens::Chars => {
            let characters = Shingler::new(text, options.chars_per_feature(), None);
            let mut sink = CharFeatures { text, characters, emit, tick };
            tokenize(normal, &mut sink, tick)?;
            emit_hashed(sink.characters.end_run()?, &mut sink.emit)
        }
    }
}

#[inline(always)]
fn emit_hashed(feature: Option<&[u8]>, emit: &mut impl FnMut(&[u8], u64) -> Result<(), Error>) -> Result<(), Error> {
    feature.map_or(Ok(()), |feature| emit(feature, hash(feature)))
}

/// Shingles of words and of spaceless tokens. A token of one kind ends a run of the other.
struct WordFeatures<'t, E> {
    text: &'t [u8],
    words: Shingler<'t>,
    single_words: bool,
    spaceless: Shingler<'t>,
    emit: E,
}

impl<E: FnMut(&[u8], u64) -> Result<(), Error>> WordFeatures<'_, E> {
    #[inline]
    fn end_words(&mut self) -> Result<(), Error> {
        emit_hashed(self.words.end_run()?, &mut self.emit)
    }

    #[inline]
    fn end_spaceless(&mut self) -> Result<(), Error> {
        emit_hashed(self.spaceless.end_run()?, &mut self.emit)
    }
}

impl<E: FnMut(&[u8], u64) -> Result<(), Error>> TokenSink for WordFeatures<'_, E> {
    #[inline(always)]
    fn word(&mut self, token: Range<usize>) -> Result<(), Error> {
        self.end_spaceless()?;
        if self.single_words {
            let hash = hash_at(self.text, token.start, token.end);
            return (self.emit)(&self.text[token], hash);
        }
        emit_hashed(self.words.push(token)?, &mut self.emit)
    }

    #[inline(always)]
    fn spaceless(&mut self, token: Range<usize>) -> Result<(), Error> {
        self.end_words()?;
        emit_hashed(self.spaceless.push(token)?, &mut self.emit)
    }
}

/// Shingles of the characters of all tokens, as one run: of the text without its separators.
struct CharFeatures<'t, E, T> {
    text: &'t [u8],
    characters: Shingler<'t>,
    emit: E,
    tick: &'t T,
}

impl<E: FnMut(&[u8], u64) -> Result<(), Error>, T: Fn()> TokenSink for CharFeatures<'_, E, T> {
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
            emit_hashed(self.characters.push(start..end)?, &mut self.emit)?;
            start = end;
        }
        Ok(())
    }

    #[inline]
    fn spaceless(&mut self, token: Range<usize>) -> Result<(), Error> {
        self.word(token)
    }
}
