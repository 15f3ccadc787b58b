//! What holds for any input: each check panics where it does not. The fuzz targets call them on what libFuzzer makes
//! up, and tests/fuzz.rs on fuzz/cases.

pub mod arrays;
pub mod input;
pub mod options;
#[path = "../../tests/oracle/mod.rs"]
mod oracle;
pub mod pairs;
pub mod places;
#[path = "../../tests/random/mod.rs"]
mod random;
pub mod text;
pub mod tsvector;
