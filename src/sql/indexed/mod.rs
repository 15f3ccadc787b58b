//! The block indexes that a table has, for searches and guards: [`layouts`] finds the blocks that are indexed, and
//! [`scope`] names the columns that an index has before the block.

pub mod layouts;
pub mod scope;
