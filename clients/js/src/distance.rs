//! `hamming`, the distance of two fingerprints.

use simhash::distance;

/// The number of bits in which two fingerprints differ, 0 to 64.
#[unsafe(no_mangle)]
pub extern "C" fn hamming(a: i64, b: i64) -> u32 {
    distance::hamming(a.cast_unsigned(), b.cast_unsigned())
}
