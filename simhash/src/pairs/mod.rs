//! All near pairs of many fingerprints at once, and the clusters that they make. Exact.
//!
//! [`groups`] brings equal fingerprints together, so that only distinct ones are searched. [`search`] finds the near
//! pairs of these: [`partition`] brings those together that agree on a block, [`compare`] compares what is left,
//! [`plan`] knows which is cheaper and [`bits`] which bits make good blocks. All [`memory`] may be refused.
//! [`near_pairs`] gives pairs of rows, one after the other, and [`cluster`] joins them.

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
