//! Searches: the planner turns `simhash_near` into look-ups of indexed blocks ([`near`], [`rewrite`]). [`skew`] shows
//! what searches of a table cost.

mod near;
mod rewrite;
mod skew;
