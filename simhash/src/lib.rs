//! Near-duplicate text: 64-bit SimHash fingerprints (Charikar 2002), exact search by Hamming distance, all near pairs
//! and their clusters.
//!
//! [`text`] normalises a text, cuts it into tokens and joins these to shingles; [`fingerprint`] makes weighted features
//! of the shingles, and a fingerprint of the features. [`search`] is what an index needs to find near fingerprints, and
//! [`pairs`] finds all near pairs and clusters of many fingerprints at once.
//!
//! Nothing here depends on PostgreSQL. Every function that may run long takes a `tick`, a closure that it calls every
//! few milliseconds and that may unwind.

// Only pairs::compare makes an exception: it calls functions compiled for CPU features that it has detected.
#![deny(unsafe_code)]

pub mod distance;
pub mod error;
pub mod fingerprint;
pub mod pairs;
#[cfg(test)]
mod random;
pub mod search;
pub mod text;
pub mod ticking;

/// Version of the fingerprint format. Fingerprints of different versions must not be compared.
pub const FORMAT: i32 = 1;
