//! A merge sort by a comparison that takes long, and that may be wrong.
//!
//! It compares about as few times as possible, can be cancelled, and allocates nothing. The standard library's sorts
//! panic if a comparison contradicts itself, as that of a user-defined type may. This one returns some order.

use std::cell::Cell;
use std::cmp::Ordering;

/// Comparisons between two ticks. One may take as long as a thousand steps of other loops.
const COMPARISONS_BETWEEN_TICKS: usize = 64;

/// Sorts positions; equal ones keep their order. `spare` has at least half as many elements. `tick` takes the share
/// that is done, from 0 to 1.
pub fn merge_sort(
    positions: &mut [u32],
    spare: &mut [u32],
    compare: &dyn Fn(u32, u32) -> Ordering,
    tick: &dyn Fn(f64),
) {
    if positions.len() < 2 {
        return;
    }
    // Merging n positions takes up to n comparisons, on each of log2(n) levels.
    let all = positions.len() as f64 * (positions.len() as f64).log2();
    let done = Cell::new(0usize);
    let compare = |a, b| {
        done.set(done.get() + 1);
        if done.get().is_multiple_of(COMPARISONS_BETWEEN_TICKS) {
            tick((done.get() as f64 / all).min(1.0));
        }
        compare(a, b)
    };
    sort(positions, spare, &compare);
}

fn sort(positions: &mut [u32], spare: &mut [u32], compare: &impl Fn(u32, u32) -> Ordering) {
    if positions.len() < 2 {
        return;
    }
    let middle = positions.len() / 2;
    sort(&mut positions[..middle], spare, compare);
    sort(&mut positions[middle..], spare, compare);
    if compare(positions[middle - 1], positions[middle]).is_gt() {
        merge(positions, middle, &mut spare[..middle], compare);
    }
}

/// Merges the positions before `middle`, which it first moves to `left`, with the others.
fn merge(positions: &mut [u32], middle: usize, left: &mut [u32], compare: &impl Fn(u32, u32) -> Ordering) {
    left.copy_from_slice(&positions[..middle]);
    let (mut from_left, mut from_right) = (0, middle);
    while from_left < left.len() && from_right < positions.len() {
        let position = from_left + from_right - middle;
        if compare(left[from_left], positions[from_right]).is_gt() {
            positions[position] = positions[from_right];
            from_right += 1;
        } else {
            positions[position] = left[from_left];
            from_left += 1;
        }
    }
    let rest = &left[from_left..];
    positions[from_right - rest.len()..from_right].copy_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn sorted(values: &[u64], compare: &dyn Fn(u32, u32) -> Ordering) -> Vec<u32> {
        let mut positions: Vec<u32> = (0..values.len() as u32).collect();
        merge_sort(&mut positions, &mut vec![0; values.len().div_ceil(2)], compare, &|_| ());
        positions
    }

    #[test]
    fn sorts_like_standard_library() {
        let mut random = Random(0);
        for len in (0..70).chain([1000, 4097]) {
            for distinct in [1, 2, 10, u64::MAX] {
                let values: Vec<u64> = (0..len).map(|_| random.next() % distinct).collect();
                let compare = |a: u32, b: u32| values[a as usize].cmp(&values[b as usize]);
                let mut expected: Vec<u32> = (0..len).collect();
                expected.sort_by(|&a, &b| compare(a, b));
                assert_eq!(sorted(&values, &compare), expected, "{len} of {distinct}");
            }
        }
    }

    #[test]
    fn wrong_comparison_loses_none() {
        let random = std::cell::RefCell::new(Random(0));
        let values = vec![0; 3000];
        let mut positions = sorted(&values, &|_, _| random.borrow_mut().next().cmp(&(1 << 63)));
        positions.sort_unstable();
        assert!(positions.iter().copied().eq(0..3000));
        for always in [Ordering::Less, Ordering::Equal, Ordering::Greater] {
            assert_eq!(sorted(&values, &|_, _| always).len(), 3000);
        }
    }

    #[test]
    fn long_sorts_report_progress() {
        let mut random = Random(0);
        let values: Vec<u64> = (0..100_000).map(|_| random.next()).collect();
        let shares = std::cell::RefCell::new(Vec::new());
        let mut positions: Vec<u32> = (0..100_000).collect();
        let compare = |a: u32, b: u32| values[a as usize].cmp(&values[b as usize]);
        merge_sort(&mut positions, &mut vec![0; 50_000], &compare, &|share| shares.borrow_mut().push(share));
        let shares = shares.into_inner();
        assert!(shares.len() > 300 && shares.is_sorted(), "{} ticks", shares.len());
        assert!(shares.last().is_some_and(|&last| last > 0.8 && last <= 1.0), "{:?}", shares.last());
    }
}
