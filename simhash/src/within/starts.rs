//! Where runs may start that two texts share, so that [`tiles`](super::tiles) are not looked for elsewhere.
//!
//! A shared run starts with a [`beginning`] that both texts have. So the hashes of all beginnings of one text are put
//! into a Bloom filter with one hash function. Where a beginning of the other text is not in it, no run starts.

use super::token::{Token, beginning};
use crate::error::Result;
use crate::memory::repeated;
use crate::ticking::ticking;

/// Bits of a filter for each beginning of the clue: enough to make it rare that another beginning is in it by chance.
const FILTER_BITS: usize = 12;
/// The most tokens that a beginning needs for the weight of a run: five letters.
const MAX_TOKENS: usize = 5;

pub struct BitSet(Vec<u64>);

impl BitSet {
    pub fn new(len: usize, tick: &dyn Fn()) -> Result<Self> {
        Ok(Self(repeated(len / 64 + 1, 0, tick)?))
    }

    pub fn set(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    pub fn has(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 != 0
    }

    /// The number that stands for a hash in this set, if the set is a filter of hashes.
    fn number_of(&self, hash: u32) -> usize {
        scaled(hash, 64 * self.0.len())
    }
}

/// A number below `end` for a hash.
#[inline]
pub fn scaled(hash: u32, end: usize) -> usize {
    ((u64::from(hash) * end as u64) >> 32) as usize
}

/// The tokens of a text at which runs may start.
pub struct Starts {
    bits: BitSet,
    /// The most tokens of a beginning.
    span: usize,
    pub is_empty: bool,
}

impl Starts {
    fn new(tokens: usize, length: usize, tick: &dyn Fn()) -> Result<Self> {
        Ok(Self { bits: BitSet::new(tokens, tick)?, span: length.max(MAX_TOKENS), is_empty: true })
    }

    fn set(&mut self, start: usize) {
        self.bits.set(start);
        self.is_empty = false;
    }

    /// Whether a run of `length` tokens may start here. A run that is longer than a beginning has several of them: one
    /// starts at each token, and the last of them ends with the run. Both texts have all of them.
    #[inline]
    pub fn has(&self, start: usize, length: usize) -> bool {
        (start..start + 1 + length.saturating_sub(self.span)).all(|start| self.bits.has(start))
    }
}

/// Where runs of at least `length` tokens may start in a content and a clue, among the starts of shorter runs.
pub fn shared_starts<T: Token>(
    texts: [&[T]; 2],
    length: usize,
    within: Option<&[Starts; 2]>,
    tick: &dyn Fn(),
) -> Result<[Starts; 2]> {
    let beginnings = |text: usize| {
        let is_within = move |start: &usize| within.is_none_or(|within| within[text].has(*start, length));
        let starts = ticking(0..texts[text].len(), tick).filter(is_within);
        starts.filter_map(move |start| Some((start, beginning(&texts[text][start..], length)?.0)))
    };
    let mut content = Starts::new(texts[0].len(), length, tick)?;
    let mut clue = Starts::new(texts[1].len(), length, tick)?;
    let bits = FILTER_BITS * texts[1].len();
    let (mut of_clue, mut of_both) = (BitSet::new(bits, tick)?, BitSet::new(bits, tick)?);
    beginnings(1).for_each(|(_, hash)| of_clue.set(of_clue.number_of(hash)));
    for (start, hash) in beginnings(0).filter(|(_, hash)| of_clue.has(of_clue.number_of(*hash))) {
        content.set(start);
        of_both.set(of_both.number_of(hash));
    }
    beginnings(1).filter(|(_, hash)| of_both.has(of_both.number_of(*hash))).for_each(|(start, _)| clue.set(start));
    Ok([content, clue])
}
