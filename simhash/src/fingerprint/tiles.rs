//! Greedy string tiling (Wise 1993): the runs of tokens that two texts share, the longest first, no token in two runs.
//!
//! The places of the clue where a run can start are in chains, by a hash of the shortest run. For each token of the
//! content, the length of the longest run that starts with it is found first. A token whose run is only the rest of the
//! run of the token before it is left out. Then the longest of all is taken again and again. If a part of it has been
//! taken meanwhile, the runs of its tokens are looked for again.
//!
//! If all of the clue stands in the content, that is the only run. Otherwise, that takes linear time unless the texts
//! repeat the same few words thousands of times. Then only some of the places are looked at for each token, and after
//! so much work for each token, whatever run is found is taken at once, so that none of its tokens is looked at again.
//! All runs that are found are right, but the longest may not be the first.

use std::collections::BinaryHeap;
use std::ops::Range;

use crate::error::Result;
use crate::memory::{fill, push};
use crate::ticking::{NUMBERS_BETWEEN_TICKS, ticking};

/// A run of tokens that both texts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Its first token in the content, and in the clue.
    pub content: usize,
    pub clue: usize,
    pub length: usize,
}

/// A token: a hash, which is even for words and odd for letters of scripts without spaces. 32 bits are enough: of four
/// billion pairs of words between equal runs, one pair is taken for equal.
pub type Token = u32;

/// The least weight of a run: three words or five letters.
const RUN: usize = 15;
/// The weight of a word, and the largest one.
const WORD: usize = 5;
/// Places of the clue that are looked at for one token; and after so much work for each token of both texts.
const MAX_PLACES: usize = 64;
const FEW_PLACES: usize = 8;
const MAX_WORK: usize = 128;
/// Work for a place, which is mostly in slow memory. Comparing two tokens is 1.
const PLACE_WORK: usize = 4;

const TAKEN_FROM_CONTENT: Token = 0;
const TAKEN_FROM_CLUE: Token = 1;
const NONE: u32 = u32::MAX;

/// The token that stands for a word or a letter with this hash.
pub fn token(hash: u64, spaceless: bool) -> Token {
    (hash as Token & !1).max(2) | Token::from(spaceless)
}

fn weight(token: Token) -> usize {
    if token & 1 == 0 { WORD } else { 3 }
}

/// The runs in the order of the content. If the clue is shorter than a run, it is one. Overwrites the tokens.
pub fn tiles(content: &mut [Token], clue: &mut [Token], tick: &dyn Fn()) -> Result<Vec<Tile>> {
    if clue.is_empty() {
        return Ok(Vec::new());
    }
    // The longest run is all of the clue. Found apart, it is found however often the texts repeat its parts.
    if let Some(start) = find(content, clue, tick)? {
        return Ok(vec![Tile { content: start, clue: 0, length: clue.len() }]);
    }
    let mut tiling = Tiling::new(content, clue, tick)?;
    tiling.search(0..tiling.content.len())?;
    while let Some(key) = tiling.longest.pop() {
        tiling.tick();
        let (length, start) = ((key >> 32) as usize, !(key as u32) as usize);
        let (found, place) = tiling.run(start, (0, 0));
        if found >= length {
            tiling.take(start, place, found)?;
        } else {
            tiling.search(start..start + length)?;
        }
    }
    let mut tiles = tiling.tiles;
    tiles.sort_unstable_by_key(|tile| tile.content);
    Ok(tiles)
}

/// Where all of the clue stands in the content (Knuth, Morris and Pratt 1977).
fn find(content: &[Token], clue: &[Token], tick: &dyn Fn()) -> Result<Option<usize>> {
    if clue.len() > content.len() {
        return Ok(None);
    }
    // For each beginning of the clue, the longest shorter beginning that it ends with.
    let (mut borders, mut length) = (Vec::new(), 0);
    fill(&mut borders, clue.len(), 0, tick)?;
    for end in ticking(1..clue.len(), tick) {
        length = extended(clue, &borders, length, clue[end]);
        borders[end] = length as u32;
    }
    let mut length = 0;
    for (end, token) in (1..).zip(ticking(content, tick)) {
        length = extended(clue, &borders, length, *token);
        if length == clue.len() {
            return Ok(Some(end - length));
        }
    }
    Ok(None)
}

/// The length of the longest beginning of the clue that ends with this token, after one of `length`.
fn extended(clue: &[Token], borders: &[u32], mut length: usize, token: Token) -> usize {
    while length > 0 && clue[length] != token {
        length = borders[length - 1] as usize;
    }
    length + usize::from(clue[length] == token)
}

struct Tiling<'a> {
    content: &'a mut [Token],
    clue: &'a mut [Token],
    /// The least weight of a run.
    least: usize,
    /// The first place of each chain.
    heads: Vec<u32>,
    /// The next place after each one.
    next: Vec<u32>,
    tiles: Vec<Tile>,
    /// The longest runs, as keys: the length, and what is the larger the earlier the run starts.
    longest: BinaryHeap<u64>,
    /// Which tokens start one of these. The runs of other tokens are rests of the run of the token before them.
    is_first: Vec<bool>,
    /// Work so far, how much there may be, and when the next tick is due.
    work: usize,
    most_work: usize,
    next_tick: usize,
    tick: &'a dyn Fn(),
}

