//! Searches: [`layouts`] finds the blocks that a table has indexed, [`choice`] decides how best to search it, and the
//! planner turns `simhash_near` into look-ups of these blocks ([`near`], [`rewrite`]). [`partitions`] reads partitions
//! that are not locked; [`skew`] shows what searches cost.

pub mod choice;
pub mod layouts;
mod near;
mod partitions;
mod rewrite;
mod skew;
