//! The search over distinct fingerprints that finds every near pair once.
//!
//! If two fingerprints differ in at most k bits, they agree on at least one of k + 1 blocks (Manku, Jain, Das Sarma,
//! WWW 2007, section 3). So a slice of fingerprints is partitioned by each of k + 1 blocks in turn, and pairs are
//! searched within the buckets. A pair in a bucket of block i (from 0) that also agrees on an earlier block was found
//! in a bucket of that block. Every other pair differs in each of the i earlier blocks, so that it differs in at most
//! k - i of the remaining bits. So a bucket is again a slice, to be partitioned by k + 1 - i blocks of these bits,
//! until it is cheaper to compare all pairs. With equal blocks and r levels, the buckets are the same as in Manku's
//! C(k + r, r) tables, but only the first level reads all fingerprints: the other levels stay in the cache.
//!
//! For example, k is 3, with four blocks of 16 bits. A pair that differs in two bits of block 0 and in one of block 2
//! agrees on blocks 1 and 3. It is found in a bucket of block 1. In its bucket of block 3 it is ignored, because it
//! agrees on the earlier block 1. Among ten million uniform fingerprints, a bucket has 150, and comparing all pairs
//! within them takes 2^-14 of comparing all pairs.
//!
//! This is best for uniform fingerprints. In skewed data, many fingerprints may agree on a block. For a bucket that is
//! larger than expected, new blocks are chosen by how well the bits tell *its* fingerprints apart: from the remaining
//! bits, or from all bits with the whole distance, whichever is cheaper. And a slice is partitioned only if the sizes
//! of its buckets show that comparing them costs less than half of comparing the slice, or less at all if its own bits
//! were sampled. So no set of fingerprints costs much more than the comparison of all pairs; the excess is near pairs
//! that are found again in the buckets of other blocks (benches/pairs.rs, uneven bytes).

use std::ops::Range;

use super::bits::Worths;
use super::compare::{Cursor, RowPairs, advance};
use super::partition::{NumberedFingerprints, PartitionBlock, write_bucket_starts};
use super::plan::{self, MAX_SPLIT_DISTANCE, MIN_SPLIT_ROWS, Plan};
use crate::distance::hamming;
use crate::error::Result;
use crate::memory::{collect_exact, grow, push};

/// Most levels of slices within slices. Uniform fingerprints need three or four.
const MAX_DEPTH: usize = 16;
/// Smallest slice whose bits are sampled if it is larger than expected.
const MIN_SAMPLED_ROWS: usize = 256;
/// Bits of a bucket's number in addition to what a block is worth, since the values of a skewed block are not equally
/// likely.
const SPARE_BITS: u32 = 2;
/// Pairs to compare, or other work that takes as long, between two ticks: half a millisecond.
const WORK_BETWEEN_TICKS: usize = 1 << 20;

/// Two near fingerprints by their numbers; or two near rows by their positions, the earlier one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    pub a: u32,
    pub b: u32,
    pub distance: u32,
}

/// The state of a search between two calls.
pub struct PairSearch {
    /// All fingerprints, until the search begins.
    all: Option<Bucket>,
    max_distance: u32,
    plan: Plan,
    /// The fingerprints. A slice of them is partitioned to `spare`, and copied back.
    rows: NumberedFingerprints,
    spare: NumberedFingerprints,
    /// The slices that are partitioned, each within a bucket of the one before.
    levels: Vec<Level>,
    /// The sizes of the buckets of all levels.
    bucket_sizes: Vec<u32>,
    /// Memory for the positions of the slice that is being partitioned: see [`PartitionBlock::scatter`].
    next_positions: Vec<u32>,
    /// The slice that is being compared.
    cursor: Cursor,
    found: RowPairs,
    /// The work that is left until the next tick.
    work_left: usize,
}

/// A slice that is partitioned.
#[derive(Default)]
struct Level {
    slice: Range<usize>,
    /// Two fingerprints of the slice may differ in at most this many of the bits that the blocks are cut from.
    distance_left: u32,
    worths: Worths,
    blocks: Vec<PartitionBlock>,
    /// Where the sizes of its buckets begin in [`PairSearch::bucket_sizes`]; those of block i begin i * `stride` later.
    first_size: usize,
    stride: usize,
    /// The block that the slice is partitioned by, its next bucket, and where that bucket begins.
    block: usize,
    bucket: usize,
    position: usize,
    /// Most fingerprints that a bucket is expected to have.
    expected: usize,
}

/// A bucket that is not searched yet.
struct Bucket {
    slice: Range<usize>,
    /// Two of its fingerprints may differ in at most `distance_left` of the bits below bit `rest`.
    rest: u32,
    distance_left: u32,
}

