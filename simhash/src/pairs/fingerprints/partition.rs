//! Partitions fingerprints by a block, as a pass of a radix sort does: those that agree on the block come together, and
//! keep their order.

use std::ops::Range;

use super::compare::LANES;
use crate::error::Result;
use crate::memory::repeated;
use crate::random::GOLDEN_RATIO;
use crate::ticking::NUMBERS_BETWEEN_TICKS;

/// The number of fingerprints whose new positions are computed before any is copied. As long as the address of a store
/// is unknown, a CPU holds back later loads. Such batches make a copy a third faster.
const COPY_BATCH: usize = 16;

/// Consecutive bits of a fingerprint, and the number of buckets for their values.
#[derive(Clone, Copy, Debug)]
pub struct PartitionBlock {
    /// The lowest bit of the block.
    pub low: u32,
    mask: u64,
    bucket_bits: u32,
    /// Multiplicative hashing: the bucket is the highest bits of the product. If each value has its own bucket, the
    /// factor is 1 and the shift 0.
    factor: u64,
    shift: u32,
}

impl PartitionBlock {
    /// The block of `width` bits whose lowest is bit `low` of the fingerprint, in at most 2^`bucket_bits` buckets, two
    /// or more. If there are fewer buckets than values, a hash assigns several values to a bucket.
    pub fn new(low: u32, width: u32, bucket_bits: u32) -> Self {
        debug_assert!(bucket_bits > 0);
        let mask = if width < 64 { (1 << width) - 1 } else { u64::MAX };
        let (factor, shift) = if width <= bucket_bits { (1, 0) } else { (GOLDEN_RATIO, 64 - bucket_bits) };
        Self { low, mask, bucket_bits: bucket_bits.min(width), factor, shift }
    }

    pub fn bucket_count(self) -> usize {
        1 << self.bucket_bits
    }

    /// Whether fingerprints in ascending order are already in the order of their buckets.
    pub fn keeps_order(self) -> bool {
        self.factor == 1 && self.mask << self.low | ((1 << self.low) - 1) == u64::MAX
    }

    /// Whether two fingerprints that differ in the bits `differing` agree on the block.
    #[inline]
    pub fn agrees(self, differing: u64) -> bool {
        differing >> self.low & self.mask == 0
    }

    #[inline]
    fn bucket(self, fingerprint: u64) -> usize {
        ((fingerprint >> self.low & self.mask).wrapping_mul(self.factor) >> self.shift) as usize
    }

    /// Adds the number of fingerprints in each bucket to `counts`.
    pub fn count(self, fingerprints: &[u64], counts: &mut [u32], tick: &dyn Fn()) {
        let counts = &mut counts[..self.bucket_count()];
        for chunk in fingerprints.chunks(NUMBERS_BETWEEN_TICKS) {
            tick();
            for &fingerprint in chunk {
                // The mask changes nothing, but spares the check of the index.
                counts[self.bucket(fingerprint) & (counts.len() - 1)] += 1;
            }
        }
    }

    /// Copies a range of `from` to `to`, from `to_start` on, bucket by bucket, and keeps the order within each bucket.
    /// `next_positions` has, for each bucket, where its next fingerprint goes, counted from `to_start`: at first where
    /// the bucket starts, and afterwards where it ends.
    pub fn scatter(
        self,
        from: &NumberedFingerprints,
        Range { start, end }: Range<usize>,
        to: &mut NumberedFingerprints,
        to_start: usize,
        next_positions: &mut [u32],
        tick: &dyn Fn(),
    ) {
        let next_positions = &mut next_positions[..self.bucket_count()];
        let to_end = to_start + end - start;
        let (to_fingerprints, to_numbers) = (&mut to.fingerprints[to_start..to_end], &mut to.numbers[to_start..to_end]);
        let chunks = from.fingerprints[start..end].chunks(NUMBERS_BETWEEN_TICKS);
        for (fingerprints, numbers) in chunks.zip(from.numbers[start..end].chunks(NUMBERS_BETWEEN_TICKS)) {
            tick();
            for (fingerprints, numbers) in fingerprints.chunks(COPY_BATCH).zip(numbers.chunks(COPY_BATCH)) {
                let mut positions = [0; COPY_BATCH];
                for (position, &fingerprint) in positions.iter_mut().zip(fingerprints) {
                    let next = &mut next_positions[self.bucket(fingerprint) & (self.bucket_count() - 1)];
                    *position = *next;
                    *next += 1;
                }
                for ((&position, &fingerprint), &number) in positions.iter().zip(fingerprints).zip(numbers) {
                    to_fingerprints[position as usize] = fingerprint;
                    to_numbers[position as usize] = number;
                }
            }
        }
    }
}

/// Writes to `starts` where each bucket starts: the exclusive prefix sums of the buckets' sizes.
pub fn write_bucket_starts(sizes: &[u32], starts: &mut [u32]) {
    let mut sum = 0;
    for (start, size) in starts.iter_mut().zip(sizes) {
        *start = sum;
        sum += size;
    }
}

/// Fingerprints, each with a number that moves together with it.
pub struct NumberedFingerprints {
    pub fingerprints: Vec<u64>,
    pub numbers: Vec<u32>,
}

impl NumberedFingerprints {
    /// `len` zeros, and [`LANES`] more fingerprints after them, which a comparison may read.
    pub fn zeroed(len: usize, tick: &dyn Fn()) -> Result<Self> {
        Ok(Self { fingerprints: repeated(len + LANES, 0, tick)?, numbers: repeated(len, 0, tick)? })
    }

    /// Overwrites a range with what `other` has from `other_start` on.
    pub fn copy_from(&mut self, range: Range<usize>, other: &Self, other_start: usize, tick: &dyn Fn()) {
        for start in range.clone().step_by(NUMBERS_BETWEEN_TICKS) {
            tick();
            let len = NUMBERS_BETWEEN_TICKS.min(range.end - start);
            let from = other_start + start - range.start;
            self.fingerprints[start..start + len].copy_from_slice(&other.fingerprints[from..from + len]);
            self.numbers[start..start + len].copy_from_slice(&other.numbers[from..from + len]);
        }
    }
}
