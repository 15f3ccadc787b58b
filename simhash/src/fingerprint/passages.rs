//! Passages: which texts have a sentence, an excerpt or a quotation in common (winnowing: Schleimer, Wilkerson and
//! Aiken, SIGMOD 2003).
//!
//! A run of tokens starts at each token; [`Lengths`] says how long it is. Of each window of so many runs that start one
//! after the other, the run with the smallest hash is a passage. Nothing outside the window decides that. So two texts
//! that share a whole window have a passage in common, wherever it stands in them:
//!
//! ```text
//! runs of 4       the quick brown fox | quick brown fox jumps | brown fox jumps over | fox jumps over the
//! hashes          77                    31                      58                     12
//! windows of 3    77 31 58: 31          31 58 12: 12            passages: 12, 31
//! ```
//!
//! A search looks up all runs of its [`clue`], and not its passages alone. So it also finds a text in which a
//! window with the shared run reaches beyond what is shared: 12 words of which one is changed are found in .95 of the
//! texts instead of .85. Of a long clue, its passages are enough.
//!
//! Passages are stored, so no change may alter one of them.

use std::fmt;
use std::ops::Range;

use super::feature_set::sort;
use super::fingerprinter::Fingerprinter;
use super::hash::hash;
use super::matches::coverage;
use super::options::Options;
use super::units::each_unit;
use crate::error::{Error, MAX_FEATURES, Result};
use crate::memory::push;
use crate::text::tokens::TokenSink;
use crate::ticking::ITEMS_BETWEEN_TICKS;

/// Numbers of tokens in a run, by its first token. Runs of both lengths are in mixed texts, and so are runs of mixed
/// tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Of a run that starts with a word or a number.
    pub words: usize,
    /// Of a run that starts with a letter of a script without spaces. No less than `words`.
    pub spaceless: usize,
}

/// The runs that can be passages.
pub const LENGTHS: Lengths = Lengths { words: 4, spaceless: 6 };
/// Runs of which one is a passage.
pub const WINDOW: usize = 8;
/// From so many words on that a text must have of a clue, the clue's passages are enough to find it. An index takes time
/// that grows with the square of what is looked up.
pub const MANY_WORDS: usize = 500;
/// More tokens than a run has.
const MAX_RUN: usize = 8;

/// The passages of a text, in ascending order as signed numbers: two of nine runs. Of fewer than [`WINDOW`] runs, one
/// is a passage; a text that is shorter than a run has one passage, all of it. Empty if the text has no token.
///
/// Of the options, those count that say how a text is read, normalised and cut into tokens.
pub fn passages(fingerprinter: &mut Fingerprinter, text: &str, options: &Options, tick: &dyn Fn()) -> Result<Vec<u64>> {
    let mut window = Window::new(WINDOW);
    each_run(fingerprinter, text, options, LENGTHS, tick, |_, hash| window.push(hash))?;
    Ok(ascending(window.end()?, tick))
}

/// What a search looks up to find a clue in other texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clue {
    /// The hashes of its runs, or of its passages, in the order of [`passages`].
    pub runs: Vec<u64>,
    /// The number of its words, and of its letters in scripts without spaces.
    pub tokens: usize,
    /// The texts in which the clue is found, if it stands there unchanged.
    pub found: Found,
}

/// Which of the texts with a clue are found by its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Those that consist of nothing else: the clue is shorter than a run.
    Whole,
    /// Most: the clue is shorter than a window.
    Most,
    /// All.
    All,
}

