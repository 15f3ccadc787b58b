//! Columns of fingerprints.

use pyo3::prelude::*;

use super::capsule::wrong_format;
use super::interface::Chunk;

/// A chunk of a column of fingerprints.
pub struct ArrowFingerprints(Chunk);

impl ArrowFingerprints {
    pub fn new(chunk: Chunk) -> PyResult<Self> {
        if chunk.format != "l" || chunk.is_dictionary {
            return Err(wrong_format("fingerprints", "int64", &chunk));
        }
        Ok(Self(chunk))
    }

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
        let numbers: &[i64] = unsafe { self.0.buffer(1, self.0.offset() + self.0.len()) };
        numbers.get(self.0.offset() + row).map(|number| number.cast_unsigned())
    }
}
