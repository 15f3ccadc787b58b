//! Groups of equal fingerprints: the search sees a million identical rows as one fingerprint.

use std::ops::Range;

use super::compare::LANES;
use super::partition::{NumberedFingerprints, PartitionBlock, write_bucket_starts};
use crate::error::{Error, MAX_ROWS, Result};
use crate::memory::{numbers_below, push, with_capacity};
use crate::ticking::{NUMBERS_BETWEEN_TICKS, ticking};

/// Bits of a digit of the radix sort.
const DIGIT_BITS: u32 = 8;
/// Largest slice that is sorted within the second-level cache, or little beyond: twice 12 bytes for each fingerprint.
const MAX_CACHED_SLICE: usize = 1 << 16;
/// Largest slice that is sorted by insertion.
const MAX_INSERTION_SORTED: usize = 32;

/// The fingerprints of rows. A row may have none.
pub struct RowFingerprints {
    fingerprints: Vec<u64>,
    /// The position of each fingerprint's row.
    positions: Vec<u32>,
    len: usize,
}

impl RowFingerprints {
    /// Allocates the memory for `rows` fingerprints at once. Fails for more than [`MAX_ROWS`].
    pub fn with_capacity(rows: usize) -> Result<Self> {
        if rows > MAX_ROWS {
            return Err(Error::TooManyRows);
        }
        Ok(Self { fingerprints: with_capacity(rows + LANES)?, positions: with_capacity(rows)?, len: 0 })
    }

    /// Adds a row. Pairs name a row by its position: the number of rows before it, with or without a fingerprint.
    pub fn push(&mut self, fingerprint: Option<u64>) -> Result<()> {
        if self.len >= MAX_ROWS {
            return Err(Error::TooManyRows);
        }
        if let Some(fingerprint) = fingerprint {
            push(&mut self.fingerprints, fingerprint)?;
            push(&mut self.positions, self.len as u32)?;
        }
        self.len += 1;
        Ok(())
    }