/// The runs of a clue of which a text must have at least this share; its passages, if that is [`MANY_WORDS`]. Clues of
/// at least 11 words, or 13 letters of a script without spaces, are found everywhere.
pub fn clue(
    fingerprinter: &mut Fingerprinter,
    text: &str,
    share: f64,
    options: &Options,
    tick: &dyn Fn(),
) -> Result<Clue> {
    let (mut window, mut starts) = (Window::new(1), 0);
    let tokens = each_run(fingerprinter, text, options, LENGTHS, tick, |run, hash| {
        starts += usize::from(run.start == starts);
        window.push(hash)
    })?;
    let found = match tokens {
        Tokens { is_run: true, .. } => Found::Whole,
        // A text may have more runs than the clue: those that start with one of its last letters.
        _ if starts < WINDOW => Found::Most,
        _ => Found::All,
    };
    let runs = match share * tokens.count as f64 >= MANY_WORDS as f64 {
        true => passages(fingerprinter, text, options, tick)?,
        false => ascending(window.end()?, tick),
    };
    Ok(Clue { runs, tokens: tokens.count, found })
}

/// Whether a text has a passage in common with a clue's runs, and at least this share of its words.
pub fn contains(
    fingerprinter: &mut Fingerprinter,
    content: &str,
    clue: &str,
    share: f64,
    options: &Options,
    tick: &dyn Fn(),
) -> Result<Result<bool, ShortClue>> {
    let asked = self::clue(fingerprinter, clue, share, options, tick)?;
    if let Some(short) = asked.too_short() {
        return Ok(Err(short));
    }
    let passages = passages(fingerprinter, content, options, tick)?;
    let is_candidate = passages.iter().any(|passage| has(&asked.runs, *passage));
    Ok(Ok(is_candidate && coverage(fingerprinter, content, clue, options, tick)?.is_some_and(|found| found >= share)))
}

/// Whether hashes in the order of [`passages`] have this one.
fn has(ascending: &[u64], hash: u64) -> bool {
    ascending.binary_search_by_key(&hash.cast_signed(), |other| other.cast_signed()).is_ok()
}

/// The number of words of a clue that is found in no longer text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortClue(pub usize);

impl fmt::Display for ShortClue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "clue of {} word{} is too short", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

impl ShortClue {
    pub fn detail() -> String {
        let Lengths { words, spaceless } = LENGTHS;
        format!("A clue has at least {words} words, or {spaceless} letters of a script without spaces.")
    }
}

impl Clue {
    /// An error for a clue that is shorter than a run. A clue without a word is no error: it is in no text.
    pub fn too_short(&self) -> Option<ShortClue> {
        (self.found == Found::Whole && self.tokens > 0).then_some(ShortClue(self.tokens))
    }
}

/// Sorts hashes as signed numbers, and drops repetitions.
fn ascending(mut hashes: Vec<u64>, tick: &dyn Fn()) -> Vec<u64> {
    sort(&mut hashes, &|hash| hash ^ 1 << 63, u64::BITS, tick);
    hashes.dedup();
    hashes
}

/// The tokens of a text that has been read.
struct Tokens {
    count: usize,
    /// Whether all of them are the only run, because there are fewer than a run has.
    is_run: bool,
}

/// Passes `emit` the runs of a text in the order in which they start: the numbers of their tokens, and their hashes.
fn each_run(
    fingerprinter: &mut Fingerprinter,
    text: &str,
    options: &Options,
    lengths: Lengths,
    tick: &dyn Fn(),
    emit: impl FnMut(Range<usize>, u64) -> Result<()>,
) -> Result<Tokens> {
    debug_assert!((1..=MAX_RUN).contains(&lengths.spaceless) && (1..=lengths.spaceless).contains(&lengths.words));
    fingerprinter.read_normal(text, options, tick, |normal| {
        let mut runs = Runs { text: normal.as_bytes(), lengths, last: [(0, 0); MAX_RUN], tokens: 0, emit, tick };
        each_unit(normal, options.tokens, &mut runs, tick)?;
        runs.end()
    })
}

struct Runs<'t, E> {
    text: &'t [u8],
    lengths: Lengths,
    /// The hash of each of the last tokens, and the length of the run that starts with it; the index is the token's
    /// number modulo [`MAX_RUN`].
    last: [(u64, usize); MAX_RUN],
    tokens: usize,
    emit: E,
    tick: &'t dyn Fn(),
}

