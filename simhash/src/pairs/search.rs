//! The search over distinct fingerprints that finds every near pair once.
//!
//! # By distance
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
//! bits, or from all bits with the whole distance, whichever is cheaper. And before a slice is partitioned, the sizes
//! of all its buckets are counted. Unless comparing the buckets costs less than half of comparing the slice (or less at
//! all, if its own bits were sampled), the slice is not partitioned. So no set of fingerprints costs much more than the
//! comparison of all pairs; the excess is near pairs that are found again in the buckets of other blocks
//! (benches/pairs.rs, uneven bytes).
//!
//! # By radii
//!
//! All fingerprints are partitioned by each block of the radii in turn. Pairs are searched within each bucket as above,
//! and between any two buckets whose values differ in at most the radius of the block, where all pairs are compared. A
//! pair that is within the radius of an earlier block was found by that block. Every other pair differs in more bits
//! than the radius in each earlier block, so that it differs in fewer of the other bits.

use std::ops::Range;

use super::bits::Worths;
use super::compare::{Cursor, Kernel, RowPairs};
use super::partition::{Numbered, PartitionBlock, begins};
use super::plan::{self, CACHED_ROWS, MAX_SPLIT_DISTANCE, MIN_SPLIT_ROWS, Plan};
use super::progress::{Phase, Progress};
use crate::distance::hamming;
use crate::error::Error;
use crate::memory::{fill, push};
use crate::search::flips::Probed;
use crate::search::nearness::Nearness;

/// Most levels of slices within slices. Uniform fingerprints need three or four.
const MAX_DEPTH: usize = 16;
/// Smallest slice whose bits are sampled if it is larger than expected.
const MIN_SAMPLED_ROWS: usize = 256;
/// Bits of a bucket's number in addition to what a block is worth, since the values of a skewed block are not equally
/// likely.
const SPARE_BITS: u32 = 2;
/// Number of buffers for larger slices.
const LARGE_BUFFERS: usize = 2;
/// Pairs to compare, or other work that takes as long, between two ticks: half a millisecond.
const WORK_BETWEEN_TICKS: usize = 1 << 20;

#[derive(Clone, Copy, Debug)]
pub struct NearPair {
    pub a: u32,
    pub b: u32,
    pub distance: u32,
}

/// The state of a search between two calls.
pub struct PairSearch {
    /// All fingerprints, until the search begins.
    all: Option<Bucket>,
    near: Nearness,
    max_distance: u32,
    kernel: Kernel,
    plan: Plan,
    /// The first two buffers hold large slices, which are partitioned from one buffer to the same range of the other. A
    /// small slice is partitioned to the beginning of another buffer, one for each depth.
    buffers: Vec<Numbered>,
    /// The slices that are partitioned, each within a bucket of the one before. Levels from `depth` on are unused, and
    /// remain only to reuse their memory.
    levels: Vec<Level>,
    depth: usize,
    ends: Vec<u32>,
    /// The slice that is being compared, and the buffer that holds it.
    cursor: Cursor,
    compared_buffer: usize,
    found: RowPairs,
    /// The work that is left until the next tick.
    left: usize,
    share: f64,
}

/// A slice that is partitioned.
#[derive(Default)]
struct Level {
    /// The buffer that the slice was in at first, and must be in at the end.
    home: usize,
    /// The range of the slice in that buffer.
    start: usize,
    end: usize,
    /// The buffer that the slice is partitioned from.
    from: usize,
    /// The buffer of its buckets, and the position where they begin there.
    to: usize,
    to_start: usize,
    budget: u32,
    worths: Worths,
    blocks: Vec<PartitionBlock>,
    /// Sizes of the buckets; the buckets of block i begin at i * `stride`.
    counts: Vec<u32>,
    stride: usize,
    /// Where the buckets of the current block begin, from `to_start`; unused if the block has radius 0.
    begins: Vec<u32>,
    /// The bits in which the numbers of two near buckets may differ. Empty if the block has radius 0.
    masks: Vec<u32>,
    /// The index in `masks` of the next near bucket to search with the bucket before `bucket`.
    mask: usize,
    /// The block that the slice is partitioned by, its next bucket, and where that bucket begins.
    block: usize,
    bucket: usize,
    position: usize,
    /// Where the bucket that is being searched begins.
    entered: usize,
    /// Most fingerprints that a bucket is expected to have.
    expected: usize,
}

