//! Memory for code of other libraries, which ends the process if memory is refused.

use std::collections::TryReserveError;
use std::hint::black_box;

/// Fails if so many bytes of memory are not available. Allocates them and frees them, so that the code that follows can
/// allocate them.
///
/// # Errors
///
/// Memory is refused.
pub fn check_available(bytes: usize) -> Result<(), TryReserveError> {
    let mut memory = Vec::<u8>::new();
    memory.try_reserve_exact(bytes)?;
    // Without this, the compiler removes the allocation as unused.
    black_box(memory);
    Ok(())
}
