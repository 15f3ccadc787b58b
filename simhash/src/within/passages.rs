//! Passages: which texts have a sentence, an excerpt or a quotation in common (winnowing: Schleimer, Wilkerson and
//! Aiken, SIGMOD 2003).
//!
//! A run starts at each word. It has three words if these have [`SHORT_RUN_LETTERS`] letters or more, and otherwise
//! four, because many texts share three short words by chance. At a letter of a script without spaces, a run of five
//! letters starts. Of each window of [`WINDOW`] runs that start one after the other, the run with the smallest hash is
//! a passage. Nothing outside the window decides that. So two texts that share a whole window have a passage in common,
//! wherever it stands in them:
//!
//! ```text
//! runs            the quick brown | quick brown fox | brown fox jumps | fox jumps over the
//! hashes          77                31                58                12
//! windows of 3    77 31 58: 31      31 58 12: 12      passages: 12, 31
//! ```
//!
//! If a passage starts more than [`GAP`] runs after the passage before it, the run in the middle between them is a
//! passage too. A search looks up all runs of its [`Clue`], so it finds each text that has [`GAP`] runs of the clue in
//! a row. Passages at such even distances find more edited clues than the same number of passages by a shorter window:
//! by measurement, .91 of the clues of 12 words of which two are changed, in place of .87. The runs with the smallest
//! hashes of a long clue are enough.
//!
//! Passages are stored, so no change may alter one of them.

use std::fmt;
use std::ops::Range;

use super::matches::coverage;
use crate::error::{Error, MAX_FEATURES, Result};
use crate::fingerprint::Fingerprinter;
use crate::fingerprint::hash::hash;
use crate::fingerprint::units::emit_units;
use crate::memory::push;
use crate::ticking::sort;

/// Words of a run that have [`SHORT_RUN_LETTERS`] letters or more.
const SHORT_RUN: usize = 3;
/// Words of a run that starts with shorter words.
const LONG_RUN: usize = 4;
/// Letters of a run that starts with a letter of a script without spaces.
const SPACELESS_RUN: usize = 5;
/// The fewest characters that the words of a short run have.
const SHORT_RUN_LETTERS: usize = 13;
/// The number of runs in a window, one of which is a passage. If the last run has [`LONG_RUN`] words, it does not
/// count: so eleven consecutive words always have a window, whatever their lengths.
const WINDOW: usize = 9;
/// Of `GAP` consecutive runs, one is a passage.
const GAP: usize = 5;
/// A clue with this many consecutive words, or with [`CERTAIN_LETTERS`], finds all texts that have them.
pub const CERTAIN_WORDS: usize = LONG_RUN + GAP - 1;
/// The same number for letters of a script without spaces.
pub const CERTAIN_LETTERS: usize = SPACELESS_RUN + GAP - 1;
/// If a text must have at least this many words of a clue, fewer runs of the clue are looked up: the time of a look-up
/// in an index grows with the square of their number.
pub const MANY_WORDS: usize = 500;
/// More tokens than a run has, and more runs than a window.
const RECENT: usize = 16;

/// The passages of a text, in ascending order as signed numbers: five of eighteen runs. A text that is shorter than a
/// run has one passage, all of it. Empty if the text has no token.
///
/// Only the options that say how a text is read, normalised and cut into tokens have an effect.
pub fn passages(fingerprinter: &mut Fingerprinter, text: &str) -> Result<Vec<u64>> {
    selected_runs(fingerprinter, text, GAP)
}

/// The run with the smallest hash of each window, and a run between two of these that are more than `gap` runs apart.
fn selected_runs(fingerprinter: &mut Fingerprinter, text: &str, gap: usize) -> Result<Vec<u64>> {
    let mut window = Window::new(gap);
    each_run(fingerprinter, text, |run, hash| window.push(hash, run.len() == LONG_RUN))?;
    Ok(ascending(window.end()?, fingerprinter.tick))
}

/// The runs that a search looks up to find a clue in other texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clue {
    /// The hashes of all runs, or of the runs with the smallest hashes, in the order of [`passages`].
    pub runs: Vec<u64>,
    pub length: Length,
    /// The texts in which the clue is found, if it stands there unchanged.
    pub found: Found,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    pub words: usize,
    /// Letters of scripts without spaces.
    pub letters: usize,
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut joint = "";
        for (number, unit) in [(self.words, "word"), (self.letters, "letter")] {
            if number > 0 {
                write!(f, "{joint}{number} {unit}{}", if number == 1 { "" } else { "s" })?;
                joint = " and ";
            }
        }
        Ok(())
    }
}

/// The texts with a clue that are found by its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Few or none of the longer texts: the clue is shorter than a long run.
    Few,
    /// The clue has fewer runs than there can be between passages.
    Most,
    All,
}

