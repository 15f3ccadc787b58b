//! All near-duplicates of a table at once: `simhash_pairs` and `simhash_cluster`.

mod cluster;
mod ids;
mod pairs;
pub mod progress;
