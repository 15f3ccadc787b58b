//! Greedy string tiling (Wise 1993): the runs of tokens that two texts share, the longest first, no token in two runs.
//!
//! The places of the clue where a run can start are in chains, by a hash of the run's first tokens. Runs of at least
//! [`LONG`] tokens come first. For each token of the content, the longest run that starts with it is found, unless it
//! is only the rest of the run of the token before it. Then the longest of all runs is taken, repeatedly. If a part of
//! it has been taken meanwhile, the runs of its tokens are searched again. If the memory does not suffice for all runs,
//! the longest are taken first, and then the others are searched again.
//!
//! All other runs are short. For each length, from the largest on, new chains are made. The first place in a chain that
//! has the same tokens is the run, so one pass over the content takes all runs of this length, however often texts
//! repeat the same words.
//!
//! If all of the clue stands in the content, that is the only run. Otherwise, tiling takes linear time unless the texts
//! repeat the same [`LONG`] tokens hundreds of times. Only [`MAX_PLACES`] of their places are looked at for each token.
//! After as much work as [`MAX_WORK`] comparisons for each token, any run that is found is taken at once, so that none
//! of its tokens is looked at again. All runs that are found are right, but among such repetitions the longest may not
//! be the first.

use std::collections::BinaryHeap;
use std::iter;
use std::mem;
use std::ops::Range;

use super::links::Links;
use super::starts::{BitSet, Starts, scaled, shared_starts};
use super::token::{RUN_WEIGHT, TAKEN_FROM_CLUE, Token, WORD_WEIGHT, beginning};
use crate::error::Result;
use crate::memory::push;
use crate::ticking::{NUMBERS_BETWEEN_TICKS, ticking};

/// A run of tokens that both texts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The run's first token in the content, and in the clue.
    pub content: usize,
    pub clue: usize,
    pub length: usize,
}

/// The fewest tokens of a long run. Long runs of all lengths are looked for at once.
const LONG: usize = 16;
/// For each of these lengths, the list of places where runs of at least this length may start. One list is not enough:
/// most runs of the least weight stand in both texts and, in texts of few words, most runs of seven tokens.
const LENGTHS: [usize; 3] = [0, 7, 9];
/// Places of the clue that are looked at for one token: few after a work of `MAX_WORK` for each token of both texts.
const MAX_PLACES: usize = 64;
const FEW_PLACES: usize = 8;
const MAX_WORK: u64 = 128;
/// Two texts with fewer tokens together may take the work of two texts with this many: some milliseconds.
const FEW_TOKENS: usize = 8192;
/// Places of a chain that are looked at for a shorter run: the first place with the same tokens is taken.
const MAX_OTHERS: usize = 4096;
/// Work for a place, which is mostly in slow memory. Comparing two tokens is 1.
const PLACE_WORK: u64 = 4;
/// Places of the clue for each chain.
const PLACES_PER_CHAIN: usize = 8;

/// Finds all runs, and overwrites their tokens in both texts; [`tiles_of`] reads the runs from the content. If the clue
/// is shorter than a run, it is a run. The memory suffices for `long_runs` runs of at least [`LONG`] tokens, two or
/// more.
pub fn tile<T: Token>(content: &mut [T], clue: &mut [T], long_runs: usize, tick: &dyn Fn()) -> Result<()> {
    // The longest run is all of the clue. It is searched apart, because texts may repeat its parts any number of times.
    if let Some(start) = find_clue(content, clue, tick)? {
        overwrite(&mut content[start..], clue, 0);
        return Ok(());
    }
    let mut starts: Vec<[Starts; 2]> = Vec::new();
    for length in LENGTHS {
        let shared = shared_starts([content, clue], length, starts.last(), tick)?;
        push(&mut starts, shared)?;
    }
    let starts_of = |length| &starts[LENGTHS.partition_point(|least| *least <= length) - 1];
    let mut tiling = Tiling::new(content, clue, tick)?;
    if !starts_of(LONG)[0].is_empty && tiling.make_chains(LONG, starts_of(LONG)) {
        tiling.take_long(&starts_of(LONG)[0], long_runs)?;
    }
    for length in (RUN_WEIGHT / WORD_WEIGHT..LONG).rev() {
        let starts = starts_of(length);
        if !starts[0].is_empty && tiling.make_chains(length, starts) {
            tiling.take_all(&starts[0]);
        }
    }
    Ok(())
}

/// Overwrites the tokens of a run, which starts at this place of the clue. The content's tokens then have the place.
fn overwrite<T: Token>(content: &mut [T], clue: &mut [T], mut place: usize) {
    let base = (T::REST - T::TAKEN) as usize;
    for (index, (own, other)) in content.iter_mut().zip(clue).enumerate() {
        let number = if index < T::DIGITS { T::TAKEN + (place % base) as u32 } else { T::REST };
        (*own, *other) = (T::new(number), T::new(TAKEN_FROM_CLUE));
        place /= base;
    }
}

