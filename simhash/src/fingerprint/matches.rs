//! Matches: where a text and a clue have the same words. And coverage: the share of the clue that is in matches.
//!
//! The texts are read twice: first for the [`tiles`](super::tiles), which need no more than a hash of each token, and
//! then for the places of those tokens at which a match begins or ends.

use std::ops::Range;

use super::fingerprinter::Fingerprinter;
use super::hash::hash;
use super::options::{self, Markup, Options};
use super::tiles::{Tile, tile, tiles_of};
use super::token::{Token, token};
use super::units::each_unit;
use crate::error::{Error, MAX_VALUE_BYTES, Result};
use crate::memory::push;
use crate::text::markup::{Page, text_with_places};
use crate::text::normalise::normalise_with_edits;
use crate::text::places::Places;
use crate::text::tokens::TokenSink;
use crate::ticking::{ITEMS_BETWEEN_TICKS, ticking};

/// What `changed` is of [`matches()`] for users, and the most that it may be.
pub const MAX_CHANGED: usize = 2;

/// What stands in two texts. A text has at most 1 GB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Where it stands in the content and in the clue, as both are stored.
    pub content: Range<u32>,
    pub clue: Range<u32>,
    /// The words, and letters of scripts without spaces, that both have.
    pub words: u32,
    /// Those between them that only one text has, or that differ.
    pub changed: u32,
}

/// What positions count.
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
/// spaces, that stand in both. Runs between which at most `changed` words differ, up to [`MAX_CHANGED`], are one match: in
/// larger gaps, other matches could stand. No word is in two matches; the longest runs are taken first. A clue of fewer
/// words is one run.
///
/// Of the options, those count that say how a text is read, normalised and cut into tokens. Costs as much as some
/// fingerprints of both texts, and about 4 bytes of memory for each word of the text and 9 for each one of the clue.
pub fn matches(
    fingerprinter: &mut Fingerprinter,
    content: &str,
    clue: &str,
    changed: usize,
    unit: Unit,
) -> Result<Vec<Match>> {
    let Fingerprinter { options, tick, .. } = *fingerprinter;
    let mut found = shared_runs(fingerprinter, content, clue)?.join(changed, tick)?;
    if found.is_empty() {
        return Ok(found);
    }
    NormalForm::new(content, options, tick)?.place(unit, found.iter_mut().map(|found| &mut found.content), tick)?;
    let mut of_clue = Vec::new();
    of_clue.try_reserve_exact(found.len())?;
    of_clue.extend(found.iter_mut().map(|found| &mut found.clue));
    of_clue.sort_unstable_by_key(|tokens| tokens.start);
    NormalForm::new(clue, options, tick)?.place(unit, of_clue.into_iter(), tick)?;
    Ok(found)
}

/// The share of a clue's words that are in [`matches()`] with a text, 0 to 1. None if the clue has no word.
pub fn coverage(fingerprinter: &mut Fingerprinter, content: &str, clue: &str) -> Result<Option<f64>> {
    let shared = shared_runs(fingerprinter, content, clue)?;
    let covered: usize = shared.tiles().map(|tile| tile.length).sum();
    Ok((shared.clue > 0).then(|| covered as f64 / shared.clue as f64))
}

/// The tokens of a text with the runs that a clue shares, and the number of the clue's tokens.
pub(super) struct Shared {
    pub content: Vec<Token>,
    clue: usize,
}

pub(super) fn shared_runs(fingerprinter: &mut Fingerprinter, content: &str, clue: &str) -> Result<Shared> {
    let mut content = tokens(fingerprinter, content)?;
    let mut clue = tokens(fingerprinter, clue)?;
    tile(&mut content, &mut clue, fingerprinter.tick)?;
    Ok(Shared { content, clue: clue.len() })
}

impl Shared {
    fn tiles(&self) -> impl Iterator<Item = Tile> {
        tiles_of(&self.content)
    }

