//! Matches: where a text and a clue have the same words. And coverage: the share of the clue that is in matches.
//!
//! The texts are read twice: first for the [`tiles`](super::tiles), which need no more than a hash of each token, and
//! then for the places of those tokens at which a match begins or ends. Where characters are compared, the clue is read
//! before that, for its letters.

use std::iter;
use std::ops::Range;

use super::tiles::{Tile, tile, tiles_of};
use super::token::{Token, UNKNOWN, token};
use crate::error::{Error, MAX_VALUE_BYTES, Result};
use crate::fingerprint::Fingerprinter;
use crate::fingerprint::hash::hash;
use crate::fingerprint::options::{Markup, Options, Tokens};
use crate::fingerprint::units::emit_units;
use crate::fingerprint::weight_map::ByHash;
use crate::memory::{collect_exact, numbers_below};
use crate::text::markup::{Page, text_with_places};
use crate::text::normalise::normalise_with_edits;
use crate::text::places::Places;
use crate::ticking::{sort, ticking};

/// The largest `changed` of [`matches()`], which SQL and the clients use.
pub const MAX_CHANGED: usize = 2;

/// The number of tokens of the content for each long run that is known at a time. A text has at most half as many words
/// as bytes.
const WORDS_PER_LONG_RUN: usize = 8;
const LETTERS_PER_LONG_RUN: usize = 64;
/// The fewest and the most long runs that are known at a time.
const MIN_LONG_RUNS: usize = 1 << 12;
const MAX_LONG_RUNS: usize = 1 << 20;

/// Consecutive words that a content and a clue share, perhaps with changed words between them. Positions fit 32 bits,
/// because a text has at most 1 GB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Where it stands in the content and in the clue, as both are stored.
    pub content: Range<u32>,
    pub clue: Range<u32>,
    /// The words, and letters of scripts without spaces, that both have.
    pub words: u32,
    /// The words between the shared ones that only one text has, or that differ.
    pub changed: u32,
}

/// The unit of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of UTF-8, as Rust does.
    Bytes,
    /// Code points, as PostgreSQL and Python do.
    Characters,
    /// 16 bits of UTF-16, as JavaScript does.
    Utf16,
}

impl Unit {
    fn count(self, text: &str) -> usize {
        match self {
            Self::Bytes => text.len(),
            Self::Characters => text.chars().count(),
            Self::Utf16 => text.encode_utf16().count(),
        }
    }
}

/// The matches of a text and a clue, in the order of the text: runs of three words, or five letters of scripts without
/// spaces, that stand in both. Runs between which at most `changed` words differ, up to [`MAX_CHANGED`], are one match:
/// in larger gaps, other matches could stand. No word is in two matches; the longest runs are taken first. A clue of
/// fewer words is one run.
///
/// Only the options that say how a text is read, normalised and cut into tokens have an effect. Costs as much as some
/// fingerprints of both texts, and about 5 bytes of memory for each word of the text and 8 for each one of the clue.
/// Where characters are compared, it is mostly 2 bytes for each one of the text and 5 for each one of the clue.
pub fn matches(
    fingerprinter: &mut Fingerprinter,
    content: &str,
    clue: &str,
    changed: usize,
    unit: Unit,
) -> Result<Vec<Match>> {
    let (options, tick) = (fingerprinter.options, fingerprinter.tick);
    let mut found = find_shared_runs(fingerprinter, content, clue, changed)?.matches;
    if found.is_empty() {
        return Ok(found);
    }
    let content_ranges = found.iter_mut().map(|Match { content, .. }| content);
    NormalForm::new(content, options, tick)?.place(unit, content_ranges, tick)?;
    let mut order = numbers_below(found.len(), tick)?;
    sort(&mut order, &|index| found[*index as usize].clue.start.into(), u32::BITS, tick);
    let mut clue_ranges = collect_exact(found.len(), order.iter().map(|index| found[*index as usize].clue.clone()))?;
    NormalForm::new(clue, options, tick)?.place(unit, clue_ranges.iter_mut(), tick)?;
    for (index, range) in order.into_iter().zip(clue_ranges) {
        found[index as usize].clue = range;
    }
    Ok(found)
}

