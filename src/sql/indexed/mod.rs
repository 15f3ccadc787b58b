//! The block indexes that a table has, for searches and guards: [`layouts`] finds the blocks that are indexed.

pub mod layouts;