    /// Number of rows, with or without a fingerprint.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The rows of each distinct fingerprint. Groups are numbered in the order of their fingerprints.
pub struct Groups {
    /// Positions of the rows, by group, and ascending in each.
    pub positions: Vec<u32>,
    /// The index in `positions` where each group begins, and the end of the last group.
    pub starts: Vec<u32>,
}

impl Groups {
    /// Groups the rows. Returns the groups, and two buffers: the first one has the distinct fingerprints in ascending
    /// order with their numbers, the second is spare memory of the same size.
    pub fn new(rows: RowFingerprints, tick: &dyn Fn()) -> Result<(Self, [NumberedFingerprints; 2])> {
        let RowFingerprints { mut fingerprints, positions, .. } = rows;
        let len = positions.len();
        // Comparisons read whole lanes, beyond the last fingerprint.
        fingerprints.try_reserve_exact(LANES)?;
        fingerprints.resize(len + LANES, 0);
        let mut sorted = NumberedFingerprints { fingerprints, numbers: positions };
        let mut spare = NumberedFingerprints::zeroed(len, tick)?;
        // The additional element is for the end of the last group.
        spare.numbers.try_reserve_exact(1)?;
        sort(&mut sorted, &mut spare, 0..len, 64, tick);

        let NumberedFingerprints { mut fingerprints, numbers: positions } = sorted;
        let NumberedFingerprints { fingerprints: spare, numbers: mut starts } = spare;
        starts.clear();
        for position in ticking(0..len, tick) {
            let fingerprint = fingerprints[position];
            let group = starts.len();
            if group == 0 || fingerprints[group - 1] != fingerprint {
                fingerprints[group] = fingerprint;
                starts.push(position as u32);
            }
        }
        let groups = starts.len();
        starts.push(len as u32);

        let distinct = NumberedFingerprints { fingerprints, numbers: numbers_below(groups, tick)? };
        let spare = NumberedFingerprints { fingerprints: spare, numbers: numbers_below(groups, tick)? };
        Ok((Self { positions, starts }, [distinct, spare]))
    }

    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Positions of the rows of a group, in ascending order.
    #[inline]
    pub fn rows(&self, group: u32) -> &[u32] {
        let group = group as usize;
        &self.positions[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    /// The position of the first row of a group.
    #[inline]
    pub fn first(&self, group: u32) -> u32 {
        self.positions[self.starts[group as usize] as usize]
    }

    /// All rows with a fingerprint: the group and the position of each.
    pub fn all_rows(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.len() as u32).flat_map(|group| self.rows(group).iter().map(move |&row| (group, row)))
    }
}

/// Sorts a slice of `rows` by the lowest `bits` bits of its fingerprints (radix sort); equal ones keep their order. A
/// slice that fits no cache is partitioned by the most significant digit; any other is sorted by two digits, the less
/// significant one first. Both leave short slices that agree on these digits, and are sorted by the remaining bits.
fn sort(
    rows: &mut NumberedFingerprints,
    spare: &mut NumberedFingerprints,
    Range { start, end }: Range<usize>,
    bits: u32,
    tick: &dyn Fn(),
) {
    let len = end - start;
    if len <= MAX_INSERTION_SORTED {
        return insertion_sort(&mut rows.fingerprints[start..end], &mut rows.numbers[start..end]);
    }
    let sorted_by = bits.min(if len > MAX_CACHED_SLICE { DIGIT_BITS } else { 2 * DIGIT_BITS });
    let rest = bits - sorted_by;
    let mut is_in_spare = false;
    for low in (rest..bits).step_by(DIGIT_BITS as usize) {
        let digit = PartitionBlock::new(low, DIGIT_BITS.min(bits - low), DIGIT_BITS);
        let (from, to) = if is_in_spare { (&mut *spare, &mut *rows) } else { (&mut *rows, &mut *spare) };
        let mut counts = [0; 1 << DIGIT_BITS];
        digit.count(&from.fingerprints[start..end], &mut counts, tick);
        // All fingerprints agree on this digit: nothing moves.
        if counts.contains(&(len as u32)) {
            continue;
        }
        let mut next_positions = [0; 1 << DIGIT_BITS];
        write_bucket_starts(&counts, &mut next_positions);
        digit.scatter(from, start..end, to, start, &mut next_positions, tick);
        is_in_spare = !is_in_spare;
    }
    if is_in_spare {
        rows.copy_from(start..end, spare, start, tick);
    }
    if rest == 0 {
        return;
    }
    let mut first = start;
    while first < end {
        let agreeing = count_agreeing(&rows.fingerprints[first..end], rest, tick);
        if agreeing > 1 {
            sort(rows, spare, first..first + agreeing, rest, tick);
        }
        first += agreeing;
    }
}

/// Counts the fingerprints, from the first one on, that agree with the first on the bits from `low` up.
fn count_agreeing(fingerprints: &[u64], low: u32, tick: &dyn Fn()) -> usize {
    let mut count = 0;
    for chunk in fingerprints.chunks(NUMBERS_BETWEEN_TICKS) {
        let agreeing = chunk.iter().take_while(|&fingerprint| fingerprint >> low == fingerprints[0] >> low).count();
        count += agreeing;
        if agreeing < NUMBERS_BETWEEN_TICKS {
            break;
        }
        tick();
    }
    count
}

fn insertion_sort(fingerprints: &mut [u64], numbers: &mut [u32]) {
    for sorted in 1..numbers.len() {
        let (fingerprint, number) = (fingerprints[sorted], numbers[sorted]);
        let mut position = sorted;
        while position > 0 && fingerprints[position - 1] > fingerprint {
            (fingerprints[position], numbers[position]) = (fingerprints[position - 1], numbers[position - 1]);
            position -= 1;
        }
        (fingerprints[position], numbers[position]) = (fingerprint, number);
    }
}
