//! The block indexes that a table has, for searches and guards: [`layouts`] finds the blocks that are indexed, and
//! [`choice`] decides how best to search them. [`partitions`] reads partitions that are not locked.

pub mod choice;
pub mod layouts;
mod partitions;