impl<'a> Tiling<'a> {
    fn new(content: &'a mut [Token], clue: &'a mut [Token], tick: &'a dyn Fn()) -> Result<Self> {
        let of_clue = clue.iter().take(RUN).map(|token| weight(*token)).sum::<usize>();
        let (mut heads, mut next, mut is_first) = (Vec::new(), Vec::new(), Vec::new());
        fill(&mut heads, (clue.len() / 2 + 1).next_power_of_two(), NONE, tick)?;
        fill(&mut next, clue.len(), NONE, tick)?;
        fill(&mut is_first, content.len(), false, tick)?;
        let most_work = MAX_WORK * (content.len() + clue.len());
        let least = RUN.min(of_clue);
        let (tiles, longest, work, next_tick) = Default::default();
        let mut tiling =
            Self { content, clue, least, heads, next, tiles, longest, is_first, work, most_work, next_tick, tick };
        for place in (0..tiling.clue.len()).rev() {
            tiling.tick();
            if let Some((chain, _)) = tiling.chain(&tiling.clue[place..]) {
                tiling.next[place] = tiling.heads[chain];
                tiling.heads[chain] = place as u32;
            }
        }
        Ok(tiling)
    }

    #[inline]
    fn tick(&mut self) {
        self.work += 1;
        if self.work >= self.next_tick {
            self.next_tick = self.work + NUMBERS_BETWEEN_TICKS;
            (self.tick)();
        }
    }

    /// The chain of the shortest run that these tokens start with, and its length.
    #[inline]
    fn chain(&self, tokens: &[Token]) -> Option<(usize, usize)> {
        let (mut hash, mut sum) = (0u64, 0);
        for (length, token) in (1..).zip(tokens) {
            hash = (hash ^ u64::from(*token)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            sum += weight(*token);
            if sum >= self.least {
                return Some((hash as usize & (self.heads.len() - 1), length));
            }
        }
        None
    }

    /// The longest run that starts with a token of the content, and the first place of the clue where it stands, if it
    /// is longer than the one that is known. Places of runs that have been taken leave their chain.
    fn run(&mut self, start: usize, known: (usize, usize)) -> (usize, usize) {
        let Some((chain, shortest)) = self.chain(&self.content[start..]) else { return (0, 0) };
        let (mut found, mut before, mut place) = (known, NONE, self.heads[chain]);
        let (mut places, fewest) = (if self.is_late() { FEW_PLACES } else { MAX_PLACES }, self.least.div_ceil(WORD));
        while place != NONE && places > 0 {
            self.work += PLACE_WORK;
            self.tick();
            let next = self.next[place as usize];
            if self.clue[place as usize..][..fewest].contains(&TAKEN_FROM_CLUE) {
                match before {
                    NONE => self.heads[chain] = next,
                    _ => self.next[before as usize] = next,
                }
                place = next;
                continue;
            }
            let (content, clue) = (&self.content[start..], &self.clue[place as usize..]);
            let least = found.0.max(shortest - 1);
            if least < content.len() && least < clue.len() && content[least] == clue[least] {
                let length = content.iter().zip(clue).take_while(|(own, other)| own == other).count();
                self.work += length;
                if length > least {
                    found = (length, place as usize);
                }
            }
            places -= 1;
            (before, place) = (place, next);
        }
        if found.0 < shortest { (0, 0) } else { found }
    }

    /// Whether whatever is found is taken.
    fn is_late(&self) -> bool {
        self.work >= self.most_work
    }

    /// Looks for the longest runs that start with these tokens, up to one whose run is known.
    fn search(&mut self, tokens: Range<usize>) -> Result<()> {
        let (mut start, mut last) = (tokens.start, (0, 0));
        while start < tokens.end && (start == tokens.start || !self.is_first[start]) {
            self.tick();
            let rest = if last.0 > 0 { (last.0 - 1, last.1 + 1) } else { last };
            last = self.run(start, rest);
            let (length, place) = last;
            if length > 0 && self.is_late() {
                self.take(start, place, length)?;
                (start, last) = (start + length, (0, 0));
                continue;
            }
            if length > rest.0 {
                self.is_first[start] = true;
                self.longest.try_reserve(1)?;
                self.longest.push((length as u64) << 32 | u64::from(!(start as u32)));
            }
            start += 1;
        }
        Ok(())
    }

    /// Takes a run, and what stands before it in both texts, if fewer places were looked at for that.
    fn take(&mut self, mut content: usize, mut clue: usize, mut length: usize) -> Result<()> {
        while content > 0 && clue > 0 && self.content[content - 1] == self.clue[clue - 1] {
            (content, clue, length) = (content - 1, clue - 1, length + 1);
        }
        self.content[content..][..length].fill(TAKEN_FROM_CONTENT);
        self.clue[clue..][..length].fill(TAKEN_FROM_CLUE);
        self.work += length;
        push(&mut self.tiles, Tile { content, clue, length })
    }
}
