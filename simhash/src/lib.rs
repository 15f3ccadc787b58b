//! Near-duplicate text: 64-bit SimHash fingerprints (Charikar 2002), exact search by Hamming distance, all near pairs
//! and their clusters.
//!
//! [`text`] brings a document into one form and cuts it into shingles, [`fingerprint`] makes weighted features of these
//! and a fingerprint of the features. [`search`] is what an index needs to find near fingerprints, and [`pairs`] finds
//! all near pairs and clusters of many fingerprints at once.
//!
//! Nothing here knows PostgreSQL. Every function that may run long takes a `tick`, which it calls every few
//! milliseconds, and which may unwind.

// pairs::compare alone excepts its calls of functions that are compiled for a CPU that was detected.
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
