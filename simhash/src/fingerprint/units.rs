//! The units of which features, passages and matches are made: tokens, or their characters.

use std::ops::Range;

use super::options::Tokens;
use crate::error::Result;
use crate::text::tokens::{TokenSink, tokenize};
use crate::ticking::ITEMS_BETWEEN_TICKS;

/// Passes each unit of a text in normal form to `sink`. Characters are passed as letters of a script without spaces.
#[inline]
pub fn each_unit(normal: &str, tokens: Tokens, sink: &mut impl TokenSink, tick: &dyn Fn()) -> Result<()> {
    match tokens {
        Tokens::Words => tokenize(normal, sink, tick),
        Tokens::Chars => tokenize(normal, &mut Characters { text: normal.as_bytes(), sink, tick }, tick),
    }
}

/// Passes each unit of a text in normal form to `emit`, with whether it is a character, or a letter of a script without
/// spaces.
#[inline]
pub fn emit_units(
    normal: &str,
    tokens: Tokens,
    emit: impl FnMut(Range<usize>, bool) -> Result<()>,
    tick: &dyn Fn(),
) -> Result<()> {
    each_unit(normal, tokens, &mut Emitter { emit, count: 0, tick }, tick)
}

/// Passes units on, and ticks.
struct Emitter<'t, E> {
    emit: E,
    count: usize,
    tick: &'t dyn Fn(),
}

impl<E: FnMut(Range<usize>, bool) -> Result<()>> Emitter<'_, E> {
    #[inline]
    fn pass_on(&mut self, unit: Range<usize>, is_spaceless: bool) -> Result<()> {
        if self.count.is_multiple_of(ITEMS_BETWEEN_TICKS) {
            (self.tick)();
        }
        self.count += 1;
        (self.emit)(unit, is_spaceless)
    }
}

impl<E: FnMut(Range<usize>, bool) -> Result<()>> TokenSink for Emitter<'_, E> {
    #[inline]
    fn word(&mut self, token: Range<usize>) -> Result<()> {
        self.pass_on(token, false)
    }

    #[inline]
    fn spaceless(&mut self, token: Range<usize>) -> Result<()> {
        self.pass_on(token, true)
    }
}

/// Cuts tokens into characters.
struct Characters<'t, S> {
    text: &'t [u8],
    sink: &'t mut S,
    tick: &'t dyn Fn(),
}

impl<S: TokenSink> TokenSink for Characters<'_, S> {
    #[inline]
    fn word(&mut self, token: Range<usize>) -> Result<()> {
        let mut start = token.start;
        let characters = self.text[token].chunk_by(|_, next| next & 0b1100_0000 == 0b1000_0000);
        // A token may be as long as the text, and the tokenizer ticks only between tokens.
        for (index, character) in characters.enumerate() {
            if index % ITEMS_BETWEEN_TICKS == ITEMS_BETWEEN_TICKS - 1 {
                (self.tick)();
            }
            let end = start + character.len();
            self.sink.spaceless(start..end)?;
            start = end;
        }
        Ok(())
    }
}
