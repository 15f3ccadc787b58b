//! The columns and indexes of a table that serve searches and guards. [`recognise`] reads calls of the extension's
//! functions in expressions, and [`bits`] the types in which SQL has a fingerprint. [`fingerprint_column`] finds the
//! column that holds the fingerprints, [`layouts`] the blocks that are indexed, and [`scope`] names the columns that an
//! index has before the block. [`source`] is the column that fingerprints are made from. [`layout_costs`] estimates the
//! cost of searches from a [`fingerprint_sample`].

pub mod bits;
pub mod fingerprint_column;
pub mod fingerprint_sample;
mod layout_costs;
pub mod layouts;
pub mod recognise;
pub mod scope;
pub mod source;