    /// Joins runs between which no more than `most` words differ to matches, whose places are numbers of tokens.
    pub fn join(&self, most: usize, tick: &dyn Fn()) -> Result<Vec<Match>> {
        let mut joined: Vec<Match> = Vec::new();
        for Tile { content, clue, length } in ticking(self.tiles(), tick) {
            let [content, clue, length] = [content, clue, length].map(|number| number as u32);
            let last = joined.last_mut().and_then(|last| {
                let between = (content - last.content.end).max(clue.checked_sub(last.clue.end)?);
                (between as usize <= most).then_some((last, between))
            });
            if let Some((last, changed)) = last {
                (last.content.end, last.clue.end) = (content + length, clue + length);
                (last.words, last.changed) = (last.words + length, last.changed + changed);
            } else {
                let (content, clue) = (content..content + length, clue..clue + length);
                push(&mut joined, Match { content, clue, words: length, changed: 0 })?;
            }
        }
        Ok(joined)
    }
}

fn tokens(fingerprinter: &mut Fingerprinter, text: &str) -> Result<Vec<Token>> {
    let Fingerprinter { options, tick, .. } = *fingerprinter;
    fingerprinter.read_normal(text, |normal| {
        let mut tokens = Vec::new();
        let mut sink = Tokens {
            emit: |range: Range<usize>, spaceless| push(&mut tokens, token(hash(&normal.as_bytes()[range]), spaceless)),
            count: 0,
            tick,
        };
        each_unit(normal, options.tokens, &mut sink, tick)?;
        tokens.shrink_to_fit();
        Ok(tokens)
    })
}

/// Passes on all tokens, each with whether it is a letter of a script without spaces.
struct Tokens<'t, E> {
    emit: E,
    count: usize,
    tick: &'t dyn Fn(),
}

impl<E: FnMut(Range<usize>, bool) -> Result<()>> Tokens<'_, E> {
    #[inline]
    fn push(&mut self, token: Range<usize>, spaceless: bool) -> Result<()> {
        if self.count.is_multiple_of(ITEMS_BETWEEN_TICKS) {
            (self.tick)();
        }
        self.count += 1;
        (self.emit)(token, spaceless)
    }
}

impl<E: FnMut(Range<usize>, bool) -> Result<()>> TokenSink for Tokens<'_, E> {
    #[inline]
    fn word(&mut self, token: Range<usize>) -> Result<()> {
        self.push(token, false)
    }

    #[inline]
    fn spaceless(&mut self, token: Range<usize>) -> Result<()> {
        self.push(token, true)
    }
}

/// The normal form of a text, and where its parts stand in the text.
pub(super) struct NormalForm<'a> {
    text: &'a str,
    normal: String,
    places: Places,
    tokens: options::Tokens,
}

impl<'a> NormalForm<'a> {
    pub fn new(text: &'a str, options: &Options, tick: &dyn Fn()) -> Result<Self> {
        if text.len() > MAX_VALUE_BYTES {
            return Err(Error::NormalFormTooLong);
        }
        let (mut places, mut without_markup, mut normal) = (Places::default(), String::new(), String::new());
        let read = match options.markup {
            None => text,
            Some(markup) => {
                let page = (markup == Markup::Main).then(Page::default);
                text_with_places(text, page, &mut without_markup, Some(&mut places), tick)?;
                &without_markup
            }
        };
        normalise_with_edits(read, options.case_fold, &mut normal, places.step()?, tick)?;
        drop(without_markup);
        options.ignore.remove_from(&mut normal, Some(&mut places), tick)?;
        Ok(Self { text, normal, places, tokens: options.tokens })
    }

    /// Replaces ranges of tokens, which are in order, by their places in the text.
    pub fn place<'r>(
        &self,
        unit: Unit,
        mut ranges: impl Iterator<Item = &'r mut Range<u32>>,
        tick: &dyn Fn(),
    ) -> Result<()> {
        let (Some(mut next), mut finder) = (ranges.next(), self.places.finder(tick)?) else { return Ok(()) };
        // Where the range starts in the normal form; and an offset of the text, with the units before it.
        let (mut start, mut counted) = (0, (0, 0));
        let (mut number, mut is_done) = (0, false);
        let emit = |token: Range<usize>, _| {
            if number == next.start {
                start = token.start;
            }
            number += 1;
            if number == next.end && !is_done {
                let source = finder.source(start..token.end);
                counted = (source.start, counted.1 + unit.count(&self.text[counted.0..source.start]) as u32);
                *next = counted.1..counted.1 + unit.count(&self.text[source]) as u32;
                match ranges.next() {
                    Some(range) => next = range,
                    None => is_done = true,
                }
            }
            Ok(())
        };
        each_unit(&self.normal, self.tokens, &mut Tokens { emit, count: 0, tick }, tick)
    }
}
