//! Vectors that return an error when memory is refused; Rust's own would end the process.

use crate::error::Error;

/// Resizes `values` to `len`; new elements are copies of `value`.
pub fn resize<T: Clone>(values: &mut Vec<T>, len: usize, value: T) -> Result<(), Error> {
    values.try_reserve(len.saturating_sub(values.len()))?;
    values.resize(len, value);
    Ok(())
}

/// Appends one value.
pub fn push<T>(values: &mut Vec<T>, value: T) -> Result<(), Error> {
    values.try_reserve(1)?;
    values.push(value);
    Ok(())
}