impl PairSearch {
    /// A search in the first buffer, which holds distinct fingerprints in ascending order. The second buffer is spare
    /// memory of the same size.
    pub fn new([rows, spare]: [NumberedFingerprints; 2], max_distance: i32) -> Result<Self> {
        let len = rows.numbers.len();
        let max_distance = max_distance.clamp(0, 64).cast_unsigned();
        // Distinct fingerprints have no distance of 0.
        let all = Bucket { slice: 0..len, rest: 64, distance_left: max_distance };
        Ok(Self {
            all: (max_distance > 0).then_some(all),
            max_distance,
            plan: Plan::new(len, max_distance)?,
            rows,
            spare,
            levels: Vec::new(),
            bucket_sizes: Vec::new(),
            next_positions: Vec::new(),
            cursor: Cursor::default(),
            found: RowPairs::default(),
            work_left: WORK_BETWEEN_TICKS,
        })
    }

    /// The next near pair; None at the end.
    pub fn next(&mut self, tick: &dyn Fn()) -> Result<Option<Pair>> {
        loop {
            let NumberedFingerprints { fingerprints, numbers } = &self.rows;
            for (row, column) in self.found.by_ref() {
                let differing = fingerprints[row] ^ fingerprints[column];
                if self.levels.iter().all(|level| level.finds(differing)) {
                    let distance = hamming(differing, 0);
                    return Ok(Some(Pair { a: numbers[row], b: numbers[column], distance }));
                }
            }
            if !self.cursor.is_done() {
                let found = advance(fingerprints, &mut self.cursor, self.max_distance, &mut self.work_left);
                self.found = found.unwrap_or_default();
                // `advance` has subtracted its work.
                self.spend(0, tick);
            } else if !self.next_slice(tick)? {
                return Ok(None);
            }
        }
    }

    /// Goes on to the next slice whose pairs are to be compared. Returns false at the end.
    fn next_slice(&mut self, tick: &dyn Fn()) -> Result<bool> {
        while self.cursor.is_done() {
            if let Some(all) = self.all.take() {
                self.enter(&all, tick)?;
                continue;
            }
            let Some(level) = self.levels.last_mut() else { return Ok(false) };
            match level.next_bucket(&self.bucket_sizes) {
                Some(bucket) => self.enter(&bucket, tick)?,
                None if level.block + 1 < level.blocks.len() => {
                    level.block += 1;
                    self.partition(tick)?;
                }
                None => {
                    self.bucket_sizes.truncate(level.first_size);
                    self.levels.pop();
                }
            }
        }
        Ok(true)
    }

    /// Begins to search a slice: splits it if that is cheaper than comparing its pairs.
    fn enter(&mut self, bucket: &Bucket, tick: &dyn Fn()) -> Result<()> {
        if bucket.slice.len() >= MIN_SPLIT_ROWS && self.split(bucket, tick)? {
            return self.partition(tick);
        }
        self.cursor = Cursor::within(bucket.slice.clone());
        Ok(())
    }

    /// Enters a level that splits a slice by blocks of its bits. Returns false if comparing all pairs is cheaper.
    fn split(&mut self, bucket: &Bucket, tick: &dyn Fn()) -> Result<bool> {
        if self.levels.len() == MAX_DEPTH || self.max_distance > MAX_SPLIT_DISTANCE {
            return Ok(false);
        }
        let len = bucket.slice.len();
        let (expected, worths) = match self.levels.last() {
            Some(level) => (level.expected, level.worths.clone()),
            None => (0, Worths::default()),
        };
        // Sample the bits of a large slice at once if it is larger than expected.
        if len <= expected || len < MIN_SAMPLED_ROWS {
            let choice = self.plan.choose(len, worths.sum_below(bucket.rest), bucket.distance_left);
            let Some(block_worth) = choice.block_worth else { return Ok(false) };
            if self.split_by_worths(bucket, worths, block_worth, 0.5, tick)? {
                return Ok(true);
            }
            if len < MIN_SAMPLED_ROWS {
                return Ok(false);
            }
            // The bits are not as expected, so the split is not worth it: sample them and choose other blocks.
        }
        let worths = Worths::from_sample(&self.rows.fingerprints[bucket.slice.clone()]);
        let by_rest = self.plan.choose(len, worths.sum_below(bucket.rest), bucket.distance_left);
        let by_all = self.plan.choose(len, worths.sum_below(64), self.max_distance);
        let all = Bucket { slice: bucket.slice.clone(), rest: 64, distance_left: self.max_distance };
        let (bucket, choice) = if by_all.cost < by_rest.cost { (&all, by_all) } else { (bucket, by_rest) };
        let Some(block_worth) = choice.block_worth else { return Ok(false) };
        self.split_by_worths(bucket, worths, block_worth, 1.0, tick)
    }

