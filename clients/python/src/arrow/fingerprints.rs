//! Columns of fingerprints.

use pyo3::prelude::*;

use super::capsule::{Stream, wrong_type};
use super::interface::Chunk;

/// A chunk of a column of fingerprints.
pub struct ArrowFingerprints(Chunk);

/// The chunks of a column; an exception if it is not one of int64.
pub fn arrow_fingerprints(stream: Stream<'_>) -> PyResult<impl Iterator<Item = PyResult<ArrowFingerprints>>> {
    if stream.kind.format != "l" || stream.kind.is_dictionary {
        return Err(wrong_type("fingerprints", "int64", &stream.kind));
    }
    Ok(stream.map(|chunk| chunk.map(ArrowFingerprints)))
}

impl ArrowFingerprints {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The fingerprint of a row; None if it is null.
    pub fn get(&self, row: usize) -> Option<u64> {
        if !self.0.is_valid(row) {
            return None;
        }
        // SAFETY: an array of this type has an i64 for each row.
        let numbers = unsafe { self.0.elements(1, self.0.offset() + self.0.len()) };
        numbers.get(self.0.offset() + row).map(|number| u64::from_ne_bytes(*number))
    }
}