impl<E: FnMut(Range<usize>, u64) -> Result<()>> Runs<'_, E> {
    #[inline]
    fn push(&mut self, token: Range<usize>, length: usize) -> Result<()> {
        if self.tokens.is_multiple_of(ITEMS_BETWEEN_TICKS) {
            (self.tick)();
        }
        self.last[self.tokens % MAX_RUN] = (hash(&self.text[token]), length);
        self.tokens += 1;
        // A shorter run that starts later would be complete earlier: each waits until the longest would be.
        match self.tokens.checked_sub(self.lengths.spaceless) {
            None => Ok(()),
            Some(start) => self.run(start, self.last[start % MAX_RUN].1),
        }
    }

    /// The hash of a run is the hash of the hashes of its tokens, as little-endian bytes.
    #[inline]
    fn run(&mut self, start: usize, length: usize) -> Result<()> {
        let mut hashes = [0; 8 * MAX_RUN];
        for (bytes, token) in hashes.chunks_exact_mut(8).zip(start..start + length) {
            bytes.copy_from_slice(&self.last[token % MAX_RUN].0.to_le_bytes());
        }
        (self.emit)(start..start + length, hash(&hashes[..8 * length]))
    }

    fn end(mut self) -> Result<Tokens> {
        let count = self.tokens;
        let mut is_run = count < self.lengths.spaceless;
        for start in (count + 1).saturating_sub(self.lengths.spaceless)..count {
            let length = self.last[start % MAX_RUN].1;
            if start + length <= count {
                self.run(start, length)?;
                is_run = false;
            }
        }
        is_run &= count > 0;
        if is_run {
            self.run(0, count)?;
        }
        Ok(Tokens { count, is_run })
    }
}

impl<E: FnMut(Range<usize>, u64) -> Result<()>> TokenSink for Runs<'_, E> {
    #[inline]
    fn word(&mut self, token: Range<usize>) -> Result<()> {
        self.push(token, self.lengths.words)
    }

    #[inline]
    fn spaceless(&mut self, token: Range<usize>) -> Result<()> {
        self.push(token, self.lengths.spaceless)
    }
}

/// Selects the smallest hash of each window of `length` runs, at most [`WINDOW`].
struct Window {
    length: usize,
    /// The last hashes; the index is the run's number modulo [`WINDOW`].
    last: [u64; WINDOW],
    runs: usize,
    /// The smallest of the last hashes, and the number of the last run that has it.
    smallest: (u64, usize),
    selected: Vec<u64>,
}

impl Window {
    fn new(length: usize) -> Self {
        Self { length, last: [0; WINDOW], runs: 0, smallest: (u64::MAX, 0), selected: Vec::new() }
    }

    #[inline]
    fn push(&mut self, hash: u64) -> Result<()> {
        let number = self.runs;
        self.last[number % WINDOW] = hash;
        self.runs += 1;
        if hash <= self.smallest.0 {
            self.smallest = (hash, number);
        } else if self.smallest.1 + self.length <= number {
            self.smallest = (u64::MAX, number);
            for number in self.runs - self.length..self.runs {
                let hash = self.last[number % WINDOW];
                if hash <= self.smallest.0 {
                    self.smallest = (hash, number);
                }
            }
        } else if self.runs != self.length {
            // It was selected with the window before, or the first window is not complete.
            return Ok(());
        }
        if self.runs >= self.length { self.select() } else { Ok(()) }
    }

    fn select(&mut self) -> Result<()> {
        if self.selected.len() >= MAX_FEATURES {
            return Err(Error::TooManyFeatures);
        }
        push(&mut self.selected, self.smallest.0)
    }

    fn end(mut self) -> Result<Vec<u64>> {
        if (1..self.length).contains(&self.runs) {
            self.select()?;
        }
        Ok(self.selected)
    }
}
