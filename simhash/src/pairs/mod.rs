//! All near pairs of many [`fingerprints`], and the clusters of many fingerprints or [`texts`]. Exact: no near pair is
//! missed.
//!
//! The trees of clusters are a [`forest`]. [`components()`] joins pairs that come from many searches, by ids of any
//! kind.

mod components;
mod fingerprints;
mod forest;
mod texts;

pub use components::{Compare, components};
pub use fingerprints::{Pair, Pairs, Rows, clusters};
pub use texts::{Confirmation, Confirmed, Kept, Outcome, TextSketches, representatives};
