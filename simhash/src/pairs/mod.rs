//! All near pairs of many fingerprints at once, and the clusters that they make. Exact.
//!
//! [`groups`] brings equal fingerprints together, so that only distinct ones are searched. [`search`] finds the near
//! pairs of the distinct fingerprints: [`partition`] brings fingerprints together that agree on a block, [`compare`]
//! compares all pairs, [`plan`] decides which of the two is cheaper, and [`bits`] which bits make good blocks.
//! [`memory`] allocates without ending the process when memory is refused. [`near_pairs`] turns what is found into
//! pairs of rows, and [`cluster`] joins the rows to clusters.

mod bits;
mod cluster;
mod compare;
mod groups;
mod memory;
mod near_pairs;
mod partition;
mod plan;
mod progress;
mod search;

pub use cluster::clusters;
pub use groups::Rows;
pub use near_pairs::{Pair, Pairs};
pub use progress::{Phase, Progress};
