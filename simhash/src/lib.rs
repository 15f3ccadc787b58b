#![doc = include_str!("../README.md")]
//!
//! # The modules
//!
//! [`text`] normalises a text, cuts it into tokens and joins these to shingles; [`fingerprint`] makes weighted features
//! of the shingles, and a fingerprint of the features. [`search`] is what an index needs to find near fingerprints, and
//! [`pairs`] finds all near pairs and clusters of many fingerprints or texts at once. [`within`] finds texts within
//! others.
//!
//! [`criterion`] says when two rows are near-duplicates, and [`explanation`] says why they are or are not, as
//! [`check`]s for people. [`distance`] is the Hamming distance of two fingerprints. [`memory`], [`ticking`] and
//! [`error`] are for everything that may run long or fail, and [`random`] is for samples.
//!
//! Nothing here depends on PostgreSQL. Every function that may run long takes a `tick`, a closure that it calls every
//! few milliseconds and that may unwind. Every function that returns a [`Result`](error::Result) fails if memory is
//! refused.

// There is one exception: text::mask calls instructions that every CPU of an architecture has.
#![deny(unsafe_code)]
// The documentation of a module also guides readers of its source.
#![allow(rustdoc::private_intra_doc_links)]

pub mod check;
pub mod criterion;
pub mod distance;
pub mod error;
pub mod explanation;
pub mod fingerprint;
pub mod memory;
pub mod pairs;
pub mod random;
pub mod search;
pub mod text;
pub mod ticking;
pub mod within;

pub use criterion::CriterionDocument;
pub use distance::hamming;
pub use error::Error;
pub use fingerprint::options::Options;
pub use pairs::Pair;

/// Version of the fingerprint format. Fingerprints of different versions must not be compared.
pub const FINGERPRINT_FORMAT: i32 = 2;

/// Version of the format of [bands](fingerprint::bands). Bands of different versions must not be compared.
pub const BAND_FORMAT: i32 = 1;
