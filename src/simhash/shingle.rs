//! Shingles: each `n` consecutive tokens of a run, as one string (Broder 1997 calls them so).

use super::error::Error;

/// Largest number of tokens in a shingle.
pub const MAX_NGRAM: usize = 16;
/// Bytes of a run that are kept before those no shingle needs any more are dropped.
const KEPT: usize = 4 * 1024;

/// Cuts runs of tokens into shingles. A run of fewer than `n` tokens is a shingle by itself.
///
/// Memory: the last `n` tokens and 4 kB.
#[derive(Debug)]
pub struct Shingler {
    n: usize,
    joiner: Option<u8>,
    run: Vec<u8>,
    /// Where in `run` the last `n` tokens start, by their number in the run modulo `n`.
    starts: [usize; MAX_NGRAM],
    tokens: usize,
}

impl Shingler {
    /// Shingles of `n` (1 to [`MAX_NGRAM`]) tokens, with `joiner` between two tokens.
    pub fn new(n: usize, joiner: Option<u8>) -> Self {
        debug_assert!((1..=MAX_NGRAM).contains(&n));
        Self { n, joiner, run: Vec::new(), starts: [0; MAX_NGRAM], tokens: 0 }
    }

    /// Takes the next token of the run; the shingle that ends with it, if the run is long enough.
    #[inline]
    pub fn push(&mut self, token: &[u8]) -> Result<Option<&[u8]>, Error> {
        if self.tokens == 0 {
            self.run.clear();
        } else if self.run.len() > KEPT {
            self.drop_passed();
        }
        self.run.try_reserve(token.len() + 1)?;
        if self.tokens > 0 {
            self.run.extend(self.joiner);
        }
        self.starts[self.tokens % self.n] = self.run.len();
        self.run.extend_from_slice(token);
        self.tokens += 1;
        if self.tokens < self.n {
            return Ok(None);
        }
        Ok(Some(&self.run[self.starts[self.tokens % self.n]..]))
    }

    /// Ends the run; the run itself if it was too short for a shingle, but not empty.
    #[inline]
    pub fn end_run(&mut self) -> Option<&[u8]> {
        let tokens = std::mem::take(&mut self.tokens);
        (0 < tokens && tokens < self.n).then_some(&self.run[..])
    }

    #[cold]
    fn drop_passed(&mut self) {
        let known = self.tokens.min(self.n);
        let passed = (self.tokens - known..self.tokens).map(|token| self.starts[token % self.n]).min().unwrap_or(0);
        self.run.drain(..passed);
        for start in &mut self.starts[..known] {
            *start -= passed;
        }
    }
}
