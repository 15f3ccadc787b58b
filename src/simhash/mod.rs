//! The algorithm: text to tokens to weighted features to a 64-bit SimHash fingerprint, and what is computed on
//! fingerprints. Nothing here knows PostgreSQL.
//!
//! The path of a document: [`normalise`] brings the text into one form, [`tokens`] cuts it by the [`classes`] of its
//! characters, [`shingle`] joins neighbouring tokens to features, [`hash`] hashes these, [`features`] keeps the
//! distinct ones, [`weight`] and [`top`] say how much each counts, [`tally`] lets each vote on every bit.
//! [`fingerprint`] strings these together, as the [`options`] ask for it. [`distance`] and [`blocks`] are what search
//! stands on; [`layout`] and [`skew`] tell what it costs, and [`guard`] what concurrent writers lock. [`pairs`] finds
//! all near pairs and clusters of many fingerprints at once, [`resemblance`] compares the features themselves, as
//! [`weighted`] has them.

// Only calls of functions compiled for a CPU that has been detected are excepted: see pairs::compare.
#![deny(unsafe_code)]

pub mod blocks;
pub mod classes;
pub mod distance;
pub mod error;
pub mod features;
pub mod fingerprint;
pub mod guard;
pub mod hash;
pub mod layout;
pub mod normalise;
pub mod options;
pub mod pairs;
#[cfg(test)]
mod random;
pub mod resemblance;
pub mod shingle;
pub mod skew;
pub mod tally;
pub mod tokens;
pub mod top;
mod utf8;
pub mod weight;
pub mod weighted;

/// Version of the fingerprint format: two fingerprints may be compared only if it was the same for both.
pub const FORMAT: i32 = 1;
