//! Why an otherwise valid document may have no fingerprint, or fingerprints no pairs: limits that keep the cost in
//! bounds.

use std::collections::TryReserveError;
use std::fmt;

/// Longest sequence of characters, in bytes of UTF-8, that normalisation may have to look at as a whole.
///
/// Unicode puts no bound on how many marks follow a letter, and sorting them can be neither cancelled nor done in
/// bounded memory. The longest sequence in use in any language is a few dozen bytes.
pub const MAX_COMBINING_SEQUENCE: usize = 1 << 20;
/// Longest normal form of a text, and longest list of its features, in bytes: what one PostgreSQL value can hold.
pub const MAX_BYTES: usize = (1 << 30) - (1 << 16);
/// Most distinct features of a text: a table of 1 GB.
pub const MAX_FEATURES: usize = 1 << 26;
/// Most rows whose pairs or clusters are searched: positions are 32 bits wide.
pub const MAX_ROWS: usize = u32::MAX as usize - 1;

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The allocator refused.
    OutOfMemory,
    /// A combining sequence of more than [`MAX_COMBINING_SEQUENCE`] bytes.
    CombiningSequenceTooLong,
    /// A normal form of more than [`MAX_BYTES`].
    NormalFormTooLong,
    /// More than [`MAX_FEATURES`] distinct features.
    TooManyFeatures,
    /// A list of features of more than [`MAX_BYTES`].
    FeaturesTooLong,
    /// The sum of the weights left the range that [`crate::fingerprint::tally::Tally`] counts in.
    WeightOverflow,
    /// More than [`MAX_ROWS`].
    TooManyRows,
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
            Error::NormalFormTooLong => write!(f, "normal form of the text is longer than {MAX_BYTES} bytes"),
            Error::TooManyFeatures => write!(f, "text has more than {MAX_FEATURES} distinct features"),
            Error::FeaturesTooLong => write!(f, "features of the text are longer than {MAX_BYTES} bytes in all"),
            Error::WeightOverflow => write!(f, "sum of the weights is out of range"),
            Error::TooManyRows => write!(f, "more than {MAX_ROWS} rows"),
        }
    }
}

impl std::error::Error for Error {}
