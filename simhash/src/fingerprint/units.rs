//! The units of which features, passages and matches are made: tokens, or their characters.

use std::ops::Range;

use super::options::Tokens;
use crate::error::Result;
use crate::text::tokens::{TokenSink, tokenize};
use crate::ticking::ITEMS_BETWEEN_TICKS;

/// Passes each unit of a text in normal form to `sink`, and characters as letters of a script without spaces.
#[inline]
pub fn each_unit(normal: &str, tokens: Tokens, sink: &mut impl TokenSink, tick: &dyn Fn()) -> Result<()> {
    match tokens {
        Tokens::Words => tokenize(normal, sink, tick),
        Tokens::Chars => tokenize(normal, &mut Characters { text: normal.as_bytes(), sink, tick }, tick),
    }
}

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

    #[inline]
    fn spaceless(&mut self, token: Range<usize>) -> Result<()> {
        self.word(token)
    }
}
