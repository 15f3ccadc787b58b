//! The results that JavaScript reads from memory, and exceptions.

use std::cell::RefCell;

use simhash::Error;
use simhash::fingerprint::invalid_options::{InvalidOptions, Reason};

// The statuses that a function with an output returns. instance.js has the same.

/// The output is the result.
const VALUE: u32 = 0;
/// There is no result: null.
const NULL: u32 = 1;
/// The output is the message of a TypeError.
const TYPE_ERROR: u32 = 2;
/// The output is the message of a RangeError.
const RANGE_ERROR: u32 = 3;

/// Bytes of the output's memory that stay allocated for the next call.
const MAX_RETAINED_BYTES: usize = 1 << 20;

thread_local! {
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Where the output begins.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

/// The length of the output in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> usize {
    OUTPUT.with_borrow(Vec::len)
}

/// The exception that a function throws in JavaScript: a TypeError or a RangeError.
pub enum Exception {
    Type(String),
    Range(String),
}

impl From<Error> for Exception {
    fn from(error: Error) -> Self {
        Self::Range(error.to_string())
    }
}

impl From<InvalidOptions> for Exception {
    fn from(invalid: InvalidOptions) -> Self {
        if let Reason::Failed(error) = invalid.reason {
            return error.into();
        }
        let sentences = [Some(format!("{invalid}.")), invalid.detail(), invalid.hint()];
        let message = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
        match invalid.reason {
            Reason::WrongValue { .. } => Self::Range(message),
            _ => Self::Type(message),
        }
    }
}

/// The output of a function that is running.
#[derive(Default)]
pub struct Output(Vec<u8>);

impl Output {
    /// Adds bytes; numbers are little-endian. Fails if memory is refused.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.0.try_reserve(bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    /// Adds the bytes of a result, if there is one. Returns whether there is one.
    pub fn push_if_some<const N: usize>(&mut self, bytes: Option<[u8; N]>) -> Result<bool, Exception> {
        bytes.iter().try_for_each(|bytes| self.push(bytes))?;
        Ok(bytes.is_some())
    }
}

/// Writes the output of a function, and returns its status. `compute` adds the result to the output, and returns
/// whether there is one.
pub fn write_output(compute: impl FnOnce(&mut Output) -> Result<bool, Exception>) -> u32 {
    let mut memory = OUTPUT.take();
    memory.clear();
    memory.shrink_to(MAX_RETAINED_BYTES);
    let mut output = Output(memory);
    let status = match compute(&mut output) {
        Ok(true) => VALUE,
        Ok(false) => NULL,
        Err(exception) => {
            let (status, message) = match exception {
                Exception::Type(message) => (TYPE_ERROR, message),
                Exception::Range(message) => (RANGE_ERROR, message),
            };
            output = Output(message.into_bytes());
            status
        }
    };
    OUTPUT.set(output.0);
    status
}