/// The share of a clue's words that are in [`matches()`] with a text, 0 to 1. None if the clue has no word.
pub fn coverage(fingerprinter: &mut Fingerprinter, content: &str, clue: &str) -> Result<Option<f64>> {
    let shared = find_shared_runs(fingerprinter, content, clue, MAX_CHANGED)?;
    let covered: u32 = shared.matches.iter().map(|found| found.words).sum();
    Ok((shared.clue_tokens > 0).then(|| f64::from(covered) / shared.clue_tokens as f64))
}

/// The matches of two texts, each where it stands among the tokens; and how many tokens the texts have.
pub(super) struct SharedRuns {
    pub matches: Vec<Match>,
    pub content_tokens: usize,
    clue_tokens: usize,
}

/// Finds the runs. Where characters are compared, and the clue has few different letters, a token takes one or two
/// bytes instead of four: a text may have as many letters as bytes.
pub(super) fn find_shared_runs(
    fingerprinter: &mut Fingerprinter,
    content: &str,
    clue: &str,
    changed: usize,
) -> Result<SharedRuns> {
    let mut letters = ByHash::default();
    if fingerprinter.options.tokens == Tokens::Chars {
        each_token(fingerprinter, clue, |letter, _| {
            letters.try_reserve(1)?;
            let next = u64::from(UNKNOWN) + 1 + letters.len() as u64;
            letters.entry(letter).or_insert(next);
            Ok(())
        })?;
    }
    let number_of = |letter| letters.get(&letter).map_or(UNKNOWN, |number| *number as u32);
    // The largest number that a letter has.
    match letters.len() as u32 + UNKNOWN {
        ..=UNKNOWN | u16::TAKEN.. => tile_texts(fingerprinter, [content, clue], changed, token),
        ..u8::TAKEN => tile_texts(fingerprinter, [content, clue], changed, |letter, _| number_of(letter) as u8),
        _ => tile_texts(fingerprinter, [content, clue], changed, |letter, _| number_of(letter) as u16),
    }
}

fn tile_texts<T: Token>(
    fingerprinter: &mut Fingerprinter,
    texts: [&str; 2],
    changed: usize,
    token: impl Fn(u64, bool) -> T,
) -> Result<SharedRuns> {
    let [content, clue] = texts.map(|text| read_tokens(fingerprinter, text, &token));
    let (mut content, mut clue) = (content?, clue?);
    let (options, tick) = (fingerprinter.options, fingerprinter.tick);
    let per_run = match options.tokens {
        Tokens::Words => WORDS_PER_LONG_RUN,
        Tokens::Chars => LETTERS_PER_LONG_RUN,
    };
    let long_runs = (content.len() / per_run).clamp(MIN_LONG_RUNS, MAX_LONG_RUNS);
    tile(&mut content, &mut clue, long_runs, tick)?;
    let (content_tokens, clue_tokens) = (content.len(), clue.len());
    // The matches need memory of their own.
    drop(clue);
    let join = || join_runs(ticking(tiles_of(&content), tick), changed);
    let matches = collect_exact(join().count(), join())?;
    Ok(SharedRuns { matches, content_tokens, clue_tokens })
}

fn read_tokens<T>(fingerprinter: &mut Fingerprinter, text: &str, token: &impl Fn(u64, bool) -> T) -> Result<Vec<T>> {
    let mut tokens = Vec::new();
    each_token(fingerprinter, text, |hash, is_spaceless| {
        // The default, twice the capacity, may leave half of it unused.
        if tokens.len() == tokens.capacity() {
            tokens.try_reserve_exact(tokens.len() / 4 + 1024)?;
        }
        tokens.push(token(hash, is_spaceless));
        Ok(())
    })?;
    tokens.shrink_to_fit();
    Ok(tokens)
}

