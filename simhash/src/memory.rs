//! Allocations that return an error if memory is refused. Rust's own collections and other libraries would end the
//! process instead. `tick` is as in [`crate::ticking`].

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

/// The values of an iterator in a vector. There must be at most `len`: memory for more could not be refused with an
/// error. If there are `len`, the vector has no spare memory.
pub(crate) fn collect_exact<T>(len: usize, values: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let mut all = with_capacity(len)?;
    all.extend(values);
    Ok(all)
}

/// A vector of `len` copies of a value. Ticks as [`grow`] does.
pub(crate) fn repeated<T: Copy>(len: usize, value: T, tick: &dyn Fn()) -> Result<Vec<T>> {
    let mut values = Vec::new();
    grow(&mut values, len, value, tick)?;
    Ok(values)
}

/// The numbers 0 to `len` - 1.
pub(crate) fn numbers_below(len: usize, tick: &dyn Fn()) -> Result<Vec<u32>> {
    let mut numbers = with_capacity(len)?;
    for start in (0..len).step_by(NUMBERS_BETWEEN_TICKS) {
        tick();
        numbers.extend(start as u32..len.min(start + NUMBERS_BETWEEN_TICKS) as u32);
    }
    Ok(numbers)
}

pub(crate) fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    values.try_reserve(1)?;
    values.push(value);
    Ok(())
}

/// Appends copies of a value up to a length. Ticks, since the first touch of memory takes long.
pub(crate) fn grow<T: Copy>(values: &mut Vec<T>, len: usize, value: T, tick: &dyn Fn()) -> Result<()> {
    values.try_reserve_exact(len.saturating_sub(values.len()))?;
    while values.len() < len {
        values.resize(len.min(values.len() + NUMBERS_BETWEEN_TICKS), value);
        tick();
    }
    Ok(())
}
