//! Blocks of fingerprints. With them, a search for near fingerprints becomes searches for equal numbers.
//!
//! Cut 64 bits into m blocks, with radii r_i that sum to k + 1 - m. If two fingerprints differ in at most k bits, the
//! differing bits cannot exceed the radius of every block: in some block i, at most r_i bits differ. With k < m, some
//! block is equal (Manku, Jain, Das Sarma, WWW 2007, section 3); the general form is the pigeonhole principle of
//! multi-index hashing (Norouzi, Punjani, Fleet, CVPR 2012, section 3).

use std::ops::RangeInclusive;

/// Numbers of blocks that a layout may have.
pub const BLOCK_COUNTS: RangeInclusive<i32> = 2..=8;
/// The default number of blocks, also in SQL.
pub const DEFAULT_BLOCKS: i32 = 4;
/// The most probes that a search may need in one block.
pub const MAX_PROBES: u64 = 1 << 20;

/// A block of a layout: `width` bits, of which bit `shift` of the fingerprint is the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    shift: u32,
    width: u32,
}

impl Block {
    /// Block `number` of a layout of `blocks` blocks; None if it does not exist. Block 0 is the most significant.
    ///
    /// If 64 is not a multiple of `blocks`, the first blocks are one bit wider: 3 blocks have 22, 21 and 21 bits.
    #[inline]
    pub fn new(number: i32, blocks: i32) -> Option<Self> {
        if !BLOCK_COUNTS.contains(&blocks) || !(0..blocks).contains(&number) {
            return None;
        }
        let (number, blocks) = (number as u32, blocks as u32);
        let (narrow, wider) = (64 / blocks, 64 % blocks);
        let end = (number + 1) * narrow + wider.min(number + 1);
        Some(Self { shift: 64 - end, width: narrow + u32::from(number < wider) })
    }

    /// The width of the block in bits, 8 to 32.
    pub fn width(self) -> u32 {
        self.width
    }

    /// The value of the block in a fingerprint: its bits as an unsigned number, or as a signed number if the block has
    /// 32 bits.
    #[inline]
    pub fn value(self, fingerprint: u64) -> i32 {
        (fingerprint >> self.shift & ((1 << self.width) - 1)) as u32 as i32
    }

    /// Number of bits that are 1 in this block of a number.
    #[inline]
    pub fn ones(self, bits: u64) -> u32 {
        (self.value(bits) as u32).count_ones()
    }

    /// The values that differ from this block of `fingerprint` in exactly `radius` bits; there are
    /// [`Block::ring_count`]. Their differences are in ascending order (Gosper's hack: HAKMEM, item 175).
    pub fn ring(self, fingerprint: u64, radius: u32) -> impl Iterator<Item = i32> {
        let value = self.value(fingerprint) as u32;
        let first = (radius <= self.width).then(|| (1u64 << radius) - 1);
        let differences = std::iter::successors(first, move |&difference| {
            if difference == 0 {
                return None;
            }
            let lowest = difference & difference.wrapping_neg();
            let ripple = difference + lowest;
            let next = (((ripple ^ difference) >> 2) / lowest) | ripple;
            (next < 1 << self.width).then_some(next)
        });
        differences.map(move |difference| (value ^ difference as u32) as i32)
    }

    /// The number of values in a ring: a binomial coefficient.
    pub fn ring_count(self, radius: u32) -> u64 {
        if radius > self.width {
            return 0;
        }
        (0..u64::from(radius)).fold(1, |binomial, i| binomial * (u64::from(self.width) - i) / (i + 1))
    }
}

/// A block that a search looks up, and the most bits in which its values differ from the query's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probed {
    pub block: Block,
    pub radius: u32,
}

impl Probed {
    /// All values that a search looks up, ordered by the number of flipped bits.
    ///
    /// There are [`Probed::probe_count`] values; the caller must check that they are not too many.
    pub fn probes(self, query: u64) -> impl Iterator<Item = i32> {
        (0..=self.radius.min(self.block.width())).flat_map(move |flipped| self.block.ring(query, flipped))
    }

    /// The number of [`Probed::probes`].
    pub fn probe_count(self) -> u64 {
        (0..=self.radius.min(self.block.width())).map(|flipped| self.block.ring_count(flipped)).sum()
    }

    /// Whether a search finds what differs from the query in these bits.
    #[inline]
    pub fn finds(self, difference: u64) -> bool {
        self.block.ones(difference) <= self.radius
    }
}

/// The blocks of a layout that a search within a distance looks up, with the smallest radii that miss nothing. None if
/// a layout of `blocks` blocks does not exist.
pub fn probed_blocks(blocks: i32, max_distance: i32) -> Option<impl Iterator<Item = Probed>> {
    BLOCK_COUNTS.contains(&blocks).then(|| {
        (0..blocks).filter_map(move |number| {
            Some(Probed { block: Block::new(number, blocks)?, radius: radius(number, blocks, max_distance)? })
        })
    })
}

/// The radius of block `number` in a search at a distance of at most `max_distance`; None if the block need not be
/// looked up.
///
/// These are the smallest radii with which no match can be missed: their sum, counting None as -1, is `max_distance` +
/// 1 - `blocks`.
pub fn radius(number: i32, blocks: i32, max_distance: i32) -> Option<u32> {
    let radii = (max_distance.clamp(-1, 64) + 1) as u32;
    let (number, blocks) = (number as u32, blocks as u32);
    (radii / blocks + u32::from(number < radii % blocks)).checked_sub(1)
}
