//! Fingerprints that a caller passes, one for each row.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use simhash::error::Error;
use simhash::pairs::RowFingerprints;
use simhash::ticking::ticking;

use crate::arguments::Fingerprint;
use crate::cancel::{detached, interruptible};
use crate::error::{algorithm_error, wrong_type};
use crate::numpy;
use crate::texts::{is_no_column, python_iterable};

/// The fingerprints of rows, and the positions of the rows that have none.
pub struct FingerprintColumn {
    pub rows: RowFingerprints,
    pub missing: Vec<usize>,
}

impl FingerprintColumn {
    /// Reads a NumPy array of int64, whose masked elements are missing, another column, or an iterable of int or None.
    pub fn read(fingerprints: &Bound<'_, PyAny>) -> PyResult<Self> {
        if numpy::is_array(fingerprints)? {
            let (bytes, mask) = numpy::read_fingerprints(fingerprints)?;
            return Self::of_array(&bytes, mask.as_ref());
        }
        let fingerprints = &python_iterable(fingerprints)?;
        if fingerprints.is_instance_of::<PyString>() || is_no_column(fingerprints)? {
            return Err(wrong_type("fingerprints", "a NumPy array, or an iterable of int", fingerprints));
        }
        let mut column = Self::with_capacity(fingerprints.len().unwrap_or(0))?;
        for fingerprint in interruptible(fingerprints.py(), fingerprints.try_iter()?) {
            let fingerprint: Option<Fingerprint> = fingerprint??.extract()?;
            column.push(fingerprint.map(|fingerprint| fingerprint.0)).map_err(algorithm_error)?;
        }
        Ok(column)
    }

    fn with_capacity(rows: usize) -> PyResult<Self> {
        Ok(Self { rows: RowFingerprints::with_capacity(rows).map_err(algorithm_error)?, missing: Vec::new() })
    }

    fn of_array(numbers: &Bound<'_, PyBytes>, mask: Option<&Bound<'_, PyBytes>>) -> PyResult<Self> {
        let bytes = numbers.as_bytes();
        let mask = mask.map(|mask| mask.as_bytes());
        let mut column = Self::with_capacity(bytes.len() / 8)?;
        detached(numbers.py(), |tick| {
            for (row, number) in ticking(bytes.as_chunks().0, tick).enumerate() {
                let is_masked = mask.is_some_and(|mask| mask[row] != 0);
                column.push((!is_masked).then(|| u64::from_ne_bytes(*number)))?;
            }
            Ok(())
        })?;
        Ok(column)
    }

    fn push(&mut self, fingerprint: Option<u64>) -> Result<(), Error> {
        if fingerprint.is_none() {
            self.missing.push(self.rows.len());
        }
        self.rows.push(fingerprint)
    }
}
