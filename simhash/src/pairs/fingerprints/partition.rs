//! Partitions fingerprints: brings those that agree on a block together, in one pass, without changing their order.

use std::ops::Range;

use super::compare::LANES;
use crate::error::Result;
use crate::memory::filled;
use crate::random::GOLDEN_RATIO;
use crate::ticking::NUMBERS_BETWEEN_TICKS;

/// Number of fingerprints whose positions are looked up before any is copied. A CPU that does not know yet where it
/// will store cannot load ahead; looking up in batches makes a copy a third faster.
const COPY_BATCH: usize = 16;

/// Consecutive bits of a fingerprint, and the number of buckets for their values.
#[derive(Clone, Copy, Debug)]
pub struct PartitionBlock {
    /// The lowest bit of the block.
    pub low: u32,
    mask: u64,
    bits: u32,
    factor: u64,
    shift: u32,
}

impl PartitionBlock {
    /// The block of `width` bits whose lowest is bit `low` of the fingerprint, in at most 2^`bits` buckets. If there
    /// are fewer buckets than values, a hash assigns several values to a bucket.
    pub fn new(low: u32, width: u32, bits: u32) -> Self {
        let mask = if width < 64 { (1 << width) - 1 } else { u64::MAX };
        let (factor, shift) = if width <= bits { (1, 0) } else { (GOLDEN_RATIO, 64 - bits) };
        Self { low, mask, bits: bits.min(width), factor, shift }
    }

    pub fn buckets(self) -> usize {
        1 << self.bits
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
        let counts = &mut counts[..self.buckets()];
        for stride in fingerprints.chunks(NUMBERS_BETWEEN_TICKS) {
            tick();
            for &fingerprint in stride {
                counts[self.bucket(fingerprint) & (counts.len() - 1)] += 1;
            }
        }
    }

    /// Copies a range of `from` to `to`, from `to_start` on, bucket by bucket, and keeps the order within each bucket.
    /// `ends` holds where each bucket begins after `to_start`; afterwards, it holds where each bucket ends.
    pub fn scatter(
        self,
        from: &Numbered,
        Range { start, end }: Range<usize>,
        to: &mut Numbered,
        to_start: usize,
        ends: &mut [u32],
        tick: &dyn Fn(),
    ) {
        let ends = &mut ends[..self.buckets()];
        let to_end = to_start + end - start;
        let (to_fingerprints, to_numbers) = (&mut to.fingerprints[to_start..to_end], &mut to.numbers[to_start..to_end]);
        let strides = from.fingerprints[start..end].chunks(NUMBERS_BETWEEN_TICKS);
        for (fingerprints, numbers) in strides.zip(from.numbers[start..end].chunks(NUMBERS_BETWEEN_TICKS)) {
            tick();
            for (fingerprints, numbers) in fingerprints.chunks(COPY_BATCH).zip(numbers.chunks(COPY_BATCH)) {
                let mut positions = [0; COPY_BATCH];
                for (position, &fingerprint) in positions.iter_mut().zip(fingerprints) {
                    let end = &mut ends[self.bucket(fingerprint) & (self.buckets() - 1)];
                    *position = *end;
                    *end += 1;
                }
                for ((&position, &fingerprint), &number) in positions.iter().zip(fingerprints).zip(numbers) {
                    to_fingerprints[position as usize] = fingerprint;
                    to_numbers[position as usize] = number;
                }
            }
        }
    }
}

/// Writes to `begins` where each bucket begins, from the sizes of the buckets.
pub fn write_begins(counts: &[u32], begins: &mut [u32]) {
    let mut sum = 0;
    for (begin, count) in begins.iter_mut().zip(counts) {
        *begin = sum;
        sum += count;
    }
}

/// Fingerprints, each with a number that is moved together with it.
pub struct Numbered {
    pub fingerprints: Vec<u64>,
    pub numbers: Vec<u32>,
}

impl Numbered {
    /// `len` zeros, followed by [`LANES`] fingerprints more, which a comparison may read.
    pub fn zeroed(len: usize, tick: &dyn Fn()) -> Result<Self> {
        Ok(Self { fingerprints: filled(len + LANES, 0, tick)?, numbers: filled(len, 0, tick)? })
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
