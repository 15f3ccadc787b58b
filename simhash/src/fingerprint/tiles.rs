//! Greedy string tiling (Wise 1993): the runs of tokens that two texts share, the longest first, no token in two runs.
//!
//! The places of the clue where a run can start are in chains, by a hash of the shortest run. For each token of the
//! content, the length of the longest run that starts with it is found first. A token whose run is only the rest of the
//! run of the token before it is left out. Then the longest of all is taken again and again. If a part of it has been
//! taken meanwhile, it is looked for again, and the run of the next token too.
//!
//! That takes linear time unless the texts repeat the same few words thousands of times: then so many places are looked
//! at for each token, and at last so few, that the work is bounded. All runs that are found are right, but the longest
//! may not be the first.

use std::collections::BinaryHeap;

use crate::error::Result;
use crate::memory::{fill, push};
use crate::ticking::NUMBERS_BETWEEN_TICKS;

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
/// Places of the clue that are looked at for one token.
const MAX_PLACES: usize = 256;
/// Places that are looked at after so many comparisons for each token of both texts; after twice as many, no rests of
/// runs are looked for.
const FEW_PLACES: usize = 8;
const MAX_WORK: usize = 512;

const TAKEN_FROM_CONTENT: Token = 0;
const TAKEN_FROM_CLUE: Token = 1;
const NONE: u32 = u32::MAX;

/// The token that stands for a word or a letter with this hash.
pub fn token(hash: u64, spaceless: bool) -> Token {
    (hash as Token & !1).max(2) | Token::from(spaceless)
}

fn weight(token: Token) -> usize {
    if token & 1 == 0 { 5 } else { 3 }
}

/// The runs in the order of the content. If the clue is shorter than a run, it is one. Overwrites the tokens.
pub fn tiles(content: &mut [Token], clue: &mut [Token], tick: &dyn Fn()) -> Result<Vec<Tile>> {
    let mut tiles = Vec::new();
    if clue.is_empty() {
        return Ok(tiles);
    }
    let mut tiling = Tiling::new(content, clue, tick)?;
    let (mut longest, mut is_first) = tiling.longest_runs()?;
    while let Some(key) = longest.pop() {
        tiling.tick();
        let (mut length, mut start) = ((key >> 32) as usize, !(key as u32) as usize);
        if tiling.content[start] != TAKEN_FROM_CONTENT {
            let (found, place) = tiling.longest(start, (0, 0));
            if found >= length && found > 0 {
                push(&mut tiles, tiling.take(Tile { content: start, clue: place, length: found }))?;
                continue;
            }
            if found > 0 {
                longest.try_reserve(1)?;
                longest.push(self::key(found, start));
            }
        }
        // The runs of the next tokens are rests of this one, and no longer than these.
        loop {
            (length, start) = (length - 1, start + 1);
            if length == 0 || is_first[start] || tiling.work > 2 * tiling.most_work {
                break;
            }
            if tiling.content[start] != TAKEN_FROM_CONTENT {
                is_first[start] = true;
                longest.try_reserve(1)?;
                longest.push(self::key(length, start));
                break;
            }
        }
    }
    tiles.sort_unstable_by_key(|tile| tile.content);
    Ok(tiles)
}

/// The order in which runs are taken: the longest first, of those the first one.
fn key(length: usize, start: usize) -> u64 {
    (length as u64) << 32 | u64::from(!(start as u32))
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
    /// Comparisons so far, how many there may be, and when the next tick is due.
    work: usize,
    most_work: usize,
    next_tick: usize,
    tick: &'a dyn Fn(),
}

impl<'a> Tiling<'a> {
    fn new(content: &'a mut [Token], clue: &'a mut [Token], tick: &'a dyn Fn()) -> Result<Self> {
        let of_clue = clue.iter().take(RUN).map(|token| weight(*token)).sum::<usize>();
        let (mut heads, mut next) = (Vec::new(), Vec::new());
        fill(&mut heads, (clue.len() / 2 + 1).next_power_of_two(), NONE, tick)?;
        fill(&mut next, clue.len(), NONE, tick)?;
        let most_work = MAX_WORK * (content.len() + clue.len());
        let least = RUN.min(of_clue);
        let mut tiling = Self { content, clue, least, heads, next, work: 0, most_work, next_tick: 0, tick };
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
    /// is longer than the one that is known. Places that have been taken leave their chain.
    fn longest(&mut self, start: usize, known: (usize, usize)) -> (usize, usize) {
        let Some((chain, shortest)) = self.chain(&self.content[start..]) else { return (0, 0) };
        let (mut found, mut before, mut place) = (known, NONE, self.heads[chain]);
        let mut places = if self.work < self.most_work { MAX_PLACES } else { FEW_PLACES };
        while place != NONE && places > 0 {
            self.tick();
            let next = self.next[place as usize];
            if self.clue[place as usize] == TAKEN_FROM_CLUE {
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

    /// The lengths of the longest runs, as keys, and which tokens have one of their own: the runs of other tokens are
    /// rests of the run of the token before them.
    fn longest_runs(&mut self) -> Result<(BinaryHeap<u64>, Vec<bool>)> {
        let (mut keys, mut is_first) = (Vec::new(), Vec::new());
        fill(&mut is_first, self.content.len(), false, self.tick)?;
        let mut last = (0, 0);
        for (start, is_first) in is_first.iter_mut().enumerate() {
            self.tick();
            let rest = if last.0 > 0 { (last.0 - 1, last.1 + 1) } else { last };
            let found = self.longest(start, rest);
            if found.0 > rest.0 {
                *is_first = true;
                push(&mut keys, key(found.0, start))?;
            }
            last = found;
        }
        Ok((BinaryHeap::from(keys), is_first))
    }

    /// Takes a run, and what stands before it in both texts, if fewer places were looked at for that.
    fn take(&mut self, mut tile: Tile) -> Tile {
        while tile.content > 0 && tile.clue > 0 && self.content[tile.content - 1] == self.clue[tile.clue - 1] {
            tile = Tile { content: tile.content - 1, clue: tile.clue - 1, length: tile.length + 1 };
        }
        self.content[tile.content..][..tile.length].fill(TAKEN_FROM_CONTENT);
        self.clue[tile.clue..][..tile.length].fill(TAKEN_FROM_CLUE);
        self.work += tile.length;
        tile
    }
}
