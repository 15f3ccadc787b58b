//! What holds for any input: each check panics where it does not. The fuzz targets call them on what libFuzzer makes
//! up, and tests/cases.rs on fuzz/cases.

pub mod array_elements;
pub mod arrays;
pub mod input;
pub mod options;
#[path = "../../../simhash/tests/oracle/mod.rs"]
mod oracle;
pub mod pairs;
#[path = "../../../simhash/tests/random/mod.rs"]
mod random;
pub mod text;
pub mod tsvector;
