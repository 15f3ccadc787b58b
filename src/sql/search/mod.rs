//! Searches: which blocks a table has indexed ([`layouts`]), how best to search it ([`choice`], by [`statistics`]), and
//! `simhash_near`, which the planner makes into look-ups of these blocks ([`near`], [`rewrite`]).

pub mod choice;
pub mod layouts;
mod near;
mod partitions;
mod rewrite;
mod skew;
