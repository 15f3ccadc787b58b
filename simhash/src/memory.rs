//! Allocations that return an error if memory is refused. Rust's own collections and other libraries would end the
//! process instead.

use std::hint::black_box;

use crate::error::Result;
use crate::ticking::NUMBERS_BETWEEN_TICKS;

/// Fails if `bytes` bytes of memory are not available. Allocates them and frees them, so that the code of another
/// library can allocate them.
#[cold]
pub fn check_available(bytes: usize) -> Result<()> {
    let mut memory = Vec::<u8>::new();
    memory.try_reserve_exact(bytes)?;
    // Without this, the compiler removes the allocation as unused.
    black_box(memory);
    Ok(())
}

/// An empty vector with the memory for `len` values.
pub(crate) fn with_capacity<T>(len: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(len)?;
    Ok(values)
}

/// The values of an iterator, of which there are at most `len`, in a vector without spare memory.
pub(crate) fn collect_exact<T>(len: usize, values: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let mut all = with_capacity(len)?;
    all.extend(values);
    Ok(all)
}

/// A vector of `len` copies of a value. Ticks as [`fill`] does.
pub(crate) fn filled<T: Copy>(len: usize, value: T, tick: &dyn Fn()) -> Result<Vec<T>> {
    let mut values = Vec::new();
    fill(&mut values, len, value, tick)?;
    Ok(values)
}

/// The indexes of a list of this length: 0 to `len` - 1.
pub(crate) fn indexes(len: usize, tick: &dyn Fn()) -> Result<Vec<u32>> {
    let mut indexes = with_capacity(len)?;
    for start in (0..len).step_by(NUMBERS_BETWEEN_TICKS) {
        tick();
        indexes.extend(start as u32..len.min(start + NUMBERS_BETWEEN_TICKS) as u32);
    }
    Ok(indexes)
}

/// Appends one value.
pub(crate) fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    values.try_reserve(1)?;
    values.push(value);
    Ok(())
}

/// Appends copies of a value up to a length. Ticks, since the first touch of memory takes long.
pub(crate) fn fill<T: Copy>(values: &mut Vec<T>, len: usize, value: T, tick: &dyn Fn()) -> Result<()> {
    values.try_reserve_exact(len.saturating_sub(values.len()))?;
    while values.len() < len {
        values.resize(len.min(values.len() + NUMBERS_BETWEEN_TICKS), value);
        tick();
    }
    Ok(())
}