/// A bucket that is not searched yet.
struct Bucket {
    start: usize,
    end: usize,
    buffer: usize,
    /// Two of its fingerprints may differ in at most `budget` of the bits below bit `rest`.
    rest: u32,
    budget: u32,
}

/// What to search next in a partitioned slice.
enum SlicePart {
    Within(Bucket),
    /// The pairs of a bucket and a later one whose values are near.
    Between(Range<usize>, Range<usize>),
}

impl Level {
    /// The next part of the block that has pairs.
    fn next_part(&mut self) -> Option<SlicePart> {
        let block = self.blocks[self.block];
        let first = self.block * self.stride;
        let counts = &self.counts[first..first + block.buckets()];
        loop {
            while let Some(&mask) = self.masks.get(self.mask) {
                self.mask += 1;
                let other = (self.bucket - 1) ^ mask as usize;
                if other >= self.bucket && counts[other] > 0 {
                    let start = self.to_start + self.begins[other] as usize;
                    return Some(SlicePart::Between(
                        self.entered..self.position,
                        start..start + counts[other] as usize,
                    ));
                }
            }
            let count = *counts.get(self.bucket)?;
            self.bucket += 1;
            if count == 0 {
                continue;
            }
            self.entered = self.position;
            self.position += count as usize;
            self.mask = 0;
            if count > 1 {
                let budget = self.budget - least_distance(&self.blocks[..self.block]);
                let (start, end) = (self.entered, self.position);
                return Some(SlicePart::Within(Bucket { start, end, buffer: self.to, rest: block.low, budget }));
            }
        }
    }

    /// Counts the fingerprints in each bucket of all blocks. Returns what partitioning and comparing them costs.
    fn count(&mut self, fingerprints: &[u64], tick: &dyn Fn()) -> Result<f64, Error> {
        self.stride = self.blocks.iter().map(|block| block.buckets()).max().unwrap_or(0);
        self.counts.clear();
        fill(&mut self.counts, self.blocks.len() * self.stride, 0, tick)?;
        for (block, counts) in self.blocks.iter().zip(self.counts.chunks_mut(self.stride)) {
            block.count(fingerprints, counts, tick);
        }
        let mut compare = self.counts.iter().map(|&count| plan::compare_all(f64::from(count))).sum::<f64>();
        for (block, counts) in self.blocks.iter().zip(self.counts.chunks(self.stride)) {
            for mask in block.masks() {
                tick();
                compare += plan::compare_masked(counts, mask as usize);
            }
        }
        Ok(compare + self.blocks.len() as f64 * plan::scatter(fingerprints.len() as f64))
    }

    /// Whether the current block returns a pair that differs in these bits: whether it is the first block in which the
    /// pair is within the radius.
    fn finds(&self, differing: u64) -> bool {
        self.blocks[self.block].agrees(differing)
            && !self.blocks[..self.block].iter().any(|block| block.agrees(differing))
    }
}

/// The least distance of two fingerprints that differ in more bits than the radius in each of these blocks.
fn least_distance(blocks: &[PartitionBlock]) -> u32 {
    blocks.iter().map(|block| block.radius + 1).sum()
}

struct Split {
    worths: Worths,
    /// Whether the worths come from a sample of the slice itself.
    is_sampled: bool,
    /// Worth of a block, in bits; None if comparing all pairs is cheaper.
    width: Option<u32>,
    /// Blocks are made of the bits below bit `rest`. Two fingerprints may differ in at most `budget` of these bits.
    rest: u32,
    budget: u32,
}

