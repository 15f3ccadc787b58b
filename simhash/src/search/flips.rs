//! Which neighbours of a block's value a search for a text looks up.
//!
//! A bit of a fingerprint is the outcome of a vote of the text's features. Where the vote was close, a few changed
//! words turn the bit; where it was clear, they do not. So the bits in which a copy differs are nearly always those on
//! which the votes were closest, and a search that flips these alone finds nearly everything that a search of the whole
//! radius finds, by far fewer look-ups (query-directed probing: Lv, Josephson, Wang, Charikar, Li, VLDB 2007, section
//! 4.4).
//!
//! For example, a block has 16 bits. The whole radius 1 is 17 look-ups, and radius 2 is 137. The flips `[5, 3]` are
//! nine: the value itself, the five values with one of the five closest bits flipped, and the three values with two of
//! the three closest bits flipped. They find more copies than radius 1 (`docs/accuracy.md`).
//!
//! The votes of the text that is searched for decide, since nothing else is known before the search. So whether a text
//! is found may depend on which of two texts is searched for.

use super::blocks::{Block, count_of_weight};
use crate::error::Result;

/// The most bits of a block that are flipped together.
pub const MAX_FLIPS: usize = 3;

/// The bits of a fingerprint, from the one on which the vote was closest.
pub type BitOrder = [u8; 64];

/// The bits that a search flips. By default, all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flippable(Option<[u64; MAX_FLIPS]>);

impl Flippable {
    /// All bits, in blocks of any radius.
    pub const ALL: Self = Self(None);

    /// The first bits of each block in this order: `counts` has their number for one flipped bit, for two bits that are
    /// flipped together, and so on, up to [`MAX_FLIPS`]. [`Flippable::ALL`] without counts or blocks.
    pub fn first_of(order: &BitOrder, blocks: i32, counts: &[u32]) -> Self {
        if counts.is_empty() || blocks == 0 {
            return Self::ALL;
        }
        let mut masks = [0; MAX_FLIPS];
        for (mask, &count) in masks.iter_mut().zip(counts) {
            for block in (0..blocks).filter_map(|number| Block::new(number, blocks)) {
                let of_block = order.iter().map(|bit| 1 << bit).filter(|bit| block.ones(*bit) == 1);
                *mask |= of_block.take(count as usize).fold(0, |all, bit: u64| all | bit);
            }
        }
        Self(Some(masks))
    }

    /// The bits as a mask for each number of flipped bits, from 1 on; empty if there is no limit.
    pub fn masks(self) -> impl Iterator<Item = u64> {
        self.0.into_iter().flatten().take_while(|mask| *mask != 0)
    }

    /// Reads [`Flippable::masks`].
    pub fn from_masks(masks: impl IntoIterator<Item = u64>) -> Self {
        let mut read = [0; MAX_FLIPS];
        read.iter_mut().zip(masks).for_each(|(mask, given)| *mask = given);
        if read == [0; MAX_FLIPS] { Self::ALL } else { Self(Some(read)) }
    }

    /// The bits of which so many are flipped together.
    pub fn among(self, flipped: u32) -> u64 {
        match (self.0, flipped.checked_sub(1)) {
            (None, _) | (_, None) => !0,
            (Some(masks), Some(index)) => masks.get(index as usize).copied().unwrap_or_default(),
        }
    }
}

/// A block that a search looks up, and which of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probed {
    pub block: Block,
    /// The most bits of the block that are flipped together.
    pub radius: u32,
    /// The bits that are flipped.
    pub flippable: Flippable,
}

impl Probed {
    pub fn whole(block: Block, radius: u32) -> Self {
        Self { block, radius, flippable: Flippable::ALL }
    }

    /// The values that differ from the block of `query` in exactly so many bits; there are [`Probed::ring_count`].
    pub fn ring(self, query: u64, flipped: u32) -> impl Iterator<Item = i32> {
        self.block.ring(query, flipped, self.flippable.among(flipped))
    }

    pub fn ring_count(self, flipped: u32) -> u64 {
        count_of_weight(flipped, self.block.ones(self.flippable.among(flipped)))
    }

    /// All values that a search looks up, ordered by the number of flipped bits.
    ///
    /// There are [`Probed::probe_count`] values; the caller must check that they are not too many.
    pub fn probes(self, query: u64) -> impl Iterator<Item = i32> {
        (0..=self.radius.min(self.block.width())).flat_map(move |flipped| self.ring(query, flipped))
    }

    /// [`Probed::probes`] as a list of up to 4 MB. Fails if out of memory.
    pub fn list_probes(self, query: u64) -> Result<Vec<i32>> {
        let mut list = Vec::new();
        list.try_reserve_exact(self.probe_count() as usize)?;
        list.extend(self.probes(query));
        Ok(list)
    }

    pub fn probe_count(self) -> u64 {
        (0..=self.radius.min(self.block.width())).map(|flipped| self.ring_count(flipped)).sum()
    }

    /// Whether a search finds what differs from the query in these bits.
    #[inline]
    pub fn finds(self, difference: u64) -> bool {
        let flipped = self.block.ones(difference);
        flipped <= self.radius && self.block.ones(difference & !self.flippable.among(flipped)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn flips_match_oracle() {
        let mut random = Random(0);
        for _ in 0..2000 {
            let blocks = random.below(7) as i32 + 2;
            let mut order: BitOrder = std::array::from_fn(|bit| bit as u8);
            (1..64).for_each(|last| order.swap(last, random.below(last as u64 + 1) as usize));
            let counts: Vec<_> = (0..random.below(4)).map(|_| random.below(7) as u32 + 1).collect();
            let flippable = Flippable::first_of(&order, blocks, &counts);
            let block = Block::new(random.below(blocks as u64) as i32, blocks).unwrap();
            let radius = if counts.is_empty() { 3 } else { counts.len() as u32 };
            let probed = Probed { block, radius, flippable };
            let query = random.next();
            let values: Vec<_> = probed.probes(query).collect();
            assert_eq!(values.len() as u64, probed.probe_count());
            // The bits of the block in this order: which of them a value flips must be the first ones.
            let bits: Vec<_> = order.iter().filter(|bit| block.ones(1 << **bit) == 1).collect();
            let flipped = (0..random.below(5)).fold(0, |all, _| all | 1 << bits[random.below(6) as usize]);
            let count = u64::count_ones(flipped);
            let among = match (count, counts.is_empty()) {
                (0, _) | (_, true) => 64,
                (count, false) => counts.get(count as usize - 1).copied().unwrap_or_default() as usize,
            };
            let expected = count <= radius && bits.iter().skip(among).all(|bit| flipped >> **bit & 1 == 0);
            assert_eq!(values.contains(&block.value(query ^ flipped)), expected, "{counts:?} {flipped:x}");
            assert_eq!(probed.finds(flipped), expected);
            assert_eq!(Flippable::from_masks(flippable.masks()), flippable);
        }
    }
}
