//! All near pairs of fingerprints, and their clusters.
//!
//! [`groups`] brings equal fingerprints together, so that only distinct ones are searched. [`search`] finds the near
//! pairs of the distinct fingerprints: [`partition`] brings fingerprints together that agree on a block, [`compare`]
//! compares all pairs, [`plan`] decides which of the two is cheaper, and [`bits`] which bits make good blocks.
//! [`near_pairs`] turns what is found into pairs of rows, and [`cluster`] joins the rows to clusters.

mod bits;
mod cluster;
mod compare;
pub(super) mod groups;
mod near_pairs;
mod partition;
mod plan;
mod search;

pub use cluster::clusters;
pub use groups::RowFingerprints;
pub use near_pairs::Pairs;
pub use search::Pair;
