//! The option `same`: texts that resemble each other have the same numbers, and the same of some given words.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::numbers::{NumbersDigest, list_numbers};
use crate::check::{Check, check_same};
use crate::error::Result;
use crate::memory::push;
use crate::random::GOLDEN_RATIO;
use crate::text::ignore::Ignored;
use crate::text::normalise::{normalise, normalise_separators};
use crate::text::places::rewrite;
use crate::text::tokens::tokenize;

/// Most words of the option `same`: the number of bits of [`Agreement::occurring_words`].
pub const MAX_SAME_WORDS: usize = 64;
/// Most bytes of a word of the option `same`.
pub const MAX_SAME_WORD_BYTES: usize = 256;

/// The option `same`: the properties that two texts must have in common, or else they do not resemble each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Same {
    /// Both texts have the same numbers in the same order. The module `numbers` defines what a number is.
    pub numbers: bool,
    /// Each word is in both texts or in neither.
    pub words: Words,
}

/// Sorted distinct words. Each is a list of tokens in normal form, in reverse: its last token is first, so that the
/// token just read selects the words that may end there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Arc<[Box<[String]>]>);

impl Same {
    /// Whether the option requires nothing, so that any two texts agree.
    pub fn is_nothing(&self) -> bool {
        !self.numbers && self.words.0.is_empty()
    }

    /// The agreement of a text in normal form: another text must have the same one to resemble it.
    pub(super) fn agreement_of(&self, normal: &str, tick: &dyn Fn()) -> Result<Agreement> {
        let numbers = if self.numbers { NumbersDigest::of(normal, tick)? } else { NumbersDigest::default() };
        Ok(Agreement { numbers, occurring_words: self.words.occurring(normal, tick)? })
    }

    /// The agreement of a text and, if numbers must be the same, their list for people to read.
    pub(super) fn agreement_and_numbers(&self, normal: &str, tick: &dyn Fn()) -> Result<(Agreement, String)> {
        let numbers = if self.numbers { list_numbers(normal, tick)? } else { String::new() };
        Ok((self.agreement_of(normal, tick)?, numbers))
    }

    /// The checks that two texts agree, from what [`Self::agreement_and_numbers`] has returned for each.
    pub(super) fn agreement_checks(&self, [(a, numbers_a), (b, numbers_b)]: [(Agreement, String); 2]) -> Vec<Check> {
        let words_of = |agreement: Agreement| {
            let occurs = |(number, _): &(usize, Vec<String>)| agreement.occurring_words >> number & 1 == 1;
            self.words.iter().enumerate().filter(occurs).map(|(_, tokens)| tokens.join(" ") + "\n").collect::<String>()
        };
        let numbers = self.numbers.then(|| check_same("numbers", [&numbers_a, &numbers_b], a.numbers == b.numbers));
        let has_words = !self.words.0.is_empty();
        let words = has_words
            .then(|| check_same("words", [&words_of(a), &words_of(b)], a.occurring_words == b.occurring_words));
        numbers.into_iter().chain(words).collect()
    }
}

/// Overwrites `normal` with the normal form in which texts must agree. Of the option `ignore`, `numbers` has no effect
/// here; ids and addresses are removed with the numbers in them.
pub(super) fn normalise_for_same(
    text: &str,
    case_fold: bool,
    ignored: Ignored,
    normal: &mut String,
    tick: &dyn Fn(),
) -> Result<()> {
    normal.clear();
    normalise(text, case_fold, normal, tick)?;
    Ignored { numbers: false, ..ignored }.remove(normal, None, tick)?;
    rewrite(normal, normalise_separators, None, tick)
}

impl Words {
    /// Words that are normalised as texts are. None if one has no token or more than [`MAX_SAME_WORD_BYTES`], or if
    /// there are more than [`MAX_SAME_WORDS`].
    pub fn new<S: AsRef<str>>(words: &[S], case_fold: bool, ignored: Ignored) -> Result<Option<Self>> {
        let mut lists = Vec::new();
        for word in words.iter().map(AsRef::as_ref) {
            if word.len() > MAX_SAME_WORD_BYTES {
                return Ok(None);
            }
            let mut normal = String::new();
            normalise_for_same(word, case_fold, ignored, &mut normal, &|| ())?;
            let mut tokens = Vec::new();
            tokenize(&normal, &mut |token: Range<usize>| push(&mut tokens, normal[token].to_owned()), &|| ())?;
            tokens.reverse();
            lists.push(tokens.into_boxed_slice());
        }
        lists.sort_unstable();
        lists.dedup();
        let is_valid = lists.len() <= MAX_SAME_WORDS && lists.iter().all(|tokens| !tokens.is_empty());
        Ok(is_valid.then(|| Self(lists.into())))
    }

    /// The tokens of each word, from first to last. They are stored in reverse.
    pub fn iter(&self) -> impl Iterator<Item = Vec<String>> {
        self.0.iter().map(|tokens| tokens.iter().rev().cloned().collect())
    }

    /// A bit for each word: 1 if the text in normal form has it.
    fn occurring(&self, normal: &str, tick: &dyn Fn()) -> Result<u64> {
        let mut occurring = 0;
        let Some(longest) = self.0.iter().map(|tokens| tokens.len()).max() else { return Ok(occurring) };
        // The latest token comes first.
        let mut latest = VecDeque::with_capacity(longest);
        let mut read_token = |token: Range<usize>| {
            latest.truncate(longest - 1);
            latest.push_front(&normal[token]);
            let first = self.0.partition_point(|tokens| *tokens[0] < *latest[0]);
            let may_end = self.0.iter().enumerate().skip(first).take_while(|(_, tokens)| tokens[0] == latest[0]);
            for (number, tokens) in may_end {
                let occurs = tokens.len() <= latest.len() && tokens.iter().zip(&latest).all(|(a, b)| a == b);
                occurring |= u64::from(occurs) << number;
            }
            Ok(())
        };
        tokenize(normal, &mut read_token, tick)?;
        Ok(occurring)
    }
}

/// The numbers of a text, and which of the option's words it has. A text that resembles it has an equal agreement. If
/// the option requires nothing, the agreements of all texts are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Agreement {
    numbers: NumbersDigest,
    /// A bit for each of the [`Words`] of the option: 1 if the text has it.
    occurring_words: u64,
}

impl Agreement {
    /// The number with which each band of the text is XORed. So texts that do not agree share no band.
    pub fn band_mask(self) -> i32 {
        ((self.numbers.digest() ^ self.occurring_words).wrapping_mul(GOLDEN_RATIO) >> 32) as i32
    }
}
