//! All near-duplicates of a table at once: `simhash_pairs`, `simhash_cluster` and `simhash_duplicate_of`.

mod cluster;
mod duplicate_of;
mod ids;
mod pairs;
mod partition;
pub mod progress;
mod verified;
