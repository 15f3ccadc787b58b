//! Vectors that grow.

use super::error::out_of_memory;

/// Adds an element to a vector; raises an error if out of memory.
pub fn push<T>(vector: &mut Vec<T>, element: T) {
    vector.try_reserve(1).unwrap_or_else(|_| out_of_memory());
    vector.push(element);
}
