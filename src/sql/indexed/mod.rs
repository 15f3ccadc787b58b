//! The fingerprints and block indexes of a table. [`recognise`] reads calls of the extension's functions in
//! expressions, and [`bits`] the types in which SQL has a fingerprint. [`fingerprint_column`] finds the column that
//! holds the fingerprints, [`layouts`] the blocks that are indexed, and [`scope`] names the columns that come before
//! the block in an index. [`skew`] shows what searches of a table cost, by a [`fingerprint_sample`].

pub mod bits;
pub mod fingerprint_column;
pub mod fingerprint_sample;
pub mod layouts;
pub mod recognise;
pub mod scope;
mod skew;
