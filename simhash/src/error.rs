//! The errors of this crate: memory was refused, or a limit that bounds the cost was exceeded.

use std::collections::TryReserveError;
use std::fmt;

/// Longest combining sequence, in bytes of UTF-8, that normalisation processes as a whole.
///
/// Unicode sets no limit to how many marks may follow a letter, and sorting them can be neither cancelled nor done in
/// bounded memory. The longest sequence in use in any language is a few dozen bytes.
pub const MAX_COMBINING_SEQUENCE: usize = 1 << 20;
/// Longest normal form of a text, and longest list of its features, in bytes: the most that one PostgreSQL value can
/// hold.
pub const MAX_VALUE_BYTES: usize = (1 << 30) - (1 << 16);
/// Most distinct features of a text: their table takes 1 GB.
pub const MAX_FEATURES: usize = 1 << 26;
/// Most rows in which pairs or clusters are searched: positions have 32 bits, and `u32::MAX` is not a position.
pub const MAX_ROWS: usize = u32::MAX as usize - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    OutOfMemory,
    CombiningSequenceTooLong,
    NormalFormTooLong,
    TooManyFeatures,
    FeaturesTooLong,
    HeadlineTooLong,
    WeightOverflow,
    TooManyRows,
}

/// A result whose error is one of this crate, unless another type is given.
pub type Result<T, E = Error> = std::result::Result<T, E>;

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
            Error::NormalFormTooLong => write!(f, "normal form of the text is longer than {MAX_VALUE_BYTES} bytes"),
            Error::TooManyFeatures => write!(f, "text has more than {MAX_FEATURES} distinct features"),
            Error::FeaturesTooLong => write!(f, "features of the text are longer than {MAX_VALUE_BYTES} bytes in all"),
            Error::HeadlineTooLong => write!(f, "headline is longer than {MAX_VALUE_BYTES} bytes"),
            Error::WeightOverflow => write!(f, "sum of the weights is out of range"),
            Error::TooManyRows => write!(f, "more than {MAX_ROWS} rows"),
        }
    }
}

impl std::error::Error for Error {}

/// Cuts a long text to its first 60 characters and an ellipsis, for a message.
pub fn shorten(text: &str) -> String {
    const MAX_SHOWN_CHARS: usize = 60;
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
