//! The algorithm, and what it is held to.

extern crate self as pg_simhash;

pub mod checks;
#[path = "../src/simhash/mod.rs"]
pub mod simhash;