impl PairSearch {
    /// A search in the first buffer, which holds distinct fingerprints in ascending order. The second buffer is spare
    /// memory of the same size. Fails if memory is refused.
    pub fn new(buffers: [Numbered; 2], near: Nearness) -> Result<Self, Error> {
        let len = buffers[0].numbers.len();
        let max_distance = near.max_distance().clamp(0, 64).cast_unsigned();
        // Distinct fingerprints have no distance of 0.
        let all = Bucket { start: 0, end: len, buffer: 0, rest: 64, budget: max_distance };
        Ok(Self {
            all: (max_distance > 0 && near.contains(0)).then_some(all),
            near,
            max_distance,
            kernel: Kernel::detect(),
            plan: Plan::new(len, max_distance)?,
            buffers: Vec::from(buffers),
            levels: Vec::new(),
            depth: 0,
            ends: Vec::new(),
            cursor: Cursor::default(),
            compared_buffer: 0,
            found: RowPairs::default(),
            left: WORK_BETWEEN_TICKS,
            share: 0.0,
        })
    }

    /// The next near pair; None at the end. Fails if memory is refused.
    pub fn next(&mut self, tick: &dyn Fn(Progress)) -> Result<Option<NearPair>, Error> {
        loop {
            for (row, column) in self.found.by_ref() {
                let Numbered { fingerprints, numbers } = &self.buffers[self.compared_buffer];
                let differing = fingerprints[row] ^ fingerprints[column];
                let levels = &self.levels[..self.depth];
                if self.near.contains(differing) && levels.iter().all(|level| level.finds(differing)) {
                    let distance = hamming(differing, 0);
                    return Ok(Some(NearPair { a: numbers[row], b: numbers[column], distance }));
                }
            }
            if self.cursor.is_done() {
                if !self.next_slice(tick)? {
                    return Ok(None);
                }
            } else {
                let fingerprints = &self.buffers[self.compared_buffer].fingerprints;
                let found = self.kernel.advance(fingerprints, &mut self.cursor, self.max_distance, &mut self.left);
                self.found = found.unwrap_or_default();
                self.spend(0, tick);
            }
        }
    }

    /// The share of the work that is done, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Goes on to the next slice whose pairs are to be compared. Returns false at the end.
    fn next_slice(&mut self, tick: &dyn Fn(Progress)) -> Result<bool, Error> {
        while self.cursor.is_done() {
            if let Some(all) = self.all.take() {
                self.enter(all, tick)?;
                continue;
            }
            let Some(level) = self.levels[..self.depth].last_mut() else { return Ok(false) };
            match level.next_part() {
                Some(SlicePart::Within(bucket)) if bucket.end - bucket.start < MIN_SPLIT_ROWS => self.compare(&bucket),
                Some(SlicePart::Within(bucket)) => self.enter(bucket, tick)?,
                Some(SlicePart::Between(rows, columns)) => {
                    self.compared_buffer = level.to;
                    self.cursor = Cursor::between(rows, columns);
                }
                None if level.block + 1 < level.blocks.len() => {
                    level.block += 1;
                    self.partition(tick)?;
                }
                None => self.leave(tick),
            }
        }
        Ok(true)
    }

    fn compare(&mut self, bucket: &Bucket) {
        self.cursor = Cursor::within(bucket.start..bucket.end);
        self.compared_buffer = bucket.buffer;
    }

    /// Begins to search a slice: splits it if that is cheaper than comparing its pairs.
    fn enter(&mut self, bucket: Bucket, tick: &dyn Fn(Progress)) -> Result<(), Error> {
        if self.depth == 0 && self.near.blocks().is_some() {
            match self.try_radii(&bucket, tick)? {
                true => self.partition(tick)?,
                false => self.compare(&bucket),
            }
            return Ok(());
        }
        if self.depth == MAX_DEPTH || self.max_distance > MAX_SPLIT_DISTANCE {
            self.compare(&bucket);
            return Ok(());
        }
        let len = bucket.end - bucket.start;
        let (expected, inherited) = match self.levels[..self.depth].last() {
            Some(level) => (level.expected, level.worths.clone()),
            None => (0, Worths::default()),
        };
        // Sample the bits of a large slice at once if it is larger than expected.
        let is_uneven = len > expected && len >= MIN_SAMPLED_ROWS;
        let mut split = self.choose_split(&bucket, inherited, is_uneven);
        if self.try_split(&bucket, &mut split, tick)? {
            return self.partition(tick);
        }
        // The split is not worth it, since the bits are not as expected: sample them and choose others.
        if !is_uneven && len >= MIN_SAMPLED_ROWS && split.width.is_some() {
            let worths = split.worths;
            split = self.choose_split(&bucket, worths, true);
            if self.try_split(&bucket, &mut split, tick)? {
                return self.partition(tick);
            }
        }
        self.compare(&bucket);
        Ok(())
    }

