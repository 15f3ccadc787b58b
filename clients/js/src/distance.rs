//! `hamming` and `similarity`.

use simhash::distance;

/// The number of bits in which two fingerprints differ, 0 to 64.
#[unsafe(no_mangle)]
pub extern "C" fn hamming(a: i64, b: i64) -> u32 {
    distance::hamming(a.cast_unsigned(), b.cast_unsigned())
}

/// The cosine similarity that the distance of two fingerprints estimates, 1 to -1.
#[unsafe(no_mangle)]
pub extern "C" fn similarity(a: i64, b: i64) -> f64 {
    distance::similarity(a.cast_unsigned(), b.cast_unsigned())
}
