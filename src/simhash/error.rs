//! The two ways in which an otherwise valid document cannot be fingerprinted.

use std::collections::TryReserveError;
use std::fmt;

/// Longest sequence of characters, in bytes of UTF-8, that normalisation may have to look at as a whole.
///
/// Unicode puts no bound on how many marks follow a letter, and sorting them can be neither cancelled nor done in
/// bounded memory. The longest sequence in use in any language is a few dozen bytes.
pub const MAX_COMBINING_SEQUENCE: usize = 1 << 20;

/// Why a document has no fingerprint, though it is valid text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The allocator refused.
    OutOfMemory,
    /// A combining sequence of more than [`MAX_COMBINING_SEQUENCE`] bytes.
    CombiningSequenceTooLong,
    /// The sum of the weights left the range that [`crate::simhash::tally::Tally`] counts in.
    WeightOverflow,
}

impl From<TryReserveError> for Error {
    fn from(_: TryReserveError) -> Self {
        Error::OutOfMemory
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::OutOfMemory => write!(f, "out of memory"),
            Error::CombiningSequenceTooLong => {
                write!(f, "text has a combining sequence of more than {MAX_COMBINING_SEQUENCE} bytes")
            }
            Error::WeightOverflow => write!(f, "sum of the weights is out of range"),
        }
    }
}

impl std::error::Error for Error {}