    /// Chooses how to split a slice. Samples its bits if `is_sampled`; otherwise uses the worths that are known.
    fn choose_split(&mut self, bucket: &Bucket, worths: Worths, is_sampled: bool) -> Split {
        let Bucket { start, end, buffer, rest, budget, .. } = *bucket;
        let len = end - start;
        let worths = if is_sampled { Worths::sample(&self.buffers[buffer].fingerprints[start..end]) } else { worths };
        let choice = self.plan.choose(len, worths.below(rest), budget);
        if is_sampled && rest < 64 {
            let all = self.plan.choose(len, worths.below(64), self.max_distance);
            if all.cost < choice.cost {
                return Split { worths, is_sampled, width: all.width, rest: 64, budget: self.max_distance };
            }
        }
        Split { worths, is_sampled, width: choice.width, rest, budget }
    }

    /// Enters a level that splits all fingerprints by the blocks of the radii. Returns false if comparing all pairs is
    /// cheaper.
    fn try_radii(&mut self, bucket: &Bucket, tick: &dyn Fn(Progress)) -> Result<bool, Error> {
        let len = bucket.end - bucket.start;
        if len < MIN_SPLIT_ROWS {
            return Ok(false);
        }
        let mut blocks: Vec<PartitionBlock> = Vec::new();
        let (mut cost, mut bits) = (0.0, u32::MAX);
        let probed = self.near.blocks().and_then(|count| self.near.probed_blocks(count));
        for Probed { block, radius, .. } in probed.into_iter().flatten() {
            // Near fingerprints are within the radius of an earlier block.
            if least_distance(&blocks) > self.max_distance {
                break;
            }
            let (of_block, bits_of_block) = plan::within(len, block.width(), radius);
            (cost, bits) = (cost + of_block, bits.min(bits_of_block));
            push(&mut blocks, PartitionBlock::within(block.low(), block.width(), bits_of_block, radius))?;
        }
        if cost >= plan::compare_all(len as f64) || self.prepare(bucket, blocks, tick)? >= 1.0 {
            return Ok(false);
        }
        self.open_level(bucket.budget, len >> bits, Worths::default());
        Ok(true)
    }

    /// Enters a level that splits a slice if partitioning and comparing the buckets costs less than half of comparing
    /// all pairs or, if the bits were sampled, less than all of it. Returns whether it does.
    fn try_split(&mut self, bucket: &Bucket, split: &mut Split, tick: &dyn Fn(Progress)) -> Result<bool, Error> {
        let Some(width) = split.width else { return Ok(false) };
        let wanted = split.budget as usize + 1;
        let mut blocks = Vec::new();
        blocks.try_reserve(wanted)?;
        let cuts = split.worths.cut(split.rest, split.budget + 1, width);
        blocks.extend(cuts.map(|(low, wide)| PartitionBlock::new(low, wide, width + SPARE_BITS)));
        if blocks.len() != wanted {
            return Ok(false);
        }
        let share = self.prepare(bucket, blocks, tick)?;
        if !(share < 0.5 || split.is_sampled && share < 1.0) {
            return Ok(false);
        }
        let worths = std::mem::take(&mut split.worths);
        self.open_level(split.budget, (bucket.end - bucket.start) >> width, worths);
        Ok(true)
    }

    /// Prepares a level that splits a slice, and counts its buckets. Returns the cost of partitioning and comparing the
    /// buckets as a share of the cost of comparing all pairs.
    fn prepare(&mut self, bucket: &Bucket, blocks: Vec<PartitionBlock>, tick: &dyn Fn(Progress)) -> Result<f64, Error> {
        let Bucket { start, end, buffer, .. } = *bucket;
        let len = end - start;
        let (to, to_start) = if len > CACHED_ROWS { (1 - buffer, start) } else { (LARGE_BUFFERS + self.depth, 0) };
        while to >= self.buffers.len() {
            let cached = Numbered::zeroed(CACHED_ROWS.min(self.buffers[0].numbers.len()), &|| ())?;
            push(&mut self.buffers, cached)?;
        }
        if self.depth == self.levels.len() {
            push(&mut self.levels, Level::default())?;
        }
        let progress = self.progress();
        let level = &mut self.levels[self.depth];
        level.blocks = blocks;
        (level.home, level.start, level.end, level.from) = (buffer, start, end, buffer);
        (level.to, level.to_start) = (to, to_start);
        let fingerprints = &self.buffers[buffer].fingerprints[start..end];
        let cost = level.count(fingerprints, &|| tick(progress))?;
        self.left = self.left.saturating_sub(len);
        Ok(cost / plan::compare_all(len as f64))
    }