    /// Enters a level that splits a slice by blocks that are worth `block_worth` bits each. Returns false unless
    /// partitioning and comparing the buckets costs less than the share `most` of comparing all pairs.
    fn split_by_worths(
        &mut self,
        bucket: &Bucket,
        worths: Worths,
        block_worth: u32,
        most: f64,
        tick: &dyn Fn(),
    ) -> Result<bool> {
        let Bucket { ref slice, rest, distance_left } = *bucket;
        let (len, wanted) = (slice.len(), distance_left + 1);
        let with_spare_bits = |(low, width)| PartitionBlock::new(low, width, block_worth + SPARE_BITS);
        let blocks = collect_exact(wanted as usize, worths.cut(rest, wanted, block_worth).map(with_spare_bits))?;
        // Bits that are worth too little make fewer blocks.
        if blocks.len() < wanted as usize {
            return Ok(false);
        }
        let (first_size, stride) =
            (self.bucket_sizes.len(), blocks.iter().map(|block| block.bucket_count()).max().unwrap_or(0));
        grow(&mut self.bucket_sizes, first_size + blocks.len() * stride, 0, tick)?;
        let mut cost = blocks.len() as f64 * plan::scatter_cost(len as f64);
        for (block, sizes) in blocks.iter().zip(self.bucket_sizes[first_size..].chunks_mut(stride)) {
            block.count(&self.rows.fingerprints[slice.clone()], sizes, tick);
            cost += sizes.iter().map(|&size| plan::compare_all_cost(f64::from(size))).sum::<f64>();
        }
        self.work_left = self.work_left.saturating_sub(len);
        if cost >= most * plan::compare_all_cost(len as f64) {
            self.bucket_sizes.truncate(first_size);
            return Ok(false);
        }
        let level = Level {
            slice: slice.clone(),
            distance_left,
            worths,
            blocks,
            first_size,
            stride,
            expected: 2 * (len >> block_worth) + MIN_SPLIT_ROWS,
            ..Level::default()
        };
        push(&mut self.levels, level)?;
        Ok(true)
    }

    /// Partitions the innermost slice by its current block.
    fn partition(&mut self, tick: &dyn Fn()) -> Result<()> {
        // The slice of all fingerprints is in ascending order at first.
        let is_first = self.levels.len() == 1;
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        let (block, sizes) = (level.blocks[level.block], level.sizes(&self.bucket_sizes));
        let slice = level.slice.clone();
        (level.bucket, level.position) = (0, slice.start);
        if is_first && level.block == 0 && block.keeps_order() {
            return Ok(());
        }
        grow(&mut self.next_positions, sizes.len(), 0, &|| ())?;
        write_bucket_starts(sizes, &mut self.next_positions);
        // A small slice goes to the beginning of `spare`, which is in the cache.
        block.scatter(&self.rows, slice.clone(), &mut self.spare, 0, &mut self.next_positions, tick);
        if slice.len() == self.rows.numbers.len() {
            std::mem::swap(&mut self.rows, &mut self.spare);
        } else {
            self.rows.copy_from(slice.clone(), &self.spare, 0, tick);
        }
        self.spend(slice.len(), tick);
        Ok(())
    }

    /// Adds to the work since the last tick, and ticks if it is enough.
    fn spend(&mut self, work: usize, tick: &dyn Fn()) {
        self.work_left = self.work_left.saturating_sub(work);
        if self.work_left == 0 {
            self.work_left = WORK_BETWEEN_TICKS;
            tick();
        }
    }
}

impl Level {
    /// The sizes of the buckets of the current block.
    fn sizes<'s>(&self, bucket_sizes: &'s [u32]) -> &'s [u32] {
        let first = self.first_size + self.block * self.stride;
        &bucket_sizes[first..first + self.blocks[self.block].bucket_count()]
    }

    /// The next bucket of the block that has pairs.
    fn next_bucket(&mut self, bucket_sizes: &[u32]) -> Option<Bucket> {
        let sizes = self.sizes(bucket_sizes);
        loop {
            let size = *sizes.get(self.bucket)? as usize;
            self.bucket += 1;
            let start = self.position;
            self.position += size;
            if size > 1 {
                // Two fingerprints that agree on no earlier block differ in a bit of each.
                let (rest, distance_left) = (self.blocks[self.block].low, self.distance_left - self.block as u32);
                return Some(Bucket { slice: start..self.position, rest, distance_left });
            }
        }
    }

    /// Whether the current block returns a pair that differs in these bits: whether it is the first block on which the
    /// pair agrees.
    fn finds(&self, differing: u64) -> bool {
        self.blocks[self.block].agrees(differing)
            && !self.blocks[..self.block].iter().any(|block| block.agrees(differing))
    }
}
