//! The arguments that JavaScript writes into memory: bytes in numbered places.

use std::cell::RefCell;

use crate::output::Failed;

/// Number of places: a function has at most two texts, and options.
const PLACES: usize = 3;
/// Bytes that a place keeps for the next call.
const KEPT: usize = 1 << 20;

thread_local! {
    static INPUTS: RefCell<[Vec<u8>; PLACES]> = const { RefCell::new([const { Vec::new() }; PLACES]) };
}

/// Makes room for an argument of so many bytes. Returns where to write it; null if memory is refused.
#[unsafe(no_mangle)]
pub extern "C" fn input(place: usize, bytes: usize) -> *mut u8 {
    INPUTS.with_borrow_mut(|inputs| {
        let input = &mut inputs[place];
        input.clear();
        if input.try_reserve_exact(bytes).is_err() {
            return std::ptr::null_mut();
        }
        input.resize(bytes, 0);
        input.as_mut_ptr()
    })
}

/// Runs `work` with the arguments, in the order of their places. Then frees the memory that a long one has taken.
pub fn with_inputs<T>(work: impl FnOnce([&[u8]; PLACES]) -> T) -> T {
    INPUTS.with_borrow_mut(|inputs| {
        let result = work(inputs.each_ref().map(Vec::as_slice));
        for input in inputs {
            if input.capacity() > KEPT {
                *input = Vec::new();
            }
        }
        result
    })
}

/// An argument as text.
pub fn text(bytes: &[u8]) -> Result<&str, Failed> {
    std::str::from_utf8(bytes).map_err(|_| Failed::Range("a text is not valid UTF-8".to_owned()))
}
