//! All near pairs of many [`fingerprints`], and the clusters of many fingerprints or [`texts`]. All are exact.
//!
//! [`Pairs`] iterates over the near pairs of fingerprints, and [`clusters`] returns their clusters, [`representatives`]
//! those of texts in memory, [`Confirmation`] those of texts that a caller has on disk. [`components()`] joins pairs
//! that come from many searches, by ids of any kind. The clusters are the trees of a [`forest`].

mod components;
mod fingerprints;
mod forest;
mod texts;

pub use components::{CompareIds, components};
pub use fingerprints::{Pair, Pairs, RowFingerprints, clusters};
pub use texts::{Confirmation, ConfirmedClusters, KeptRows, Outcome, TextSketches, representatives};
