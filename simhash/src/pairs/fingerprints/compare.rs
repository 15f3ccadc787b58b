//! Compares every fingerprint of a slice with every other.
//!
//! The loop is compiled for several CPUs, since the code that the compiler makes of `count_ones` depends on the CPU:
//! the baseline of x86-64 has no instruction to count bits. The fastest version that this CPU can run is chosen.

use std::ops::Range;

use multiversion::multiversion;

/// Number of fingerprints that are compared with another one at once. This many must be readable after the end of a
/// slice.
pub const LANES: usize = 8;
/// Number of fingerprints that stay in the first-level cache (16 of its 32 KB) while all others are compared with them.
const TILE: usize = 2048;

/// How far the comparison of all pairs of a slice has come. Each fingerprint is a row and a column, by its position: a
/// row is compared with the columns after it.
#[derive(Default)]
pub struct Cursor {
    start: usize,
    end: usize,
    /// The tile: columns that are compared with all rows before `tile_end` before the next tile begins.
    tile: usize,
    tile_end: usize,
    row: usize,
    column: usize,
}

/// Near pairs of one row: bit i of `near` stands for column `column` + i.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct RowPairs {
    row: usize,
    column: usize,
    near: u8,
}

impl Cursor {
    /// All pairs in a slice.
    pub fn within(Range { start, end }: Range<usize>) -> Self {
        Self { start, end, tile: start, tile_end: end.min(start + TILE), row: start, column: start + 1 }
    }

    pub fn is_done(&self) -> bool {
        self.tile >= self.end
    }
}

impl Iterator for RowPairs {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        if self.near == 0 {
            return None;
        }
        let lane = self.near.trailing_zeros() as usize;
        self.near &= self.near - 1;
        Some((self.row, self.column + lane))
    }
}

/// Finds the next columns of a row that are within `max_distance` of it. Returns None at the end, when
/// [`Cursor::is_done`] is true, or after about `work` pairs. Subtracts the number of compared pairs from `work`.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512vpopcntdq+popcnt", "x86_64+avx2+popcnt", "x86_64+popcnt"))]
pub fn advance(fingerprints: &[u64], cursor: &mut Cursor, max_distance: u32, work: &mut usize) -> Option<RowPairs> {
    let max_distance = u64::from(max_distance);
    while cursor.tile < cursor.end {
        let (tile, tile_end) = (cursor.tile, cursor.tile_end);
        let (mut row, mut column) = (cursor.row, cursor.column);
        while row < tile_end {
            if *work == 0 {
                (cursor.row, cursor.column) = (row, column);
                return None;
            }
            let fingerprint = fingerprints[row];
            let first = column;
            while column < tile_end {
                let lanes: &[u64; LANES] = fingerprints[column..].first_chunk()?;
                let distances = lanes.map(|lane| u64::from((lane ^ fingerprint).count_ones()));
                if distances.iter().fold(false, |any, &distance| any | (distance <= max_distance)) {
                    let near = distances.iter().rev().fold(0, |near, &d| near << 1 | u8::from(d <= max_distance));
                    // Ignore what was read after the end of the tile.
                    let near = near & (0xff >> LANES.saturating_sub(tile_end - column));
                    if near != 0 {
                        *work = work.saturating_sub(column + LANES - first);
                        (cursor.row, cursor.column) = (row, column + LANES);
                        return Some(RowPairs { row, column, near });
                    }
                }
                column += LANES;
            }
            *work = work.saturating_sub(column.saturating_sub(first) + LANES);
            row += 1;
            column = tile.max(row + 1);
        }
        cursor.tile = tile_end;
        cursor.tile_end = cursor.end.min(tile_end + TILE);
        cursor.row = cursor.start;
        cursor.column = tile_end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn fingerprints(count: usize) -> Vec<u64> {
        let mut random = Random(0);
        (0..count).map(|_| random.next() & 0x0000_0101_1111_ffff).collect()
    }

    /// All pairs in the range, in calls that end after about `pairs` pairs.
    fn find_pairs(all: &[u64], start: usize, end: usize, max_distance: u32, pairs: usize) -> Vec<(usize, usize)> {
        let mut cursor = Cursor::within(start..end);
        let mut near = Vec::new();
        while !cursor.is_done() {
            near.extend(advance(all, &mut cursor, max_distance, &mut pairs.clone()).into_iter().flatten());
        }
        near.sort_unstable();
        near
    }

    #[test]
    fn pairs_match_oracle() {
        let all = fingerprints(5000 + LANES);
        for (start, end) in [(0, 0), (3, 4), (3, 5), (0, 7), (1, 9), (2, 11), (5, 40), (700, 1000), (1, 5000)] {
            let distances = if end < 5000 { &[0, 1, 3, 8, 20, 63, 64, 200][..] } else { &[3] };
            for &max_distance in distances {
                let expected: Vec<_> = (start..end)
                    .flat_map(|a| (a + 1..end).map(move |b| (a, b)))
                    .filter(|&(a, b)| (all[a] ^ all[b]).count_ones() <= max_distance)
                    .collect();
                for pairs in [1, 100, 1 << 20] {
                    let found = find_pairs(&all, start, end, max_distance, pairs);
                    assert!(found == expected, "{start}..{end}, distance {max_distance}");
                }
            }
        }
    }
}
