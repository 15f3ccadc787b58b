//! The arguments that JavaScript writes into memory: bytes in numbered slots.

use std::cell::RefCell;

use crate::output::Exception;

/// A function has at most two texts, and options.
const SLOTS: usize = 3;
/// Bytes of a slot's memory that stay allocated for the next call.
const MAX_RETAINED_BYTES: usize = 1 << 20;

thread_local! {
    static INPUTS: RefCell<[Vec<u8>; SLOTS]> = const { RefCell::new([const { Vec::new() }; SLOTS]) };
}

/// Allocates memory for an argument of `bytes` bytes. Returns where to write it; null if memory is refused.
#[unsafe(no_mangle)]
pub extern "C" fn allocate_input(slot: usize, bytes: usize) -> *mut u8 {
    INPUTS.with_borrow_mut(|inputs| {
        let input = &mut inputs[slot];
        input.clear();
        if input.try_reserve_exact(bytes).is_err() {
            return std::ptr::null_mut();
        }
        input.resize(bytes, 0);
        input.as_mut_ptr()
    })
}

/// Runs `compute` with the arguments, in the order of their slots. Then frees the memory that a long one has taken.
pub fn with_inputs<T>(compute: impl FnOnce([&[u8]; SLOTS]) -> T) -> T {
    INPUTS.with_borrow_mut(|inputs| {
        let result = compute(inputs.each_ref().map(Vec::as_slice));
        for input in inputs {
            input.clear();
            input.shrink_to(MAX_RETAINED_BYTES);
        }
        result
    })
}

/// An argument as text.
pub fn text(bytes: &[u8]) -> Result<&str, Exception> {
    std::str::from_utf8(bytes).map_err(|_| Exception::Range("a text is not valid UTF-8".to_owned()))
}