/// The runs in the order of the content, whose tokens have been overwritten.
pub fn tiles_of<T: Token>(content: &[T]) -> impl Iterator<Item = Tile> {
    let mut numbers = content.iter().map(|token| -> u32 { (*token).into() }).enumerate().peekable();
    iter::from_fn(move || {
        let (content, number) = numbers.find(|(_, number)| *number >= T::TAKEN)?;
        let (mut tile, mut factor) = (Tile { content, clue: (number - T::TAKEN) as usize, length: 1 }, 1);
        let is_place = |number: u32| (T::TAKEN..T::REST).contains(&number);
        while let Some((_, number)) =
            numbers.next_if(|(_, number)| if tile.length < T::DIGITS { is_place(*number) } else { *number == T::REST })
        {
            if is_place(number) {
                factor *= (T::REST - T::TAKEN) as usize;
                tile.clue += (number - T::TAKEN) as usize * factor;
            }
            tile.length += 1;
        }
        Some(tile)
    })
}

/// Where the content has all of the clue (Knuth, Morris and Pratt 1977).
fn find_clue<T: Token>(content: &[T], clue: &[T], tick: &dyn Fn()) -> Result<Option<usize>> {
    if clue.is_empty() || clue.len() > content.len() {
        return Ok(None);
    }
    // For each beginning of the clue, the longest shorter beginning that it ends with.
    let (mut borders, mut length) = (Links::new(clue.len(), tick)?, 0);
    borders.set(0, 0);
    for end in ticking(1..clue.len(), tick) {
        length = extended_length(clue, &borders, length, clue[end]);
        borders.set(end, length as u32);
    }
    let mut length = 0;
    for (end, token) in (1..).zip(ticking(content, tick)) {
        length = extended_length(clue, &borders, length, *token);
        if length == clue.len() {
            return Ok(Some(end - length));
        }
    }
    Ok(None)
}

/// The length of the longest beginning of the clue that ends with this token, after one of `length`.
fn extended_length<T: Token>(clue: &[T], borders: &Links, mut length: usize, token: T) -> usize {
    while length > 0 && clue[length] != token {
        length = borders.get(length - 1) as usize;
    }
    length + usize::from(clue[length] == token)
}

/// Two texts whose runs are being taken.
struct Tiling<'a, T> {
    content: &'a mut [T],
    clue: &'a mut [T],
    /// The chains have the places where runs of at least this many tokens, and of the least weight, start.
    length: usize,
    /// From each place of the clue, to the next one in its chain; after these, from each chain to its first place.
    links: Links,
    chain_count: usize,
    /// Work since the chains were made, how much there may be, and when the next tick is due.
    work: u64,
    most_work: u64,
    next_tick: u64,
    tick: &'a dyn Fn(),
}

/// A run that starts at a known token of the content.
#[derive(Clone, Copy)]
struct Run {
    length: usize,
    /// Its first token in the clue.
    place: usize,
}

const NO_RUN: Run = Run { length: 0, place: 0 };

/// Runs of at least [`LONG`] tokens.
struct LongRuns<'s> {
    /// The tokens of the content at which long runs may start.
    starts: &'s Starts,
    /// The runs as keys: the length above, and below a number that is larger for an earlier start.
    longest: BinaryHeap<u64>,
    /// The most keys, and the largest key that was left out for lack of memory, or 0.
    most: usize,
    left_out: u64,
    /// Whether a token starts one of these runs. If not, its run is the rest of the run of the token before it.
    is_first: BitSet,
}

impl LongRuns<'_> {
    /// Adds a key. If there are too many, leaves out the smaller half, which are found again after the rest is taken.
    fn push(&mut self, key: u64) -> Result<()> {
        let known = self.longest.len();
        if known == self.most {
            let (mut keys, middle) = (mem::take(&mut self.longest).into_vec(), (known - 1) / 2);
            self.left_out = *keys.select_nth_unstable(middle).1;
            keys.drain(..=middle);
            self.longest = keys.into();
        } else if known == self.longest.capacity() {
            self.longest.try_reserve_exact(known.clamp(1, self.most - known))?;
        }
        if key > self.left_out {
            self.longest.push(key);
        }
        Ok(())
    }
}

impl<'a, T: Token> Tiling<'a, T> {
    fn new(content: &'a mut [T], clue: &'a mut [T], tick: &'a dyn Fn()) -> Result<Self> {
        let chain_count = clue.len() / PLACES_PER_CHAIN + 1;
        let links = Links::new(clue.len() + chain_count, tick)?;
        let most_work = MAX_WORK * (content.len() + clue.len()).max(FEW_TOKENS) as u64;
        Ok(Self { content, clue, length: 0, links, chain_count, work: 0, most_work, next_tick: 0, tick })
    }

    /// Adds 1 to the work, and ticks if a tick is due.
    #[inline]
    fn count_step(&mut self) {
        self.work += 1;
        if self.work >= self.next_tick {
            self.next_tick = self.work + NUMBERS_BETWEEN_TICKS as u64;
            (self.tick)();
        }
    }

