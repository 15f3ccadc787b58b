//! Memory that may not be had: then there is an error, where Rust's own collections would end the process.

use crate::error::Error;

/// Makes `values` as long as `len`, with copies of `value` at the end.
pub fn resize<T: Clone>(values: &mut Vec<T>, len: usize, value: T) -> Result<(), Error> {
    values.try_reserve(len.saturating_sub(values.len()))?;
    values.resize(len, value);
    Ok(())
}

/// Adds one.
pub fn push<T>(values: &mut Vec<T>, value: T) -> Result<(), Error> {
    values.try_reserve(1)?;
    values.push(value);
    Ok(())
}