/// Passes on the hashes of all tokens of a text, each with whether it is a letter of a script without spaces.
fn each_token(
    fingerprinter: &mut Fingerprinter,
    text: &str,
    mut emit: impl FnMut(u64, bool) -> Result<()>,
) -> Result<()> {
    let (options, tick) = (fingerprinter.options, fingerprinter.tick);
    fingerprinter.read_normal(text, |normal| {
        let emit = |range: Range<usize>, is_spaceless| emit(hash(&normal.as_bytes()[range]), is_spaceless);
        emit_units(normal, options.tokens, emit, tick)
    })
}

/// Joins runs to matches if at most `max_changed` words differ between them.
fn join_runs(tiles: impl Iterator<Item = Tile>, max_changed: usize) -> impl Iterator<Item = Match> {
    let as_match = |Tile { content, clue, length }| {
        let [content, clue, words] = [content, clue, length].map(|number| number as u32);
        Match { content: content..content + words, clue: clue..clue + words, words, changed: 0 }
    };
    let mut runs = tiles.map(as_match).peekable();
    iter::from_fn(move || {
        let mut joined = runs.next()?;
        while let Some(run) = runs.peek()
            && let Some(between) = run.clue.start.checked_sub(joined.clue.end)
            && let changed = between.max(run.content.start - joined.content.end)
            && changed as usize <= max_changed
        {
            (joined.content.end, joined.clue.end) = (run.content.end, run.clue.end);
            (joined.words, joined.changed) = (joined.words + run.words, joined.changed + changed);
            runs.next();
        }
        Some(joined)
    })
}

/// The normal form of a text, and where its parts stand in the text.
pub(super) struct NormalForm<'a> {
    text: &'a str,
    normal: String,
    places: Places,
    tokens: Tokens,
}

impl<'a> NormalForm<'a> {
    pub fn new(text: &'a str, options: &Options, tick: &dyn Fn()) -> Result<Self> {
        if text.len() > MAX_VALUE_BYTES {
            return Err(Error::NormalFormTooLong);
        }
        let (mut places, mut without_markup, mut normal) = (Places::default(), String::new(), String::new());
        let plain = match options.markup {
            None => text,
            Some(markup) => {
                let page = (markup == Markup::Main).then(Page::default);
                text_with_places(text, page, &mut without_markup, Some(&mut places), tick)?;
                &without_markup
            }
        };
        normalise_with_edits(plain, options.case_fold, &mut normal, places.begin_step()?, tick)?;
        drop(without_markup);
        options.ignore.remove(&mut normal, Some(&mut places), tick)?;
        Ok(Self { text, normal, places, tokens: options.tokens })
    }

    /// Replaces ranges of tokens, which are in order, by where they stand in the text.
    pub fn place<'r>(
        &self,
        unit: Unit,
        mut ranges: impl Iterator<Item = &'r mut Range<u32>>,
        tick: &dyn Fn(),
    ) -> Result<()> {
        let (Some(mut next), mut finder) = (ranges.next(), self.places.finder(tick)?) else { return Ok(()) };
        // Where the range starts in the normal form; and an offset of the text, with the units before it.
        let (mut start, mut offset, mut units) = (0, 0, 0);
        let (mut number, mut is_done) = (0, false);
        let emit = |token: Range<usize>, _| {
            if number == next.start {
                start = token.start;
            }
            number += 1;
            if number == next.end && !is_done {
                let source = finder.find_source(start..token.end);
                units += unit.count(&self.text[offset..source.start]) as u32;
                offset = source.start;
                *next = units..units + unit.count(&self.text[source]) as u32;
                match ranges.next() {
                    Some(range) => next = range,
                    None => is_done = true,
                }
            }
            Ok(())
        };
        emit_units(&self.normal, self.tokens, emit, tick)
    }
}
