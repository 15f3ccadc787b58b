//! Checks of what holds for any input; a check panics if it does not hold. The fuzz targets run them on inputs that
//! libFuzzer makes up, and tests/cases.rs runs them on fuzz/cases.

pub mod input;
pub mod markup;
#[path = "../../../simhash/tests/oracle/markup.rs"]
mod oracle;
pub mod tsvector;
