//! Connected components of pairs of ids, wherever the pairs come from.
//!
//! A table that is too large for one search, or is spread over several servers, is searched in groups of its rows. Each
//! group gives pairs of ids; the components of all pairs are the clusters of the table.
//!
//! For example, one group has the pairs (1, 2) and (3, 4), another one has (2, 3). No group has all rows of the cluster
//! {1, 2, 3, 4}, whose component is 1, its smallest id. What is known of a component is itself a list of pairs: of each
//! id with the smallest one. So the components of parts of the pairs can be joined again, in any order.

use std::cell::Cell;
use std::cmp::Ordering;

use super::fingerprints::groups::{Groups, RowFingerprints};
use super::forest::Forest;
use crate::error::Result;
use crate::memory::{collect_exact, push, repeated, with_capacity};
use crate::ticking::ticking;

/// Comparisons of ids between two ticks. One may take as long as a thousand steps of other loops.
const COMPARISONS_BETWEEN_TICKS: usize = 64;
/// Stands for the number of an id where there is none.
const NO_ID: u32 = u32::MAX;

/// How two ids compare, by their positions.
pub type CompareIds<'a> = &'a dyn Fn(u32, u32) -> Ordering;

/// The connected components of pairs of ids: an iterator over the distinct ids, in ascending order.
///
/// An item has two positions: the first of the id, and the first of the smallest id of its component.
///
/// The ids of n pairs have the positions from 0 to 2n - 1: the pairs are 0 and n, 1 and n + 1, and so on. If the number
/// of positions is odd, the last one is in no pair.
///
/// `keys` holds a key for each position, in place of a fingerprint. The keys ascend with the ids: a smaller id never
/// has a larger key. `compare` decides between ids with the same key. Without it, they are equal. A position without a
/// key has no id; its pair connects nothing.
///
/// Needs 48 bytes for each pair, the memory of the keys included, and 8 for each distinct key. The tick is called at
/// least every few milliseconds, unless comparisons take long.
pub fn components(
    keys: RowFingerprints,
    compare: Option<CompareIds<'_>>,
    tick: &dyn Fn(),
) -> Result<impl Iterator<Item = (u32, u32)> + use<>> {
    let len = keys.len();
    let (mut ids, _) = Groups::new(keys, tick)?;
    if let Some(compare) = compare {
        split_by_comparison(&mut ids, compare, tick)?;
    }
    // The first position of each distinct id. An id's number is its index here.
    let firsts = collect_exact(ids.len(), ticking(0..ids.len() as u32, tick).map(|number| ids.first(number)))?;
    let mut numbers = repeated(len, NO_ID, tick)?;
    for (number, position) in ticking(ids.all_rows(), tick) {
        numbers[position as usize] = number;
    }
    drop(ids);

    let mut forest = Forest::new(firsts.len(), tick)?;
    let (a, b) = numbers.split_at(len / 2);
    for (&a, &b) in ticking(a.iter().zip(b), tick) {
        if a != NO_ID && b != NO_ID {
            forest.join(a, b, |number| number);
        }
    }
    drop(numbers);

    // Find the roots of all ids at once. In such a loop, a CPU loads ahead; it does not if the caller does other work
    // between two ids.
    let mut components = forest.into_roots(tick);
    for component in ticking(&mut components, tick) {
        *component = firsts[*component as usize];
    }
    Ok(firsts.into_iter().zip(components))
}

/// Splits the group of each key into groups of equal ids.
fn split_by_comparison(ids: &mut Groups, compare: CompareIds<'_>, tick: &dyn Fn()) -> Result<()> {
    let Groups { positions, starts } = ids;
    let largest = ticking(starts.windows(2), tick).map(|bounds| bounds[1] - bounds[0]).max().unwrap_or(0);
    let comparisons = Cell::new(0usize);
    let compare = |a, b| {
        comparisons.set(comparisons.get() + 1);
        if comparisons.get().is_multiple_of(COMPARISONS_BETWEEN_TICKS) {
            tick();
        }
        compare(a, b)
    };
    let mut spare = repeated(largest.div_ceil(2) as usize, 0, tick)?;
    let mut split_starts = with_capacity(starts.len())?;
    for bounds in ticking(starts.windows(2), tick) {
        let group = &mut positions[bounds[0] as usize..bounds[1] as usize];
        merge_sort(group, &mut spare, &compare);
        push(&mut split_starts, bounds[0])?;
        for (position, pair) in (bounds[0] + 1..).zip(ticking(group.windows(2), tick)) {
            if compare(pair[0], pair[1]).is_ne() {
                push(&mut split_starts, position)?;
            }
        }
    }
    push(&mut split_starts, positions.len() as u32)?;
    *starts = split_starts;
    Ok(())
}

/// Sorts positions by a comparison that takes long: compares about as few times as possible, and allocates nothing.
/// Equal positions keep their order. `spare` has at least half as many elements.
///
/// The comparison of a user-defined type may contradict itself. Then the standard library's sorts may panic, and this
/// one returns some order.
fn merge_sort(positions: &mut [u32], spare: &mut [u32], compare: &impl Fn(u32, u32) -> Ordering) {
    if positions.len() < 2 {
        return;
    }
    let middle = positions.len() / 2;
    merge_sort(&mut positions[..middle], spare, compare);
    merge_sort(&mut positions[middle..], spare, compare);
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
