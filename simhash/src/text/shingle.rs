//! Shingles: every `n` consecutive tokens of a run, as one string (the term is from Broder 1997).

use std::ops::Range;

use crate::error::Result;

/// The largest number of tokens in a shingle.
pub const MAX_NGRAM: usize = 16;
const RING: usize = MAX_NGRAM.next_power_of_two();

/// Joins the tokens of runs to shingles. A run of fewer than `ngram` tokens is a shingle by itself.
///
/// Most tokens stand in the text as they do in the shingle, and are not copied. Needs memory for one shingle.
#[derive(Debug)]
pub struct Shingler<'t> {
    text: &'t [u8],
    ngram: usize,
    joiner: Option<u8>,
    /// Ranges of the last `ngram` tokens; the index is the token's number in the run modulo `RING`.
    last_tokens: [(usize, usize); RING],
    /// The number of tokens of the run.
    tokens: usize,
    /// How many tokens at the end of the run have only the joiner between them.
    joined_tokens: usize,
    shingle: Vec<u8>,
}

impl<'t> Shingler<'t> {
    /// Makes shingles of `ngram` (1 to [`MAX_NGRAM`]) tokens of `text`, with `joiner` between two tokens.
    pub fn new(text: &'t [u8], ngram: usize, joiner: Option<u8>) -> Self {
        debug_assert!((1..=MAX_NGRAM).contains(&ngram));
        Self { text, ngram, joiner, last_tokens: [(0, 0); RING], tokens: 0, joined_tokens: 0, shingle: Vec::new() }
    }

    /// Takes the next token of the run. Returns the shingle that ends with it; None if the run is too short so far.
    #[inline(always)]
    pub fn push(&mut self, token: Range<usize>) -> Result<Option<&[u8]>> {
        let (_, previous_end) = self.last_tokens[self.tokens.wrapping_sub(1) % RING];
        let is_joined = self.tokens > 0
            && match self.joiner {
                None => previous_end == token.start,
                Some(joiner) => previous_end + 1 == token.start && self.text[previous_end] == joiner,
            };
        self.joined_tokens = if is_joined { self.joined_tokens + 1 } else { 1 };
        self.last_tokens[self.tokens % RING] = (token.start, token.end);
        self.tokens += 1;
        if self.tokens < self.ngram {
            return Ok(None);
        }
        self.shingle(self.tokens - self.ngram..self.tokens).map(Some)
    }

    /// Whether no token has been pushed since the last run ended.
    #[inline(always)]
    pub fn is_between_runs(&self) -> bool {
        self.tokens == 0
    }

    /// The last two tokens of the run; None if it has fewer.
    #[inline]
    pub fn last_two(&self) -> Option<[Range<usize>; 2]> {
        let last = |i: usize| self.last_tokens[self.tokens.wrapping_sub(i) % RING];
        (self.tokens >= 2).then(|| [last(2), last(1)].map(|(start, end)| start..end))
    }

    /// Takes `count` tokens whose shingles the caller has made, as for [`Shingler::push`]. `last_two` are the last two
    /// of the run; `ngram` is at most 3, so that no shingle to come has any token before them.
    #[inline]
    pub fn skip(&mut self, count: usize, last_two: [Range<usize>; 2]) {
        debug_assert!(self.ngram <= 3 && self.tokens + count >= 2);
        self.tokens += count;
        for (i, token) in (1..).zip(last_two.into_iter().rev()) {
            self.last_tokens[(self.tokens - i) % RING] = (token.start, token.end);
        }
        // Whether the last two are joined does not matter: the next shingles may be copied.
        self.joined_tokens = 1;
    }

    /// Ends the run. Returns the whole run if it was too short for a shingle, but not empty.
    #[inline]
    pub fn end_run(&mut self) -> Result<Option<&[u8]>> {
        let tokens = std::mem::take(&mut self.tokens);
        if tokens == 0 || tokens >= self.ngram {
            return Ok(None);
        }
        self.shingle(0..tokens).map(Some)
    }

    /// Tokens of the run as a shingle; the last one must be the token pushed last.
    #[inline(always)]
    fn shingle(&mut self, tokens: Range<usize>) -> Result<&[u8]> {
        if self.joined_tokens >= tokens.len() {
            let (start, _) = self.last_tokens[tokens.start % RING];
            let (_, end) = self.last_tokens[(tokens.end - 1) % RING];
            return Ok(&self.text[start..end]);
        }
        self.copy_tokens(tokens)
    }

    #[cold]
    fn copy_tokens(&mut self, tokens: Range<usize>) -> Result<&[u8]> {
        self.shingle.clear();
        for number in tokens.clone() {
            let (start, end) = self.last_tokens[number % RING];
            self.shingle.try_reserve(end - start + 1)?;
            if number > tokens.start {
                self.shingle.extend(self.joiner);
            }
            self.shingle.extend_from_slice(&self.text[start..end]);
        }
        Ok(&self.shingle)
    }
}
