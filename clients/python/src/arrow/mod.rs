//! Arrow data, through the C data interface: of pyarrow, polars, pandas and others, without any of them.
//!
//! [`interface`] has the structures of the interface and their owners, and [`capsule`] the Python objects that carry
//! them. [`texts`] and [`fingerprints`] read columns, and [`column`] returns one.

#![allow(unsafe_code)]

mod capsule;
mod column;
mod fingerprints;
mod interface;
mod texts;

pub use capsule::{Stream, read_arrow};
pub use column::{FingerprintArray, FingerprintValues};
pub use fingerprints::arrow_fingerprints;
pub use texts::{ArrowTexts, NotUtf8, arrow_texts};
