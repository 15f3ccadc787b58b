//! `hamming`, the distance of two fingerprints.

use pyo3::prelude::*;
use simhash::distance;

use crate::arguments::Fingerprint;

/// Return the number of bits in which two fingerprints differ, 0 to 64.
///
/// >>> hamming(0, 7)
/// 3
#[pyfunction]
#[pyo3(signature = (a, b, /))]
pub fn hamming(a: Fingerprint, b: Fingerprint) -> u32 {
    distance::hamming(a.0, b.0)
}
