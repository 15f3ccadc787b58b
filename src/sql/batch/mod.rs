//! All of a table's near-duplicates at once: `simhash_pairs` and `simhash_cluster`.

mod cluster;
mod ids;
mod pairs;
pub mod progress;
