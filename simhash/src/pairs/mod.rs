//! All near pairs of many fingerprints at once, and the clusters that they make. Exact.
//!
//! [`groups`] brings equal fingerprints together, so that only distinct ones are searched. [`search`] finds the near
//! pairs of the distinct fingerprints: [`partition`] brings fingerprints together that agree on a block, [`compare`]
//! compares all pairs, [`plan`] decides which of the two is cheaper, and [`bits`] which bits make good blocks.
//! [`near_pairs`] turns what is found into pairs of rows, and [`cluster`] joins the rows to clusters, whose trees are a
//! [`forest`]. [`components()`] joins pairs that come from many searches, by ids of any kind.
//!
//! Near [`texts`] are found by their sketches: those that share a band are [`candidates`]. [`verification`] reads the
//! texts of candidates and compares their features, to find the clusters of [`confirmed`] near-duplicates, or the rows
//! that are [`kept`] if each row that duplicates an earlier one is dropped. [`representatives`] does it for texts that
//! are all in memory.

mod bits;
mod candidates;
mod cluster;
mod compare;
mod components;
mod confirmed;
mod forest;
mod groups;
mod in_memory;
mod kept;
mod near_pairs;
mod partition;
mod plan;
mod search;
mod texts;
mod verification;

pub use cluster::clusters;
pub use components::{Compare, components};
pub use confirmed::Confirmed;
pub use groups::Rows;
pub use in_memory::representatives;
pub use kept::Kept;
pub use near_pairs::Pairs;
pub use search::Pair;
pub use texts::Texts;
pub use verification::{Outcome, Verification};