    /// Enters the level that is prepared.
    fn open_level(&mut self, budget: u32, bucket_len: usize, worths: Worths) {
        let level = &mut self.levels[self.depth];
        (level.budget, level.block, level.worths) = (budget, 0, worths);
        level.expected = 2 * bucket_len + MIN_SPLIT_ROWS;
        self.depth += 1;
    }

    /// Partitions the innermost slice by its current block.
    fn partition(&mut self, tick: &dyn Fn(Progress)) -> Result<(), Error> {
        let level = &mut self.levels[self.depth - 1];
        let block = level.blocks[level.block];
        let len = level.end - level.start;
        // The slice of all fingerprints is in ascending order at first.
        let sorted = self.depth == 1 && level.block == 0 && block.keeps_order();
        if level.to < LARGE_BUFFERS && (level.block > 0 || sorted) {
            // Slices within this one may have overwritten the buffer that it came from.
            std::mem::swap(&mut level.from, &mut level.to);
        }
        (level.bucket, level.position, level.entered) = (0, level.to_start, level.to_start);
        let first = level.block * level.stride;
        let counts = &level.counts[first..first + block.buckets()];
        level.masks.clear();
        if block.radius > 0 {
            for mask in block.masks() {
                push(&mut level.masks, mask)?;
            }
            level.begins.clear();
            fill(&mut level.begins, counts.len(), 0, &|| ())?;
            begins(counts, &mut level.begins);
        }
        // No bucket comes before the first.
        level.mask = level.masks.len();
        if sorted && level.to < LARGE_BUFFERS {
            return Ok(());
        }
        let progress = self.progress();
        let level = &self.levels[self.depth - 1];
        let counts = &level.counts[first..first + block.buckets()];
        fill(&mut self.ends, block.buckets(), 0, &|| ())?;
        begins(counts, &mut self.ends);
        let buffers = self.buffers.get_disjoint_mut([level.from, level.to]);
        let [from, to] = buffers.expect("a slice moves between two buffers");
        block.scatter(from, (level.start, level.end), to, level.to_start, &mut self.ends, &|| tick(progress));
        self.spend(len, tick);
        Ok(())
    }

    /// Ends the search of the innermost slice, and moves its fingerprints back to their home buffer if needed.
    fn leave(&mut self, tick: &dyn Fn(Progress)) {
        let progress = self.progress();
        self.depth -= 1;
        let level = &self.levels[self.depth];
        if level.to < LARGE_BUFFERS && level.to != level.home && self.depth > 0 {
            let buffers = self.buffers.get_disjoint_mut([level.to, level.home]);
            let [from, to] = buffers.expect("a slice moves between two buffers");
            to.copy_from(from, level.start, level.end, &|| tick(progress));
        }
    }

    fn spend(&mut self, work: usize, tick: &dyn Fn(Progress)) {
        self.left = self.left.saturating_sub(work);
        if self.left == 0 {
            self.left = WORK_BETWEEN_TICKS;
            tick(self.progress());
        }
    }

    /// Estimates progress as if all blocks of a slice cost the same, and all fingerprints of a block.
    fn progress(&mut self) -> Progress {
        let inner = if self.cursor.is_done() { 0.0 } else { self.cursor.share() };
        let share = self.levels[..self.depth].iter().rev().fold(inner, |inner, level| {
            let entered = (level.entered - level.to_start) as f64 + inner * (level.position - level.entered) as f64;
            (level.block as f64 + entered / (level.end - level.start) as f64) / level.blocks.len() as f64
        });
        self.share = self.share.max(share);
        Progress { phase: Phase::Near, share: self.share }
    }
}
