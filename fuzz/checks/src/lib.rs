//! Checks of what holds for any input; a check panics if it does not hold. The fuzz targets run them on inputs that
//! libFuzzer makes up, and tests/cases.rs runs them on fuzz/cases.

pub mod arrays;
pub mod input;
pub mod markup;
pub mod options;
#[path = "../../../simhash/tests/oracle/mod.rs"]
mod oracle;
pub mod pairs;
pub mod text;
pub mod tsvector;