impl Clue {
    /// Reads a clue of which a text must have at least this share. If this share has [`MANY_WORDS`] words or more, only
    /// the runs with the smallest hashes are looked up. A clue of [`CERTAIN_WORDS`] or [`CERTAIN_LETTERS`] is found
    /// everywhere.
    pub fn new(fingerprinter: &mut Fingerprinter, text: &str, share: f64) -> Result<Self> {
        // Runs after a gap do not count: a text that goes on after the clue may have a longer run in the gap.
        let (mut runs, mut runs_in_a_row) = (Vec::new(), 0);
        let (length, is_shorter_than_run) = each_run(fingerprinter, text, |run, hash| {
            runs_in_a_row += usize::from(run.start == runs_in_a_row);
            push(&mut runs, hash)
        })?;
        let tokens = length.words + length.letters;
        let found = match runs_in_a_row {
            _ if is_shorter_than_run || tokens < LONG_RUN => Found::Few,
            // A text may have more runs than the clue: those that start with one of its last letters.
            ..GAP => Found::Most,
            _ => Found::All,
        };
        let runs = if share * tokens as f64 >= MANY_WORDS as f64 {
            selected_runs(fingerprinter, text, usize::MAX)?
        } else {
            ascending(runs, fingerprinter.tick)
        };
        Ok(Self { runs, length, found })
    }

    pub fn is_empty(&self) -> bool {
        self.length.words + self.length.letters == 0
    }

    /// The error for a clue that is too short. A clue without a word is no error: no text contains it.
    pub fn too_short_error(&self) -> Option<ShortClue> {
        (self.found == Found::Few && !self.is_empty()).then_some(ShortClue(self.length))
    }
}

/// The length of a clue that is found in too few texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortClue(pub Length);

impl fmt::Display for ShortClue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "clue of {} is too short", self.0)
    }
}

impl ShortClue {
    pub fn detail() -> String {
        format!("A clue has at least {LONG_RUN} words, or {SPACELESS_RUN} letters of a script without spaces.")
    }
}

/// Whether a text has a passage in common with a clue's runs, and at least this share of its words. The inner result is
/// an error if the clue is too short. A clue without a word is in no text.
pub fn contains(
    fingerprinter: &mut Fingerprinter,
    content: &str,
    clue: &str,
    share: f64,
) -> Result<Result<bool, ShortClue>> {
    let searched = Clue::new(fingerprinter, clue, share)?;
    if let Some(short) = searched.too_short_error() {
        return Ok(Err(short));
    }
    let passages = passages(fingerprinter, content)?;
    let signed = |hash: &u64| hash.cast_signed();
    let is_candidate =
        passages.iter().any(|passage| searched.runs.binary_search_by_key(&signed(passage), signed).is_ok());
    Ok(Ok(is_candidate && coverage(fingerprinter, content, clue)?.is_some_and(|found| found >= share)))
}

/// Sorts hashes as signed numbers, and drops repetitions.
fn ascending(mut hashes: Vec<u64>, tick: &dyn Fn()) -> Vec<u64> {
    sort(&mut hashes, &|hash| hash ^ 1 << 63, u64::BITS, tick);
    hashes.dedup();
    hashes
}

/// Passes `emit` the runs of a text in the order in which they start: the numbers of their tokens, and their hashes.
/// Returns the length of the text, and whether it has tokens, but fewer than a run: then all of it is the only run.
fn each_run(
    fingerprinter: &mut Fingerprinter,
    text: &str,
    emit: impl FnMut(Range<usize>, u64) -> Result<()>,
) -> Result<(Length, bool)> {
    let (options, tick) = (fingerprinter.options, fingerprinter.tick);
    fingerprinter.read_normal(text, |normal| {
        let is_ascii = normal.is_ascii();
        let mut runs = Runs { is_ascii, last: [Token::default(); RECENT], tokens: 0, letters: 0, emit };
        let push = |token, is_spaceless| runs.push(&normal.as_bytes()[token], is_spaceless);
        emit_units(normal, options.tokens, push, tick)?;
        runs.end()
    })
}

#[derive(Clone, Copy, Default)]
struct Token {
    hash: u64,
    letters: usize,
    is_spaceless: bool,
}

struct Runs<E> {
    is_ascii: bool,
    /// The last tokens; the index is the token's number modulo [`RECENT`].
    last: [Token; RECENT],
    tokens: usize,
    /// Tokens that are letters of scripts without spaces.
    letters: usize,
    emit: E,
}

