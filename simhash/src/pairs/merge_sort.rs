//! A merge sort by a comparison that takes long, and that may be wrong.
//!
//! It compares about as few times as possible, can be cancelled, and allocates nothing. The standard library's sorts
//! panic if a comparison contradicts itself, as that of a user-defined type may. This one returns some order.

use std::cell::Cell;
use std::cmp::Ordering;

/// Comparisons between two ticks. One may take as long as a thousand steps of other loops.
const COMPARISONS_BETWEEN_TICKS: usize = 64;

/// Sorts positions; equal ones keep their order. `spare` has at least half as many elements.
pub fn merge_sort(positions: &mut [u32], spare: &mut [u32], compare: &dyn Fn(u32, u32) -> Ordering, tick: &dyn Fn()) {
    let done = Cell::new(0usize);
    let compare = |a, b| {
        done.set(done.get() + 1);
        if done.get().is_multiple_of(COMPARISONS_BETWEEN_TICKS) {
            tick();
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