    /// Makes the chains of the runs of at least this length. Returns whether there is one.
    fn make_chains(&mut self, length: usize, [_, starts]: &[Starts; 2]) -> bool {
        (self.length, self.work, self.next_tick) = (length, 0, 0);
        let mut has_run = false;
        self.links.clear(self.clue.len());
        for place in (0..self.clue.len()).rev() {
            self.count_step();
            if starts.has(place, length)
                && let Some((hash, _)) = beginning(&self.clue[place..], length)
            {
                let chain = self.chain(hash);
                self.links.set(place, self.links.get(chain));
                self.links.set(chain, place as u32);
                has_run = true;
            }
        }
        has_run
    }

    /// The index of the link to the first place of a chain.
    #[inline]
    fn chain(&self, hash: u32) -> usize {
        self.clue.len() + scaled(hash, self.chain_count)
    }

    /// The longest run that starts here, or `known` if no run is longer; [`NO_RUN`] if it is shorter than a run can be.
    /// Of short runs, the first one. Places of runs that have been taken leave their chain.
    fn longest_run(&mut self, start: usize, known: Run) -> Run {
        let Some((hash, shortest)) = beginning(&self.content[start..], self.length) else { return NO_RUN };
        let mut before = self.chain(hash);
        let (mut found, mut place) = (known, self.links.get(before));
        let is_long = self.length >= LONG;
        let most = if is_long { MAX_PLACES } else { MAX_OTHERS };
        let mut places = if self.is_late() { FEW_PLACES } else { most };
        while place != self.links.none && places > 0 {
            self.work += PLACE_WORK;
            self.count_step();
            let next = self.links.get(place as usize);
            let (content, clue) = (&self.content[start..], &self.clue[place as usize..]);
            if clue[..(RUN_WEIGHT / WORD_WEIGHT).max(self.length)].contains(&T::new(TAKEN_FROM_CLUE)) {
                self.links.set(before, next);
                place = next;
                continue;
            }
            let least = found.length.max(shortest - 1);
            if least < content.len() && least < clue.len() && content[least] == clue[least] {
                let length = content.iter().zip(clue).take_while(|(own, other)| own == other).count();
                self.work += length as u64;
                if length > least {
                    found = Run { length, place: place as usize };
                    if !is_long {
                        return found;
                    }
                }
            }
            places -= 1;
            (before, place) = (place as usize, next);
        }
        if found.length < shortest { NO_RUN } else { found }
    }

    /// Whether the work exceeds the limit, so that any run that is found is taken.
    fn is_late(&self) -> bool {
        self.work >= self.most_work
    }

    /// Takes the runs of the length of the chains. The texts must not have longer ones.
    fn take_all(&mut self, starts: &Starts) {
        let mut start = 0;
        while start < self.content.len() {
            self.count_step();
            let run = if starts.has(start, self.length) { self.longest_run(start, NO_RUN) } else { NO_RUN };
            start = if run.length > 0 { self.take(start, run) } else { start + 1 };
        }
    }

    /// Takes the runs of at least [`LONG`] tokens. The memory suffices for `most` of them at a time.
    fn take_long(&mut self, starts: &Starts, most: usize) -> Result<()> {
        let is_first = BitSet::new(self.content.len(), self.tick)?;
        let mut long = LongRuns { starts, longest: BinaryHeap::new(), most, left_out: 0, is_first };
        loop {
            self.find_long_runs(&mut long, 0..self.content.len())?;
            while let Some(key) = long.longest.pop() {
                self.count_step();
                let (length, start) = ((key >> 32) as usize, !(key as u32) as usize);
                let run = self.longest_run(start, NO_RUN);
                if run.length >= length {
                    self.take(start, run);
                } else {
                    self.find_long_runs(&mut long, start..start + length)?;
                }
            }
            if mem::take(&mut long.left_out) == 0 {
                return Ok(());
            }
            long.is_first.clear();
        }
    }

    /// Finds the longest runs that start with these tokens, up to a token whose run is known.
    fn find_long_runs(&mut self, long: &mut LongRuns<'_>, tokens: Range<usize>) -> Result<()> {
        let (mut start, mut last) = (tokens.start, NO_RUN);
        while start < tokens.end && (start == tokens.start || !long.is_first.has(start)) {
            self.count_step();
            let rest = if last.length > 0 { Run { length: last.length - 1, place: last.place + 1 } } else { last };
            last = if long.starts.has(start, LONG) { self.longest_run(start, rest) } else { NO_RUN };
            if last.length > 0 && self.is_late() {
                start = self.take(start, last);
                last = NO_RUN;
                continue;
            }
            if last.length > rest.length {
                long.is_first.set(start);
                long.push((last.length as u64) << 32 | u64::from(!(start as u32)))?;
            }
            start += 1;
        }
        Ok(())
    }

    /// Takes the run that starts at this token of the content, with the equal tokens before it: a search that looked at
    /// few places may have left these out. Returns where the run ends.
    fn take(&mut self, mut content: usize, Run { length, place: mut clue }: Run) -> usize {
        let end = content + length;
        while content > 0 && clue > 0 && self.content[content - 1] == self.clue[clue - 1] {
            (content, clue) = (content - 1, clue - 1);
        }
        self.work += (end - content) as u64;
        overwrite(&mut self.content[content..end], &mut self.clue[clue..][..end - content], clue);
        end
    }
}