impl<E: FnMut(Range<usize>, u64) -> Result<()>> Runs<E> {
    #[inline]
    fn push(&mut self, token: &[u8], is_spaceless: bool) -> Result<()> {
        let is_letter = |byte: &&u8| **byte & 0xc0 != 0x80;
        let letters = if self.is_ascii { token.len() } else { token.iter().filter(is_letter).count() };
        self.last[self.tokens % RECENT] = Token { hash: hash(token), letters, is_spaceless };
        self.tokens += 1;
        self.letters += usize::from(is_spaceless);
        // Each run waits for the tokens of the longest run. Otherwise, a shorter run that starts later could overtake
        // it.
        match self.tokens.checked_sub(SPACELESS_RUN) {
            None => Ok(()),
            Some(start) => self.emit_run(start, self.run_length(start)),
        }
    }

    #[inline]
    fn token(&self, number: usize) -> Token {
        self.last[number % RECENT]
    }

    #[inline]
    fn run_length(&self, start: usize) -> usize {
        let letters: usize = (start..start + SHORT_RUN).map(|number| self.token(number).letters).sum();
        let is_short = letters >= SHORT_RUN_LETTERS;
        // It is unpredictable which runs are short, so nothing branches on it.
        if self.token(start).is_spaceless { SPACELESS_RUN } else { LONG_RUN - usize::from(is_short) }
    }

    /// The hash of a run is the hash of the hashes of its tokens, as little-endian bytes.
    #[inline]
    fn emit_run(&mut self, start: usize, length: usize) -> Result<()> {
        let mut hashes = [0; 8 * SPACELESS_RUN];
        // All tokens of the longest run, whatever the length is: a branch on the length would be mispredicted.
        for (bytes, number) in hashes.chunks_exact_mut(8).zip(start..) {
            bytes.copy_from_slice(&self.token(number).hash.to_le_bytes());
        }
        (self.emit)(start..start + length, hash(&hashes[..8 * length]))
    }

    fn end(mut self) -> Result<(Length, bool)> {
        let count = self.tokens;
        let mut is_shorter_than_run = count > 0 && count < SPACELESS_RUN;
        for start in (count + 1).saturating_sub(SPACELESS_RUN)..count {
            let length = self.run_length(start);
            if start + length <= count {
                self.emit_run(start, length)?;
                is_shorter_than_run = false;
            }
        }
        if is_shorter_than_run {
            self.emit_run(0, count)?;
        }
        Ok((Length { words: count - self.letters, letters: self.letters }, is_shorter_than_run))
    }
}

/// Selects runs, which have the numbers 1, 2 and so on.
struct Window {
    gap: usize,
    /// The last hashes; the index is the run's number modulo [`RECENT`].
    last: [u64; RECENT],
    /// The number of the last run.
    runs: usize,
    /// The last run with the smallest hash of the last window.
    smallest: usize,
    /// The last run that was selected, or 0.
    previous: usize,
    selected: Vec<u64>,
}

impl Window {
    fn new(gap: usize) -> Self {
        Self { gap, last: [u64::MAX; RECENT], runs: 0, smallest: 0, previous: 0, selected: Vec::new() }
    }

    #[inline]
    fn push(&mut self, hash: u64, is_long: bool) -> Result<()> {
        self.runs += 1;
        self.last[self.runs % RECENT] = hash;
        if self.runs < WINDOW { Ok(()) } else { self.slide(self.runs - WINDOW + 1, self.runs - usize::from(is_long)) }
    }

    /// Moves the window to the runs from `first` to `last`, and selects the one with the smallest hash.
    #[inline]
    fn slide(&mut self, first: usize, last: usize) -> Result<()> {
        let has_left = self.smallest < first;
        if has_left {
            self.smallest = first;
        }
        // The window has got one or two runs since the last call.
        for number in if has_left { first + 1 } else { last - 1 }..=last {
            let is_smaller = self.last[number % RECENT] <= self.last[self.smallest % RECENT];
            self.smallest = if is_smaller { number } else { self.smallest };
        }
        if self.smallest == self.previous {
            return Ok(());
        }
        self.bridge(self.smallest)?;
        self.select(self.smallest)
    }

    /// If a run is too far from the last selected one, selects the run in the middle between them.
    fn bridge(&mut self, run: usize) -> Result<()> {
        let distance = run - self.previous;
        if distance > self.gap { self.select(self.previous + distance / 2) } else { Ok(()) }
    }

    fn select(&mut self, run: usize) -> Result<()> {
        if self.selected.len() >= MAX_FEATURES {
            return Err(Error::TooManyFeatures);
        }
        self.previous = run;
        push(&mut self.selected, self.last[run % RECENT])
    }

    fn end(mut self) -> Result<Vec<u64>> {
        if self.runs > 0 {
            // A window of eight runs: the ninth would go beyond the text, and need not count (see [`WINDOW`]).
            self.slide((self.runs + 2).saturating_sub(WINDOW).max(1), self.runs)?;
            self.bridge(self.runs + 1)?;
        }
        Ok(self.selected)
    }
}
