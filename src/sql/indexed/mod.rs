//! What a table has for searches and guards. [`recognise`] reads calls of the extension's functions in expressions,
//! [`fingerprint_column`] finds the column that holds the fingerprints, [`layouts`] the blocks that are indexed, and
//! [`scope`] names the columns that an index has before the block. [`skew`] shows what searches of a table cost.

pub mod fingerprint_column;
pub mod layouts;
pub mod recognise;
pub mod scope;
mod skew;
