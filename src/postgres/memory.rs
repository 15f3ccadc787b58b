//! Adds to collections with an error if memory is short, and calls functions when values are dropped.

use std::collections::HashSet;
use std::hash::Hash;

use super::error::out_of_memory;

/// Adds an element to a vector. Raises an error if out of memory.
pub fn push<T>(vector: &mut Vec<T>, element: T) {
    vector.try_reserve(1).unwrap_or_else(|_| out_of_memory());
    vector.push(element);
}

/// Adds an element to a set; false if the set has it already. Raises an error if out of memory.
pub fn insert<T: Eq + Hash>(set: &mut HashSet<T>, element: T) -> bool {
    set.try_reserve(1).unwrap_or_else(|_| out_of_memory());
    set.insert(element)
}

/// Calls a function when it is dropped, also while a panic unwinds.
pub struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}
